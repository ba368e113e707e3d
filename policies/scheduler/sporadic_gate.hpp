// Keeps the releases of a task that no timer releases at least a period apart. A trigger that comes too early waits,
// and newer triggers coalesce with it. A state machine without a clock. For a task triggered by the end of another
// task's job, this gate is the release guard of Sun and Liu (ICDCS 1996). proofs/chains.md explains why such a task
// needs no release jitter.
//
// One owner reports every trigger, and calls next() for the next release. A ReleaseGrid is used with the gate: the
// owner postpones the grid to the gate's next() if that is later. When the grid has decided whether a job starts or is
// dropped, the owner calls release(). Never allocates. Not thread-safe.
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
  /// with it, and the instant of the earlier trigger is kept.
  void trigger(Instant at) noexcept {
    if (next_) return void(++dropped_);
    next_ = std::max(at, earliest_);
    asked_ = at;
  }
  /// Returns when the waiting trigger releases a job, or nullopt if no trigger waits.
  [[nodiscard]] std::optional<Instant> next() const noexcept { return next_; }
  /// Reports that a started job or a dropped release has used the waiting trigger at `at`. `at` must not be before
  /// next().
  void release(Instant at) noexcept {
    next_.reset();
    earliest_ = at + period_;
  }
  /// Returns when the trigger of the last release was requested, before any wait at the gate.
  [[nodiscard]] Instant asked() const noexcept { return asked_; }
  /// Returns the number of triggers that coalesced with a waiting one.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  Duration period_;
  Instant earliest_ = Instant::min();
  std::optional<Instant> next_;
  Instant asked_{}; // the instant of the trigger that waits or, if none waits, of the last release
  std::uint64_t dropped_ = 0;
};

} // namespace rtexec::policies
