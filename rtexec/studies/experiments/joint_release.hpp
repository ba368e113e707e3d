// Tasks that are released together, one job each, in the order in which the executive's scheduler core starts them:
// alone, or two at once if they co-run. The caller executes the jobs and reports each end.
//
// Allocates; one thread at a time.
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
  /// `set` holds one task each, the most urgent first.
  explicit JointRelease(std::span<const MemoryCase> set);

  struct Start {
    std::size_t task = 0; // index in the set
    bool beside = false;  // on the second compute engine
    bool paired = false;  // it starts together with another one
    friend bool operator==(const Start&, const Start&) = default;
  };
  /// Releases all tasks and returns the first starts; empty if there is no task. The span is valid until the next call
  /// of release() or ended(). To be called once.
  [[nodiscard]] std::span<const Start> release();
  /// Returns the starts because `task` has ended: none while another one executes.
  [[nodiscard]] std::span<const Start> ended(std::size_t task);
  [[nodiscard]] bool done() const { return scheduler_.idle(); }

 private:
  std::span<const Start> on(const policies::Event& event);

  policies::DeviceScheduler scheduler_;
  std::size_t tasks_;
  std::vector<Start> starts_;
};

/// Returns the time that two tasks, started at once, save relative to one after the other.
using Overlap = std::function<Duration(std::size_t first, std::size_t second)>;
/// Simulates a round of jobs that take `times` alone, in virtual time. If two start at once, the first one is not
/// delayed.
[[nodiscard]] MemoryRound played(std::span<const MemoryCase> set, std::span<const Duration> times,
                                 const Overlap& overlap);

} // namespace rtexec::study
