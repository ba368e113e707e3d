#include "policies/priorities.hpp"

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
  std::vector<std::size_t> order(tasks.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, key);
  return order;
}

std::vector<std::size_t> audsley(const TaskSet& tasks, std::vector<std::size_t> order, const ChargedSet& charged) {
  const auto real_time = std::ranges::partition_point(order, [&](std::size_t i) { return tasks.tasks[i].real_time(); });
  for (auto level = real_time; level != order.begin(); --level) {
    const auto keeps = [&](std::vector<std::size_t>::iterator candidate) {
      std::rotate(candidate, candidate + 1, level);
      const auto position = static_cast<std::size_t>(level - order.begin()) - 1;
      const StageBounds bounds = static_priority_bound(charged(order), position);
      return bounds.settled && bounds.done <= tasks.tasks[order[position]].deadline.count();
    };
    for (auto candidate = level; candidate != order.begin();) {
      if (keeps(--candidate)) break;
      std::rotate(candidate, level - 1, level); // back to where it was
      if (candidate == order.begin()) return order;
    }
  }
  return order;
}

} // namespace rtexec::policies
