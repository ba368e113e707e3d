#include "rtexec/runtime/watches/board_watch.hpp"

#include <algorithm>
#include <cstdlib>

namespace rtexec::executive {
namespace {

/// A deviation of more than 1/20 counts as a change. The kernel measures clocks no more accurately than this.
constexpr std::int64_t moved_by = 20;

/// Returns the highest of the gauges' rates.
Frequency rate_of(const std::vector<hal::Gauge>& gauges) noexcept {
  std::int64_t rate = 0;
  for (const hal::Gauge& gauge : gauges) rate = std::max(rate, gauge.read().value_or(0));
  return {static_cast<std::uint64_t>(rate)};
}

} // namespace

void BoardWatch::watch(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
                       const hal::Machine& machine) {
  for (const hal::FoundClock& clock : hardware.clocks) {
    if (clock.kind == ClockKind::gpu) gpu_.emplace_back(clock.rate, machine);
    if (clock.kind == ClockKind::memory) memory_.emplace_back(clock.rate, machine);
  }
  for (const hal::LockedClock& clock : locked) locked_.push_back({hal::Gauge(clock.rate, machine), clock.hertz});
  for (const hal::FoundSensor& sensor : hardware.sensors) {
    hal::Gauge gauge(sensor.value, machine);
    const auto limit = sensor.limit ? hal::read_value(*sensor.limit, machine) : Result<std::int64_t>(0);
    if (sensor.kind == SensorKind::temperature && sensor.limit && limit) hot_.push_back({std::move(gauge), *limit});
    else if (sensor.kind == SensorKind::over_current) {
      const std::int64_t before = gauge.read().value_or(0);
      current_.push_back({std::move(gauge), before});
    }
  }
}

BoardWatch::Seen BoardWatch::look() const noexcept {
  using hal::DeviceClocks;
  Seen seen{.gpu = rate_of(gpu_), .memory = rate_of(memory_)};
  for (const Limited& clock : locked_) {
    const auto rate = clock.gauge.read();
    if (rate && *rate > 0 && std::abs(*rate - clock.limit) > clock.limit / moved_by) seen.limits |= DeviceClocks::moved;
  }
  for (const Limited& part : hot_)
    if (const auto value = part.gauge.read(); value && *value >= part.limit) seen.limits |= DeviceClocks::hot;
  for (const Limited& events : current_)
    if (const auto count = events.gauge.read(); count && *count > events.limit)
      seen.limits |= DeviceClocks::over_current;
  return seen;
}

} // namespace rtexec::executive
