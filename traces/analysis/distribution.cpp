#include "traces/analysis/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::traces {
namespace {

/// The smallest upper edge that at least `share` of all values do not exceed.
Duration percentile(const Distribution& distribution, double share) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(distribution.count)));
  std::uint64_t seen = 0;
  for (const Distribution::Class& each : distribution.classes)
    if ((seen += each.count) >= wanted) return std::clamp(each.upper, distribution.min, distribution.max);
  return distribution.max;
}

} // namespace

void DistributionBuilder::add(Duration value, std::uint64_t job, Instant at) {
  const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(value.count(), 0));
  const Duration counted(static_cast<Duration::rep>(ns));
  const std::size_t index = std::min(log_linear::class_of(ns), log_linear::classes - 1);
  auto& counts = counts_[index / row];
  if (!counts) counts = std::make_unique<std::array<std::uint64_t, row>>();
  ++(*counts)[index % row];
  sum_ += ns;
  if (built_.count == 0 || counted < built_.min) built_.min = counted;
  if (++built_.count > 1 && counted <= built_.max) return;
  built_.max = counted;
  built_.max_job = job;
  built_.max_at = at;
  if (built_.high_water.size() == most_marks) built_.high_water.pop_back();
  built_.high_water.push_back({built_.count, counted});
}

std::vector<Distribution::Class> DistributionBuilder::classes() const {
  std::vector<Distribution::Class> found;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; counts_[i] && j < row; ++j)
      if (const std::uint64_t count = (*counts_[i])[j])
        found.push_back({Duration(static_cast<Duration::rep>(log_linear::upper_edge(i * row + j))), count});
  return found;
}

Distribution DistributionBuilder::distribution() const {
  Distribution result = built_;
  if (result.count == 0) return result;
  result.mean = Duration(static_cast<Duration::rep>(sum_ / result.count));
  result.classes = classes();
  result.p50 = percentile(result, 0.5);
  result.p90 = percentile(result, 0.9);
  result.p99 = percentile(result, 0.99);
  result.p999 = percentile(result, 0.999);
  result.p9999 = percentile(result, 0.9999);
  return result;
}

} // namespace rtexec::traces
