// The schedule of a paced generator, which keeps a rate exactly. Burst k is due at start + k * grid. Bursts 0 to k
// together have rate * (k + 1) * grid bytes, rounded down to whole units. Therefore neither rounding errors nor
// lateness accumulate. Pure code: no clock, no allocation.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>

namespace rtexec::tasks {

class Pacer {
 public:
  /// The time between bursts: a tenth of the usual regulation period.
  static constexpr Duration grid = std::chrono::microseconds(100);
  /// The maximum lateness of a burst. A burst with a greater lateness is dropped, so that a generator that was delayed
  /// does not move all overdue bytes at once.
  static constexpr Duration max_behind = std::chrono::milliseconds(10);

  /// `rate` and `unit` must be above 0.
  Pacer(Bandwidth rate, Bytes unit, Instant start);

  struct Burst {
    Instant due;
    Bytes size; // a whole number of units, at least one
  };
  /// Returns the next burst that contains at least one unit. Drops and counts bursts that are more than `max_behind`
  /// late at `now`.
  [[nodiscard]] Burst next(Instant now) noexcept;
  [[nodiscard]] Bytes dropped() const noexcept { return dropped_; }

 private:
  /// Adds credit (the right to move bytes) for `steps` steps of the grid. Spends credit on as many whole units as
  /// possible, and returns the bytes of these units.
  [[nodiscard]] Bytes take(std::uint64_t steps) noexcept;

  std::uint64_t rate_; // credit added in each step of the grid
  std::uint64_t unit_; // in bytes
  std::uint64_t cost_; // credit for one unit; credit is counted in bytes, times the number of grid steps per second
  std::uint64_t credit_ = 0;
  Instant due_; // instant of the next step
  Bytes dropped_;
};

} // namespace rtexec::tasks
