// Which jobs execute beside each other ([device] co_run): one under D, while the other one, under M or H, only waits
// for pages (Bateni et al., RTAS 2020, section IV-B). Pure; proofs: proofs/co-run.md.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// Whether jobs of both may execute at once: that of the one ends while that of the other waits.
[[nodiscard]] constexpr bool may_pair(const CoRun& a, const CoRun& b) noexcept {
  return a.idle ? !b.idle && b.wcet <= *a.idle : b.idle && a.wcet <= *b.idle;
}

/// Whether a job of `partner` goes with the head of the queue. It holds the device no longer than that one, or it is
/// the `next` of the queue: then it keeps nobody from the device who waits before it.
[[nodiscard]] constexpr bool goes_with(const CoRun& head, const CoRun& partner, bool next) noexcept {
  return may_pair(head, partner) && (next || partner.wcet <= head.wcet);
}

/// The longest device part, whatever executes beside it.
[[nodiscard]] inline Duration device_part(const Wcet& wcet, const std::optional<CoRun>& co_run) noexcept {
  return co_run ? std::max(wcet.device, co_run->wcet) : wcet.device;
}

/// Two tasks whose jobs may execute at once, by place in the plan.
struct TaskPair {
  std::size_t executes = 0; // under D, while
  std::size_t waits = 0;    // the other does
  friend bool operator==(const TaskPair&, const TaskPair&) = default;
};
[[nodiscard]] std::vector<TaskPair> pairs(const Plan& plan);

/// Fills in what each task of the plan needs for it, once its memory policy is known; every task has a wcet.
void plan_co_running(Plan& plan, const TaskSet& tasks);

} // namespace rtexec::policies
