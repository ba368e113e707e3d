// The keys of a task set.
#include <rtexec/task_set.hpp>

#include "config/toml_readers.hpp"
#include "config/schema.hpp"
#include "config/task_channels.hpp"
#include "config/task_set_rules.hpp"

#include <chrono>
#include <functional>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using namespace config;

constexpr Duration shortest_period = 1us;
constexpr Duration longest_run = 24h * 100;
constexpr int lowest_priority = 1;
constexpr int highest_priority = 99;

std::vector<Key<TaskSet>> top_keys() {
  return {key<TaskSet>("board", text(), "the board: a file of boards/, by name or path", &TaskSet::board)};
}

std::vector<Key<ExecutiveOptions>> executive_keys() {
  using E = ExecutiveOptions;
  return {
      key<E>("order", one_of<Order>(), "order of device parts: earliest deadline first, or by priority", &E::order),
      key<E>("priorities", one_of<PriorityAssignment>(), "how static priorities are assigned", &E::priorities),
      key<E>("duration", duration(1ms, longest_run), "until stopped", "how long to run", &E::duration),
      key<E>("allow_degraded", boolean(), "run although the machine refuses some real-time setting",
             &E::allow_degraded),
      key<E>("threads", one_of<ThreadPolicy>(), "kernel scheduling class that the executive's threads ask for",
             &E::threads),
      key<E>("keep_awake", boolean(),
             "keep the run's cores from going idle: shorter wake-ups, most of all in a virtual machine, for more power",
             &E::keep_awake),
      key<E>("lock_clocks", boolean(),
             "lock the clocks of cores, GPU and memory that the board's file names, at the highest that the power mode "
             "allows; they are given back at the end, or by `rtexec restore`",
             &E::lock_clocks),
      key<E>("profile", path(), "the file's name with .profile.toml", "measured WCETs, as `rtexec profile` writes them",
             &E::profile),
      key<E>(
          "wcet_exceedance", real(1e-12, 0.1),
          "share of jobs that may exceed a measured WCET: `rtexec profile` carries executions on to there, as far as "
          "they allow it",
          &E::wcet_exceedance),
  };
}

std::vector<Key<DeviceOptions>> device_keys() {
  using D = DeviceOptions;
  return {
      key<D>("capacity", pages(), "all that the board has", "device memory to use, in whole chunks", &D::capacity),
      key<D>("chunk", word_or("auto", pages()), "unit of physical device memory; auto: the board's", &D::chunk),
      key<D>("completion", one_of<Completion>(),
             "how a GPU's work is waited for: spin answers sooner and takes all of the compute core", &D::completion),
      key<D>("co_run", boolean(),
             "a job under D executes beside one under M or H, while that one waits for pages; all memory must fit, and "
             "tasks say wcet_beside and mapping_idle",
             &D::co_run),
      key<D>("launch_ahead", word_or("auto", integer<std::uint32_t>(0, max_launch_ahead)),
             "segments of a job that the device has while one executes: less time between two, and longer until others "
             "can go first; auto: 1 where that proves the set, or takes less of the device",
             &D::launch_ahead),
      key<D>("memory_objective", one_of<MemoryObjective>(),
             "what memory_policy = \"auto\" is chosen for, of all policies with which the set is proved: the most time "
             "left before deadlines within the capacity, or the least memory",
             &D::memory_objective),
  };
}

/// The type of a store: "pinned" or "file:PATH".
Type<SwapStore> store() {
  static constexpr std::string_view prefix = "file:";
  return {.name = "\"pinned\" or \"file:PATH\"",
          .read = [](const Value& value) -> Read<SwapStore> {
            const auto* text = std::get_if<std::string>(&value.content);
            if (text != nullptr && *text == "pinned") return SwapStore{};
            if (text != nullptr && text->starts_with(prefix) && text->size() > prefix.size())
              return SwapStore{text->substr(prefix.size())};
            return Unexpected("not a store: write \"pinned\" for page-locked host memory, or \"file:PATH\"");
          },
          .write =
              [](const SwapStore& store) {
                return toml_string(store.file.empty() ? "pinned" : std::string(prefix) + store.file.string());
              },
          .problem = [](const SwapStore& store) { return path().problem(store.file); }};
}

std::vector<Key<SwapOptions>> swap_keys() {
  using S = SwapOptions;
  return {
      key<S>("policy", one_of<SwapPolicy>(),
             "how tasks share device memory that is too small for all of them: pipelined loads the next job's memory "
             "beside the execution of this "
             "one; rt-swap is as its paper states it, and those up to lru are its baselines; none: all memory must fit",
             &S::policy),
      key<S>("store", store(), "pinned; a file on a board of unified_memory",
             "where swapped memory goes: page-locked host memory, or a file", &S::store),
      key<S>(
          "candidates", one_of<SwapCandidates>(),
          "which of a task's memory is swapped first: constants, which need no copy out, or its largest memory objects",
          &S::candidates),
      key<S>("skip_unchanged", boolean(),
             "state whose digest is that of its last copy is not copied out again; admission takes no credit for it",
             &S::skip_unchanged),
      key<S>("verify", boolean(),
             "compare the digest of all memory after it was loaded: a job whose memory came back otherwise fails",
             &S::verify),
  };
}

constexpr Duration shortest_regulation = 100us;
constexpr Duration longest_regulation = 1s;
constexpr Bandwidth min_budget{1000};
constexpr double greatest_slowdown = 100;
constexpr unsigned smallest_picture = 16;
constexpr unsigned largest_picture = 2896;   // so that offsets in a picture fit 32 bits
constexpr double largest_constant = 1e15;    // whole numbers up to this are exact
constexpr unsigned largest_size = 1U << 28U; // for any micro-benchmark; tasks/loads/benchmarks has lower limits

std::vector<Key<BandwidthOptions>> bandwidth_keys() {
  using B = BandwidthOptions;
  return {
      key<B>("period", duration(shortest_regulation, longest_regulation),
             "of regulation: budgets are given anew in each", &B::period),
      key<B>("best_effort", word_or("unlimited", bandwidth(min_budget)),
             "memory bandwidth of each core that serves no real-time task and not the device, in the time that `while` "
             "says",
             &B::best_effort),
      key<B>("while", one_of<RegulateWhile>(),
             "when best_effort is in force: device-works: a job executes on the device or chunks are copied; "
             "device-busy: a job wants the device or has it",
             &B::regulate_while),
      key<B>("reclaim", boolean(), "cores donate what they are predicted not to use, and those that need more take it",
             &B::reclaim),
      key<B>("sharing", one_of<BandwidthSharing>(),
             "once every regulated core has used its budget up: none: all stand still until the period ends; spare: "
             "all go on without a limit; "
             "proportional: a new period begins",
             &B::sharing),
      key<B>("overshoot", one_of<Overshoot>(), "traffic beyond a budget is taken off the next ones, or forgotten",
             &B::overshoot),
      key<B>("slowdown", real(1, greatest_slowdown), "best_effort is fixed",
             "wanted at most of device executions, in times of their undisturbed length: a closed loop sets "
             "best_effort by it",
             &B::slowdown),
      key<B>("floor", bandwidth(min_budget), "the closed loop sets best_effort no lower", &B::floor),
      key<B>("counter", one_of<CounterBackEnd>(),
             "who counts, and who stops: core: a counter of each core and a thread that holds it; thread: each thread "
             "of this process stops itself; "
             "polling: as core, but the counter is read several times in a period",
             &B::counter),
      optional_text<B>("event", "the board's",
                       "what is counted: page-faults, cycles, cache-misses, r17 (raw, hexadecimal), or pmu_name/0x2a4",
                       &B::event),
  };
}

std::vector<Key<CoreBudget>> core_budget_keys() {
  return {key<CoreBudget>("core", integer<unsigned>(0, last_core), required, "unique", &CoreBudget::core),
          key<CoreBudget>("budget", bandwidth(min_budget), required, "memory bandwidth of this core, in force always",
                          &CoreBudget::budget)};
}

std::vector<Key<OutputOptions>> output_keys() {
  using O = OutputOptions;
  return {key<O>("trace", path(), "none",
                 "run: folder for LTTng traces, each run's in a folder of its own below it; the link latest leads to "
                 "the last one",
                 &O::trace),
          key<O>("jobs", path(), "none", "run: CSV file with a line for each job, as --jobs", &O::jobs),
          key<O>("json", path(), "none", "run: JSON file with the report, as --json", &O::json)};
}

/// Makes the key of a CPU part's WCET. Its value is stored only if the task gives `wcet`; otherwise complete_task()
/// reports an error.
Key<Task> wcet_part(std::string_view name, std::string_view meaning, Duration Wcet::*part) {
  return key<Task>(
      name, duration(0ns, longest_interval), toml_string(to_string(Wcet{}.*part)), meaning,
      [=](const Task& task) -> std::optional<Duration> {
        if (!task.wcet) return std::nullopt;
        return (*task.wcet).*part;
      },
      [=](Task& task, Duration value) {
        if (task.wcet) (*task.wcet).*part = value;
      });
}

Key<Task> wcet_key() {
  using Given = std::optional<Duration>;
  return key<Task>(
      "wcet", word_or("profile", duration(0ns, longest_interval)), "\"profile\"",
      "worst-case execution time on the device; \"profile\": taken from the profile file; 0ns: a workload of one's own "
      "that does not use the device",
      [](const Task& task) { return std::optional<Given>(task.wcet ? Given(task.wcet->device) : Given()); },
      [](Task& task, const Given& given) {
        if (given) task.wcet = Wcet{.before = 0ns, .device = *given, .after = 0ns};
      });
}

/// The value of `workload`: a kind, or "lib:FILE".
struct WorkloadChoice {
  WorkloadKind kind = WorkloadKind::dnn;
  std::filesystem::path library;
};

Type<WorkloadChoice> workload_choice() {
  static constexpr std::string_view prefix = "lib:";
  const Type<WorkloadKind> kinds = one_of<WorkloadKind>();
  return {.name = kinds.name + ", or \"lib:FILE\"",
          .read = [=](const Value& value) -> Read<WorkloadChoice> {
            const auto* text = std::get_if<std::string>(&value.content);
            if (text != nullptr && text->starts_with(prefix) && text->size() > prefix.size())
              return WorkloadChoice{WorkloadKind::custom, text->substr(prefix.size())};
            const auto kind = kinds.read(value);
            if (!kind) return Unexpected(kind.error() + ", or write \"lib:FILE\"");
            return WorkloadChoice{*kind, {}};
          },
          .write =
              [=](const WorkloadChoice& choice) {
                return choice.library.empty() ? kinds.write(choice.kind)
                                              : toml_string(std::string(prefix) + choice.library.string());
              },
          .problem =
              [=](const WorkloadChoice& choice) {
                return choice.library.empty() ? kinds.problem(choice.kind) : path().problem(choice.library);
              }};
}

Key<Task> workload_key() {
  return key<Task>(
      "workload", workload_choice(), toml_string(spelling(Task{}.workload)),
      "what each job runs; lib:FILE: a shared object that makes a workload of one's own (workload.h); custom: one that "
      "a program gives",
      [](const Task& task) {
        return std::optional(WorkloadChoice{task.workload, task.library});
      },
      [](Task& task, const WorkloadChoice& choice) {
        task.workload = choice.kind;
        task.library = choice.library;
      });
}

/// The value of `trigger`: a kind, or "after:TASK".
struct TriggerChoice {
  Trigger kind = Trigger::timer;
  std::string after;
};

Type<TriggerChoice> trigger_choice() {
  static constexpr std::string_view prefix = "after:";
  static constexpr auto alone = std::to_array<Spelling<Trigger>>({{spelling(Trigger::timer), Trigger::timer},
                                                                  {spelling(Trigger::input), Trigger::input},
                                                                  {spelling(Trigger::call), Trigger::call}});
  const Type<Trigger> kinds = one_of<Trigger>(alone);
  return {.name = kinds.name + ", or \"after:TASK\"",
          .read = [=](const Value& value) -> Read<TriggerChoice> {
            const auto* text = std::get_if<std::string>(&value.content);
            if (text != nullptr && text->starts_with(prefix))
              return TriggerChoice{Trigger::after, text->substr(prefix.size())};
            const auto kind = kinds.read(value);
            if (!kind) return Unexpected(kind.error() + ", or write \"after:TASK\"");
            return TriggerChoice{*kind, {}};
          },
          .write =
              [=](const TriggerChoice& choice) {
                return choice.kind == Trigger::after ? toml_string(std::string(prefix) + choice.after)
                                                     : kinds.write(choice.kind);
              },
          .problem = [=](const TriggerChoice& choice) -> std::string {
            if (choice.kind == Trigger::after) return identifier().problem(choice.after);
            return choice.after.empty() ? kinds.problem(choice.kind) : "names a task, and is not after one";
          }};
}

Key<Task> trigger_key() {
  return key<Task>(
      "trigger", trigger_choice(), toml_string(spelling(Task{}.trigger)),
      "what releases a job: timer: the period; input: a new frame or sample of its inputs; call: a program; "
      "after:TASK: the end of a job of TASK (under communicate = \"let\" its deadline). A job that comes less than a "
      "period after the one before waits until it has passed, and a newer one takes its place",
      [](const Task& task) {
        return std::optional(TriggerChoice{task.trigger, task.after});
      },
      [](Task& task, const TriggerChoice& choice) {
        task.trigger = choice.kind;
        task.after = choice.after;
      });
}

constexpr std::uint32_t max_layers = 4096; // also the limit for segments
constexpr std::uint32_t last_level = 99;
constexpr std::uint32_t max_stream_chunks = 1U << 20U;

/// Returns the key `segments`: "auto", "none" or a number, stored as std::nullopt, 1 or the number.
Key<Task> segments_key() {
  using Given = std::optional<std::optional<std::uint32_t>>; // outer nullopt: "auto"; inner nullopt: "none"
  return key<Task>(
      "segments", word_or("auto", word_or("none", integer<std::uint32_t>(1, max_layers))), "\"auto\"",
      "into how many runs of layers the device part may be cut, between which more urgent tasks may have the device; "
      "auto: as many as these need to be proved. Where jobs cannot be preempted (swap policies but pipelined and none, "
      "and co_run) it is not cut",
      [](const Task& task) {
        if (!task.segments) return std::optional<Given>(Given());
        return std::optional<Given>(*task.segments == 1 ? std::nullopt : task.segments);
      },
      [](Task& task, const Given& given) {
        task.segments.reset();
        if (given) task.segments = given->value_or(1);
      });
}

/// The name of the top preemption class in earlier releases.
constexpr std::string_view old_top_class = "express";

[[nodiscard]] bool is_old_top_class(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.content);
  return text != nullptr && *text == old_top_class;
}

/// The type of a preemption class: "top" or a level.
Type<std::optional<std::uint32_t>> preemption_class() {
  auto type = word_or("top", integer<std::uint32_t>(1, last_level));
  type.read = [read = type.read](const Value& value) {
    return is_old_top_class(value) ? Read<std::optional<std::uint32_t>>(std::nullopt) : read(value);
  };
  return type;
}

/// Returns the key `level`; "top" is stored as class 0.
Key<Task> level_key() {
  using Given = std::optional<std::uint32_t>;
  return key<Task>(
      "level", preemption_class(), "chosen by the plan",
      "whom its device parts may preempt where a segment ends: top: all that is less urgent, and nothing of it is "
      "swapped; 1 ..: tasks of larger levels, whose weights may have to leave for it",
      [](const Task& task) -> std::optional<Given> {
        if (!task.device_class) return std::nullopt;
        return *task.device_class == 0 ? Given() : task.device_class;
      },
      [](Task& task, const Given& level) { task.device_class = level.value_or(0); });
}

/// The type of a number of layers, or of a list of their times.
Type<SyntheticLayers> synthetic_layers() {
  const auto count = integer<std::uint32_t>(1, max_layers);
  const auto times = list_of(duration(1ns, longest_interval));
  return {.name = count.name + ", or " + times.name,
          .unit = times.unit,
          .read = [=](const Value& value) -> Read<SyntheticLayers> {
            if (!std::holds_alternative<Array>(value.content)) {
              const auto number = count.read(value);
              if (!number) return Unexpected(number.error() + ", or write a list of durations");
              return SyntheticLayers{.count = *number};
            }
            auto each = times.read(value);
            if (!each) return Unexpected(each.error());
            if (each->empty())
              return Unexpected("an empty list: write how many layers there are, or how long each of them takes");
            return SyntheticLayers{.times = std::move(*each)};
          },
          .write =
              [=](const SyntheticLayers& layers) {
                return layers.times.empty() ? count.write(layers.count) : times.write(layers.times);
              },
          .problem = [=](const SyntheticLayers& layers) -> std::string {
            if (layers.times.empty()) return count.problem(layers.count);
            if (layers.times.size() > max_layers) return "more than " + std::to_string(max_layers) + " layers";
            return times.problem(layers.times);
          }};
}

/// Makes a key for a table that may be empty.
template <class T>
Key<Task> table_key(std::string_view name, const Type<T>& type, std::string_view meaning,
                    std::map<std::string, T> Task::*member) {
  return key<Task>(
      name, table_of(type), "none", meaning,
      [=](const Task& task) { return (task.*member).empty() ? std::nullopt : std::optional(task.*member); },
      [=](Task& task, const std::map<std::string, T>& values) { task.*member = values; });
}

Type<std::vector<std::int64_t>> dimensions() {
  constexpr std::int64_t largest = std::int64_t{1} << 28; // tasks/engine limits the number of all elements
  return line_of(integer<std::int64_t>(0, largest));
}

std::vector<Key<Chain>> chain_keys() {
  return {
      key<Chain>("name", identifier(), required, "unique", &Chain::name),
      key<Chain>("tasks", set_of(identifier()), required,
                 "the tasks through which data travel, from the sensor to the actuator", &Chain::tasks),
      key<Chain>("communicate", one_of<Communication>(),
                 "immediate: a job reads when its first part begins, and its outputs appear when its last part "
                 "ends; let (logical execution time): it reads at its release, and they appear at its deadline",
                 &Chain::communicate),
      key<Chain>("max_reaction", duration(1ns, longest_run), "no limit",
                 "from an event that the first task's job before has just missed to the end of the output that "
                 "answers it (with an input_delay of that task: from the sampling that shows the event): a set that "
                 "may take longer is not proved",
                 &Chain::max_reaction),
      key<Chain>("max_age", duration(1ns, longest_run), "no limit",
                 "from the first task's reading (with an input_delay of it: from the sampling) to the next output of "
                 "the last task, which replaces the one made of what was read: a set whose data may be older is not "
                 "proved",
                 &Chain::max_age)};
}

std::vector<Key<Task>> task_keys() {
  return {
      key<Task>("name", identifier(), required, "unique", &Task::name),
      workload_key(),
      optional_text<Task>("arguments", "none", "of a workload of one's own or a back end: handed to its shared object",
                          &Task::arguments),
      key<Task>("model", path(), "required for dnn", "dnn: an ONNX file, or what its backend reads", &Task::model),
      optional_text<Task>("backend", "rtexec",
                          "dnn: what computes the model; NAME: the shared object librtexec-backend-NAME.so, ./FILE.so: "
                          "that file (backend.h)",
                          &Task::backend),
      key<Task>("input", path(), "seeded noise", "dnn: a picture, a folder of pictures, or a .npy file", &Task::input),
      table_key("shape", dimensions(),
                "dnn: all dimensions of each input of which the file leaves some open, by its name: { image = [1, 3, "
                "640, 640] }; those that the file fixes stay, and those of one name in it are of one size",
                &Task::shape),
      table_key("constant", line_of(real(-largest_constant, largest_constant)),
                "dnn: inputs that are the same in each job, by their names: { rate = [16000] }; all elements, or one "
                "number for all. What depends on them alone is computed when the model is loaded",
                &Task::constant),
      table_key("state", text(),
                "dnn: inputs that hold what the job before left in an output, both by their names: { h = \"hn\" }; "
                "zeros at first, and unchanged by jobs that fail or are dropped (rtexec/docs/user-guide/own-model.md)",
                &Task::state),
      key<Task>("precision", one_of<Precision>(),
                "dnn on a GPU: arithmetic of its products; host devices compute in fp32", &Task::precision),
      key<Task>(
          "period", period(shortest_period, longest_interval), required,
          "time between two releases, or how often they come (\"30Hz\"): then rounded down to a whole nanosecond; "
          "their least distance where no timer releases the task",
          &Task::period),
      trigger_key(),
      key<Task>("deadline", duration(1ns, longest_interval), "the period",
                "relative to the release; at most the period", &Task::deadline),
      key<Task>("offset", duration(0ns, longest_interval), "of the first release from the start", &Task::offset),
      key<Task>("input_delay", duration(0ns, longest_interval), "not known: chains count from the release",
                "what may be relied upon: the longest time from the sampling of what a job reads to its release; "
                "jobs above it are counted. Chains that begin with the task count from the sampling then. Where "
                "inputs or calls release it, its source samples at least a period apart",
                &Task::input_delay),
      key<Task>("core", integer<unsigned>(0, last_core), "chosen by the plan", "that runs the CPU parts", &Task::core),
      key<Task>("priority", integer<int>(lowest_priority, highest_priority), "required with explicit priorities",
                "unique; larger is more urgent", &Task::priority),
      key<Task>("criticality", one_of<Criticality>(), "real-time: the deadline is promised", &Task::criticality),
      key<Task>("on_overrun", one_of<OnOverrun>(), "what happens when a job is unfinished at the next release",
                &Task::on_overrun),
      key<Task>("on_wcet_exceeded", one_of<OnWcetExceeded>(),
                "what answers a part of a job that took longer than its WCET: tell: it is counted and shown, which it "
                "always is; skip-next: "
                "the task's next release is dropped, unless one was dropped since that of the job; stop: the run ends",
                &Task::on_wcet_exceeded),
      key<Task>(
          "memory_policy", one_of<MemoryPolicy>(),
          "where its device memory lives: device (D), managed (M), host (H); auto: of a task without wcet what "
          "[device] memory_objective asks for, of the policies that profile measured, otherwise D; D/H: H beside a job "
          "under D, otherwise D. M and H only for dnn and winograd tasks and micro-benchmarks of memory policies, D/H "
          "only for "
          "the latter (rtexec/docs/user-guide/memory-policies.md)",
          &Task::memory_policy),
      wcet_key(),
      wcet_part("wcet_before", "of the CPU part before; only beside a given wcet", &Wcet::before),
      wcet_part("wcet_after", "of the CPU part after; only beside a given wcet", &Wcet::after),
      key<Task>("wcet_beside", duration(1ns, longest_interval),
                "that of the profile; without one it executes beside no other",
                "worst-case execution time on the device while a job of another task executes beside it ([device] "
                "co_run); of D/H that of H",
                &Task::wcet_beside),
      key<Task>("mapping_idle", duration(0ns, longest_interval), "that of the profile, or 0ns",
                "how long of wcet_beside its device part only waits for pages, under M, H and D/H: a job under D whose "
                "wcet_beside is no longer executes meanwhile",
                &Task::mapping_idle),
      segments_key(),
      level_key(),
      key<Task>("memory", one_of<Constants>(),
                "which of its weights are on the device while a job executes: whole: all; stream: those that the next "
                "layers read come meanwhile, through a ring of chunks, so that the network may be larger than the "
                "device; auto: as the plan decides. stream only for dnn tasks, and synthetic ones of class constant",
                &Task::constants),
      key<Task>("stream_chunks", integer<std::uint32_t>(1, max_stream_chunks), "planned",
                "of memory = \"stream\": the chunks of the ring", &Task::stream_chunks),
      key<Task>("footprint", bytes(), "required for synthetic; dnn: what its network takes",
                "device memory in all; dnn: at least what its network takes", &Task::footprint),
      key<Task>("swappable", bytes(), "the footprint",
                "how much of the footprint may leave the device; only beside a given footprint", &Task::swappable),
      key<Task>("class", one_of<MemoryClass>(),
                "what the swappable memory holds (dnn: what the footprint adds to its network): constant is not copied "
                "out, scratch is dead between "
                "jobs and shared by all tasks, state is copied both ways",
                &Task::memory_class),
      key<Task>("swap_volume", bytes(), "planned", "how much of the swappable memory is swapped, in whole chunks",
                &Task::swap_volume),
      key<Task>(
          "resident", bytes(), "what others leave, tasks in turn",
          "how much of the swap volume is on the device at the start (of a run: before it rehearses), in whole chunks",
          &Task::resident),
      key<Task>("layers", synthetic_layers(), "1",
                "synthetic: how many layers of equal length the device part has, or how long each of them takes, the "
                "wcet in all; it can be cut behind each",
                &Task::layers),
      key<Task>("live", bytes(),
                "synthetic: device memory, beside the footprint, whose contents must survive between two layers",
                &Task::live),
      key<Task>("traffic_before", bytes(), "not known; required for traffic",
                "to and from memory in the CPU part before, at most (traffic: exactly): admission charges a regulated "
                "core's stalls for it",
                &Task::traffic_before),
      key<Task>("traffic_after", bytes(), "0B where traffic_before is given", "in the CPU part after",
                &Task::traffic_after),
      key<Task>("pattern", one_of<TrafficPattern>(), "traffic: how it moves memory, line by line", &Task::pattern),
      key<Task>("buffer", pages(), "four times the last-level cache", "traffic: the memory that it sweeps",
                &Task::buffer),
      key<Task>("resolution", integer<unsigned>(smallest_picture, largest_picture),
                "winograd: side of the square picture that it convolves", &Task::resolution),
      key<Task>("size", integer<unsigned>(1, largest_size), "required for micro-benchmarks of memory policies",
                "of what they compute on: elements of vector-add, random-access; sides of the matrices of matrix-add, "
                "matrix-multiply, needleman-wunsch, gaussian, hotspot; columns of pathfinder; nodes of bfs; places of "
                "nearest-neighbour; points of euclidean-clustering",
                &Task::size),
      key<Task>("releases", list_of(duration(0ns, longest_run)), "periodic",
                "when jobs are released, from the start, in ascending order and at least a period apart; only for "
                "`rtexec simulate`",
                &Task::releases),
  };
}

/// Sets and checks values that depend on several keys of one task's table.
void complete_task(const Table& given, const KeyPath& place, Task& task, Report& report) {
  if (find(given, "deadline") == nullptr) task.deadline = task.period;
  if (const Entry* level = find(given, "level"); level != nullptr && is_old_top_class(level->value))
    report.warn(level->value.at, "level = " + spelled(level->value) +
                                     ": its name is now \"top\"; the next release refuses the old name");
  if (task.wcet) return;
  const KeyPath wcet{.table = place.table, .index = place.index, .key = "wcet"};
  for (const std::string_view part : {"wcet_before", "wcet_after"})
    if (find(given, part) != nullptr)
      report.relation({{.table = place.table, .index = place.index, .key = part}, wcet},
                      std::string(part) + ": needs wcet beside it, as a duration; a profile gives all three parts");
}

const Schema<TaskSet>& task_set_schema() {
  static const Schema<TaskSet> instance = schema<TaskSet>({
      table<TaskSet>("", std::identity{}, top_keys()),
      table<TaskSet>("executive", &TaskSet::executive, executive_keys()),
      table<TaskSet>("device", &TaskSet::device, device_keys()),
      table<TaskSet>(
          "device.swap_cost", [](auto& set) -> auto& { return set.device.swap_cost; },
          swap_cost_keys<SwapCostOptions>("the board's")),
      table<TaskSet>("swap", &TaskSet::swap, swap_keys()),
      table<TaskSet>("bandwidth", &TaskSet::bandwidth, bandwidth_keys()),
      list<TaskSet>("bandwidth.core", &TaskSet::core_budgets, unnamed, core_budget_keys(), as_read),
      table<TaskSet>("output", &TaskSet::output, output_keys()),
      list<TaskSet>("task", &TaskSet::tasks, &Task::name, task_keys(), complete_task,
                    {list<Task>("task.inputs", &Task::inputs, unnamed, task_input_keys(), as_read),
                     list<Task>("task.outputs", &Task::outputs, unnamed, task_output_keys(), as_read)}),
      list<TaskSet>("chain", &TaskSet::chains, &Chain::name, chain_keys(), as_read),
  });
  return instance;
}

// ---- paths ----

/// Resolves the paths in the set. Relative ones begin at the folder of its file.
void resolve_paths(TaskSet& set) {
  const std::filesystem::path folder = set.file.parent_path();
  const auto resolve = [&](std::filesystem::path& path) {
    if (!path.empty()) path = (folder / path).lexically_normal();
  };
  const auto resolve_unless_name = [&](std::string& text, auto is_path) {
    if (!is_path(text)) return;
    text = (folder / text).lexically_normal().string();
    if (!is_path(text)) text.insert(0, "./"); // so that it is read as a path, and not as a name
  };
  resolve_unless_name(set.board, is_board_path);
  if (set.executive.profile.empty()) {
    set.executive.profile = set.file;
    set.executive.profile.replace_extension(".profile.toml");
  } else {
    resolve(set.executive.profile);
  }
  if (set.swap.store) resolve(set.swap.store->file);
  for (std::filesystem::path* file : {&set.output.trace, &set.output.jobs, &set.output.json}) resolve(*file);
  for (Task& task : set.tasks) {
    resolve(task.model);
    resolve(task.library);
    resolve_unless_name(task.backend, [](const std::string& backend) { return backend.contains('/'); });
    resolve(task.input);
    resolve_channel_paths(task, folder);
  }
}

} // namespace

Result<TaskSet> parse_task_set(std::string_view toml, const std::filesystem::path& file) {
  return parse(task_set_schema(), toml, file, [](TaskSet& set, Report& report) {
    set.warnings = report.warnings();
    resolve_paths(set);
    check_rules(set, report);
  });
}

Result<TaskSet> read_task_set(const std::filesystem::path& file) {
  return read_toml(file, Content::task_set, parse_task_set);
}

Result<> validate(const TaskSet& tasks) {
  Report report;
  check(task_set_schema(), tasks, report);
  check_rules(tasks, report);
  return report.result();
}

std::span<const KeyDoc> config::task_set_keys() { return task_set_schema().docs; }

} // namespace rtexec
