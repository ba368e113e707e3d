#include "policies/bounds/priorities.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rtexec::policies {

std::vector<std::size_t> by_urgency(const TaskSet& tasks) {
  const auto key = [&](std::size_t index) {
    const Task& task = tasks.tasks[index];
    Nanos value = 0;
    switch (tasks.executive.priorities) {
    case PriorityAssignment::rate_monotonic: value = task.period.count(); break;
    case PriorityAssignment::deadline_monotonic:
    case PriorityAssignment::audsley: value = task.deadline.count(); break;
    case PriorityAssignment::explicit_priorities: value = -Nanos{task.priority.value_or(0)}; break;
    }
    return std::tuple(!task.real_time(), value, index);
  };
  std::vector<std::size_t> urgency(tasks.tasks.size());
  std::iota(urgency.begin(), urgency.end(), std::size_t{0});
  std::ranges::sort(urgency, {}, key);
  return urgency;
}

std::vector<std::size_t> on_device(const TaskSet& tasks, std::vector<std::size_t> urgency) {
  std::erase_if(urgency, [&](std::size_t i) { return !tasks.tasks[i].wcet->uses_device(); });
  return urgency;
}

std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> urgency, const ChargedSet& charged) {
  const auto real_time =
      std::ranges::partition_point(urgency, [&](std::size_t i) { return tasks.tasks[i].real_time(); });
  /// The bounds of the most urgent tasks. These bounds depend on the set of less urgent tasks, but not on the order of
  /// that set
  std::vector<StageBounds> above;
  for (auto level = real_time; level != urgency.begin(); --level) {
    const auto keeps = [&](std::vector<std::size_t>::iterator candidate) {
      above.resize(std::min(above.size(), static_cast<std::size_t>(candidate - urgency.begin())));
      std::rotate(candidate, candidate + 1, level);
      const auto position = static_cast<std::size_t>(level - urgency.begin()) - 1;
      const StageBounds bounds = static_priority_bound(charged(urgency), position, above);
      return bounds.settled && bounds.done <= tasks.tasks[urgency[position]].deadline.count();
    };
    for (auto candidate = level; candidate != urgency.begin();) {
      if (keeps(--candidate)) break;
      std::rotate(candidate, level - 1, level); // moves the candidate back to its former position
      if (candidate == urgency.begin()) return urgency;
    }
  }
  return urgency;
}

} // namespace rtexec::policies
