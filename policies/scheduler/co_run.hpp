// Decides which jobs execute concurrently ([device] co_run). Two jobs may do so: one job under memory policy D (device
// memory), and one job under M (managed memory) or H (host memory). The second job only waits for pages while the first
// job executes (Bateni et al., RTAS 2020, section IV-B). Pure; proofs: proofs/co-run.md.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// True if the two tasks are a pair, whose jobs the scheduler may execute concurrently. Exactly one of the tasks must
/// be under memory policy D (device memory). The device part of the task under D must take no longer than the time for
/// which the device part of the other task waits for pages.
[[nodiscard]] constexpr bool may_pair(const CoRun& a, const CoRun& b) noexcept {
  return a.idle ? !b.idle && b.wcet <= *a.idle : b.idle && a.wcet <= *b.idle;
}

/// True if a job of `partner` may start together with the job of `head`, the first job in the queue of the device. The
/// two tasks must be a pair. In addition, one of two conditions must hold: the partner's job is the second job in the
/// queue (`next`), or the device part of `partner` takes no longer than the device part of `head`. So the partner's job
/// does not delay jobs that precede it in the queue.
[[nodiscard]] constexpr bool goes_with(const CoRun& head, const CoRun& partner, bool next) noexcept {
  return may_pair(head, partner) && (next || partner.wcet <= head.wcet);
}

/// Returns the longest device part of a task, whether its jobs execute alone or concurrently.
[[nodiscard]] inline Duration device_part(const Wcet& wcet, const std::optional<CoRun>& co_run) noexcept {
  return co_run ? std::max(wcet.device, co_run->wcet) : wcet.device;
}

/// Two tasks whose jobs may execute at once, by index in the plan.
struct TaskPair {
  std::size_t executes = 0; // the task under memory policy D (device memory)
  std::size_t waits = 0;    // the task that waits for pages while task `executes` executes; under policy M or H
  friend bool operator==(const TaskPair&, const TaskPair&) = default;
};
[[nodiscard]] std::vector<TaskPair> pairs(const Plan& plan);

/// True if both compute engines of the board can execute the task. On a GPU, a user's workload or a back end gets the
/// stream of the first engine when it is bound, and may submit work only to this stream.
[[nodiscard]] bool can_use_both_engines(const Task& task, const Board& board);

/// Sets the co-running parameters (CoRun) of each task of the plan. The memory policies must be known, and every task
/// needs a wcet. A task that cannot use both engines never co-runs.
void plan_co_running(Plan& plan, const TaskSet& tasks, const Board& board);

} // namespace rtexec::policies
