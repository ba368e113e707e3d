#include "traces/wcet/growth.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace rtexec::traces {
namespace {

/// Returns the mean of the longest samples of `pieces` equal pieces of the series. If the samples do not divide evenly,
/// ignores the first few samples.
double mean_longest(std::span<const double> samples, std::size_t pieces) {
  const std::size_t length = samples.size() / pieces;
  const auto used = samples.last(length * pieces);
  double sum = 0;
  for (std::size_t i = 0; i < pieces; ++i) sum += *std::ranges::max_element(used.subspan(i * length, length));
  return sum / static_cast<double>(pieces);
}

} // namespace

double Growth::after(double doublings) const {
  return longest + growth_safety * per_doubling * std::clamp(doublings, 0.0, static_cast<double>(halvings));
}

Growth growth(std::span<const double> samples, std::uint64_t block) {
  const auto halvings = [](std::uint64_t count) { return static_cast<int>(std::bit_width(count)) - 1; };
  const std::uint64_t samples_of_piece = std::max<std::uint64_t>(min_piece / block, 1);
  Growth found{.longest = *std::ranges::max_element(samples),
               .per_doubling = 0,
               .halvings = std::clamp(halvings(samples.size() / samples_of_piece), 0, max_halvings)};
  const int half = found.halvings / 2;
  const double middle = mean_longest(samples, std::size_t{1} << half);
  const double least = mean_longest(samples, std::size_t{1} << found.halvings);
  const auto slope = [&](double from, double to, int steps) {
    if (steps > 0) found.per_doubling = std::max(found.per_doubling, (to - from) / steps);
  };
  slope(middle, found.longest, half);
  slope(least, middle, found.halvings - half);
  slope(least, found.longest, found.halvings);
  return found;
}

} // namespace rtexec::traces
