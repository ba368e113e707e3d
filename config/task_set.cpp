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
  return {key<TaskSet>("board", text(), "the board: the name of a built-in board, or the path of a board file",
                       &TaskSet::board)};
}

std::vector<Key<ExecutiveOptions>> executive_keys() {
  using E = ExecutiveOptions;
  return {
      key<E>(
          "order", one_of<Order>(),
          "order in which jobs get the device: edf: earliest deadline first; static-priority: highest priority first",
          &E::order),
      key<E>(
          "priorities", one_of<PriorityAssignment>(),
          "how static priorities are assigned: rate-monotonic: the shorter period is more urgent; deadline-monotonic: "
          "the shorter deadline is more urgent; explicit: by the key priority of each task; audsley: by Audsley's "
          "search. With order = \"edf\" the priorities apply to CPU parts only, and audsley means deadline-monotonic",
          &E::priorities),
      key<E>("duration", duration(1ms, longest_run), "unlimited: the run lasts until it is stopped", "length of a run",
             &E::duration),
      key<E>("allow_degraded", boolean(),
             "true: if the machine refuses a real-time setting, run without promised deadlines; false: refuse the run",
             &E::allow_degraded),
      key<E>("threads", one_of<ThreadPolicy>(),
             "kernel scheduling class of the executive's threads: fifo: SCHED_FIFO; deadline: SCHED_DEADLINE; auto: "
             "fifo, or deadline if this machine permits only SCHED_DEADLINE",
             &E::threads),
      key<E>("keep_awake", boolean(),
             "true: keep the run's cores out of idle states. Wake-ups are faster, especially in a virtual machine, and "
             "the machine uses more power",
             &E::keep_awake),
      key<E>(
          "lock_clocks", boolean(),
          "true: lock the clocks of cores, GPU and memory that the board file lists at the highest rate that the power "
          "mode allows. They are restored at the end of the run; after a killed run, `rtexec restore` restores them",
          &E::lock_clocks),
      key<E>("profile", path(), "the task set's file name with .profile.toml instead of .toml",
             "file of measured WCETs, which `rtexec profile` writes", &E::profile),
      key<E>("wcet_exceedance", real(1e-12, 0.1),
             "share of jobs that may exceed a measured WCET. `rtexec profile` extrapolates each WCET to this share if "
             "the measured execution times allow it",
             &E::wcet_exceedance),
  };
}

std::vector<Key<DeviceOptions>> device_keys() {
  using D = DeviceOptions;
  return {
      key<D>("capacity", pages(), "all memory of the board's device",
             "device memory that the tasks may use; a multiple of the chunk size", &D::capacity),
      key<D>("chunk", word_or("auto", pages()),
             "chunk size: the unit in which physical device memory is allocated and swapped; auto: the chunk size of "
             "the board file",
             &D::chunk),
      key<D>("completion", one_of<Completion>(),
             "how the executive waits for a GPU: block: its thread sleeps; spin: its thread polls, which reacts faster "
             "and occupies the compute core completely",
             &D::completion),
      key<D>("co_run", boolean(),
             "true: while a job under memory policy M or H waits for pages, a job under policy D may execute on the "
             "device. All tasks' memory must fit into the device. Only tasks with co_run_wcet co-run; tasks under M or "
             "H also need mapping_idle. On a GPU, tasks with a backend or a workload in C or C++ never co-run",
             &D::co_run),
      key<D>(
          "launch_ahead", word_or("auto", integer<std::uint32_t>(0, max_launch_ahead)),
          "number of segments of a job that are launched while an earlier segment executes. More segments shorten "
          "the gaps between segments, but delay preemption. auto: 1 if the set is proved only with it, or if it saves "
          "at least 1 % of the device's time; otherwise 0",
          &D::launch_ahead),
      key<D>("memory_objective", one_of<MemoryObjective>(),
             "how memory_policy = \"auto\" chooses among the policies with which the set is proved: most-slack: the "
             "largest slack to the deadlines that fits into the capacity; least-memory: the smallest memory",
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
      key<S>(
          "policy", one_of<SwapPolicy>(),
          "how tasks share device memory that is too small for all of them: pipelined: the memory of the next job is "
          "loaded while a job executes; serial: memory is loaded only for the most urgent job; rt-swap: RT-Swap as "
          "published (RTSS 2023); mo-vmm, min, pageable, lru: the baselines of that paper; none: all memory must fit",
          &S::policy),
      key<S>("store", store(),
             "pinned memory; on a board with unified_memory = true a file: the task set's file name with .swap",
             "where swapped chunks are stored: pinned: in page-locked host memory; file:PATH: in this file", &S::store),
      key<S>("candidates", one_of<SwapCandidates>(),
             "which memory of a task is swapped first: constants-first: constants, which are not copied out; "
             "largest-first: its largest memory objects",
             &S::candidates),
      key<S>("skip_unchanged", boolean(),
             "true: a chunk of state is copied out only if its digest has changed since its last copy. Admission "
             "assumes that every chunk is copied",
             &S::skip_unchanged),
      key<S>("verify", boolean(),
             "true: check the digest of each chunk after it was loaded; a job whose memory differs from the stored "
             "memory fails",
             &S::verify),
  };
}

constexpr Duration shortest_regulation = 100us;
constexpr Duration longest_regulation = 1s;
constexpr Bandwidth min_budget{1000};
constexpr double greatest_slowdown = 100;
constexpr unsigned smallest_picture = 16;
constexpr unsigned largest_picture = 2896;   // so that offsets in a picture fit 32 bits
constexpr double largest_constant = 1e15;    // integers up to this value are exact
constexpr unsigned largest_size = 1U << 28U; // for any micro-benchmark; tasks/loads/benchmarks has lower limits

std::vector<Key<BandwidthOptions>> bandwidth_keys() {
  using B = BandwidthOptions;
  return {
      key<B>("period", duration(shortest_regulation, longest_regulation),
             "regulation period: the budgets of all cores are refilled once in each period", &B::period),
      key<B>("best_effort", word_or("unlimited", bandwidth(min_budget)),
             "maximum memory bandwidth of each core that executes no real-time task and does not feed the device, at "
             "the times that the key `while` selects",
             &B::best_effort),
      key<B>("while", one_of<RegulateWhile>(),
             "when the limit best_effort is in force: device-works: while a job executes on the device or chunks are "
             "copied; device-busy: from a job's request for the device to the end of its device part; always: at all "
             "times",
             &B::regulate_while),
      key<B>("reclaim", boolean(),
             "true: a core donates the part of its budget that it is predicted not to use, and cores that have used up "
             "their budgets take it",
             &B::reclaim),
      key<B>("sharing", one_of<BandwidthSharing>(),
             "rule for the rest of a period in which all regulated cores have used up their budgets: none: all these "
             "cores are stopped until the period ends; spare: all continue without a limit; proportional: a new period "
             "begins at once",
             &B::sharing),
      key<B>("overshoot", one_of<Overshoot>(),
             "rule for traffic that exceeds a budget: carry: the excess is deducted from the core's next budgets; "
             "forgive: the excess is ignored",
             &B::overshoot),
      key<B>("slowdown", real(1, greatest_slowdown), "none: best_effort is constant",
             "maximum length of device executions as a multiple of their undisturbed length (1.1: 10 % longer). A "
             "control loop adjusts best_effort during the run to keep this limit",
             &B::slowdown),
      key<B>("floor", bandwidth(min_budget),
             "with slowdown: the lowest value that the control loop sets for best_effort", &B::floor),
      key<B>("counter", one_of<CounterBackEnd>(),
             "how memory traffic is counted and cores are throttled: core: a counter counts for each core, and a "
             "high-priority thread throttles the core by occupying it; thread: a counter counts for each thread of "
             "this process, and the thread pauses itself; polling: like core, but the counter is read several times in "
             "each period; auto: the first of these that works on this machine",
             &B::counter),
      optional_text<B>("event", "the event of the board's [[counter]], or cache-misses",
                       "hardware or kernel event that counts memory traffic: page-faults, cycles, cache-misses, r17 (a "
                       "raw event number, hexadecimal), or pmu_name/0x2a4 (an event of the PMU pmu_name)",
                       &B::event),
  };
}

std::vector<Key<CoreBudget>> core_budget_keys() {
  return {
      key<CoreBudget>("core", integer<unsigned>(0, last_core), required,
                      "the core that the budget limits; each core may have one [[bandwidth.core]]", &CoreBudget::core),
      key<CoreBudget>("budget", bandwidth(min_budget), required,
                      "maximum memory bandwidth of this core; the limit is always in force", &CoreBudget::budget)};
}

std::vector<Key<OutputOptions>> output_keys() {
  using O = OutputOptions;
  return {key<O>("trace", path(), "no trace",
                 "`rtexec run` records each run as an LTTng trace in a new folder below this one; the symbolic link "
                 "latest points to the newest trace",
                 &O::trace),
          key<O>("jobs", path(), "no file",
                 "`rtexec run` writes one line for each job to this CSV file, like its option --jobs", &O::jobs),
          key<O>("json", path(), "no file", "`rtexec run` writes its report to this JSON file, like its option --json",
                 &O::json)};
}

/// Makes the key of a CPU part's WCET. The value is stored only if the task set contains the task's `wcet`. Otherwise
/// complete_task() reports an error.
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
      "worst-case execution time of the device part; \"profile\": the times of all three parts are taken from the "
      "profile file; 0ns: the job does not use the device (only for custom workloads)",
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
      "what each job runs: dnn: a network; synthetic: a load of given times and memory; traffic: memory traffic on a "
      "core; winograd: a convolution; vector-add to euclidean-clustering: micro-benchmarks of memory policies; custom: "
      "a workload that the program which runs the set provides; lib:FILE: your own workload from this shared object "
      "(workload.h)",
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
      "what releases a job: timer: a timer, once in each period; input: a new frame or sample of one of the task's "
      "inputs; call: a call by the program that runs the set; after:TASK: the end of a job of TASK (with communicate = "
      "\"let\": that job's deadline). A trigger that comes less than a period after the previous release waits until "
      "the period has passed; a newer trigger replaces a waiting one",
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
      "maximum number of segments that the device part is divided into; more urgent tasks may preempt it between two "
      "segments. none: it is not divided; auto: it is divided as far as the deadlines of more urgent tasks need. Not "
      "available with co_run = true or with swap policies other than pipelined and none",
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
      "level", preemption_class(), "the planner chooses it",
      "preemption class, which decides between two segments of another job: top: the task preempts all less urgent "
      "tasks, and its memory is never swapped; 1 to 99: the task preempts tasks of larger levels, and their weights "
      "may be swapped out for it",
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
  constexpr std::int64_t largest = std::int64_t{1}
                                   << 28; // tasks/engine limits the number of elements of all dimensions together
  return line_of(integer<std::int64_t>(0, largest));
}

std::vector<Key<Chain>> chain_keys() {
  return {
      key<Chain>("name", identifier(), required, "name of the chain; no other chain may have it", &Chain::name),
      key<Chain>("tasks", set_of(identifier()), required,
                 "names of the tasks through which the data pass, in order from the sensor to the actuator",
                 &Chain::tasks),
      key<Chain>("communicate", one_of<Communication>(),
                 "when jobs of the chain read and publish data: immediate: a job reads when its first part begins, and "
                 "publishes its outputs when its last part ends; let (logical execution time): a job reads at its "
                 "release, and publishes at its deadline",
                 &Chain::communicate),
      key<Chain>("max_reaction", duration(1ns, longest_run), "no limit",
                 "maximum reaction time: from an event that a job of the first task has just missed to the first "
                 "output of the last task that takes the event into account. If the first task has input_delay, the "
                 "time begins at the first sampling that shows the event. A set whose bound is longer is not proved",
                 &Chain::max_reaction),
      key<Chain>("max_age", duration(1ns, longest_run), "no limit",
                 "maximum data age: from the time at which the first task reads the data to the time at which the "
                 "output made from them is replaced by the next output of the last task. If the first task has "
                 "input_delay, the time begins at the sampling of the data. A set whose bound is longer is not proved",
                 &Chain::max_age)};
}

std::vector<Key<Task>> task_keys() {
  return {
      key<Task>("name", identifier(), required, "name of the task; no other task may have it", &Task::name),
      workload_key(),
      optional_text<Task>(
          "arguments", "none: an empty text",
          "text that is passed to the shared object of your own workload (lib:FILE) or inference engine (backend)",
          &Task::arguments),
      key<Task>("model", path(), "none; dnn tasks require it",
                "dnn: the network, as an ONNX file, or as a file that the task's backend reads", &Task::model),
      optional_text<Task>("backend", "the built-in engine, \"rtexec\"",
                          "dnn: the inference engine. NAME: the shared object librtexec-backend-NAME.so; ./FILE.so "
                          "(any path with a /): this shared object (backend.h)",
                          &Task::backend),
      key<Task>("input", path(), "seeded pseudo-random values",
                "dnn: the data of the network's input: a picture, a folder of pictures, or a .npy file; "
                "[[task.inputs]] has more kinds of sources",
                &Task::input),
      table_key("shape", dimensions(),
                "dnn: the dimensions of each input that has dynamic dimensions, by input name: { image = [1, 3, 640, "
                "640] }. All dimensions of the input must be listed; those that the model fixes must have the model's "
                "size, and dimensions with the same name must have the same size",
                &Task::shape),
      table_key("constant", line_of(real(-largest_constant, largest_constant)),
                "dnn: the values of inputs that are equal in all jobs, by input name: { rate = [16000] }. The list has "
                "all elements of the input, or one number for all elements. Nodes that depend only on constant inputs "
                "are computed once, when the model is loaded",
                &Task::constant),
      table_key("state", text(),
                "dnn: recurrent state: the named input gets the named output of the previous job, as INPUT = "
                "\"OUTPUT\": { h = \"hn\" }. The first job gets zeros. Jobs that fail or are dropped do not change the "
                "state (rtexec/docs/user-guide/own-model.md)",
                &Task::state),
      key<Task>("precision", one_of<Precision>(),
                "dnn on a GPU: arithmetic of matrix products: fp32: single precision; tf32: factors rounded to 10 "
                "bits; fp16: factors and activations in half precision. Host devices always compute in fp32",
                &Task::precision),
      key<Task>("period", period(shortest_period, longest_interval), required,
                "time between two releases, or their frequency (\"30Hz\", whose period is rounded down to a whole "
                "nanosecond). For triggers other than timer it is the minimum time between two releases",
                &Task::period),
      trigger_key(),
      key<Task>("deadline", duration(1ns, longest_interval), "the period",
                "relative deadline: the maximum time from a job's release to its end; at most the period",
                &Task::deadline),
      key<Task>("offset", duration(0ns, longest_interval), "time from the start of the run to the first release",
                &Task::offset),
      key<Task>(
          "input_delay", duration(0ns, longest_interval),
          "not known: reaction times and data ages of chains count from the release",
          "maximum time from the sampling of the data that a job reads to the job's release. You guarantee it; a run "
          "counts the jobs that exceed it. Reaction times and data ages of chains that begin with this task then count "
          "from the sampling. If inputs or calls release the task, samples must be at least a period apart",
          &Task::input_delay),
      key<Task>("core", integer<unsigned>(0, last_core), "the planner chooses it",
                "core that executes the task's CPU parts", &Task::core),
      key<Task>("priority", integer<int>(lowest_priority, highest_priority),
                "none; required with priorities = \"explicit\"",
                "static priority of the task; a larger number is more urgent. Each task must have a different "
                "priority. Only with [executive] priorities = \"explicit\"",
                &Task::priority),
      key<Task>("criticality", one_of<Criticality>(),
                "real-time: admission must prove the deadline; best-effort: no deadline is promised, and real-time "
                "tasks go first",
                &Task::criticality),
      key<Task>("on_overrun", one_of<OnOverrun>(),
                "reaction to a job that is unfinished at the task's next release: skip: that release is dropped and "
                "counted; catch-up: every release gets a job, and late jobs execute one after the other; re-phase: the "
                "next job is released when the late job ends, and later releases count from that time; abort-job: the "
                "late job is abandoned, and the new job is released; stop: the run ends",
                &Task::on_overrun),
      key<Task>("on_wcet_exceeded", one_of<OnWcetExceeded>(),
                "reaction to a part of a job that takes longer than its WCET: tell: it is counted and shown, without a "
                "further reaction; skip-next: the task's next release is also dropped, unless a release was already "
                "dropped since this job's release; stop: the run ends",
                &Task::on_wcet_exceeded),
      key<Task>("memory_policy", one_of<MemoryPolicy>(),
                "kind of the task's device memory: D: device memory; M: managed memory; H: host memory that the device "
                "accesses; D/H: H while a job runs concurrently with a job under D, otherwise D; auto: if the task has "
                "no wcet, the planner chooses among the measured policies by [device] memory_objective, otherwise D. M "
                "and H are only for dnn tasks, winograd tasks and micro-benchmarks of memory policies, D/H is only for "
                "these micro-benchmarks (rtexec/docs/user-guide/memory-policies.md)",
                &Task::memory_policy),
      wcet_key(),
      wcet_part("wcet_before",
                "worst-case execution time of the CPU part before the device part; needs wcet as a duration",
                &Wcet::before),
      wcet_part("wcet_after",
                "worst-case execution time of the CPU part after the device part; needs wcet as a duration",
                &Wcet::after),
      renamed(
          "wcet_beside",
          key<Task>("co_run_wcet", duration(1ns, longest_interval),
                    "from the profile; if the profile has none, the task's jobs never execute concurrently",
                    "worst-case execution time of the device part while a job of another task executes concurrently "
                    "([device] co_run); for memory_policy = \"D/H\": the time under H",
                    &Task::co_run_wcet)),
      key<Task>("mapping_idle", duration(0ns, longest_interval), "from the profile; 0ns if the profile has none",
                "part of co_run_wcet in which the device part only waits for pages of memory; for memory policies M, H "
                "and D/H. A job under D whose co_run_wcet is not longer than this time may execute meanwhile",
                &Task::mapping_idle),
      segments_key(),
      level_key(),
      key<Task>("memory", one_of<Constants>(),
                "which weights are on the device while a job executes: whole: all weights; stream: only the weights of "
                "the next layers, which are loaded during the execution into a ring buffer of chunks, so that the "
                "network may be larger than the device memory; auto: the planner decides. stream is only for dnn "
                "tasks, and for synthetic tasks with class = \"constant\"",
                &Task::constants),
      key<Task>("stream_chunks", integer<std::uint32_t>(1, max_stream_chunks), "the planner chooses it",
                "size of the ring buffer in chunks; only with memory = \"stream\"", &Task::stream_chunks),
      key<Task>("footprint", bytes(), "dnn: the memory of its network; synthetic tasks require it",
                "total device memory of the task; dnn: at least the memory of its network", &Task::footprint),
      key<Task>("swappable", bytes(), "the footprint",
                "size of the part of the footprint that may be swapped out; needs footprint", &Task::swappable),
      key<Task>("class", one_of<MemoryClass>(),
                "contents of the swappable memory (dnn: of the memory by which the footprint exceeds the network's "
                "memory): constant: never changes, so it is not copied out; scratch: not needed between jobs, so all "
                "tasks share it and it is not copied; state: changes, so it is copied in and out",
                &Task::memory_class),
      key<Task>(
          "swap_volume", bytes(), "the planner chooses it",
          "size of the swappable memory that is really swapped; the rest stays on the device. Counted in whole chunks",
          &Task::swap_volume),
      key<Task>("resident", bytes(), "as much as fits; tasks get free chunks in their order in the file",
                "size of the part of the swap volume that is on the device at the start (in a run: before the "
                "warm-up); a multiple of the chunk size",
                &Task::resident),
      key<Task>("layers", synthetic_layers(), "1",
                "synthetic: number of layers of equal length in the device part; or a list of the duration of each "
                "layer, whose sum must be wcet. The device part can be divided into segments after each layer",
                &Task::layers),
      key<Task>("live", bytes(),
                "synthetic: device memory whose contents must be kept between two layers, in addition to the footprint",
                &Task::live),
      key<Task>("traffic_before", bytes(), "not known; traffic tasks require it",
                "maximum memory traffic of the CPU part before the device part (traffic tasks: the exact traffic). On "
                "a core with a bandwidth budget, admission derives from it how long the part is throttled",
                &Task::traffic_before),
      key<Task>("traffic_after", bytes(), "0B if traffic_before is given, otherwise not known",
                "maximum memory traffic of the CPU part after the device part, like traffic_before",
                &Task::traffic_after),
      key<Task>("pattern", one_of<TrafficPattern>(),
                "traffic: access pattern of each cache line: write: one word is written; read: one word is read; copy: "
                "the line is copied to the other half of the buffer; latency: the address of the next line is read "
                "from it, so that reads cannot overlap",
                &Task::pattern),
      key<Task>("buffer", pages(), "four times the size of the last-level cache",
                "traffic: size of the buffer that the task sweeps", &Task::buffer),
      key<Task>("resolution", integer<unsigned>(smallest_picture, largest_picture),
                "winograd: width and height in pixels of the square picture that is convolved", &Task::resolution),
      key<Task>(
          "size", integer<unsigned>(1, largest_size), "none; micro-benchmarks of memory policies require it",
          "problem size of a micro-benchmark: vector-add, random-access: number of elements; matrix-add, "
          "matrix-multiply, needleman-wunsch, gaussian, hotspot: side of the matrices; pathfinder: number of columns; "
          "bfs: number of nodes; nearest-neighbour: number of locations; euclidean-clustering: number of points",
          &Task::size),
      key<Task>("releases", list_of(duration(0ns, longest_run)), "periodic releases",
                "release times of the jobs, counted from the start, ascending and at least a period apart; only for "
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
          swap_cost_keys<SwapCostOptions>("the board's value for the chunk size in use")),
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

/// Resolves the paths in the set. Relative paths begin at the folder of the set's file.
void resolve_paths(TaskSet& set) {
  const std::filesystem::path folder = set.file.parent_path();
  const auto resolve = [&](std::filesystem::path& path) {
    if (!path.empty()) path = (folder / path).lexically_normal();
  };
  const auto resolve_unless_name = [&](std::string& text, auto is_path) {
    if (!is_path(text)) return;
    text = (folder / text).lexically_normal().string();
    if (!is_path(text)) text.insert(0, "./"); // makes the text a path, so that it is not read as a name
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
