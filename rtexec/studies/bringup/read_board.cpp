#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/board_device.hpp"
#include "rtexec/studies/bringup/gpu_clocks.hpp"
#include "rtexec/studies/bringup/read.hpp"

#include <algorithm>

namespace rtexec::bringup {

namespace {

void add(std::string& list, const std::string& item, const char* separator = ", ") {
  list += (list.empty() ? "" : separator) + item;
}

std::string taken_as(const Board& board) { return ": taken as board '" + board.name + "'"; }

/// Returns a hint if the machine has an NVIDIA GPU but the board's file names no GPU.
std::string gpu_hint(const Subject& subject) {
  if (subject.board.has_driver() || !subject.machine.read("/proc/driver/nvidia/version")) return {};
  return "; it has an NVIDIA GPU: name --board rtx, h200 or a file";
}

std::string hertz(std::int64_t value) {
  return readable(Frequency{static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0))});
}

enum class Standing { locked, low, moves, unknown };

struct ClockState {
  Standing standing = Standing::unknown;
  std::string text;
  std::string advice = {}; // set if the clock is locked below its highest rate
};

/// True if the core's governor keeps the clock at its highest rate.
bool performs(const hal::FoundClock& clock, const hal::Machine& machine) {
  return clock.kind == ClockKind::cpu &&
         machine.read(clock.rate.file.parent_path() / "scaling_governor").value_or("") == "performance";
}

ClockState unknown(const Error& error) { return {Standing::unknown, first_line(error)}; }

/// Returns the state of a clock that is known to be locked. `locked`: at its highest rate or at its cap; `low`: at a
/// lower rate; `unknown`: its files cannot be read.
ClockState state_of_locked(const hal::FoundClock& clock, const hal::Machine& machine) {
  const auto rate = hal::read_value(clock.rate, machine), highest = hal::highest_settable(clock, machine);
  if (!rate || !highest) return unknown(rate ? highest.error() : rate.error());
  const std::string text = "locked at " + hertz(*rate);
  if (*rate < *highest && !hal::is_rate(*rate, *highest)) {
    const std::string by_hand = clock.set ? "; by hand, as root: echo " + std::to_string(*highest / clock.set->factor) +
                                                " > " + clock.set->file.string()
                                          : "";
    return {Standing::low, text + " of " + hertz(*highest),
            "A clock locked below its highest rate stays slow. [executive] lock_clocks = true raises it during a run" +
                by_hand + "."};
  }
  const auto possible = hal::read_value(*clock.possible, machine);
  const bool is_capped = possible && *possible > *highest && !hal::is_rate(*highest, *possible);
  return {Standing::locked, text + (is_capped ? ", its cap; " + hertz(*possible) + " is possible" : "")};
}

ClockState state_of(const hal::FoundClock& clock, const hal::Machine& machine) {
  if (clock.lock) {
    const auto lock = hal::read_value(*clock.lock, machine);
    if (!lock) return unknown(lock.error());
    return *lock == 1 ? state_of_locked(clock, machine) : ClockState{Standing::moves, "not locked"};
  }
  if (!clock.lowest || !clock.highest) return {Standing::unknown, "no file shows whether it changes"};
  const auto lowest = hal::read_value(*clock.lowest, machine), highest = hal::read_value(*clock.highest, machine);
  if (!lowest || !highest) return unknown(lowest ? highest.error() : lowest.error());
  if (*lowest == *highest) return {Standing::locked, "at " + hertz(*highest)};
  if (performs(clock, machine)) return {Standing::locked, "at " + hertz(*highest) + " by its governor"};
  return {Standing::moves, hertz(*lowest) + " to " + hertz(*highest)};
}

/// Clocks that have one state. `names` ("core 0-5") are in the order in which the clocks were found.
struct SameState {
  std::string text;
  std::vector<std::string> names;
};

std::string names_of(const std::vector<std::string>& names) {
  std::vector<unsigned> numbers;
  std::string others, kind;
  for (const std::string& name : names) {
    const auto space = name.rfind(' ');
    // Without a space in the name, npos + 1 is 0, so the whole name is parsed.
    const auto number = config::number<unsigned>(std::string_view(name).substr(space + 1));
    if (space == name.npos || !number || (!kind.empty() && kind != name.substr(0, space))) {
      add(others, name);
      continue;
    }
    kind = name.substr(0, space);
    numbers.push_back(*number);
  }
  std::string text = kind.empty() ? "" : kind + " " + hal::core_list(numbers);
  if (!others.empty()) add(text, others);
  return text;
}

std::string text_of(const std::vector<SameState>& states) {
  std::string text;
  for (const SameState& state : states) add(text, names_of(state.names) + ": " + state.text, "; ");
  return text;
}

void put(std::vector<SameState>& states, const std::string& text, const std::string& name) {
  const auto same = std::ranges::find(states, text, &SameState::text);
  (same == states.end() ? states.emplace_back(SameState{text, {}}) : *same).names.push_back(name);
}

/// Returns the reason why no file of a clock can be read.
std::string why_absent(const ClockFacts& clock) {
  if (clock.rate.empty()) return "its file is not known";
  const std::string& file = clock.rate.front().file;
  return file + (file.starts_with("/sys/kernel/debug/") ? ": as root, where debugfs is mounted" : ": no such file");
}

/// The clocks of a board, grouped by their states.
struct Clocks {
  std::vector<SameState> locked, low, moving;
  std::vector<std::string> unknown;
  std::string why_unknown; // the reason for the first clock of `unknown`
  std::string advice;
  bool gpu_told = false; // true if the kernel reports the GPU's clock; the kernel reports more facts than the driver

  void add_unknown(std::string name, const std::string& why) {
    if (unknown.empty()) why_unknown = why;
    unknown.push_back(std::move(name));
  }
  [[nodiscard]] std::string text_of_unknown() const {
    return names_of(unknown) + " (" + why_unknown + (unknown.size() > 1 ? "; ..." : "") + ")";
  }
};

Clocks clocks_of(const Subject& subject) {
  Clocks clocks;
  const hal::FoundHardware hardware = hal::find_hardware(subject.board, subject.machine);
  for (const hal::FoundClock& clock : hardware.clocks) {
    const ClockState state = state_of(clock, subject.machine);
    clocks.gpu_told |= clock.kind == ClockKind::gpu && state.standing != Standing::unknown;
    switch (state.standing) {
    case Standing::locked: put(clocks.locked, state.text, clock.name); break;
    case Standing::low: put(clocks.low, state.text, clock.name); break;
    case Standing::moves: put(clocks.moving, state.text, clock.name); break;
    case Standing::unknown: clocks.add_unknown(clock.name, state.text); break;
    }
    if (!state.advice.empty()) config::add_line(clocks.advice, state.advice);
  }
  for (const ClockFacts& clock : hardware.absent_clocks)
    clocks.add_unknown(clock.name.substr(0, clock.name.find(" #")), why_absent(clock));
  if (!clocks.moving.empty())
    config::add_line(clocks.advice,
                     "[executive] lock_clocks = true locks them during a run; WCETs measured while the clocks change "
                     "are not reliable.");
  return clocks;
}

/// The state of a GPU's clock as its driver reports it. Empty if the driver reports no clock.
struct GpuClock {
  std::string state, advice;
  bool moves = false;
};

GpuClock clock_of(const hal::GpuState& gpu) {
  if (!gpu.clocks) return {};
  const hal::DeviceClocks& clocks = *gpu.clocks;
  GpuClock clock{.state = "GPU: " + clocks_text(clocks), .advice = how_to_lock(clocks), .moves = clocks.limits != 0};
  if (gpu.computes_freely && clocks.cores < clocks.most) {
    clock.moves = true;
    clock.state += ", although it computes and no limit is known";
  }
  if (!clock.moves) clock.state += "; it is not known whether it is locked";
  return clock;
}

/// Returns the answer of `judge`. If there is a GPU to query, `judge` runs in a child process, because a process that
/// has used the GPU cannot fork children that use the GPU.
Answer ask_beside_gpu(const Subject& subject, Answer (*judge)(const Subject&, const hal::GpuState&)) {
  if (subject.emulated) return skipped_in_emulator();
  if (!subject.gpu || !subject.board.has_driver()) return judge(subject, {});
  constexpr Duration timeout = std::chrono::seconds(20);
  const ChildEnd end = ask_in_child([&] { return judge(subject, subject.gpu()); }, timeout, subject.going_on);
  return end.answer ? *end.answer : driver_failure(end, "the GPU", timeout);
}

constexpr std::int64_t min_headroom = 10'000; // minimum headroom in thousandths of a degree

/// Returns the file with the rail's voltage in millivolts, which is in the folder of the power sensor's file. Returns
/// an empty path if there is no such file.
std::filesystem::path voltage_of(const hal::FoundSensor& sensor) {
  if (!sensor.value.times.empty()) return sensor.value.file;
  std::string name = sensor.value.file.filename();
  const std::string_view power = "in_power";
  if (!name.starts_with(power)) return {};
  return sensor.value.file.parent_path() / name.replace(0, power.size(), "in_voltage");
}

/// Describes the problem if a rail's voltage is out of range. Returns an empty text if the voltage is within the range.
std::string voltage_problem(const std::string& rail, std::int64_t millivolts) {
  constexpr std::int64_t least = 4750, most = 5250; // 5 V, plus or minus 5 %
  const std::string text = rail + " has " + std::to_string(millivolts) + " mV";
  if (millivolts <= 0) return text;
  const bool of_five = rail.contains("5V");
  return of_five && (millivolts < least || millivolts > most) ? text + " instead of 5000" : std::string();
}

} // namespace

Answer board_identity(const Subject& subject) {
  const hal::Machine& machine = subject.machine;
  const Board& board = subject.board;
  if (const std::string emulator = hal::emulator_of(machine); !emulator.empty())
    return skipped("this machine is emulated (" + emulator + ")" + taken_as(board));
  const hal::KnownBoard known = hal::identify_board(machine);
  if (const std::string why = hal::why_not_board(board, machine); !why.empty())
    return failed(why, known.told ? "Leave out --board: this is board '" + known.name + "'."
                                  : "Name its file with --board: files, counters and costs of board '" + board.name +
                                        "' are not valid here. boards/README.md describes board files.");
  if (known.told && known.name == board.name) return passed(known.name + ": " + known.what);
  const auto names = hal::device_tree_names(machine);
  if (std::ranges::find_first_of(names, board.identity.compatible) != names.end())
    return passed(board.name + ": the device tree has one of the names in its file");
  if (!names.empty() && !known.told)
    return failed(known.what + taken_as(board),
                  "Write a board file with its [identity] (boards/README.md), and name it with --board.");
  return skipped(known.what + taken_as(board) + gpu_hint(subject));
}

Answer core_kinds(const Subject& subject) {
  if (subject.board.core_kinds.empty())
    return skipped("the file of board '" + subject.board.name +
                   "' has no [[core_kind]]; online: " + hal::core_list(subject.machine.online_cores()));
  if (subject.emulated) return skipped_in_emulator();
  std::string state, advice;
  bool right = true;
  for (const hal::Finding& finding : hal::probe_board(subject.board, subject.machine)) {
    if (!finding.subject.starts_with("core kind")) continue;
    add(state, finding.state, "; ");
    if (finding.grade == hal::Finding::Grade::ok) continue;
    if (finding.grade == hal::Finding::Grade::unknown) return skipped(finding.state);
    right = false;
    if (!advice.contains(finding.advice)) config::add_line(advice, finding.advice);
  }
  return right ? passed(state) : failed(state, advice);
}

Answer judge_clocks(const Subject& subject, const hal::GpuState& gpu) {
  Clocks clocks = clocks_of(subject);
  const GpuClock of_gpu = clocks.gpu_told ? GpuClock() : clock_of(gpu);
  const bool wrong = !clocks.moving.empty() || !clocks.low.empty();
  std::string state = clocks.moving.empty() ? "" : "move: " + text_of(clocks.moving);
  if (!clocks.low.empty()) add(state, "below their highest: " + text_of(clocks.low), "; ");
  if (!clocks.locked.empty()) add(state, (wrong ? "locked: " : "") + text_of(clocks.locked), "; ");
  if (!of_gpu.state.empty()) add(state, of_gpu.state, "; ");
  if (state.empty())
    return skipped("no clock of board '" + subject.board.name + "' can be read here: firmware or a hypervisor decides" +
                   (clocks.unknown.empty() ? "" : ". Requested: " + clocks.text_of_unknown()));
  if (!clocks.unknown.empty()) add(state, "cannot be read: " + clocks.text_of_unknown(), "; ");
  if (wrong || of_gpu.moves) {
    if (!of_gpu.advice.empty()) config::add_line(clocks.advice, of_gpu.advice);
    return failed(state, clocks.advice);
  }
  if (!of_gpu.state.empty()) return skipped(in_a_line(state + ". " + of_gpu.advice));
  return clocks.unknown.empty() ? passed(state) : skipped(state);
}

Answer judge_heat(const Subject& subject, const hal::GpuState& gpu) {
  std::string state, hot, advice = "Cool it (is the fan on, its heat sink seated?), or ";
  std::vector<Figure> figures;
  const auto see = [&](const std::string& name, std::int64_t value, std::int64_t limit) {
    const auto celsius = [](std::int64_t thousandths) {
      return hal::sensor_text(SensorKind::temperature, thousandths);
    };
    const std::string text = name + " " + celsius(value) + " of " + celsius(limit);
    add(state, text);
    if (limit - value < min_headroom) add(hot, text);
    figures.push_back({.name = "headroom of " + name,
                       .value = static_cast<double>(limit - value) / 1e3,
                       .unit = "C",
                       .more_is_better = true});
  };
  for (const hal::FoundSensor& sensor : hal::find_hardware(subject.board, subject.machine).sensors) {
    if (sensor.kind != SensorKind::temperature || !sensor.limit) continue;
    const auto value = hal::read_value(sensor.value, subject.machine),
               limit = hal::read_value(*sensor.limit, subject.machine);
    if (value && limit) see(sensor.name, *value, *limit); // a sensor without a value belongs to a powered-down part
  }
  if (gpu.heat) see("GPU", 1000 * std::int64_t{gpu.heat->now}, 1000 * std::int64_t{gpu.heat->limit});
  if (figures.empty()) return skipped("no sensor here has both a temperature and a throttling limit");
  if (hot.empty()) return passed(state, std::move(figures));
  advice +=
      gpu.heat ? "lower its power limit: nvidia-smi -pl WATTS." : "choose a lower power mode: nvpmodel -q shows them.";
  return failed("less than 10 C below throttling: " + hot, advice, std::move(figures));
}

Answer locked_clocks(const Subject& subject) { return ask_beside_gpu(subject, judge_clocks); }

Answer thermal_headroom(const Subject& subject) { return ask_beside_gpu(subject, judge_heat); }

Answer power_supply(const Subject& subject) {
  if (subject.emulated) return skipped_in_emulator();
  std::string state, problems;
  std::vector<Figure> figures;
  for (const hal::FoundSensor& sensor : hal::find_hardware(subject.board, subject.machine).sensors) {
    if (sensor.kind == SensorKind::over_current) {
      const auto events = hal::read_value(sensor.value, subject.machine);
      if (!events) continue;
      add(state, sensor.name + ": " + hal::sensor_text(sensor.kind, *events));
      if (*events > 0) add(problems, sensor.name + ": " + hal::sensor_text(sensor.kind, *events) + " since the start");
      figures.push_back({.name = sensor.name, .value = static_cast<double>(*events), .unit = "events"});
    }
    if (sensor.kind == SensorKind::power) {
      const auto file = voltage_of(sensor);
      const auto volts = hal::read_value({.file = file, .times = {}, .factor = 1}, subject.machine);
      if (file.empty() || !volts) continue;
      add(state, sensor.name + " " + std::to_string(*volts) + " mV");
      if (const std::string problem = voltage_problem(sensor.name, *volts); !problem.empty()) add(problems, problem);
    }
  }
  if (state.empty())
    return skipped("board '" + subject.board.name + "' reports neither over-current events nor voltages here");
  if (problems.empty()) return passed(state, std::move(figures));
  return failed(problems,
                "The supply is too weak, or its cable too thin: use the one that came with the board, or choose "
                "a lower power mode (nvpmodel -q shows them).",
                std::move(figures));
}

} // namespace rtexec::bringup
