#include "rtexec/statistics/chain_statistics.hpp"

namespace rtexec {

void ChainStatistics::Measure::add(const std::optional<Duration>& sample) noexcept {
  if (!sample) return;
  times.add(*sample);
  if (bound && *sample > *bound) violations.fetch_add(1, std::memory_order_relaxed);
}

ChainReport::Measured ChainStatistics::Measure::report() const {
  return {.times = times.statistics(),
          .count = times.count(),
          .violations = violations.load(std::memory_order_relaxed),
          .bound = bound};
}

void ChainStatistics::promise(const PlannedChain& planned) {
  reaction_.bound = planned.reaction;
  age_.bound = planned.age;
  reduced_age_.bound = planned.reduced_age;
}

void ChainStatistics::add(const policies::ChainSamples& samples) noexcept {
  reaction_.add(samples.reaction);
  age_.add(samples.age);
  reduced_age_.add(samples.reduced_age);
}

ChainReport ChainStatistics::report() const {
  return {.name = name_, .reaction = reaction_.report(), .age = age_.report(), .reduced_age = reduced_age_.report()};
}

} // namespace rtexec
