// Estimates how the longest execution grows with the number of jobs, without a model of the tail. Pure; any thread may
// call.
//
// Let a series have n jobs, and let k be a number of halvings. On average, the longest execution of the n jobs is the
// longest of n / 2^k consecutive jobs, plus k times the increase per doubling of the number of jobs. To find that
// increase, the series is cut into 2^k equal pieces, for up to six halvings. The longest execution is extrapolated over
// at most as many doublings as halvings were examined. This is safe for tails that fall at least as fast as an
// exponential tail: a doubling then adds no more than the previous doubling.
#pragma once

#include <cstdint>
#include <span>

namespace rtexec::traces {

constexpr int max_halvings = 6;
constexpr std::uint64_t min_piece = 8; // number of jobs; the longest of fewer jobs does not yet belong to the tail

struct Growth {
  double longest = 0;
  /// Increase of the longest execution per doubling of the number of jobs; the largest increase of all halvings
  double per_doubling = 0;
  int halvings = 0; // number of halvings that were examined

  /// Returns the estimated longest execution of n 2^d jobs. n is the number of measured jobs, and d is `doublings`,
  /// limited to the range from 0 to `halvings`. Adds `growth_safety` times the observed growth, because the observed
  /// growth is itself random.
  [[nodiscard]] double after(double doublings) const;
};
constexpr double growth_safety = 1.5;

/// Estimates the growth. `samples` must be in the order of measurement and not empty. Each sample is the longest of
/// `block` jobs.
[[nodiscard]] Growth growth(std::span<const double> samples, std::uint64_t block = 1);

} // namespace rtexec::traces
