// Finds the items of a board's description (boards/NAME.toml) on a machine: the board's identity, its cores, clocks and
// sensors. For each item the description lists alternative paths; the findings name the path that exists. One code
// serves all boards. All files are read under the root of a Machine, so an assembled or recorded tree can replace a
// board. Set-up code: it may allocate and block.
#pragma once

#include <rtexec/board.hpp>
#include "hal/board/board_files.hpp"
#include "hal/machine_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

/// Returns the names in `compatible` of the device tree, the most specific name first. Empty if there is no device
/// tree.
[[nodiscard]] std::vector<std::string> device_tree_names(const Machine& machine);

/// The board that a machine is, as far as rtexec recognises it.
struct KnownBoard {
  std::string name;  // "host" if nothing identifies the board
  bool told = false; // true if the device tree names the board
  std::string what;  // one line: the evidence that identified the board, or why `name` is "host"
};
[[nodiscard]] KnownBoard identify_board(const Machine& machine);

/// Returns an empty text if the machine may be `board`. Otherwise returns one line that names the other board according
/// to the device tree.
[[nodiscard]] std::string why_not_board(const Board& board, const Machine& machine);

/// Returns the evidence that an emulator executes this machine's instructions in software, or an empty text if there is
/// no such evidence. A virtual machine whose instructions the processor executes directly is not emulated.
[[nodiscard]] std::string emulator_of(const Machine& machine);

/// Returns the parameters that the board's description requires on the kernel's command line, separated by spaces.
/// Empty if it requires no parameter.
[[nodiscard]] std::string kernel_command_line(const Board& board);

/// A clock whose rate file exists. Its other files are optional.
struct FoundClock {
  std::string name;
  ClockKind kind = ClockKind::cpu;
  BoardFile rate;
  std::optional<BoardFile> lowest, highest, set, lock, possible, cap;
};
/// Returns the highest rate that may be written to the clock's `set` file: the highest possible rate, or the clock's
/// cap. Returns refused if no file states a highest rate.
[[nodiscard]] Result<std::int64_t> highest_settable(const FoundClock& clock, const Machine& machine);
/// True if `hertz` differs from the wanted rate by no more than the rounding of the hardware (2 %).
[[nodiscard]] bool is_rate(std::int64_t hertz, std::int64_t wanted);

struct FoundSensor {
  std::string name;
  SensorKind kind = SensorKind::temperature;
  BoardFile value;
  std::optional<BoardFile> limit;
};
struct FoundHardware {
  std::vector<FoundClock> clocks;
  std::vector<FoundSensor> sensors;
  std::vector<std::string> absent;       // names of the clocks and sensors that have no file on this machine
  std::vector<ClockFacts> absent_clocks; // facts of the absent clocks
};
[[nodiscard]] FoundHardware find_hardware(const Board& board, const Machine& machine);

/// Returns a value with its unit: "45.5 C", "3.20 W", "12 of 1000", ...
[[nodiscard]] std::string sensor_text(SensorKind kind, std::int64_t value);

/// Returns findings about identity, core kinds, clocks and sensors, as `rtexec probe` prints them.
[[nodiscard]] std::vector<Finding> probe_board(const Board& board, const Machine& machine);

} // namespace rtexec::hal
