// The urgency of tasks: rate- and deadline-monotonic, explicit, or searched. Pure.
#pragma once

#include <rtexec/task_set.hpp>
#include "policies/bounds/end_to_end.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns task indices, the most urgent first. The order is: real-time before best-effort tasks, then the set's
/// priority assignment, then the index. If the set's priorities are to be searched, the assignment is
/// deadline-monotonic here, since the search starts with that order.
[[nodiscard]] std::vector<std::size_t> by_urgency(const TaskSet& tasks);

/// Returns `values` in the order of the set, which has `tasks` tasks. `values` must be in the order of `urgency`. A
/// task that is not in `urgency` gets a default value.
template <class Value, class From>
[[nodiscard]] std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> urgency,
                                         std::size_t tasks) {
  std::vector<Value> result(tasks);
  for (std::size_t i = 0; i < values.size(); ++i) result[urgency[i]] = Value{values[i]};
  return result;
}

/// Returns the set as the analysis sees it, with the tasks in the order of `urgency`.
using ChargedSet = std::function<StagedSet(std::span<const std::size_t> urgency)>;

/// Returns the tasks of `urgency` that use the device, in the order of `urgency`.
[[nodiscard]] std::vector<std::size_t> on_device(const TaskSet& tasks, std::vector<std::size_t> urgency);

/// Searches for a priority order with which the set is proved, by Audsley's algorithm, and returns the order. The
/// search assigns priorities from the lowest to the highest. At each priority it tries the tasks without a priority,
/// the least urgent in `urgency` first. It takes the first task that keeps its deadline if all other tasks without a
/// priority are more urgent and keep their deadlines. If no task keeps its deadline, the tasks without a priority keep
/// the order of `urgency`.
///
/// If no task has CPU parts, the search finds an order if there is one. With CPU parts, the bound of a task depends on
/// the order of the more urgent tasks. So the caller must analyse the returned order as a whole.
[[nodiscard]] std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> urgency,
                                               const ChargedSet& charged);

} // namespace rtexec::policies
