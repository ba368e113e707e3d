// Keeps the releases of a task at least a period apart, for tasks that no timer releases. A trigger that comes too
// early waits at the gate, and newer triggers coalesce with it. A state machine without a clock. If the end of another
// task's job triggers the task, this gate is the release guard of Sun and Liu (ICDCS 1996). proofs/chains.md explains
// why such a task needs no release jitter.
//
// One owner reports every trigger, and calls next() for the next release. The owner also has a ReleaseGrid for the
// task. If the gate's next() is later than the grid's next(), the owner postpones the grid to it. When the grid has
// decided whether a job starts or is dropped, the owner calls release(). Never allocates. Not thread-safe.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rtexec::policies {

class SporadicGate {
 public:
  explicit SporadicGate(Duration period) noexcept : period_(period) {}

  /// Requests a job at `at`, which may be in the future. If an earlier trigger still waits, the new trigger coalesces
  /// with it, and the waiting trigger keeps its instant.
  void trigger(Instant at) noexcept {
    if (next_) return void(++dropped_);
    next_ = std::max(at, earliest_);
    trigger_ = at;
  }
  /// Returns the instant at which the waiting trigger releases a job, or nullopt if no trigger waits.
  [[nodiscard]] std::optional<Instant> next() const noexcept { return next_; }
  /// Reports that the waiting trigger has led to a release at `at`, which started a job or was dropped. `at` must not
  /// be before next().
  void release(Instant at) noexcept {
    next_.reset();
    earliest_ = at + period_;
  }
  /// Returns the instant for which the trigger of the last release was requested, before any wait at the gate.
  [[nodiscard]] Instant trigger_instant() const noexcept { return trigger_; }
  /// Returns the number of triggers that coalesced with a waiting trigger.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  Duration period_;
  Instant earliest_ = Instant::min();
  std::optional<Instant> next_;
  Instant trigger_{}; // the instant of the trigger that waits or, if none waits, of the last release
  std::uint64_t dropped_ = 0;
};

} // namespace rtexec::policies
