// When a paced generator moves how much, so that it keeps a rate exactly: burst k is due at start + k grid, and bursts
// 0 to k together have rate (k + 1) grid, rounded down to whole units. So neither rounding nor lateness adds up. Pure:
// no clock, no allocation.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>

namespace rtexec::tasks {

class Pacer {
 public:
  /// A tenth of the usual period of regulation
  static constexpr Duration grid = std::chrono::microseconds(100);
  /// What is later is dropped, so that lost time is not made up for by a flood
  static constexpr Duration max_behind = std::chrono::milliseconds(10);

  /// `rate` and `unit` are more than 0.
  Pacer(Bandwidth rate, Bytes unit, Instant start);

  struct Burst {
    Instant due;
    Bytes size; // whole units, at least one
  };
  /// The first burst that holds a unit, after those that were taken. What is more than `max_behind` late at `now` is
  /// dropped and counted.
  [[nodiscard]] Burst next(Instant now) noexcept;
  [[nodiscard]] Bytes dropped() const noexcept { return dropped_; }

 private:
  /// Adds `steps` of the grid to the credit, and takes its whole units.
  [[nodiscard]] Bytes take(std::uint64_t steps) noexcept;

  std::uint64_t rate_; // credit in each step
  std::uint64_t unit_; // bytes
  std::uint64_t cost_; // credit that a unit takes: credit is counted in bytes times grids in a second
  std::uint64_t credit_ = 0;
  Instant due_; // of the next step
  Bytes dropped_;
};

} // namespace rtexec::tasks
