// How the longest execution grows with the number of jobs, without a model of the tail. Pure; any thread may call.
//
// In the mean, the longest of n jobs of a series is the longest of n / 2^k jobs that follow each other, plus k times
// what a doubling brings. That is known for up to six halvings, from the series cut into 2^k equal pieces; so the
// longest is carried on over as many doublings, and no further. For tails that fall at least as fast as an exponential
// one a doubling brings no more than the one before it.
#pragma once

#include <cstdint>
#include <span>

namespace rtexec::traces {

constexpr int max_halvings = 6;
constexpr std::uint64_t min_piece = 8; // jobs: of fewer, the longest is not yet a tail's

struct Growth {
  double longest = 0;
  double per_doubling = 0; // of the number of jobs; the most that any of the halvings showed
  int halvings = 0;        // that were looked at

  /// The longest of 2^doublings times as many jobs. Of the growth `growth_safety` times as much is added, since what
  /// was seen is itself by chance.
  [[nodiscard]] double after(double doublings) const;
};
constexpr double growth_safety = 1.5;

/// `samples` in the order in which they were measured, each the longest of `block` jobs; not empty.
[[nodiscard]] Growth growth(std::span<const double> samples, std::uint64_t block = 1);

} // namespace rtexec::traces
