#include "hal/board/board_findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rtexec::hal {
namespace {

ClockFacts numbered(ClockFacts clock, unsigned number) {
  clock.name = with_number(std::move(clock.name), number);
  for (BoardPaths* paths :
       {&clock.rate, &clock.lowest, &clock.highest, &clock.set, &clock.lock, &clock.possible, &clock.cap})
    *paths = with_number(std::move(*paths), number);
  return clock;
}

SensorFacts numbered(SensorFacts sensor, unsigned number) {
  sensor.name = with_number(std::move(sensor.name), number);
  for (BoardPaths* paths : {&sensor.value, &sensor.limit}) *paths = with_number(std::move(*paths), number);
  return sensor;
}

/// Returns `facts` alone if its name has no "#". Otherwise returns one copy for each number that "#" stands for in
/// `paths` on the machine.
template <class Facts> std::vector<Facts> each_of(const Facts& facts, const BoardPaths& paths, const Machine& machine) {
  if (!facts.name.contains('#')) return {facts};
  std::vector<Facts> all;
  for (const unsigned number : numbers_in(paths, machine)) all.push_back(numbered(facts, number));
  return all;
}

std::optional<FoundClock> find(const ClockFacts& facts, const Machine& machine) {
  auto rate = find_file(facts.rate, machine);
  if (!rate) return std::nullopt;
  return FoundClock{.name = facts.name,
                    .kind = facts.kind,
                    .rate = std::move(*rate),
                    .lowest = find_file(facts.lowest, machine),
                    .highest = find_file(facts.highest, machine),
                    .set = find_file(facts.set, machine),
                    .lock = find_file(facts.lock, machine),
                    .possible = find_file(facts.possible, machine),
                    .cap = find_file(facts.cap, machine)};
}

std::optional<FoundSensor> find(const SensorFacts& facts, const Machine& machine) {
  auto value = find_file(facts.value, machine);
  if (!value) return std::nullopt;
  return FoundSensor{
      .name = facts.name, .kind = facts.kind, .value = std::move(*value), .limit = find_file(facts.limit, machine)};
}

template <class Facts, class Found>
bool find_all(const Facts& facts, const BoardPaths& paths, const Machine& machine, std::vector<Found>& found,
              std::vector<std::string>& absent) {
  bool any = false;
  for (const Facts& each : each_of(facts, paths, machine))
    if (auto one = find(each, machine)) {
      found.push_back(std::move(*one));
      any = true;
    }
  if (!any) absent.push_back(facts.name);
  return any;
}

} // namespace

Result<std::int64_t> highest_settable(const FoundClock& clock, const Machine& machine) {
  if (!clock.possible)
    return fail(Errc::refused, "no file gives the highest rate of the clock '" + clock.name + "' can be");
  const auto possible = read_value(*clock.possible, machine);
  if (!possible || !clock.cap) return possible;
  const auto cap = read_value(*clock.cap, machine);
  if (!cap) return cap;
  return *cap == 0 ? *possible : std::min(*possible, *cap);
}

bool is_rate(std::int64_t hertz, std::int64_t wanted) {
  constexpr std::int64_t tolerance = 50; // 1/50 of the wanted rate
  return std::abs(hertz - wanted) <= wanted / tolerance;
}

FoundHardware find_hardware(const Board& board, const Machine& machine) {
  FoundHardware hardware;
  for (const ClockFacts& clock : board.clocks)
    if (!find_all(clock, clock.rate, machine, hardware.clocks, hardware.absent))
      hardware.absent_clocks.push_back(clock);
  for (const SensorFacts& sensor : board.sensors)
    find_all(sensor, sensor.value, machine, hardware.sensors, hardware.absent);
  return hardware;
}

} // namespace rtexec::hal
