// Keeps the releases of a task that no timer releases at least a period apart: a trigger that comes too early waits,
// and a newer one takes its place. A state machine without a clock. For the end of another task's job it is the release
// guard of Sun and Liu (ICDCS 1996); proofs/chains.md says why such a task needs no release jitter.
//
// One owner tells it of every trigger and asks next(); ReleaseGrid stands behind it: it is postponed to the later of
// both next(), and what it decides there, a job or none, is a release(). Never allocates. Not thread-safe.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rtexec::policies {

class SporadicGate {
 public:
  explicit SporadicGate(Duration period) noexcept : period_(period) {}

  /// Something asks for a job from `at` on, which may be to come. Where a trigger waits, or is due and was not released
  /// yet, this one takes its place, at its instant.
  void trigger(Instant at) noexcept {
    if (next_) return void(++dropped_);
    next_ = std::max(at, earliest_);
    asked_ = at;
  }
  /// When the trigger that waits releases a job; absent: none waits.
  [[nodiscard]] std::optional<Instant> next() const noexcept { return next_; }
  /// The trigger that waits has released a job, or a release that was dropped, at `at`, not before next().
  void release(Instant at) noexcept {
    next_.reset();
    earliest_ = at + period_;
  }
  /// When what released last was asked for first, however long it waited.
  [[nodiscard]] Instant asked() const noexcept { return asked_; }
  /// Triggers whose place a newer one took.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  Duration period_;
  Instant earliest_ = Instant::min();
  std::optional<Instant> next_;
  Instant asked_{}; // of the trigger that waits, or released last
  std::uint64_t dropped_ = 0;
};

} // namespace rtexec::policies
