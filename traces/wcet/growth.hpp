// Estimates how the longest execution grows with the number of jobs, without a model of the tail. Pure; any thread may
// call.
//
// In the mean, the longest execution of n jobs of a series is the longest of n / 2^k consecutive jobs, plus k times the
// increase per doubling. That increase is known for up to six halvings, from the series cut into 2^k equal pieces. So
// the longest is extrapolated over at most as many doublings as halvings were examined. For tails that fall at least as
// fast as an exponential one, a doubling adds no more than the one before it.
#pragma once

#include <cstdint>
#include <span>

namespace rtexec::traces {

constexpr int max_halvings = 6;
constexpr std::uint64_t min_piece = 8; // jobs; the longest of fewer jobs does not yet belong to the tail

struct Growth {
  double longest = 0;
  double per_doubling = 0; // increase per doubling of the number of jobs; the largest of all halvings
  int halvings = 0;        // number of halvings that were examined

  /// Returns the estimated longest execution of 2^doublings times as many jobs; more than `halvings` doublings count as
  /// `halvings`. Adds `growth_safety` times the observed growth, since that growth is itself random.
  [[nodiscard]] double after(double doublings) const;
};
constexpr double growth_safety = 1.5;

/// Estimates the growth. `samples` must be in the order of measurement, each the longest of `block` jobs, and not
/// empty.
[[nodiscard]] Growth growth(std::span<const double> samples, std::uint64_t block = 1);

} // namespace rtexec::traces
