// Passes a job between the threads of a task. The release thread begins the job. The thread that ends or cancels the
// job's device part passes the job to the completion thread. The completion thread ends the job. A task has at most one
// job in progress. Exactly one thread at a time holds this job, which means that only this thread may write the job's
// data. No function blocks; threads wait only for the two signals.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread.hpp"
#include "rtexec/runtime/watches/progress_counter.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class JobHandshake {
 public:
  // The next functions are for the release thread.
  void begin() noexcept { begun_.fetch_add(1); }
  [[nodiscard]] bool outstanding() const noexcept {
    return ended_.load(std::memory_order_acquire) != begun_.load(std::memory_order_relaxed);
  }
  /// True if the last job had ended at `when`.
  [[nodiscard]] bool ended_by(Instant when) const noexcept {
    return !outstanding() && last_end_.load(std::memory_order_relaxed) <= when.time_since_epoch().count();
  }

  /// Passes the job to the completion thread. Called by the thread that ended or cancelled the job's device part. The
  /// completion thread then sees all earlier writes of the calling thread.
  void give_back() noexcept {
    returned_.fetch_add(1, std::memory_order_release);
    for_completion.raise();
  }

  // The next functions are for the completion thread.
  [[nodiscard]] bool is_back() const noexcept {
    return ended_.load(std::memory_order_relaxed) != returned_.load(std::memory_order_acquire);
  }
  void end(Instant at) noexcept {
    last_end_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
    ended_.fetch_add(1, std::memory_order_release);
    for_release.raise();
  }

  // Returns the progress of the jobs, for the heartbeat. Any thread.
  [[nodiscard]] Progress progress() const noexcept {
    const std::uint64_t jobs = ended_.load();
    return {.steps = jobs, .due = begun_.load() != jobs};
  }

  hal::Signal for_release; // wakes the release thread: a job has ended, or the run stops
  /// Wakes the completion thread: the device part has ended, or no further job will be released.
  hal::Signal for_completion;

 private:
  std::atomic<std::uint64_t> begun_{0}, returned_{0}, ended_{0}; // numbers of jobs, the warm-up included
  std::atomic<std::int64_t> last_end_{0};
};

} // namespace rtexec::executive
