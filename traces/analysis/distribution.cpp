#include "traces/analysis/distribution.hpp"

namespace rtexec::traces {
void DistributionBuilder::add(Duration value, std::uint64_t job, Instant at) {
  const std::uint64_t ns = log_linear::counted(value);
  const Duration counted(static_cast<Duration::rep>(ns));
  const std::size_t index = log_linear::class_of(ns);
  auto& counts = counts_[index / row];
  if (!counts) counts = std::make_unique<std::array<std::uint64_t, row>>();
  ++(*counts)[index % row];
  sum_ += ns;
  if (built_.count == 0 || counted < built_.min) built_.min = counted;
  if (++built_.count > 1 && counted <= built_.max) return;
  built_.max = counted;
  built_.max_job = job;
  built_.max_at = at;
  if (built_.high_water.size() == max_marks) built_.high_water.pop_back();
  built_.high_water.push_back({built_.count, counted});
}

std::uint64_t DistributionBuilder::count_of(std::size_t index) const noexcept {
  const auto& counts = counts_[index / row];
  return counts ? (*counts)[index % row] : 0;
}

std::vector<Distribution::Class> DistributionBuilder::classes() const {
  std::vector<Distribution::Class> found;
  for (std::size_t i = 0; i < log_linear::classes; ++i)
    if (const std::uint64_t count = count_of(i))
      found.push_back({Duration(static_cast<Duration::rep>(log_linear::upper_edge(i))), count});
  return found;
}

Distribution DistributionBuilder::distribution() const {
  Distribution result = built_;
  if (result.count == 0) return result;
  const auto percentile = [&](double share) {
    return log_linear::percentile(share, result.count, result.min, result.max,
                                  [this](std::size_t i) { return count_of(i); });
  };
  result.mean = Duration(static_cast<Duration::rep>(sum_ / result.count));
  result.classes = classes();
  result.p50 = percentile(0.5);
  result.p90 = percentile(0.9);
  result.p99 = percentile(0.99);
  result.p999 = percentile(0.999);
  result.p9999 = percentile(0.9999);
  return result;
}

} // namespace rtexec::traces
