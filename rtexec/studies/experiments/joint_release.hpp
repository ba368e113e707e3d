// Tasks that are released together, one job each, in the order in which the scheduler core of the executive starts
// them: alone, or two at once where they co-run. Who executes them tells of each end.
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
  /// One task each, the most urgent first.
  explicit JointRelease(std::span<const MemoryCase> set);

  struct Start {
    std::size_t task = 0; // of the set
    bool beside = false;  // on the second compute engine
    bool paired = false;  // at once with another one
    friend bool operator==(const Start&, const Start&) = default;
  };
  /// What starts first; with no task nothing does. Like ended(): valid until the next call of either. Once.
  [[nodiscard]] std::span<const Start> release();
  /// What starts because `task` has ended: nothing while another one executes.
  [[nodiscard]] std::span<const Start> ended(std::size_t task);
  [[nodiscard]] bool done() const { return scheduler_.idle(); }

 private:
  std::span<const Start> on(const policies::Event& event);

  policies::DeviceScheduler scheduler_;
  std::size_t tasks_;
  std::vector<Start> starts_;
};

/// Of two tasks that start at once, how much earlier both have ended than one after the other.
using Overlap = std::function<Duration(std::size_t first, std::size_t second)>;
/// A round of jobs that take `times` alone, in virtual time. Of two at once the first one started is not held up.
[[nodiscard]] MemoryRound played(std::span<const MemoryCase> set, std::span<const Duration> times,
                                 const Overlap& overlap);

} // namespace rtexec::study
