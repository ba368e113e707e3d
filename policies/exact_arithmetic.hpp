// Exact integer arithmetic of the admission tests: times in 64-bit nanoseconds, sums of products in 128 bits.
//
// Why no value overflows: make_plan() refuses times above `longest_time` and more than `max_tasks` tasks. Every
// iteration stops at `unbounded`. So the sum of a window and a jitter is below 2^58, and so is a number of jobs. An
// execution time with its charges (the overheads that the analysis adds) is at most 2^57, so a sum over the two CPU
// parts of 2^10 tasks is below 2^126. Sums of memory lines are below 2^126 too, since a part moves at most 2^55 lines.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace rtexec::policies {

using Nanos = std::int64_t;
__extension__ typedef __int128 Wide;

inline constexpr Nanos longest_time = Nanos{1} << 55; // 417 days: the maximum of any period, deadline, WCET or charge
inline constexpr Nanos unbounded = Nanos{1} << 57;    // an iteration that reaches this value has no bound
inline constexpr std::size_t max_tasks = 1024;
inline constexpr Nanos second = 1'000'000'000;

/// Returns the smaller of `time` and `unbounded`.
[[nodiscard]] constexpr Nanos bounded(Wide time) { return static_cast<Nanos>(std::min<Wide>(time, unbounded)); }

[[nodiscard]] inline Nanos sum_of(std::span<const Nanos> times) {
  return bounded(std::accumulate(times.begin(), times.end(), Wide{0}));
}

/// Work that recurs: at most one job of `cost` per `period`, each up to `jitter` later than its nominal release.
struct Load {
  Nanos period = 1;
  Nanos cost = 0;
  Nanos jitter = 0;
  Nanos lines = 0; // lines of memory that each job moves on a core with a bandwidth budget
};

/// Returns a / b, rounded towards zero, for b > 0. Below 2^53 it uses floating-point division, which takes a fraction
/// of the time of an integer division. The result is exact: a quotient that is not an integer is at least 1 / b below
/// the next integer, so it is not rounded up to that integer.
[[nodiscard]] constexpr Nanos quotient(Nanos a, Nanos b) {
  constexpr Nanos exact = Nanos{1} << 53;
  if (a < 0 || a >= exact || b >= exact) return a / b;
  return static_cast<Nanos>(static_cast<double>(a) / static_cast<double>(b));
}

/// Returns how many jobs of `load` can become ready in a half-open window of length `window` >= 0: ceil((window +
/// jitter) / period).
[[nodiscard]] constexpr Wide jobs_in(const Load& load, Nanos window) {
  return quotient(window + load.jitter + load.period - 1, load.period);
}

/// Returns how many jobs of `load` can become ready in a closed window of length `window` >= 0: floor((window + jitter)
/// / period) + 1.
[[nodiscard]] constexpr Wide jobs_in_closed(const Load& load, Nanos window) {
  return quotient(window + load.jitter, load.period) + 1;
}

/// The result of an iteration towards the least fixed point. If `settled` is false, the iteration exceeded its limit or
/// took too many steps. Then the fixed point, if there is one, is at least `value`.
struct FixedPoint {
  Nanos value = 0;
  bool settled = false;
};

/// The maximum number of steps of one iteration. Only a utilisation within about 1e-5 of 1 needs so many steps
inline constexpr int max_steps = 200'000;

/// Returns the least fixed point of `next`, a non-decreasing function. `from`: where the iteration starts; it must not
/// exceed that fixed point. Stops when the value exceeds `limit`, or after `steps` steps.
template <class Next>
[[nodiscard]] FixedPoint least_fixed_point(Nanos from, Nanos limit, Next next, int steps = max_steps) {
  Nanos value = from;
  for (int step = 0; step < steps && value <= limit && value < unbounded; ++step) {
    const Wide following = next(value);
    if (following <= value) return {value, true};
    value = bounded(following);
  }
  return {value, false};
}

/// A sum of cost / period, rounded up by less than 2^-48 per term. So if below_one() holds, the exact sum is below one.
class Utilisation {
 public:
  void add(Nanos cost, Nanos period) { sum_ += ((Wide{cost} << bits) + period - 1) / period; }
  [[nodiscard]] bool below_one() const { return sum_ < one; }
  /// Returns the work demanded in each second, at most `unbounded`.
  [[nodiscard]] Nanos per_second() const {
    constexpr Wide most = one * 100'000'000; // keeps the product in range
    return static_cast<Nanos>((std::min(sum_, most) * second) >> bits);
  }
  /// Returns work / (1 - utilisation), rounded up: the time until `work` is done in addition to the load. below_one()
  /// must be true.
  [[nodiscard]] Wide spread(Wide work) const { return (work * one + (one - sum_) - 1) / (one - sum_); }

 private:
  static constexpr int bits = 48;
  static constexpr Wide one = Wide{1} << bits;
  Wide sum_ = 0;
};

} // namespace rtexec::policies
