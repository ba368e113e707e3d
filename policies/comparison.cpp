#include "policies/comparison.hpp"

#include "policies/device_tests.hpp"
#include "policies/priorities.hpp"
#include "policies/sentences.hpp"
#include "policies/swap_volumes.hpp"

namespace rtexec::policies {
namespace {

/// One name where one task is meant.
std::string named(const TaskSet& tasks, std::span<const std::size_t> order, std::optional<std::size_t> task) {
  return task ? tasks.tasks[order[*task]].name : "";
}

Reason reason_of(const DeviceVerdict& verdict) {
  if (verdict.volumes.empty()) return NoVolumesFit{};
  if (!verdict.limiting) return NoTask{};
  if (verdict.load_room) return NoLoadRoom{};
  return DeviceAlone{};
}

/// By task of the set, from by task of `order`.
template <class Value, class From>
std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> order) {
  std::vector<Value> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[order[i]] = Value{values[i]};
  return result;
}

TestVerdict compared(const DeviceVerdict& verdict, const Plan& plan, const TaskSet& tasks,
                     std::span<const std::size_t> order) {
  Finding finding;
  finding.test = verdict.test;
  finding.proved = verdict.proved;
  finding.limiting = named(tasks, order, verdict.limiting);
  finding.left = verdict.left;
  finding.right = verdict.right;
  finding.reason = reason_of(verdict);
  finding.reserve = verdict.slack;
  finding.instant = verdict.instant;
  finding.demand = verdict.demand;
  finding.blocking = verdict.blocking;
  finding.blocker = named(tasks, order, verdict.blocker);
  TestVerdict result = told(finding, plan.order);
  if (plan.swap)
    for (const std::uint32_t chunks : by_task<std::uint32_t>(verdict.volumes, order))
      result.swap_volumes.push_back(plan.chunk * chunks);
  result.responses = by_task<Duration>(verdict.responses, order);
  return result;
}

/// As RT-Swap's paper has it: nothing but the tasks' own times.
DeviceSet published(DeviceSet set, const Plan& plan, const TaskSet& tasks, std::span<const std::size_t> order) {
  if (plan.swap) set.cost = plan.swap->cost;
  for (std::size_t i = 0; i < order.size(); ++i) {
    set.tasks[i].execution = tasks.tasks[order[i]].wcet->device.count();
    set.tasks[i].deadline = tasks.tasks[order[i]].deadline.count();
  }
  return set;
}

} // namespace

std::vector<TestVerdict> compare_device_tests(const Plan& plan, const TaskSet& tasks, const Board& board) {
  const std::vector<std::size_t> order = by_urgency(tasks);
  const auto overflow =
      plan.swap ? static_cast<std::uint32_t>((plan.demand - plan.capacity).count / plan.chunk.count) : 0;
  const DeviceSet set = device_set(plan, tasks, board, order, overflow);
  std::vector<TestVerdict> verdicts;
  for (const DeviceTest test : device_tests(plan.order))
    verdicts.push_back(
        compared(test_device(test == DeviceTest::theorem1 ? published(set, plan, tasks, order) : set, test, plan.order),
                 plan, tasks, order));
  return verdicts;
}

} // namespace rtexec::policies
