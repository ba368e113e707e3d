#include "traces/analysis/clock_history.hpp"

#include <algorithm>

namespace rtexec::traces {
namespace {

constexpr std::uint64_t step = 100'000'000; // Hz
constexpr unsigned max_cores = 8192;        // a damaged recording may contain any number
constexpr std::uint32_t of_board = 8 | 16 | 32;

constexpr std::uint32_t class_of(Frequency frequency) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((frequency.hertz + step / 2) / step, UINT16_MAX));
}
std::string class_name(std::uint32_t steps) { return readable(Frequency{steps * step}); }

} // namespace

std::string no_wcets(const std::vector<std::string>& limits) {
  std::string names;
  for (const std::string& limit : limits) names += (names.empty() ? "" : ", ") + limit;
  return "execution times of this run are not valid as WCETs: there was " + names;
}

std::vector<std::string> names_of_limits(std::uint32_t limits) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : {std::pair(1U, "power"),
                                  {2U, "temperature"},
                                  {4U, "the hardware's brake"},
                                  {8U, "an over-current event"},
                                  {16U, "a locked clock that moved"},
                                  {32U, "a part so hot that it is throttled"}})
    if (limits & bit) names.emplace_back(name);
  return names;
}

void Clocks::Clock::see(Frequency frequency) {
  if (frequency == Frequency{}) return;
  now = frequency;
  lowest = lowest == Frequency{} ? frequency : std::min(lowest, frequency);
  highest = std::max(highest, frequency);
}

void Clocks::see(const Record& record) {
  if (record.kind == RecordKind::core_clock) {
    if (record.core < max_cores) cores_[record.core].see(record.frequency);
    return;
  }
  device_.see(record.frequency);
  device_.limits |= record.limits & ~of_board;
  board_limits_ |= record.limits & of_board;
  memory_.see(record.memory_frequency);
}

std::string Clocks::name(Class clock) {
  const std::uint32_t memory = clock >> 16;
  return class_name(clock & UINT16_MAX) + (memory > 0 ? ", memory " + class_name(memory) : "");
}

std::optional<Clocks::Class> Clocks::of_core(unsigned core) const {
  const auto found = cores_.find(core);
  return found == cores_.end() ? std::nullopt : std::optional(class_of(found->second.now));
}

std::optional<Clocks::Class> Clocks::of_device() const {
  if (device_.now == Frequency{}) return std::nullopt;
  return class_of(device_.now) | class_of(memory_.now) << 16;
}

void Clocks::add(std::vector<ClockAnalysis>& all, const std::string& of, const Clock& clock) {
  if (clock.highest > Frequency{}) all.push_back({of, clock.lowest, clock.highest, names_of_limits(clock.limits)});
}

std::vector<ClockAnalysis> Clocks::analysis() const {
  std::vector<ClockAnalysis> all;
  for (const auto& [core, clock] : cores_) add(all, "core " + std::to_string(core), clock);
  add(all, "device", device_);
  add(all, "device memory", memory_);
  if (board_limits_ != 0) all.push_back({"board", {}, {}, names_of_limits(board_limits_)});
  return all;
}

} // namespace rtexec::traces
