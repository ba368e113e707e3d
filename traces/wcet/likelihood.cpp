#include "traces/wcet/likelihood.hpp"

#include <limits>
#include <numeric>

namespace rtexec::traces {

double mean(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double sum_log1p(double c, std::span<const double> y) {
  // Takes one logarithm of a product of this number of factors: each factor is far below the eighth root of the largest
  // double
  constexpr std::size_t factors = 8;
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); i += factors) {
    double product = 1;
    for (std::size_t j = i; j < std::min(i + factors, y.size()); ++j) {
      const double factor = 1 + c * y[j];
      if (factor <= 0) return -std::numeric_limits<double>::infinity();
      product *= factor;
    }
    sum += std::log(product);
  }
  return sum;
}

} // namespace rtexec::traces
