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
      key<E>("allow_degraded", boolean(), "run without a promise if the machine refuses a real-time setting",
             &E::allow_degraded),
      key<E>("threads", one_of<ThreadPolicy>(), "kernel scheduling class of the executive's threads", &E::threads),
      key<E>("keep_awake", boolean(),
             "keep the run's cores out of idle states: faster wake-ups, especially in a virtual machine, at the cost "
             "of power",
             &E::keep_awake),
      key<E>("lock_clocks", boolean(),
             "lock the clocks of cores, GPU and memory that the board's file names, at the highest rate that the power "
             "mode allows; the end of the run, or `rtexec restore`, restores them",
             &E::lock_clocks),
      key<E>("profile", path(), "the file's name with .profile.toml", "measured WCETs, as `rtexec profile` writes them",
             &E::profile),
      key<E>("wcet_exceedance", real(1e-12, 0.1),
             "share of jobs that may exceed a measured WCET: `rtexec profile` extrapolates to it, if the executions "
             "allow that",
             &E::wcet_exceedance),
  };
}

std::vector<Key<DeviceOptions>> device_keys() {
  using D = DeviceOptions;
  return {
      key<D>("capacity", pages(), "the board's whole memory", "device memory to use, in whole chunks", &D::capacity),
      key<D>("chunk", word_or("auto", pages()), "unit of physical device memory; auto: the board's", &D::chunk),
      key<D>("completion", one_of<Completion>(),
             "how the executive waits for a GPU: spin reacts faster and occupies the compute core completely",
             &D::completion),
      key<D>("co_run", boolean(),
             "a job under D may execute concurrently with one under M or H that waits for pages; all memory must fit, "
             "and tasks need wcet_beside and mapping_idle",
             &D::co_run),
      key<D>("launch_ahead", word_or("auto", integer<std::uint32_t>(0, max_launch_ahead)),
             "segments of a job launched ahead of the one that executes: shorter gaps between segments, but later "
             "preemption; auto: 1 if that proves the set or takes less device time",
             &D::launch_ahead),
      key<D>("memory_objective", one_of<MemoryObjective>(),
             "objective of memory_policy = \"auto\" among the policies with which the set is proved: maximum slack "
             "within the capacity, or minimum memory",
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
            return Unexpected("expected \"pinned\" for page-locked host memory, or \"file:PATH\"");
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
             "during the execution of this one; rt-swap is as published, and the next ones up to lru are its "
             "baselines; none: all memory must fit",
             &S::policy),
      key<S>("store", store(), "pinned; a file on a board of unified_memory",
             "where swapped memory goes: page-locked host memory, or a file", &S::store),
      key<S>(
          "candidates", one_of<SwapCandidates>(),
          "which memory of a task is swapped first: constants, which need no copy out, or its largest memory objects",
          &S::candidates),
      key<S>("skip_unchanged", boolean(),
             "state that has not changed since its last copy, by its digest, is not copied out again; admission does "
             "not count on it",
             &S::skip_unchanged),
      key<S>("verify", boolean(), "check the digest of all memory after loading: a job whose memory differs fails",
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
      key<B>("period", duration(shortest_regulation, longest_regulation), "of regulation: budgets are refilled in each",
             &B::period),
      key<B>("best_effort", word_or("unlimited", bandwidth(min_budget)),
             "memory bandwidth limit of each core that executes no real-time part and does not feed the device, while "
             "the condition of `while` holds",
             &B::best_effort),
      key<B>("while", one_of<RegulateWhile>(),
             "when best_effort is in force: device-works: a job executes on the device or chunks are copied; "
             "device-busy: a job has requested the device or has it",
             &B::regulate_while),
      key<B>("reclaim", boolean(),
             "cores donate the budget that they are predicted not to use, and cores that need more take it",
             &B::reclaim),
      key<B>("sharing", one_of<BandwidthSharing>(),
             "once every regulated core has used up its budget: none: all are stopped until the period ends; spare: "
             "all continue without a limit; proportional: a new period begins",
             &B::sharing),
      key<B>("overshoot", one_of<Overshoot>(), "traffic beyond a budget is deducted from the next budgets, or forgiven",
             &B::overshoot),
      key<B>("slowdown", real(1, greatest_slowdown), "best_effort is fixed",
             "maximum slowdown of device executions, as a factor of their undisturbed length: a closed loop sets "
             "best_effort to keep it",
             &B::slowdown),
      key<B>("floor", bandwidth(min_budget), "the closed loop sets best_effort no lower", &B::floor),
      key<B>("counter", one_of<CounterBackEnd>(),
             "how traffic is counted and stopped: core: by a counter of each core and a thread that occupies the core; "
             "thread: each thread of this process stops itself; polling: as core, but the counter is read several "
             "times in a period",
             &B::counter),
      optional_text<B>(
          "event", "the board's",
          "event that is counted: page-faults, cycles, cache-misses, r17 (raw, hexadecimal), or pmu_name/0x2a4",
          &B::event),
  };
}

std::vector<Key<CoreBudget>> core_budget_keys() {
  return {key<CoreBudget>("core", integer<unsigned>(0, last_core), required, "unique", &CoreBudget::core),
          key<CoreBudget>("budget", bandwidth(min_budget), required,
                          "memory bandwidth limit of this core, always in force", &CoreBudget::budget)};
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
      "what each job runs; lib:FILE: a shared object with your own workload (workload.h); custom: a workload from the "
      "program that runs the set",
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
            return choice.after.empty() ? kinds.problem(choice.kind) : "must be after:TASK to follow a task";
          }};
}

Key<Task> trigger_key() {
  return key<Task>(
      "trigger", trigger_choice(), toml_string(spelling(Task{}.trigger)),
      "what releases a job: timer: the period; input: a new frame or sample of its inputs; call: a program; "
      "after:TASK: the end of a job of TASK (under communicate = \"let\" its deadline). A trigger that comes less than "
      "a period after the previous release waits until the period has passed; a newer trigger replaces it",
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
      "maximum number of segments of the device part, between which more urgent tasks may preempt it; auto: as many as "
      "are needed to prove these tasks. No segments if jobs cannot be preempted (swap policies other than pipelined "
      "and none, or co_run)",
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
      "level", preemption_class(), "chosen by the planner",
      "preemption class at the end of a segment: top: preempts all less urgent tasks and is never swapped; 1 ..: "
      "preempts tasks of larger levels, whose weights may be swapped out for it",
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
              return Unexpected("an empty list: expected the number of layers, or the duration of each layer");
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
                 "the tasks through which the data pass, from the sensor to the actuator", &Chain::tasks),
      key<Chain>("communicate", one_of<Communication>(),
                 "immediate: a job reads when its first part begins, and publishes its outputs when its last part "
                 "ends; let (logical execution time): it reads at its release and publishes at its deadline",
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
      optional_text<Task>("arguments", "none", "text passed to the shared object of your own workload or back end",
                          &Task::arguments),
      key<Task>("model", path(), "required for dnn", "dnn: an ONNX file, or a file for its backend", &Task::model),
      optional_text<Task>("backend", "rtexec",
                          "dnn: the inference engine; NAME: the shared object librtexec-backend-NAME.so, ./FILE.so: "
                          "that file (backend.h)",
                          &Task::backend),
      key<Task>("input", path(), "seeded noise", "dnn: a picture, a folder of pictures, or a .npy file", &Task::input),
      table_key("shape", dimensions(),
                "dnn: all dimensions of each input with dynamic dimensions, by input name: { image = [1, 3, 640, 640] "
                "}; dimensions that the file fixes must be equal, and dimensions of one name must have one size",
                &Task::shape),
      table_key("constant", line_of(real(-largest_constant, largest_constant)),
                "dnn: inputs that are the same in each job, by their names: { rate = [16000] }; all elements, or one "
                "number for all. Nodes that depend only on them are computed when the model is loaded",
                &Task::constant),
      table_key("state", text(),
                "dnn: inputs that hold an output of the previous job, as INPUT = \"OUTPUT\": { h = \"hn\" }; initially "
                "zeros, and unchanged by jobs that fail or are dropped (rtexec/docs/user-guide/own-model.md)",
                &Task::state),
      key<Task>("precision", one_of<Precision>(),
                "dnn on a GPU: arithmetic of matrix products; host devices compute in fp32", &Task::precision),
      key<Task>("period", period(shortest_period, longest_interval), required,
                "time between two releases, or their frequency (\"30Hz\"; rounded down to a whole nanosecond); the "
                "minimum distance if no timer releases the task",
                &Task::period),
      trigger_key(),
      key<Task>("deadline", duration(1ns, longest_interval), "the period",
                "relative to the release; at most the period", &Task::deadline),
      key<Task>("offset", duration(0ns, longest_interval), "of the first release from the start", &Task::offset),
      key<Task>("input_delay", duration(0ns, longest_interval), "not known: chains are measured from the release",
                "guaranteed maximum time from the sampling of the data that a job reads to its release; jobs above it "
                "are counted. Chains that begin with the task are then measured from the sampling. If inputs or calls "
                "release the task, the samples must be at least a period apart",
                &Task::input_delay),
      key<Task>("core", integer<unsigned>(0, last_core), "chosen by the planner", "core that executes the CPU parts",
                &Task::core),
      key<Task>("priority", integer<int>(lowest_priority, highest_priority), "required with explicit priorities",
                "unique; larger is more urgent", &Task::priority),
      key<Task>("criticality", one_of<Criticality>(), "real-time: the deadline is promised", &Task::criticality),
      key<Task>("on_overrun", one_of<OnOverrun>(), "reaction to a job that is unfinished at the next release",
                &Task::on_overrun),
      key<Task>(
          "on_wcet_exceeded", one_of<OnWcetExceeded>(),
          "reaction to a part of a job that took longer than its WCET: tell: it is only counted and shown; skip-next: "
          "the task's next release is also dropped, unless one was dropped since the job's release; stop: the run ends",
          &Task::on_wcet_exceeded),
      key<Task>("memory_policy", one_of<MemoryPolicy>(),
                "where its device memory is: device (D), managed (M), host (H); auto: without wcet chosen by [device] "
                "memory_objective among the measured policies, otherwise D; D/H: H while it runs concurrently with a "
                "job under D, otherwise D. M and H only for dnn and winograd tasks and micro-benchmarks of memory "
                "policies, D/H only for the latter (rtexec/docs/user-guide/memory-policies.md)",
                &Task::memory_policy),
      wcet_key(),
      wcet_part("wcet_before", "of the CPU part before; only with a given wcet", &Wcet::before),
      wcet_part("wcet_after", "of the CPU part after; only with a given wcet", &Wcet::after),
      key<Task>("wcet_beside", duration(1ns, longest_interval),
                "from the profile; without one it never executes concurrently",
                "worst-case execution time on the device while a job of another task executes concurrently ([device] "
                "co_run); for D/H that of H",
                &Task::wcet_beside),
      key<Task>("mapping_idle", duration(0ns, longest_interval), "from the profile, or 0ns",
                "part of wcet_beside in which the device part only waits for pages, under M, H and D/H; a job under D "
                "whose wcet_beside is at most this long may execute meanwhile",
                &Task::mapping_idle),
      segments_key(),
      level_key(),
      key<Task>("memory", one_of<Constants>(),
                "which of its weights are on the device while a job executes: whole: all; stream: those of the next "
                "layers are loaded during the execution, through a ring buffer of chunks, so that the network may be "
                "larger than the device; auto: the planner decides. stream is only for dnn tasks, and for synthetic "
                "tasks of class constant",
                &Task::constants),
      key<Task>("stream_chunks", integer<std::uint32_t>(1, max_stream_chunks), "planned",
                "of memory = \"stream\": the chunks of the ring", &Task::stream_chunks),
      key<Task>("footprint", bytes(), "required for synthetic; dnn: the memory of its network",
                "total device memory; dnn: at least the memory of its network", &Task::footprint),
      key<Task>("swappable", bytes(), "the footprint",
                "part of the footprint that may be swapped out; only with a given footprint", &Task::swappable),
      key<Task>("class", one_of<MemoryClass>(),
                "contents of the swappable memory (dnn: of the footprint beyond its network): constant is not copied "
                "out, scratch is dead between jobs and shared by all tasks, state is copied both ways",
                &Task::memory_class),
      key<Task>("swap_volume", bytes(), "planned", "amount of the swappable memory that is swapped, in whole chunks",
                &Task::swap_volume),
      key<Task>(
          "resident", bytes(), "the frames that are free, in the order of the tasks",
          "part of the swap volume that is on the device at the start (of a run: before the warm-up), in whole chunks",
          &Task::resident),
      key<Task>("layers", synthetic_layers(), "1",
                "synthetic: number of layers of equal length in the device part, or the duration of each layer, wcet "
                "in total; there is a cut point after each layer",
                &Task::layers),
      key<Task>(
          "live", bytes(),
          "synthetic: device memory, in addition to the footprint, whose contents must survive between two layers",
          &Task::live),
      key<Task>("traffic_before", bytes(), "not known; required for traffic",
                "maximum memory traffic of the CPU part before (traffic tasks: exact): admission charges a regulated "
                "core's stalls for it",
                &Task::traffic_before),
      key<Task>("traffic_after", bytes(), "0B where traffic_before is given", "in the CPU part after",
                &Task::traffic_after),
      key<Task>("pattern", one_of<TrafficPattern>(), "traffic: its access pattern, line by line", &Task::pattern),
      key<Task>("buffer", pages(), "four times the last-level cache", "traffic: size of the memory that it sweeps",
                &Task::buffer),
      key<Task>("resolution", integer<unsigned>(smallest_picture, largest_picture),
                "winograd: side of the square picture that it convolves", &Task::resolution),
      key<Task>("size", integer<unsigned>(1, largest_size), "required for micro-benchmarks of memory policies",
                "problem size: elements of vector-add, random-access; sides of the matrices of matrix-add, "
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
                      std::string(part) + ": needs wcet too, as a duration; a profile gives all three parts");
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
