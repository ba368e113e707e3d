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
/// then by index. Searched priorities start deadline-monotonic.
[[nodiscard]] std::vector<std::size_t> by_urgency(const TaskSet& tasks);

/// Returns `values`, which are by position in `urgency`, by task of a set of `tasks` tasks. A task that is not in
/// `urgency` gets a default value.
template <class Value, class From>
[[nodiscard]] std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> urgency,
                                         std::size_t tasks) {
  std::vector<Value> result(tasks);
  for (std::size_t i = 0; i < values.size(); ++i) result[urgency[i]] = Value{values[i]};
  return result;
}

/// Returns the set as the analysis sees it, for an order of tasks.
using ChargedSet = std::function<StagedSet(std::span<const std::size_t> urgency)>;

/// Returns the tasks of `urgency` that use the device.
[[nodiscard]] std::vector<std::size_t> on_device(const TaskSet& tasks, std::vector<std::size_t> urgency);

/// Returns an order found by Audsley's search. The lowest priority goes to the first task, in the reverse of `urgency`,
/// that keeps its deadline there while all tasks not yet placed keep theirs above it. The search then goes on upwards.
/// If only the device counts, it finds an order if there is one. CPU parts make the bound of a task depend on the order
/// above it, so the caller must examine the result as a whole. If no task fits, the rest stays in the order of
/// `urgency`.
[[nodiscard]] std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> urgency,
                                               const ChargedSet& charged);

} // namespace rtexec::policies
