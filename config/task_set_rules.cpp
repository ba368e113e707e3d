// Checks the rules between the values of a task set.
#include "config/task_set_rules.hpp"

#include "config/toml_readers.hpp"
#include "config/memory_policy.hpp"
#include "config/task_channels.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>
#include <system_error>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using namespace config;

void check_times(const Task& task, const Rules& rules) {
  if (task.deadline > task.period)
    broken(rules, {"deadline", "period"}, task.deadline, "longer than the period, " + to_string(task.period));
  if (!task.wcet) return;
  if (rules.is_bad("wcet") || rules.is_bad("wcet_before") || rules.is_bad("wcet_after"))
    return; // the sum might overflow
  if (!task.wcet->uses_device() && task.workload != WorkloadKind::custom)
    broken(rules, {"wcet", "workload"}, task.wcet->device,
           "a " + std::string(spelling(task.workload)) +
               " task uses the device: must be at least 1ns; only a workload of your own may be 0ns");
  const Duration sum = task.wcet->before + task.wcet->device + task.wcet->after;
  if (sum > task.deadline)
    broken(rules, {"wcet", "deadline", "period"}, task.wcet->device,
           "the parts of a job take " + to_string(sum) + " in total, longer than the deadline, " +
               to_string(task.deadline));
}

void check_exists(const std::filesystem::path& file, std::string_view key, bool may_be_folder, const Rules& rules) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::is_regular_file(status) || (may_be_folder && std::filesystem::is_directory(status))) return;
  const std::string what = std::filesystem::exists(status) ? "not a file" : "no such file";
  broken(rules, {key}, file, what + (may_be_folder ? " or folder" : ""));
}

/// Checks recurrent state: each output may be the next state of only one input, and such an input has no other source.
/// Whether the tensors exist is checked only when the model is read.
void check_state(const Task& task, const Rules& rules) {
  std::map<std::string_view, std::string_view> inputs; // by output
  for (const auto& [input, output] : task.state) {
    const std::string shown = "state: " + toml_string(input) + " = " + toml_string(output) + ": ";
    if (const auto [other, is_new] = inputs.emplace(output, input); !is_new)
      rules.broken({"state"}, shown + "the output goes to input " + toml_string(other->second) + " already");
    if (std::ranges::find(task.inputs, input, &TaskInput::tensor) != task.inputs.end())
      rules.broken({"state"}, shown + "inputs has another source for this input; remove one of them");
  }
}

void check_backend(const Task& task, const Rules& rules) {
  if (is_built_in(task)) return;
  if (task.backend.contains('/')) check_exists(task.backend, "backend", false, rules);
  else if (!std::ranges::all_of(task.backend, [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
           }))
    rules.broken({"backend"},
                 "backend = " + toml_string(task.backend) +
                     ": write a name of letters, digits, '-' and '_', or the path of a shared object, ./FILE.so");
  const auto only = [&](const char* key, bool given) {
    if (given) rules.broken({key, "backend"}, std::string(key) + ": only for the built-in back end");
  };
  only("constant", !task.constant.empty());
  only("state", !task.state.empty());
  only("footprint", task.footprint.has_value());
}

void check_dnn(const Task& task, const Rules& rules) {
  check_backend(task, rules);
  check_state(task, rules);
  if (task.model.empty()) rules.broken({"model", "workload"}, "model: a dnn task needs an ONNX file");
  else check_exists(task.model, "model", false, rules);
  if (!task.input.empty()) check_exists(task.input, "input", true, rules);
  if (task.memory_class != MemoryClass::state && !task.footprint)
    broken(rules, {"class", "footprint", "workload"}, task.memory_class,
           "a dnn task needs footprint too: class is for the memory that it adds to the network");
}

void check_no_dnn(const Task& task, const Rules& rules) {
  for (const auto& [key, file] : {std::pair("model", task.model), std::pair("input", task.input)})
    if (!file.empty()) broken(rules, {key, "workload"}, file, "only for dnn tasks");
  if (!task.backend.empty()) rules.broken({"backend", "workload"}, "backend: only for dnn tasks");
  if (!task.shape.empty()) rules.broken({"shape", "workload"}, "shape: only for dnn tasks");
  if (!task.constant.empty()) rules.broken({"constant", "workload"}, "constant: only for dnn tasks");
  if (!task.state.empty()) rules.broken({"state", "workload"}, "state: only for dnn tasks");
  if (task.precision != Precision::fp32)
    broken(rules, {"precision", "workload"}, task.precision,
           "only for dnn tasks; a " + std::string(spelling(task.workload)) + " one " +
               (task.workload == WorkloadKind::winograd || is_micro_benchmark(task.workload) ? "computes in fp32"
                : task.workload == WorkloadKind::custom ? "chooses its own arithmetic"
                                                        : "computes nothing"));
}

void check_traffic(const Task& task, const Rules& rules) {
  if (task.workload == WorkloadKind::traffic && !task.traffic_before)
    rules.broken({"traffic_before", "workload"},
                 "traffic_before: a traffic task needs the amount of memory that each job moves");
  if (task.traffic_after && !task.traffic_before)
    broken(rules, {"traffic_after", "traffic_before"}, *task.traffic_after,
           "needs traffic_before too, 0B if there is none");
  if (task.buffer && task.workload != WorkloadKind::traffic)
    broken(rules, {"buffer", "workload"}, *task.buffer, "only for traffic tasks");
}

void check_layers(const Task& task, const Rules& rules) {
  if (task.layers && task.workload != WorkloadKind::synthetic)
    rules.broken({"layers", "workload"}, "layers: only for synthetic tasks");
  if (task.live > Bytes{0} && !task.layers)
    broken(rules, {"live", "layers"}, task.live, "needs layers too, between which its contents survive");
  if (!task.layers || task.layers->times.empty() || !task.wcet || rules.is_bad("layers")) return;
  const auto& times = task.layers->times;
  const Duration sum = std::accumulate(times.begin(), times.end(), Duration(0));
  if (sum != task.wcet->device)
    rules.broken({"layers", "wcet"}, "layers: they take " + to_string(sum) + " in total, but wcet is " +
                                         to_string(task.wcet->device) + "; both must be equal");
}

void check_synthetic(const Task& task, const Rules& rules) {
  if (!task.wcet) rules.broken({"wcet", "workload"}, "wcet: a synthetic task needs a duration");
  if (!task.footprint || *task.footprint == Bytes{0})
    rules.broken({"footprint", "workload"}, "footprint: a synthetic task needs a size, at least 1B");
}

void check_benchmark(const Task& task, const Rules& rules) {
  const std::string kind(spelling(task.workload));
  if (is_micro_benchmark(task.workload)) {
    if (!task.size) rules.broken({"size", "workload"}, "size: a " + kind + " task needs the size of its problem");
    return;
  }
  if (task.size) broken(rules, {"size", "workload"}, *task.size, "only for micro-benchmarks of memory policies");
}

void check_policy(const Task& task, const Rules& rules) {
  if (!waits_for_pages(task.memory_policy)) return;
  const bool switches = task.memory_policy == MemoryPolicy::switching;
  const bool network = task.workload == WorkloadKind::dnn || task.workload == WorkloadKind::winograd;
  if (!is_micro_benchmark(task.workload) && (switches || !network))
    broken(rules, {"memory_policy", "workload"}, task.memory_policy,
           switches ? "only for micro-benchmarks of memory policies"
                    : "only for dnn and winograd tasks and micro-benchmarks of memory policies; device memory of a " +
                          std::string(spelling(task.workload)) + " task lives under D");
  const auto refuse = [&](std::string_view key, Bytes size) {
    broken(rules, {key, "memory_policy"}, size, "only under memory_policy = \"D\": the others swap nothing");
  };
  if (task.footprint && task.workload == WorkloadKind::dnn) refuse("footprint", *task.footprint);
  if (task.swap_volume) refuse("swap_volume", *task.swap_volume);
}

void check_memory(const Task& task, const Rules& rules) {
  if (task.swappable && !task.footprint)
    broken(rules, {"swappable", "footprint"}, *task.swappable, "needs footprint too, of which it is a part");
  if (task.swappable && task.footprint && *task.swappable > *task.footprint)
    broken(rules, {"swappable", "footprint"}, *task.swappable,
           "more than the footprint, " + to_string(*task.footprint));
  if (task.resident && task.swap_volume && *task.resident > *task.swap_volume)
    broken(rules, {"resident", "swap_volume"}, *task.resident,
           "more than the swap volume, " + to_string(*task.swap_volume));
  if (!task.swap_volume) return;
  if (task.swappable && *task.swap_volume > *task.swappable)
    broken(rules, {"swap_volume", "swappable"}, *task.swap_volume, "more than swappable = " + literal(*task.swappable));
  else if (task.footprint && *task.swap_volume > *task.footprint)
    broken(rules, {"swap_volume", "footprint"}, *task.swap_volume,
           "more than the footprint, " + to_string(*task.footprint));
}

void check_co_running(const Task& task, const Rules& rules) {
  if (task.mapping_idle && !task.co_run_wcet)
    broken(rules, {"mapping_idle", "co_run_wcet"}, *task.mapping_idle, "needs co_run_wcet too");
  if (task.mapping_idle && task.co_run_wcet && *task.mapping_idle > *task.co_run_wcet)
    broken(rules, {"mapping_idle", "co_run_wcet"}, *task.mapping_idle,
           "longer than the device part, co_run_wcet = " + literal(*task.co_run_wcet));
  if (task.mapping_idle && task.memory_policy == MemoryPolicy::device)
    broken(rules, {"mapping_idle", "memory_policy"}, *task.mapping_idle, "under D no job waits for pages");
  if (task.co_run_wcet && task.wcet && *task.co_run_wcet < task.wcet->device)
    broken(rules, {"co_run_wcet", "wcet"}, *task.co_run_wcet,
           "shorter than the execution alone, wcet = " + literal(task.wcet->device));
}

/// Returns the level of a task in the syntax of a file.
std::string level_of(const Task& task) {
  return *task.device_class == 0 ? "\"top\"" : std::to_string(*task.device_class);
}

bool can_be_cut(WorkloadKind workload) {
  return workload == WorkloadKind::dnn || workload == WorkloadKind::synthetic || workload == WorkloadKind::custom;
}

/// Returns the reason why device parts may not be preempted at the ends of segments, with the key that prevents
/// preemption. Returns nullopt if they may be preempted.
std::optional<std::string> problem_of_preemption(const TaskSet& set) {
  if (set.swap.policy != SwapPolicy::pipelined && set.swap.policy != SwapPolicy::none)
    return "no job is preempted with [swap] policy = " + literal(set.swap.policy) + ": use \"pipelined\" or \"none\"";
  if (set.device.co_run) return "no job is preempted with [device] co_run = true: leave out co_run";
  return std::nullopt;
}

void check_segments(const TaskSet& set, const Task& task, const Rules& rules, Report& report) {
  const KeyPath policy{.table = "swap", .index = 0, .key = "policy"},
      co_run{.table = "device", .index = 0, .key = "co_run"};
  const bool cut = task.segments.value_or(1) > 1, streamed = task.constants == Constants::streamed;
  if (const auto problem = problem_of_preemption(set)) {
    const auto refuse = [&](std::string_view key, const std::string& value) {
      report.relation({rules.of(key), policy, co_run}, std::string(key) + " = " + value + ": " + *problem);
    };
    if (cut) refuse("segments", literal(*task.segments));
    if (task.device_class) refuse("level", level_of(task));
    if (streamed) refuse("memory", literal(task.constants));
  }
  if (cut && !can_be_cut(task.workload))
    broken(
        rules, {"segments", "workload"}, *task.segments,
        "a " + std::string(spelling(task.workload)) + " task cannot be cut; only dnn, synthetic and custom ones can");
  if (cut && task.workload == WorkloadKind::synthetic) {
    const std::size_t layers = task.layers ? task.layers->number() : 1;
    if (*task.segments > layers)
      broken(rules, {"segments", "layers"}, *task.segments,
             "more than its layers, of which it has " + std::to_string(layers));
  }
  if (task.device_class && !task.real_time())
    rules.broken({"level", "criticality"},
                 "level = " + level_of(task) + ": only for real-time tasks; best-effort tasks are below all levels");
  if (task.device_class == 0U && task.swap_volume && *task.swap_volume > Bytes{0})
    rules.broken({"level", "swap_volume"},
                 "level = \"top\": a top-class task is not swapped; leave out swap_volume, or use a numbered level");
}

void check_streaming(const Task& task, const Rules& rules) {
  if (task.stream_chunks && task.constants != Constants::streamed)
    broken(rules, {"stream_chunks", "memory"}, *task.stream_chunks, "needs memory = \"stream\" too");
  if (task.constants != Constants::streamed) return;
  const auto refuse = [&](std::string_view key, const std::string& why) {
    broken(rules, {"memory", key}, task.constants, why);
  };
  if (task.workload == WorkloadKind::synthetic) {
    if (task.memory_class != MemoryClass::constant)
      refuse("class", "a synthetic task streams constants; write class = \"constant\"");
  } else if (task.workload != WorkloadKind::dnn) {
    refuse("workload", "only for dnn and synthetic tasks");
  }
  if (waits_for_pages(task.memory_policy))
    refuse("memory_policy", "only under memory_policy = \"D\": the others copy nothing");
  if (task.device_class == 0U)
    refuse("level", "a top-class task cannot wait for copies; use a numbered level, or leave level out");
  if (task.swap_volume)
    refuse("swap_volume", "the swap volume of a streamed task is its ring buffer; write stream_chunks");
}

void check_releases(const Task& task, const Rules& rules) {
  if (!task.releases) return;
  const auto early = std::ranges::adjacent_find(
      *task.releases, [&](Duration earlier, Duration later) { return later - earlier < task.period; });
  if (early != task.releases->end())
    rules.broken({"releases", "period"}, "releases: " + to_string(*std::next(early)) + " comes less than a period, " +
                                             to_string(task.period) + ", after " + to_string(*early) +
                                             ": write them in ascending order, at least a period apart");
  if (task.offset != 0ns)
    broken(rules, {"offset", "releases"}, task.offset, "releases gives the first release; leave out offset");
  if (task.on_overrun == OnOverrun::abort_job)
    broken(rules, {"on_overrun", "releases"}, task.on_overrun, "needs periodic releases; leave out releases");
}

void check_priority(const Task& task, const Rules& rules, PriorityAssignment priorities, Report& report) {
  const KeyPath assigned{.table = "executive", .index = 0, .key = "priorities"};
  const bool is_explicit = priorities == PriorityAssignment::explicit_priorities;
  if (is_explicit && !task.priority)
    report.relation({rules.of("priority"), assigned}, "priority: priorities = \"explicit\" needs one");
  if (!is_explicit && task.priority)
    report.relation({rules.of("priority"), assigned}, "priority = " + std::to_string(*task.priority) +
                                                          ": only with priorities = \"explicit\" in [executive]");
}

void check_device(const DeviceOptions& device, const Rules& rules) {
  if (!device.capacity || !device.chunk) return;
  if (rules.is_bad("chunk")) return; // the chunk may be 0
  if (const std::string problem = problem_of_multiple(*device.capacity, *device.chunk); !problem.empty())
    broken(rules, {"capacity", "chunk"}, *device.capacity, problem);
}

void check_library(const Task& task, const Rules& rules) {
  if (!task.library.empty()) check_exists(task.library, "workload", false, rules);
  if (!task.arguments.empty() && task.library.empty() && is_built_in(task))
    rules.broken({"arguments", "workload"}, "arguments: only for workload = \"lib:FILE\", or with a backend");
}

void check_workload(const Task& task, const Rules& rules) {
  check_library(task, rules);
  if (task.workload == WorkloadKind::dnn) return check_dnn(task, rules);
  check_no_dnn(task, rules);
  if (task.workload == WorkloadKind::synthetic) return check_synthetic(task, rules);
  if (task.footprint) broken(rules, {"footprint", "workload"}, *task.footprint, "only for synthetic and dnn tasks");
}

void check_bandwidth(const TaskSet& set, Report& report) {
  const BandwidthOptions& asked = set.bandwidth;
  const Rules rules(report, "bandwidth");
  if (asked.slowdown && !asked.best_effort)
    rules.broken({"slowdown", "best_effort"}, "slowdown: needs best_effort too, the initial value of the closed loop");
  if (asked.slowdown && asked.best_effort && asked.floor > *asked.best_effort)
    broken(rules, {"floor", "best_effort"}, asked.floor, "more than best_effort, " + to_string(*asked.best_effort));
  check_unique<unsigned>("bandwidth.core", "core", set.core_budgets, &CoreBudget::core, literal<unsigned>, report);
}

void check_trigger(const Task& task, const Rules& rules) {
  if (task.trigger == Trigger::timer) return;
  if (task.offset != 0ns) broken(rules, {"offset", "trigger"}, task.offset, "only for tasks that a timer releases");
  if (task.on_overrun == OnOverrun::abort_job)
    broken(rules, {"on_overrun", "trigger"}, task.on_overrun,
           "needs periodic releases; only for tasks that a timer releases");
  if (task.trigger == Trigger::after && task.input_delay)
    broken(
        rules, {"input_delay", "trigger"}, *task.input_delay,
        "the jobs of task '" + task.after + "' release this one: chains are measured from the sampling for that task");
  if (task.trigger == Trigger::after && task.releases)
    rules.broken({"releases", "trigger"}, "releases: the jobs of task '" + task.after + "' release this one");
}

/// Returns the index of the task with this name, or nullopt if there is no such task.
std::optional<std::size_t> find_task(const TaskSet& set, std::string_view name) {
  const auto found = std::ranges::find(set.tasks, name, &Task::name);
  return found == set.tasks.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - set.tasks.begin()));
}

/// True if the release of task `i` depends, through other tasks, on the end of task `i`.
bool releases_itself(const TaskSet& set, std::size_t i) {
  std::size_t at = i;
  for (std::size_t steps = 0; steps < set.tasks.size(); ++steps) {
    const auto before = set.tasks[at].trigger == Trigger::after ? find_task(set, set.tasks[at].after) : std::nullopt;
    if (!before) return false;
    if (*before == i) return true;
    at = *before;
  }
  return false;
}

void check_after(const TaskSet& set, std::size_t i, Report& report) {
  const Task& task = set.tasks[i];
  if (task.trigger != Trigger::after) return;
  const std::string shown = "trigger = " + toml_string("after:" + task.after) + ": ";
  const auto before = find_task(set, task.after);
  const KeyPath here{.table = "task", .index = i, .key = "trigger"};
  const auto of = [](std::size_t index, std::string_view key) {
    return KeyPath{.table = "task", .index = index, .key = key};
  };
  if (!before) return report.relation({here}, shown + "no task has this name");
  if (releases_itself(set, i))
    return report.relation({here, of(*before, "trigger")}, shown + "the task waits for itself");
  const Task& first = set.tasks[*before];
  if (task.period > first.period)
    report.relation({here, of(i, "period"), of(*before, "period")},
                    shown + "the period, " + to_string(task.period) + ", is longer than that of task '" + first.name +
                        "', " + to_string(first.period) + ": not every job of that task could release a job");
  if (task.real_time() && !first.real_time())
    report.relation({here, of(i, "criticality"), of(*before, "criticality")},
                    shown + "a real-time task cannot wait for a best-effort task, which has no promised response");
}

/// Checks that each task of a chain exists. Also checks that a task whose release is triggered by another task follows
/// that task in the chain.
void check_chain(const TaskSet& set, std::size_t i, Report& report) {
  const Chain& chain = set.chains[i];
  const KeyPath here{.table = "chain", .index = i, .key = "tasks"};
  for (std::size_t at = 0; at < chain.tasks.size(); ++at) {
    const std::string who = "tasks: " + toml_string(chain.tasks[at]);
    const auto index = find_task(set, chain.tasks[at]);
    if (!index) {
      report.relation({here}, who + ": no task has this name");
      continue;
    }
    const Task& task = set.tasks[*index];
    if (task.trigger != Trigger::after || (at > 0 && chain.tasks[at - 1] == task.after)) continue;
    report.relation({here, {.table = "task", .index = *index, .key = "trigger"}},
                    who + " is released after task '" + task.after + "', and must come directly after it");
  }
}

/// Checks that a task has the same communication in all its chains.
void check_communication(const TaskSet& set, Report& report) {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < set.chains.size(); ++i)
    for (const std::string& task : set.chains[i].tasks) {
      const std::size_t earlier = first.try_emplace(task, i).first->second;
      if (set.chains[earlier].communicate == set.chains[i].communicate) continue;
      const Rules rules(report, "chain", i);
      report.relation({rules.of("communicate"), rules.of("tasks"), Rules(report, "chain", earlier).of("communicate")},
                      "communicate = " + literal(set.chains[i].communicate) + ": task '" + task +
                          "' communicates differently in chain '" + set.chains[earlier].name + "'");
      break;
    }
}

} // namespace

void config::check_rules(const TaskSet& set, Report& report) {
  if (set.tasks.empty())
    report.relation({KeyPath{}, {.table = "task", .index = 0, .key = {}}}, "no task: needs at least one [[task]]");
  check_device(set.device, Rules(report, "device"));
  check_bandwidth(set, report);
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const Task& task = set.tasks[i];
    const Rules rules(report, "task", i);
    check_times(task, rules);
    check_workload(task, rules);
    check_traffic(task, rules);
    check_memory(task, rules);
    check_layers(task, rules);
    check_segments(set, task, rules, report);
    check_streaming(task, rules);
    check_co_running(task, rules);
    check_benchmark(task, rules);
    check_policy(task, rules);
    check_releases(task, rules);
    check_channels(set, i, report);
    check_trigger(task, rules);
    check_after(set, i, report);
    check_priority(task, rules, set.executive.priorities, report);
  }
  check_unique<std::string>("task", "name", set.tasks, &Task::name, toml_string, report);
  check_unique<int>("task", "priority", set.tasks, &Task::priority, literal<int>, report);
  for (std::size_t i = 0; i < set.chains.size(); ++i) check_chain(set, i, report);
  check_communication(set, report);
  check_unique<std::string>("chain", "name", set.chains, &Chain::name, toml_string, report);
}

} // namespace rtexec
