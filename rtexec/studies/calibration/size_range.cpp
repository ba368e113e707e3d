#include "rtexec/studies/calibration/size_range.hpp"

#include <cmath>

namespace rtexec::study {

std::vector<unsigned> sizes_between(unsigned least, unsigned most, unsigned count) {
  if (count == 1) return {most};
  std::vector<unsigned> sizes;
  for (unsigned i = 0; i < count; ++i) {
    const double factor = std::pow(static_cast<double>(most) / least, static_cast<double>(i) / (count - 1));
    sizes.push_back(static_cast<unsigned>(std::lround(least * factor)));
  }
  return sizes;
}

} // namespace rtexec::study
