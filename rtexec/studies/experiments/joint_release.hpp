// Determines when tasks start that are released together, with one job each. The tasks start in the order of the
// executive's device scheduler. A task starts alone or, if two tasks co-run, together with another task. Co-running
// tasks execute on both compute engines of the device. The caller executes the jobs and reports the end of each job.
//
// Allocates memory; one thread at a time.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"
#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rtexec::study {

class JointRelease {
 public:
  /// `set`: the tasks, the most urgent first. Each task has one job.
  explicit JointRelease(std::span<const MemoryCase> set);

  struct Start {
    std::size_t task = 0;    // the index of the task in the set
    bool co_running = false; // true if it runs on the second compute engine
    bool paired = false;     // true if it starts together with another task
    friend bool operator==(const Start&, const Start&) = default;
  };
  /// Releases all tasks. Returns the tasks to start first, or an empty span if there is no task. The span is valid
  /// until the next call of release() or ended(). Must be called once.
  [[nodiscard]] std::span<const Start> release();
  /// Reports that `task` has ended. Returns the tasks to start next. The result is empty while another task executes.
  [[nodiscard]] std::span<const Start> ended(std::size_t task);
  [[nodiscard]] bool done() const { return scheduler_.idle(); }

 private:
  std::span<const Start> on(const policies::Event& event);

  policies::DeviceScheduler scheduler_;
  std::size_t tasks_;
  std::vector<Start> starts_;
};

/// Returns the time saved if two tasks start at once, relative to running one after the other.
using Overlap = std::function<Duration(std::size_t first, std::size_t second)>;
/// Simulates a round of jobs in virtual time. `times`: the time of each job when it runs alone. If two jobs start at
/// the same time, the job that the scheduler starts first takes as long as alone. The other job ends after the sum of
/// both times, less the time saved (`overlap`).
[[nodiscard]] MemoryRound played(std::span<const MemoryCase> set, std::span<const Duration> times,
                                 const Overlap& overlap);

} // namespace rtexec::study
