// The urgency of tasks: rate- and deadline-monotonic, explicit, or searched. Pure.
#pragma once

#include <rtexec/task_set.hpp>
#include "policies/bounds/end_to_end.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Returns task indices, the most urgent first: real-time before best-effort, then by the set's priority assignment,
/// then by index. If the set's priorities are to be searched, they are deadline-monotonic here: the search begins with
/// that order.
[[nodiscard]] std::vector<std::size_t> by_urgency(const TaskSet& tasks);

/// Returns `values` in the order of the set. `values` is by position in `urgency`, and the set has `tasks` tasks. A
/// task that is not in `urgency` gets a default value.
template <class Value, class From>
[[nodiscard]] std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> urgency,
                                         std::size_t tasks) {
  std::vector<Value> result(tasks);
  for (std::size_t i = 0; i < values.size(); ++i) result[urgency[i]] = Value{values[i]};
  return result;
}

/// Returns the set as the analysis sees it, for a given order of tasks.
using ChargedSet = std::function<StagedSet(std::span<const std::size_t> urgency)>;

/// Returns the tasks of `urgency` that use the device.
[[nodiscard]] std::vector<std::size_t> on_device(const TaskSet& tasks, std::vector<std::size_t> urgency);

/// Searches for a priority order that is proved, by Audsley's algorithm, and returns it. It fills priorities from the
/// lowest to the highest. Each goes to the least urgent of the remaining tasks, by the order of `urgency`, that keeps
/// its deadline at this priority. In that test the other remaining tasks have higher priorities, and are assumed to
/// keep their deadlines. If no task fits, the remaining tasks keep the order of `urgency`.
///
/// Without CPU parts the search finds an order if there is one. With CPU parts, the bound of a task depends on the
/// order of the tasks above it. So the caller must examine the result as a whole.
[[nodiscard]] std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> urgency,
                                               const ChargedSet& charged);

} // namespace rtexec::policies
