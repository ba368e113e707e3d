// Keeps the releases of a task at least a period apart, if no timer releases it. A trigger that comes too early waits,
// and newer triggers coalesce with it. A state machine without a clock. For triggers by the end of another task's job
// it is the release guard of Sun and Liu (ICDCS 1996). proofs/chains.md says why such a task needs no release jitter.
//
// One owner reports every trigger, and calls next() for the next release. A ReleaseGrid is used with the gate: the
// owner postpones the grid to the gate's next() if that is later. Then it reports with release() that the grid has
// decided, whether a job starts or is dropped. Never allocates. Not thread-safe.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rtexec::policies {

class SporadicGate {
 public:
  explicit SporadicGate(Duration period) noexcept : period_(period) {}

  /// Requests a job at `at`, which may be in the future. If an earlier trigger has not released its job yet, the new
  /// one coalesces with it, and the instant of the earlier one stays.
  void trigger(Instant at) noexcept {
    if (next_) return void(++dropped_);
    next_ = std::max(at, earliest_);
    asked_ = at;
  }
  /// Returns when the waiting trigger releases a job, or nullopt if none waits.
  [[nodiscard]] std::optional<Instant> next() const noexcept { return next_; }
  /// Reports that the waiting trigger has been used, by a job or by a dropped release, at `at`, which must not be
  /// before next().
  void release(Instant at) noexcept {
    next_.reset();
    earliest_ = at + period_;
  }
  /// Returns when the trigger of the last release was first requested, however long it waited.
  [[nodiscard]] Instant asked() const noexcept { return asked_; }
  /// Returns the number of triggers that coalesced with a waiting one.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  Duration period_;
  Instant earliest_ = Instant::min();
  std::optional<Instant> next_;
  Instant asked_{}; // the instant of the trigger that waits or released last
  std::uint64_t dropped_ = 0;
};

} // namespace rtexec::policies
