#include "policies/admission/memory_policies.hpp"

#include "config/base/text.hpp"
#include "policies/admission/admission.hpp"
#include "policies/memory/memory_assignment.hpp"
#include "policies/memory/plan_memory.hpp"
#include "policies/admission/resident_admission.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace rtexec::policies {
namespace {

using Places = std::vector<std::size_t>;

/// Returns for each task the policies that it may get, as indices into `measured[task]`.
Result<std::vector<Places>> allowed(const ResolvedSet& set, std::span<const std::vector<MeasuredPolicy>> measured) {
  const std::vector<Task>& tasks = set.tasks.tasks;
  if (measured.size() != tasks.size())
    return fail(Errc::bad_input, "memory policies of " + std::to_string(measured.size()) +
                                     " tasks were measured for a set of " + std::to_string(tasks.size()));
  const std::vector<MemoryPolicy>& there = set.board.memory_policies;
  std::vector<Places> all;
  std::string errors;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Places& places = all.emplace_back();
    const MemoryPolicy asked = tasks[i].memory_policy;
    for (std::size_t k = 0; k < measured[i].size(); ++k) {
      const MemoryPolicy policy = measured[i][k].policy;
      const bool wanted = asked == MemoryPolicy::automatic || asked == policy;
      if (wanted && std::ranges::find(there, policy) != there.end()) places.push_back(k);
    }
    if (places.empty())
      config::add_line(errors, "task '" + tasks[i].name + "': none of its memory policies was measured that board '" +
                                   set.board.name + "' supports; measure them with 'rtexec profile'");
  }
  return errors.empty() ? Result<std::vector<Places>>(std::move(all)) : fail(Errc::bad_input, errors);
}

/// Makes an option (a memory policy with its times and memory) for the search. If tasks may co-run, treats a task with
/// co_run_wcet as if it had a partner (a task that it co-runs with).
MemoryOption option_of(const MeasuredPolicy& measured, const Task& task, const ResolvedSet& set) {
  const WholeChunks chunks = whole_chunks(measured.memory, set.chunk, set.tasks.swap.policy);
  MemoryOption option{.policy = measured.policy,
                      .device = chunks.kept + measured.memory.outside,
                      .shared = chunks.shared,
                      .host = measured.memory.host,
                      .wcet = measured.wcet};
  const std::optional<Duration> co_running = measured.co_run_wcet ? measured.co_run_wcet : task.co_run_wcet;
  if (!set.tasks.device.co_run || !co_running) return option;
  if (option.wcet.uses_device()) option.wcet.device = std::max(option.wcet.device, *co_running);
  option.device += std::exchange(option.shared, Bytes{0});
  return option;
}

/// Returns the device's capacity, rounded down to whole chunks as plans round it.
Bytes capacity_of(const ResolvedSet& set) {
  const Bytes all = set.tasks.device.capacity.value_or(set.board.capacity);
  return {all.count / set.chunk.count * set.chunk.count};
}

MemoryProblem problem_of(const ResolvedSet& set, std::span<const std::vector<MeasuredPolicy>> measured,
                         std::span<const Places> places) {
  MemoryProblem problem{.options = {}, .unified = set.board.unified_memory, .capacity = capacity_of(set)};
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<MemoryOption>& options = problem.options.emplace_back();
    for (const std::size_t k : places[i]) options.push_back(option_of(measured[i][k], set.tasks.tasks[i], set));
  }
  return problem;
}

/// Returns for each task the shortest and the longest time of each part, over all options of the task.
std::pair<std::vector<Wcet>, std::vector<Wcet>> times_of(const MemoryProblem& problem) {
  std::pair<std::vector<Wcet>, std::vector<Wcet>> times;
  for (const std::vector<MemoryOption>& options : problem.options) {
    Wcet& shortest = times.first.emplace_back(options.front().wcet);
    Wcet& longest = times.second.emplace_back(options.front().wcet);
    for (const MemoryOption& each : options) {
      shortest = shorter(shortest, each.wcet);
      longest = longer(longest, each.wcet);
    }
  }
  return times;
}

Admission admission_of(ResidentAdmission& admission) {
  Admission asked{.slack = [&](auto wcets) { return admission.slack(wcets); }};
  if (!admission.has_bounds()) return asked;
  asked.alternatives = admission.alternatives();
  asked.bound = [&](auto alternative, auto& times, Nanos needed) {
    return admission.bound(alternative, times, needed);
  };
  asked.glance = [&](auto alternative, auto& times, Nanos needed) {
    return admission.glance(alternative, times, needed);
  };
  asked.surely = [&](auto alternative, auto longest) { return admission.surely_proves(alternative, longest); };
  return asked;
}

Result<MemoryChoice> choice_for(const ResolvedSet& set, const MemoryProblem& problem, MemoryObjective objective) {
  const auto [shortest, longest] = times_of(problem);
  ResidentAdmission admission(set, {shortest, longest});
  const Admission asked = admission_of(admission);
  return objective == MemoryObjective::max_slack ? max_slack(problem, asked) : min_memory(problem, asked);
}

Result<PolicyPlan> plan_with(ResolvedSet set, std::span<const std::vector<MeasuredPolicy>> measured, Places chosen,
                             bool exact) {
  std::vector<MemoryDemand> memory;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredPolicy& each = measured[i][chosen[i]];
    memory.push_back(each.memory);
    set.tasks.tasks[i].wcet = each.wcet;
    set.tasks.tasks[i].memory_policy = each.policy;
    if (each.co_run_wcet) set.tasks.tasks[i].co_run_wcet = each.co_run_wcet;
    if (each.mapping_idle) set.tasks.tasks[i].mapping_idle = each.mapping_idle;
  }
  Result<Plan> plan = make_plan(set, memory);
  if (!plan) return Unexpected(plan.error());
  return PolicyPlan{.plan = std::move(*plan), .chosen = std::move(chosen), .exact = exact};
}

/// Returns the index of memory policy D (device memory) in `measured`. If D is not allowed, returns the index of the
/// first allowed policy.
std::size_t plain(std::span<const MeasuredPolicy> measured, const Places& places) {
  const auto device =
      std::ranges::find_if(places, [&](std::size_t k) { return measured[k].policy == MemoryPolicy::device; });
  return device != places.end() ? *device : places.front();
}

Result<PolicyPlan> choose(const ResolvedSet& set, std::span<const std::vector<MeasuredPolicy>> measured,
                          MemoryObjective objective) {
  const Result<std::vector<Places>> places = allowed(set, measured);
  if (!places) return Unexpected(places.error());
  Places chosen;
  for (std::size_t i = 0; i < places->size(); ++i) chosen.push_back(plain(measured[i], (*places)[i]));
  if (set.chunk == Bytes{0}) return plan_with(set, measured, std::move(chosen), true);

  const Result<MemoryChoice> choice = choice_for(set, problem_of(set, measured, *places), objective);
  if (choice)
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = (*places)[i][choice->options[i]];
  return plan_with(set, measured, std::move(chosen), !choice || choice->exact);
}

/// True if plan `a` is better than plan `b`. Both plans must be proved.
bool better(const Plan& a, const Plan& b, MemoryObjective objective) {
  if (objective == MemoryObjective::max_slack) return a.end_to_end.slack > b.end_to_end.slack;
  return std::pair(a.demand, a.host) < std::pair(b.demand, b.host);
}

} // namespace

Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set, std::span<const std::vector<MeasuredPolicy>> measured,
                                          MemoryObjective objective) {
  Result<PolicyPlan> paired = choose(set, measured, objective);
  if (!paired || !set.tasks.device.co_run || set.chunk == Bytes{0}) return paired;
  ResolvedSet apart = set;
  apart.tasks.device.co_run = false;
  const Result<PolicyPlan> alone = choose(apart, measured, objective);
  if (!alone || !alone->plan.proved) return paired;
  Result<PolicyPlan> co_running = plan_with(set, measured, alone->chosen, alone->exact);
  const bool proved = co_running && co_running->plan.proved;
  return proved && (!paired->plan.proved || better(co_running->plan, paired->plan, objective)) ? co_running : paired;
}

} // namespace rtexec::policies
