#include "policies/admission/comparison.hpp"

#include "policies/device/device_tests.hpp"
#include "policies/memory/plan_memory.hpp"
#include "policies/bounds/priorities.hpp"
#include "policies/bounds/sentences.hpp"
#include "policies/memory/swap_volumes.hpp"

namespace rtexec::policies {
namespace {

/// Returns the name of the task, or an empty string if `task` is empty.
std::string named(const TaskSet& tasks, std::span<const std::size_t> urgency, std::optional<std::size_t> task) {
  return task ? tasks.tasks[urgency[*task]].name : "";
}

Reason reason_of(const DeviceVerdict& verdict, const TaskSet& tasks) {
  if (!verdict.limiting && verdict.proved && std::ranges::any_of(tasks.tasks, &Task::real_time)) return NoDevicePart{};
  if (verdict.volumes.empty()) return NoVolumesFit{};
  if (!verdict.limiting) return NoTask{};
  return DeviceAlone{};
}

TestVerdict compared(const DeviceVerdict& verdict, const Plan& plan, const TaskSet& tasks,
                     std::span<const std::size_t> urgency) {
  const Finding finding{.test = verdict.test,
                        .proved = verdict.proved,
                        .limiting = named(tasks, urgency, verdict.limiting),
                        .left = verdict.left,
                        .right = verdict.right,
                        .reason = reason_of(verdict, tasks),
                        .reserve = verdict.slack,
                        .instant = verdict.instant,
                        .demand = verdict.demand,
                        .blocking = verdict.blocking,
                        .blocker = named(tasks, urgency, verdict.blocker)};
  TestVerdict result = told(finding, plan.order);
  if (plan.swap && !verdict.volumes.empty())
    for (const std::uint32_t chunks : by_task<std::uint32_t>(verdict.volumes, urgency, tasks.tasks.size()))
      result.swap_volumes.push_back(plan.chunk * chunks);
  if (!verdict.responses.empty()) result.responses = by_task<Duration>(verdict.responses, urgency, tasks.tasks.size());
  return result;
}

/// Returns the set as the paper on RT-Swap defines it: with the execution times and deadlines of the tasks, without the
/// overheads of the board.
DeviceSet published(DeviceSet set, const Plan& plan, const TaskSet& tasks, std::span<const std::size_t> urgency) {
  if (plan.swap) set.cost = plan.swap->cost;
  for (std::size_t i = 0; i < urgency.size(); ++i) {
    set.tasks[i].execution = tasks.tasks[urgency[i]].wcet->device.count();
    set.tasks[i].deadline = tasks.tasks[urgency[i]].deadline.count();
  }
  return set;
}

} // namespace

std::vector<TestVerdict> compare_device_tests(const Plan& plan, const ResolvedSet& set) {
  const std::vector<std::size_t> urgency = on_device(set.tasks, by_urgency(set.tasks));
  const DeviceSet device = device_set(plan, set, urgency, overflow_of(plan));
  std::vector<TestVerdict> verdicts;
  for (const DeviceTest test : device_tests(plan.order))
    verdicts.push_back(
        compared(test_device(test == DeviceTest::theorem1 ? published(device, plan, set.tasks, urgency) : device, test,
                             plan.order),
                 plan, set.tasks, urgency));
  return verdicts;
}

} // namespace rtexec::policies
