#include "rtexec/runtime/statistics/chain_statistics.hpp"

namespace rtexec {

void BoundedTimes::add(Duration time) noexcept {
  times.add(time);
  if (bound && time > *bound) violations.fetch_add(1, std::memory_order_relaxed);
}

MeasuredTimes BoundedTimes::report() const {
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
  if (samples.reaction) reaction_.add(*samples.reaction);
  if (samples.age) age_.add(*samples.age);
  if (samples.reduced_age) reduced_age_.add(*samples.reduced_age);
}

ChainReport ChainStatistics::report() const {
  return {.name = name_,
          .from_sampling = from_sampling_,
          .reaction = reaction_.report(),
          .age = age_.report(),
          .reduced_age = reduced_age_.report()};
}

} // namespace rtexec
