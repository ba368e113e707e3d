#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>

namespace rtexec::hal {
namespace {

struct Part {
  std::uint32_t implementer = 0, number = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// Returns the kind of each core, from /proc/cpuinfo of an ARM kernel.
std::map<unsigned, Part> parts_of(const Machine& machine) {
  std::map<unsigned, Part> parts;
  unsigned core = 0;
  const std::string text = machine.read("/proc/cpuinfo").value_or("");
  for (const auto line : config::parts(text, '\n')) {
    const auto colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string_view value = line.substr(colon + 2);
    if (line.starts_with("processor")) core = config::number<unsigned>(value).value_or(0);
    else if (line.starts_with("CPU implementer"))
      parts[core].implementer = config::hexadecimal<std::uint32_t>(value).value_or(0);
    else if (line.starts_with("CPU part")) parts[core].number = config::hexadecimal<std::uint32_t>(value).value_or(0);
  }
  return parts;
}

std::string hexadecimal(std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%03x", number);
  return text.data();
}

Finding finding(std::string subject, Finding::Grade grade, std::string state, std::string advice = {}) {
  return {.subject = std::move(subject), .grade = grade, .state = std::move(state), .advice = std::move(advice)};
}

Finding identity(const Board& board, const Machine& machine) {
  const KnownBoard known = identify_board(machine);
  if (const std::string why = why_not_board(board, machine); !why.empty())
    return finding("board", Finding::Grade::note, why,
                   "Files, counters and costs of board '" + board.name + "' do not hold here" +
                       (known.told ? ": board = \"" + known.name + "\" is this one." : "."));
  if (known.told && known.name == board.name)
    return finding("board", Finding::Grade::ok, known.name + ": " + known.what);
  return finding("board", Finding::Grade::ok, known.what + (known.told ? "" : ": taken as board '" + board.name + "'"));
}

Finding cores_of(const CoreKind& kind, const std::map<unsigned, Part>& parts) {
  std::string others;
  std::vector<unsigned> found, offline;
  for (const unsigned core : kind.cores) {
    const auto part = parts.find(core);
    if (part == parts.end()) offline.push_back(core);
    else if (part->second == Part{kind.implementer, kind.part}) found.push_back(core);
    else
      others += "; core " + std::to_string(core) + " is " + hexadecimal(part->second.implementer) + "/" +
                hexadecimal(part->second.number);
  }
  const std::string state = kind.name + ", cluster " + std::to_string(kind.cluster) + ": " +
                            (found.empty() ? "no core" : "cores " + core_list(found)) +
                            (offline.empty() ? "" : "; offline: " + core_list(offline)) + others;
  if (!others.empty())
    return finding("core kind", Finding::Grade::note, state, "The board's file does not describe this machine.");
  return finding("core kind", offline.empty() ? Finding::Grade::ok : Finding::Grade::note, state,
                 offline.empty() ? "" : "As root: echo 1 > /sys/devices/system/cpu/cpuN/online");
}

std::string frequency(const std::optional<BoardFile>& file, const Machine& machine) {
  const auto value = file ? read_value(*file, machine) : Result<std::int64_t>(fail(Errc::unsupported, ""));
  return value && *value >= 0 ? readable(Frequency{static_cast<std::uint64_t>(*value)}) : "unknown";
}

/// A group of equal clocks of one kind of core, printed on one line because there are many.
struct SameClocks {
  std::string name; // "core"
  std::vector<unsigned> numbers;
  std::int64_t slowest = 0, fastest = 0;
  std::string bounds, file;
};

std::string bounds(const FoundClock& clock, const Machine& machine) {
  std::string state;
  if (clock.lowest) state += ", from " + frequency(clock.lowest, machine) + " to " + frequency(clock.highest, machine);
  if (clock.set) state += ", at most " + frequency(clock.possible, machine);
  if (clock.cap) {
    const auto cap = read_value(*clock.cap, machine);
    state += cap && *cap == 0 ? ", no cap" : ", cap " + frequency(clock.cap, machine);
  }
  return state;
}

/// Adds the clock "core 3" to the group of "core" clocks with the same bounds. Returns false if the clock's name has no
/// number or its rate cannot be read.
bool join(std::vector<SameClocks>& groups, const FoundClock& clock, const Machine& machine) {
  const auto space = clock.name.rfind(' ');
  const auto number = config::number<unsigned>(std::string_view(clock.name).substr(space + 1));
  const auto rate = read_value(clock.rate, machine);
  if (space == std::string::npos || !number || !rate) return false;
  const std::string name = clock.name.substr(0, space), within = bounds(clock, machine);
  const auto same = [&](const SameClocks& group) { return group.name == name && group.bounds == within; };
  const auto group = std::ranges::find_if(groups, same);
  if (group == groups.end()) {
    groups.push_back({name, {*number}, *rate, *rate, within, clock.rate.file.string()});
  } else {
    group->numbers.push_back(*number);
    group->slowest = std::min(group->slowest, *rate);
    group->fastest = std::max(group->fastest, *rate);
  }
  return true;
}

std::vector<Finding> clocks(const std::vector<FoundClock>& all, const Machine& machine) {
  std::vector<Finding> findings;
  std::vector<SameClocks> groups;
  const auto hertz = [](std::int64_t rate) {
    return readable(Frequency{static_cast<std::uint64_t>(std::max<std::int64_t>(rate, 0))});
  };
  for (const FoundClock& clock : all)
    if (!join(groups, clock, machine))
      findings.push_back(
          finding("clock " + clock.name, Finding::Grade::ok,
                  frequency(clock.rate, machine) + bounds(clock, machine) + " (" + clock.rate.file.string() + ")"));
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    std::string rate = hertz(group->slowest);
    if (group->fastest > group->slowest) rate += " to " + hertz(group->fastest);
    findings.insert(findings.begin(),
                    finding("clock " + group->name + " " + core_list(group->numbers), Finding::Grade::ok,
                            rate + group->bounds + " (" + group->file + (group->numbers.size() > 1 ? ", ...)" : ")")));
  }
  return findings;
}

Finding sensor(const FoundSensor& sensor, const Machine& machine) {
  const auto value = read_value(sensor.value, machine);
  const std::string file = " (" + sensor.value.file.string() + ")";
  if (!value)
    return finding("sensor " + sensor.name, Finding::Grade::unknown,
                   value.error().what.substr(0, value.error().what.find('\n')));
  std::string state = std::string(name(sensor.kind)) + " " + sensor_text(sensor.kind, *value);
  const auto limit = sensor.limit ? read_value(*sensor.limit, machine) : Result<std::int64_t>(0);
  if (sensor.limit && limit) state += ", throttled from " + sensor_text(sensor.kind, *limit);
  const bool hot = sensor.limit && limit && *value >= *limit;
  return finding("sensor " + sensor.name, hot ? Finding::Grade::note : Finding::Grade::ok, state + file,
                 hot ? "It is throttling now: cool it, or choose a lower power mode." : "");
}

} // namespace

std::string sensor_text(SensorKind kind, std::int64_t value) {
  std::array<char, 48> text{};
  switch (kind) {
  case SensorKind::temperature:
    std::snprintf(text.data(), text.size(), "%.1f C", static_cast<double>(value) / 1e3);
    return text.data();
  case SensorKind::power:
    std::snprintf(text.data(), text.size(), "%.2f W", static_cast<double>(value) / 1e6);
    return text.data();
  case SensorKind::load: return std::to_string(value) + " of 1000";
  case SensorKind::memory_activity: return std::to_string(value);
  case SensorKind::over_current: return std::to_string(value) + (value == 1 ? " event" : " events");
  }
  return {};
}

std::vector<Finding> probe_board(const Board& board, const Machine& machine) {
  std::vector<Finding> findings{identity(board, machine)};
  const auto parts = parts_of(machine);
  if (parts.empty() && !board.core_kinds.empty())
    findings.push_back(finding("core kinds", Finding::Grade::unknown, "/proc/cpuinfo names no kind of core"));
  else
    for (const CoreKind& kind : board.core_kinds) findings.push_back(cores_of(kind, parts));
  const FoundHardware hardware = find_hardware(board, machine);
  std::ranges::move(clocks(hardware.clocks, machine), std::back_inserter(findings));
  for (const FoundSensor& each : hardware.sensors) findings.push_back(sensor(each, machine));
  if (!hardware.absent.empty()) {
    std::string names;
    for (const std::string& name : hardware.absent) names += (names.empty() ? "" : ", ") + name;
    findings.push_back(finding("clocks and sensors", Finding::Grade::ok, "not here: " + names));
  }
  return findings;
}

} // namespace rtexec::hal
