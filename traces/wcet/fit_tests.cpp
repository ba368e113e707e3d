#include "traces/wcet/fit_tests.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace rtexec::traces {
namespace {

constexpr std::array shapes{-0.4, -0.2, 0.0, 0.2, 0.4};
constexpr std::array levels{0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001};
// For each probability in `levels`: the statistic that is exceeded with this probability
using Row = std::array<double, levels.size()>;
using Table = std::array<Row, shapes.size()>;

// Each table was computed from 40,000 samples of 200 values each.
constexpr Table gpd_anderson_darling{{
    {0.443, 0.648, 0.916, 1.130, 1.351, 1.667, 1.923, 2.566},
    {0.417, 0.604, 0.847, 1.044, 1.237, 1.527, 1.728, 2.337},
    {0.395, 0.565, 0.792, 0.973, 1.150, 1.384, 1.575, 2.099},
    {0.376, 0.535, 0.742, 0.907, 1.078, 1.285, 1.465, 1.920},
    {0.362, 0.512, 0.704, 0.854, 1.014, 1.212, 1.380, 1.740},
}};
constexpr Table gpd_kolmogorov_smirnov{{
    {0.662, 0.788, 0.923, 1.008, 1.094, 1.196, 1.263, 1.415},
    {0.643, 0.762, 0.889, 0.970, 1.051, 1.148, 1.216, 1.357},
    {0.625, 0.738, 0.857, 0.934, 1.009, 1.104, 1.167, 1.311},
    {0.609, 0.717, 0.826, 0.903, 0.972, 1.060, 1.124, 1.252},
    {0.597, 0.699, 0.802, 0.873, 0.941, 1.021, 1.082, 1.204},
}};
constexpr Table gev_anderson_darling{{
    {0.311, 0.424, 0.566, 0.671, 0.776, 0.911, 1.022, 1.257},
    {0.298, 0.404, 0.537, 0.636, 0.736, 0.860, 0.966, 1.222},
    {0.289, 0.391, 0.518, 0.613, 0.706, 0.829, 0.920, 1.160},
    {0.284, 0.383, 0.505, 0.598, 0.688, 0.807, 0.897, 1.113},
    {0.282, 0.380, 0.501, 0.593, 0.681, 0.804, 0.889, 1.116},
}};
constexpr Table gev_kolmogorov_smirnov{{
    {0.581, 0.678, 0.776, 0.840, 0.902, 0.977, 1.025, 1.152},
    {0.573, 0.667, 0.762, 0.824, 0.884, 0.955, 1.002, 1.117},
    {0.566, 0.659, 0.752, 0.814, 0.870, 0.941, 0.991, 1.086},
    {0.563, 0.655, 0.748, 0.810, 0.868, 0.938, 0.984, 1.079},
    {0.563, 0.654, 0.748, 0.812, 0.869, 0.942, 0.988, 1.089},
}};

Row at_shape(const Table& table, double shape) {
  const double position =
      std::clamp((shape - shapes.front()) / (shapes[1] - shapes[0]), 0.0, static_cast<double>(shapes.size() - 1));
  const std::size_t i = std::min(static_cast<std::size_t>(position), shapes.size() - 2);
  const double share = position - static_cast<double>(i);
  Row row{};
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = std::lerp(table[i][j], table[i + 1][j], share);
  return row;
}

/// Returns the p-value of `statistic` by linear interpolation in the logarithm of the p-value.
double p_value(const Row& row, double statistic) {
  if (statistic <= row.front()) return levels.front();
  std::size_t j = 1;
  while (j + 1 < row.size() && statistic > row[j]) ++j;
  const double share = (statistic - row[j - 1]) / (row[j] - row[j - 1]);
  return std::exp(std::lerp(std::log(levels[j - 1]), std::log(levels[j]), share));
}

} // namespace

double anderson_darling_statistic(std::span<const double> probabilities) {
  const auto n = static_cast<double>(probabilities.size());
  const auto inside = [](double u) { return std::clamp(u, 1e-15, 1 - 1e-15); };
  double sum = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double from_below = inside(probabilities[i]),
                 from_above = inside(probabilities[probabilities.size() - 1 - i]);
    sum += (2.0 * static_cast<double>(i) + 1) * (std::log(from_below) + std::log1p(-from_above));
  }
  return -n - sum / n;
}

double kolmogorov_smirnov_statistic(std::span<const double> probabilities) {
  const auto n = static_cast<double>(probabilities.size());
  double largest = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, probabilities[i] - rank / n, (rank + 1) / n - probabilities[i]});
  }
  return std::sqrt(n) * largest;
}

double anderson_darling_p_value(Law law, double shape, double statistic) {
  return p_value(at_shape(law == Law::gpd ? gpd_anderson_darling : gev_anderson_darling, shape), statistic);
}

double kolmogorov_smirnov_p_value(Law law, double shape, double statistic) {
  return p_value(at_shape(law == Law::gpd ? gpd_kolmogorov_smirnov : gev_kolmogorov_smirnov, shape), statistic);
}

} // namespace rtexec::traces
