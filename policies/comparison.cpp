#include "policies/comparison.hpp"

#include "policies/priorities.hpp"
#include "policies/swap_volumes.hpp"
#include "policies/verdicts.hpp"
#include "policies/volume_search.hpp"

namespace rtexec::policies {
namespace {

const char* const load_room = "(M) for each k that swaps: x_k + max of the others' x <= P, or C_k <= alpha (P - x_k)";

std::string inequality_of(DeviceTest test, Order order) {
  switch (test) {
  case DeviceTest::theorem1:
    return "B_max / min T + sum of (O_out + O_in + C)/T <= 1, B_max = max(O_out, O_in + C, C_max1 + C_max2)";
  case DeviceTest::baker: return "for every k: B_k/D_k + sum over D_i <= D_k of (O_out + O_in + C)/D_i <= 1";
  case DeviceTest::demand:
    return "for every L: sum over D_i <= L of (floor((L - D_i)/T_i) + 1) (O_out + O_in + C) + B(L) <= L";
  case DeviceTest::rta:
    return "R = max over jobs q of w(q) - q T + O_in + C <= D, w(q) = B + q e + O_out + sum over higher priorities of "
           "(floor(w(q)/T) + 1) e";
  case DeviceTest::pipelined: break;
  }
  return order == Order::edf ? "for every L, for some lambda: sum of n_i(L) e_i + max of min(C_i, lambda) + B(L) <= L"
                             : "for some lambda: R <= D";
}

/// One name where one task is meant.
std::string named(const TaskSet& tasks, std::span<const std::size_t> order, std::optional<std::size_t> task) {
  return task ? tasks.tasks[order[*task]].name : "";
}

bool of_shares(DeviceTest test) { return test == DeviceTest::theorem1 || test == DeviceTest::baker; }

std::string share_text(Nanos share) {
  std::string digits = std::to_string(std::abs(share) + 1'000'000'000);
  return (share < 0 ? "-" : "") + std::to_string(std::abs(share) / 1'000'000'000) + "." +
         digits.substr(digits.size() - 9, 6);
}

std::string explanation_of(const DeviceVerdict& verdict, const TestVerdict& told) {
  if (verdict.volumes.empty()) return "no volumes fit";
  if (!verdict.limiting) return "there is no real-time task";
  if (verdict.load_room)
    return "while task '" + told.limiting_task + "' executes for " + in_ms(verdict.left) +
           ", the next job is loaded into the frames beside its own, which takes " + in_ms(verdict.right) +
           ", and then waits for more";
  const std::string by = told.blocking_task.empty() ? "" : " by task '" + told.blocking_task + "'";
  const std::string sides = of_shares(verdict.test) ? share_text(verdict.left) + " of 1"
                                                    : in_ms(verdict.left) + " of " + in_ms(verdict.right);
  return "at L = " + in_ms(verdict.instant) + " demand " + in_ms(verdict.demand) + ", blocking " +
         in_ms(verdict.blocking) + by + ": " + sides;
}

/// By task of the set, from by task of `order`.
template <class Value, class From>
std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> order) {
  std::vector<Value> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[order[i]] = Value{values[i]};
  return result;
}

TestVerdict told(const DeviceVerdict& verdict, const Plan& plan, const TaskSet& tasks,
                 std::span<const std::size_t> order) {
  TestVerdict result;
  result.name = name_of(verdict.test);
  result.proved = verdict.proved;
  result.baseline = verdict.test == DeviceTest::theorem1;
  result.shares = of_shares(verdict.test);
  result.inequality = verdict.load_room ? load_room : inequality_of(verdict.test, plan.order);
  result.left = Duration(verdict.left);
  result.right = Duration(verdict.right);
  result.slack = Duration(verdict.slack);
  result.instant = Duration(verdict.instant);
  result.demand = Duration(verdict.demand);
  result.blocking = Duration(verdict.blocking);
  result.limiting_task = named(tasks, order, verdict.limiting);
  result.blocking_task = named(tasks, order, verdict.blocker);
  result.explanation = explanation_of(verdict, result);
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
        told(test_device(test == DeviceTest::theorem1 ? published(set, plan, tasks, order) : set, test, plan.order),
             plan, tasks, order));
  return verdicts;
}

} // namespace rtexec::policies
