// Who is more urgent: rate- and deadline-monotonic, explicit, or searched. Pure.
#pragma once

#include <rtexec/task_set.hpp>
#include "policies/bounds/end_to_end.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Task indices, the most urgent first: real-time before best-effort, then as the set says, then by index. Searched
/// priorities begin deadline-monotonic.
[[nodiscard]] std::vector<std::size_t> by_urgency(const TaskSet& tasks);

/// By task of a set of so many, from by place in `urgency`; of a task that is not in it: nothing.
template <class Value, class From>
[[nodiscard]] std::vector<Value> by_task(const std::vector<From>& values, std::span<const std::size_t> urgency,
                                         std::size_t tasks) {
  std::vector<Value> result(tasks);
  for (std::size_t i = 0; i < values.size(); ++i) result[urgency[i]] = Value{values[i]};
  return result;
}

/// The set as the analysis sees it, for an order of tasks.
using ChargedSet = std::function<StagedSet(std::span<const std::size_t> urgency)>;

/// Those of `urgency` that use the device.
[[nodiscard]] std::vector<std::size_t> on_device(const TaskSet& tasks, std::vector<std::size_t> urgency);

/// Audsley's search: the lowest priority goes to the first task, in the reverse of `urgency`, that keeps its deadline
/// there while those that are not placed yet keep theirs above it; and so on upwards. Where only the device counts, it
/// finds an order if there is one; CPU parts make the bound of a task depend on the order above it, so the result is to
/// be examined as a whole. Where no task fits, the rest stays in `urgency`.
[[nodiscard]] std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> urgency,
                                               const ChargedSet& charged);

} // namespace rtexec::policies
