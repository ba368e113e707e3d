#include "rtexec/cli/reports/verdict.hpp"

#include "config/memory_policy.hpp"
#include "config/names.hpp"
#include "config/resolve.hpp"
#include "config/base/text.hpp"
#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/scheduler/co_run.hpp"
#include "policies/memory/plan_memory.hpp"
#include "rtexec/runtime/executive/requirements.hpp"
#include "rtexec/runtime/planning/origins.hpp"
#include "rtexec/cli/text/columns.hpp"
#include "rtexec/cli/text/name_list.hpp"
#include "rtexec/cli/text/table.hpp"
#include "rtexec/cli/text/tone.hpp"

#include <algorithm>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

namespace rtexec::command {
namespace {

constexpr std::size_t columns = 80;

void print_item(std::ostream& out, const std::string& text) { print_wrapped(out, "  - " + text, "    "); }

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the tasks without a proved bound: "task 'a'", "tasks 'a', 'b' and 3 more".
std::string unpromised(const ResolvedSet& set, const Plan& plan) {
  constexpr std::size_t most = 2;
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    if (!set.tasks.tasks[i].real_time() || plan.tasks[i].promised) continue;
    if (++count <= most) names += (count == 1 ? "'" : ", '") + plan.tasks[i].name + "'";
  }
  if (count > most) names += " and " + std::to_string(count - most) + " more";
  return (count == 1 ? "task " : "tasks ") + names;
}

/// True if the process has only one core, but the host device needs a core in addition to the cores of the tasks.
bool has_too_few_cores(const ResolvedSet& set) { return set.board.computes_on_core() && set.machine.cores.size() < 2; }

/// Returns the reason why the plan is not proved: the task or resource that fails, with its numbers.
std::string why_not(const ResolvedSet& set, const Plan& plan) {
  if (!has_too_few_cores(set)) return plan.end_to_end.explanation;
  return "board '" + set.board.name +
         "' needs two cores: one executes networks, the other one the CPU parts of tasks; got only core " +
         std::to_string(set.machine.cores.front()) + ". Give this process another core (taskset, cpuset, " +
         "--cpuset-cpus of docker)";
}

/// Returns the chains whose bound exceeds a limit: "the limits of chain 'a'".
std::string unkept(const Plan& plan) {
  std::string names;
  std::size_t count = 0;
  for (const PlannedChain& chain : plan.chains)
    if (!chain.kept) names += (count++ == 0 ? "'" : ", '") + chain.name + "'";
  return (count == 1 ? "the limits of chain " : "the limits of chains ") + names;
}

/// Returns the requirements of a run that the set's machine is known not to fulfil. Starts no run.
std::vector<std::string> foreseen(const ResolvedSet& set, const Plan& plan) {
  std::vector<executive::Requirement> needs = executive::absent_cores(set, plan);
  const bool reserved = policies::reserved(set.tasks);
  if (const std::string& refusal = reserved ? set.machine.no_deadline : set.machine.no_fifo; !refusal.empty())
    needs.push_back(executive::refused(reserved ? "SCHED_DEADLINE" : "SCHED_FIFO", {Errc::refused, refusal}));
  if (const std::string& refusal = set.machine.no_memory_lock; !refusal.empty())
    needs.push_back(executive::refused("locked memory", {Errc::refused, refusal}));
  return executive::degradations(needs);
}

void print_conditions(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  for (const Condition& each : conditions(set, plan)) print_item(out, each.supposed + ": " + each.known);
}

/// Prints the verdict in one line, followed by its conditions.
void print_judgement(std::ostream& out, const ResolvedSet& set, const Plan& plan, const Readiness& readiness) {
  const auto say = [&out](report::Tone tone, const std::string& verdict) {
    std::ostringstream lines;
    print_wrapped(lines, "Verdict: " + verdict);
    out << report::Toned{tone, lines.view()};
  };
  if (!plan.end_to_end.proved) {
    say(report::Tone::bad, "not proved: " + why_not(set, plan));
    return print_wrapped(out, "No deadline is promised for " + unpromised(set, plan));
  }
  if (!plan.proved)
    return say(report::Tone::bad, "not proved: every deadline would be kept, but the set exceeds " + unkept(plan));
  const bool may_degrade = set.tasks.executive.allow_degraded;
  const auto lacks = readiness.running || (readiness.asked && may_degrade) ? readiness.degraded
                     : may_degrade                                         ? foreseen(set, plan)
                                                                           : std::vector<std::string>();
  if (!lacks.empty()) {
    say(report::Tone::warning, std::string("would be proved, but ") + (readiness.running ? "this run" : "a run here") +
                                   " is degraded: the promise does not hold");
    for (const std::string& line : lacks) print_item(out, first_line_of(line));
    return;
  }
  const std::string other = executive::other_machine(set, plan);
  if (other.empty() && readiness.refused)
    say(report::Tone::warning,
        "proved, but `rtexec run` is refused on this machine (see below). Every real-time deadline would be kept if");
  else
    say(other.empty() ? report::Tone::good : report::Tone::warning,
        other.empty() ? "proved: every real-time deadline will be kept if" : "proved for " + other);
  constexpr std::size_t most = 2; // maximum number of refusals to print; the verdict's first line names all cores
  const auto absent = executive::absent_cores(set, plan);
  for (std::size_t i = 0; i < std::min(absent.size(), most); ++i)
    print_item(out, "`rtexec run` is refused: " + absent[i].state);
  print_conditions(out, set, plan);
}

/// Returns the task's preemption class on the device: "top class", or "level 2, 12 segments of at most 4.1 ms, 1
/// launched ahead".
std::string device_class_of(const PlannedTask& planned, std::uint32_t launch_ahead) {
  std::string text = planned.device_class == 0 ? "top class" : "level " + std::to_string(planned.device_class);
  if (planned.segments > 1)
    text += ", " + std::to_string(planned.segments) + " segments of at most " +
            readable(std::ranges::max(planned.segment_wcets));
  if (planned.segments > 1 && launch_ahead > 0 && !planned.stream)
    text += ", " + std::to_string(launch_ahead) + " launched ahead";
  return text;
}

/// Returns the location of the task's memory: "30 MiB swapped", or "streamed, 4 of 16 chunks at a time, 12 ms in place
/// of 11 ms". The times are the execution times with and without streaming.
std::string memory_of(const PlannedTask& planned) {
  if (planned.stream)
    return "streamed, " + std::to_string(planned.stream->ring) + " of " + std::to_string(planned.swap_slots.size()) +
           " chunks at a time, " + readable(planned.stream->execution) + " in place of " +
           readable(planned.wcet.device);
  return planned.swap_volume > Bytes{0} ? readable(planned.swap_volume) + " swapped" : "resident";
}

void print_tasks(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  std::vector<std::string> header{"task", "deadline", "bound", "slack", "core", "memory"};
  if (plan.preempts()) header.emplace_back("on the device");
  report::Table table(header);
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const PlannedTask& planned = plan.tasks[i];
    const Task& task = set.tasks.tasks[i];
    const auto& bound = planned.response_bound;
    std::vector<std::string> cells{task.name,
                                   readable(task.deadline),
                                   !task.real_time() ? "best effort"
                                   : bound           ? readable(*bound)
                                                     : "none",
                                   task.real_time() && bound ? readable(task.deadline - *bound) : "-",
                                   std::to_string(planned.core),
                                   memory_of(planned)};
    if (plan.preempts()) cells.push_back(task.wcet->uses_device() ? device_class_of(planned, plan.launch_ahead) : "-");
    table.add(std::move(cells));
  }
  table.print(out);
}

std::string or_none(const std::optional<Duration>& bound, std::string_view none) {
  return bound ? readable(*bound) : std::string(none);
}

/// True if the task's inputs are sampled outside of its own jobs. Such inputs have an age when the task reads them.
bool takes_samples(const Task& task) {
  return task.trigger == Trigger::input || task.trigger == Trigger::call ||
         std::ranges::any_of(task.inputs, [](const TaskInput& input) {
           return input.source == SourceKind::camera || input.source == SourceKind::iceoryx ||
                  input.source == SourceKind::program;
         });
}

/// Prints the instant from which the times of a chain are measured, if this instant may be later than the sampling of
/// the chain's input.
void print_begin(std::ostream& out, const ResolvedSet& set, const PlannedChain& chain) {
  const auto asked = std::ranges::find(set.tasks.chains, chain.name, &Chain::name);
  const Task& first = *std::ranges::find(set.tasks.tasks, asked->tasks.front(), &Task::name);
  const std::string bounds = "Bounds of chain '" + chain.name + "' count from ";
  if (chain.input_delay)
    print_wrapped(out, bounds + "the sampling of data read by '" + first.name + "', up to " +
                           readable(*chain.input_delay) + " before its release (input_delay)");
  else if (takes_samples(first))
    print_wrapped(out, bounds + (first.trigger == Trigger::timer ? "when '" : "what releases '") + first.name +
                           (first.trigger == Trigger::timer ? "' reads" : "'") +
                           ": the delay from the sampling to the release is not known; give input_delay");
}

void print_chains(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  if (plan.chains.empty()) return;
  report::Table table({"chain", "reaction", "limit", "data age", "limit", "reduced age", "sum of T + R"});
  for (const PlannedChain& chain : plan.chains)
    table.add(
        {chain.name, or_none(chain.reaction, "none"), or_none(chain.max_reaction, "-"), or_none(chain.age, "none"),
         or_none(chain.max_age, "-"), or_none(chain.reduced_age, "none"), or_none(chain.davare, "none")},
        chain.kept ? report::Tone::plain : report::Tone::bad);
  table.print(out);
  for (const PlannedChain& chain : plan.chains) print_begin(out, set, chain);
}

/// Returns the WCET, its ratio to the longest observed time, and a mark for its method: "10.8 ms x2.0 m" if a tail
/// model gives the WCET, "10.8 ms x2.0 (61 pieces)" if the WCET is the sum over pieces of the network. Without a mark,
/// the WCET is the longest time plus an allowance for growth.
std::string measured_wcet(const ProfileEntry& entry, Part part) {
  const Duration wcet = entry.wcet.of(part), longest = entry.observed.of(part);
  if (longest == Duration(0)) return "-";
  std::ostringstream text;
  text << readable(wcet) << " x" << std::fixed << std::setprecision(1)
       << static_cast<double>(wcet.count()) / static_cast<double>(longest.count());
  if (entry.basis(part).method == WcetMethod::tail_model) text << " m";
  if (entry.basis(part).method == WcetMethod::layers) text << " (" << entry.layers.pieces << " pieces)";
  return text.str();
}

/// Returns the estimated share of jobs that may exceed a WCET, for the part of a job with the largest share.
std::string exceedance(const ProfileEntry& entry) {
  double most = 0;
  for (const Part part : {Part::before, Part::device, Part::after}) {
    if (entry.observed.of(part) == Duration(0)) continue;
    if (entry.basis(part).exceedance == 0) return "unknown";
    most = std::max(most, entry.basis(part).exceedance);
  }
  std::ostringstream text;
  text << std::setprecision(2) << most;
  return text.str();
}

void print_device(std::ostream& out, const Plan& plan) {
  print_wrapped(out, "Device: " + std::string(plan.order == Order::edf ? "EDF" : "static priority") + ", " +
                         readable(plan.demand) + " needed of " + readable(plan.capacity) +
                         (plan.swap ? ", " + readable(policies::swap_volume(plan)) + " swapped (" +
                                          std::string(spelling(plan.swap->policy)) + ")"
                                    : ""));
}

/// Prints the memory of workloads and their policies. Prints nothing if no workload uses memory besides its swapped
/// memory, and no policy was chosen.
void print_memory(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  const auto counts = [&](const PlannedTask& task) {
    const bool of_host = set.board.unified_memory || task.memory_policy != MemoryPolicy::device;
    return task.memory.outside + (of_host ? task.memory.host : Bytes{0}) > Bytes{0} ||
           !task.memory_policy_reason.empty();
  };
  if (std::ranges::none_of(plan.tasks, counts)) return;
  report::Table table({"task", "memory policy", "on device", "of host"});
  for (const PlannedTask& task : plan.tasks)
    table.add({task.name, std::string(spelling(task.memory_policy)), readable(task.memory.on_device()),
               readable(task.memory.host)});
  table.print(out);
  for (const PlannedTask& task : plan.tasks)
    if (!task.memory_policy_reason.empty())
      print_item(out, task.name + ": " + std::string(spelling(task.memory_policy)) + ": " + task.memory_policy_reason);
}

/// The task that is closest to fulfilling a condition for co-running: the time that the condition concerns (co_run_wcet
/// or mapping_idle), and the task's name.
using Nearest = std::optional<std::pair<Duration, std::string>>;

std::string nearest(const Nearest& found, const std::string& of, const std::string& unknown) {
  return found ? of + readable(found->first) + " (" + found->second + ")" : unknown;
}

/// Returns the reason why no two tasks can co-run: "the shortest co_run_wcet under D is 5.00 ms (add), and the
/// longest mapping_idle of others 2.00 ms (scan)".
std::string why_no_pair(const ResolvedSet& set, const Plan& plan) {
  Nearest executes, waits;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    if (!task.co_run_wcet || !policies::can_use_both_engines(task, set.board)) continue;
    if (!config::waits_for_pages(plan.tasks[i].memory_policy)) {
      if (!executes || *task.co_run_wcet < executes->first) executes = {*task.co_run_wcet, task.name};
    } else if (const Duration idle = task.mapping_idle.value_or(Duration(0)); !waits || idle > waits->first) {
      waits = {idle, task.name};
    }
  }
  return nearest(executes, "the shortest co_run_wcet under D is ", "no task under D has a co_run_wcet") + ", and " +
         nearest(waits, "the longest mapping_idle of others ", "no task under M, H or D/H has a mapping_idle");
}

void print_co_running(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  if (!set.tasks.device.co_run) return;
  report::NameList pairs;
  for (const policies::TaskPair& pair : policies::pairs(plan))
    pairs.add(plan.tasks[pair.executes].name + " beside " + plan.tasks[pair.waits].name);
  print_wrapped(out, "Co-running: " + (pairs.empty() ? "no pair: " + why_no_pair(set, plan) : pairs.text()));
}

void print_limit(std::ostream& out, const Plan& plan) {
  const TestVerdict& deciding = plan.end_to_end;
  for (const PlannedChain& chain : plan.chains)
    if (!chain.finding.empty())
      print_wrapped(out, std::string(chain.kept ? "Chain '" : "Why: chain '") + chain.name + "': " + chain.finding);
  if (!plan.proved) return;
  if (deciding.limiting_task.empty()) return;
  const std::string& blocker = plan.device_test.blocking_task;
  print_wrapped(out, "Limit: task '" + deciding.limiting_task + "', " + readable(deciding.slack) +
                         " before its deadline" +
                         (blocker.empty() ? "" : "; longest blocking of the device: task '" + blocker + "'"));
}

/// A changed copy of the set, and the description of the change.
struct Change {
  std::string what;
  TaskSet tasks;
};

/// Returns changes of settings that may lead to a proof. The changes keep execution times, periods and memory.
std::vector<Change> changes(const PlannedSet& planned) {
  std::vector<Change> all;
  const auto add = [&](const std::string& what, auto change) {
    TaskSet tasks = planned.tasks;
    change(tasks);
    all.push_back({what, std::move(tasks)});
  };
  for (const SwapPolicy policy : {SwapPolicy::pipelined, SwapPolicy::serial})
    if (planned.plan.swap && planned.tasks.swap.policy != policy)
      add("[swap] policy = \"" + std::string(spelling(policy)) + "\"",
          [&](TaskSet& tasks) { tasks.swap.policy = policy; });
  if (planned.plan.order != Order::edf)
    add("[executive] order = \"edf\"", [](TaskSet& tasks) { tasks.executive.order = Order::edf; });
  if (planned.plan.co_runs()) add("[device] co_run = false", [](TaskSet& tasks) { tasks.device.co_run = false; });
  if (policies::reserved(planned.tasks) && planned.machine.no_fifo.empty())
    add("[executive] threads = \"fifo\"", [](TaskSet& tasks) { tasks.executive.threads = ThreadPolicy::fifo; });
  if (std::ranges::any_of(planned.tasks.tasks, [](const Task& task) { return task.core.has_value(); }))
    add("no `core` given, so that the planner chooses", [](TaskSet& tasks) {
      for (Task& task : tasks.tasks) task.core.reset();
    });
  return all;
}

/// Prints whether the set would be proved if jobs were divided into segments, which the set forbids, and what these
/// segments cost. Returns true if the set would be proved.
bool print_divided(std::ostream& out, const PlannedSet& whole, const PlannedSet& divided) {
  if (!divided.plan.proved || !divided.plan.preempts()) {
    print_wrapped(out,
                  "Not proved with segments either, which the set forbids (segments = \"none\", memory = \"whole\")");
    return false;
  }
  report::NameList tasks;
  for (const PlannedTask& task : divided.plan.tasks)
    if (task.segments > 1)
      tasks.add(task.name + " in " + std::to_string(task.segments) + (task.stream ? ", streamed" : ""));
  const SegmentCost cost = segment_cost(whole, divided);
  print_wrapped(out, "Proved with: segments, which the set forbids (segments = \"none\", memory = \"whole\")" +
                         (tasks.empty() ? "" : ": " + tasks.text()) + "; they take " +
                         config::fixed(100 * cost.time, 2) + " % of the device's time, and " + readable(cost.memory) +
                         " of its memory");
  return true;
}

void print_way(std::ostream& out, const PlannedSet& planned, const std::optional<PlannedSet>& divided) {
  std::vector<MemoryDemand> memory;
  for (const PlannedTask& task : planned.plan.tasks) memory.push_back(task.memory);
  bool found = false;
  for (Change& change : changes(planned)) {
    const auto better = policies::make_plan(resolve(std::move(change.tasks), planned.board, planned.machine), memory);
    if (!better || !better->proved) continue;
    print_wrapped(out, "Proved with: " + change.what);
    found = true;
  }
  if (divided) found |= print_divided(out, planned, *divided);
  const std::string file = planned.tasks.file.empty() ? "FILE" : config::shell_word(planned.tasks.file.string());
  if (!found && planned.plan.end_to_end.proved)
    print_wrapped(out,
                  "To prove the set: shorter periods along the chain, earlier responses, or `trigger = \"after:TASK\"` "
                  "where a task samples another; `rtexec check " +
                      file + " --explain` has the terms of each sum.");
  else if (!found)
    print_wrapped(
        out, "To prove the set: shorter execution times, longer periods or more device memory; `rtexec check " + file +
                 " --headroom` says how much.");
}

} // namespace

/// Returns the task's name, such as "front". If it was measured under several memory policies, adds the policy: "add
/// (M)".
std::string measured_name(const ProfileEntry& entry, const std::vector<ProfileEntry>& entries) {
  const bool alone = std::ranges::count(entries, entry.task, &ProfileEntry::task) == 1;
  return alone ? entry.task : entry.task + " (" + std::string(spelling(entry.memory_policy)) + ")";
}

void print_measured(std::ostream& out, const std::vector<ProfileEntry>& entries) {
  const bool pairs =
      std::ranges::any_of(entries, [](const ProfileEntry& each) { return each.co_run_wcet.has_value(); });
  std::vector<std::string> header{"measured", "jobs", "first part", "device", "last part", "exceeded"};
  if (pairs) header.insert(header.end(), {"beside", "waits"});
  report::Table table(std::move(header));
  const auto shown = [](const std::optional<Duration>& time) { return time ? readable(*time) : "-"; };
  for (const ProfileEntry& entry : entries) {
    std::vector<std::string> row{measured_name(entry, entries),      std::to_string(entry.samples),
                                 measured_wcet(entry, Part::before), measured_wcet(entry, Part::device),
                                 measured_wcet(entry, Part::after),  exceedance(entry)};
    if (pairs) row.insert(row.end(), {shown(entry.co_run_wcet), shown(entry.mapping_idle)});
    table.add(std::move(row));
  }
  table.print(out);
  print_wrapped(out,
                std::string("WCET: the WCETs of the parts. x2.0: 2.0 times the longest measured time; m: from a model "
                            "of the distribution's tail; (N pieces): sum of the longest times of N groups of layers. "
                            "exceeded: maximum share of jobs above the WCET; unknown: too few jobs were measured") +
                    (pairs ? ". beside: WCET on the device with a concurrent job of another task (co_run_wcet); waits: "
                             "its minimum time waiting for pages (mapping_idle)"
                           : ""));
}

void print_wrapped(std::ostream& out, const std::string& text, std::string_view indent) {
  const std::size_t room = std::min(columns, report::room_of(out));
  for (const std::string& line : report::wrapped(text, room, indent, report::LongWord::whole)) out << line << '\n';
}

void print_verdict(std::ostream& out, const ResolvedSet& set, const Plan& plan, const Readiness& readiness) {
  print_judgement(out, set, plan, readiness);
  print_tasks(out, set, plan);
  print_chains(out, set, plan);
  print_device(out, plan);
  print_memory(out, set, plan);
  print_co_running(out, set, plan);
  print_limit(out, plan);
  out << std::flush; // shown before the long work that follows
}

SegmentCost segment_cost(const PlannedSet& whole, const PlannedSet& divided) {
  SegmentCost cost;
  cost.time = policies::share_of_cuts(divided.plan, divided);
  if (divided.plan.demand > whole.plan.demand) cost.memory = divided.plan.demand - whole.plan.demand;
  return cost;
}

void print_verdict_and_way(std::ostream& out, const PlannedSet& planned, const Readiness& readiness,
                           const std::optional<PlannedSet>& divided) {
  print_verdict(out, planned, planned.plan, readiness);
  std::vector<ProfileEntry> measured;
  for (const auto& entry : executive::origins(planned, planned.plan).entries)
    if (entry) measured.push_back(*entry);
  if (!measured.empty()) print_measured(out, measured);
  if (!planned.plan.proved && !has_too_few_cores(planned)) print_way(out, planned, divided);
}

} // namespace rtexec::command
