#include "policies/memory_policies.hpp"

#include "config/text.hpp"
#include "policies/admission.hpp"
#include "policies/memory_assignment.hpp"
#include "policies/plan_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace rtexec::policies {
namespace {

using Places = std::vector<std::size_t>;

/// What each task may get, by places in what was measured of it.
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
      config::add_line(errors, "task '" + tasks[i].name + "': of the memory policies that it may get and board '" +
                                   set.board.name + "' has, none was measured");
  }
  return errors.empty() ? Result<std::vector<Places>>(std::move(all)) : fail(Errc::bad_input, errors);
}

/// Where jobs may execute beside others, as if this task had a partner for certain.
MemoryOption option_of(const MeasuredPolicy& measured, const Task& task, const ResolvedSet& set) {
  const WholeChunks chunks = whole_chunks(measured.memory, set.chunk, set.tasks.swap.policy);
  MemoryOption option{.policy = measured.policy,
                      .device = chunks.kept + measured.memory.outside,
                      .shared = chunks.shared,
                      .host = measured.memory.host,
                      .wcet = measured.wcet};
  if (!set.tasks.device.co_run || !task.wcet_beside) return option;
  if (option.wcet.uses_device()) option.wcet.device = std::max(option.wcet.device, *task.wcet_beside);
  option.device += std::exchange(option.shared, Bytes{0});
  return option;
}

/// Plans of one set with other options.
class Planner {
 public:
  explicit Planner(const ResolvedSet& set)
      : set_(set), admission_(set), wcets_(set.tasks.tasks.size()), memory_(set.tasks.tasks.size()) {}

  std::optional<Nanos> slack(std::span<const MemoryOption> combination) {
    Wide own = 0, shared = 0;
    for (std::size_t i = 0; i < combination.size(); ++i) {
      const MemoryOption& option = combination[i];
      wcets_[i] = option.wcet;
      own += Wide{option.device.count} + (set_.board.unified_memory ? option.host.count : 0);
      shared = std::max<Wide>(shared, option.shared.count);
    }
    if (own + shared > Wide{capacity().count}) return std::nullopt;
    const auto slack = admission_.slack(wcets_);
    return slack ? std::optional(slack->count()) : std::nullopt;
  }

  Result<PolicyPlan> plan(std::span<const std::vector<MeasuredPolicy>> measured, Places chosen, bool exact) {
    PolicyPlan made{.plan = {}, .chosen = std::move(chosen), .exact = exact};
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const MeasuredPolicy& each = measured[i][made.chosen[i]];
      memory_[i] = each.memory;
      set_.tasks.tasks[i].wcet = each.wcet;
      set_.tasks.tasks[i].memory_policy = each.policy;
    }
    Result<Plan> plan = make_plan(set_, memory_);
    if (!plan) return Unexpected(plan.error());
    made.plan = std::move(*plan);
    return made;
  }

  /// In whole chunks, as plans have it.
  [[nodiscard]] Bytes capacity() const {
    const Bytes all = set_.tasks.device.capacity.value_or(set_.board.capacity);
    return {all.count / set_.chunk.count * set_.chunk.count};
  }

 private:
  ResolvedSet set_;
  ResidentAdmission admission_;
  std::vector<Wcet> wcets_;
  std::vector<MemoryDemand> memory_;
};

/// D, or what comes first.
std::size_t plain(std::span<const MeasuredPolicy> measured, const Places& places) {
  const auto device =
      std::ranges::find_if(places, [&](std::size_t k) { return measured[k].policy == MemoryPolicy::device; });
  return device != places.end() ? *device : places.front();
}

} // namespace

Result<PolicyPlan> choose_memory_policies(const ResolvedSet& set, std::span<const std::vector<MeasuredPolicy>> measured,
                                          MemoryObjective objective) {
  const Result<std::vector<Places>> places = allowed(set, measured);
  if (!places) return Unexpected(places.error());
  Places chosen;
  for (std::size_t i = 0; i < places->size(); ++i) chosen.push_back(plain(measured[i], (*places)[i]));
  Planner planner(set);
  if (set.chunk == Bytes{0}) return planner.plan(measured, std::move(chosen), true);

  MemoryProblem problem{.options = {}, .unified = set.board.unified_memory};
  for (std::size_t i = 0; i < places->size(); ++i) {
    std::vector<MemoryOption>& options = problem.options.emplace_back();
    for (const std::size_t k : (*places)[i]) options.push_back(option_of(measured[i][k], set.tasks.tasks[i], set));
  }
  const SlackOf slack = [&](std::span<const MemoryOption> combination) { return planner.slack(combination); };
  const Result<MemoryChoice> choice =
      objective == MemoryObjective::most_slack
          ? most_slack(problem, planner.capacity(), slack)
          : least_memory(problem, [&](std::span<const MemoryOption> each) { return slack(each).has_value(); });
  if (choice)
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = (*places)[i][choice->options[i]];
  return planner.plan(measured, std::move(chosen), !choice || choice->exact);
}

} // namespace rtexec::policies
