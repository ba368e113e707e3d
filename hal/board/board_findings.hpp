// What a machine has of what a board's file says (boards/NAME.toml): which board it is, its cores, clocks and sensors,
// each file with the alternative that is there. One piece of code for all boards; everything is read under the root of
// a Machine, so that an assembled or recorded tree stands in for a board. Set-up code: it may allocate and block.
#pragma once

#include <rtexec/board.hpp>
#include "hal/board/board_files.hpp"
#include "hal/machine_files.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

/// `compatible` of the device tree, the most special name first. Empty: there is no device tree.
[[nodiscard]] std::vector<std::string> device_tree_names(const Machine& machine);

/// Which of the library's boards a machine is.
struct KnownBoard {
  std::string name;  // "host" where nothing tells it
  bool told = false; // by its device tree
  std::string what;  // in a line: by what, or why "host"
};
[[nodiscard]] KnownBoard identify_board(const Machine& machine);

/// Empty: the machine may be `board`. Otherwise in a line what else its device tree says that it is.
[[nodiscard]] std::string why_not_board(const Board& board, const Machine& machine);

/// What tells that an emulator computes this machine (a virtual machine whose instructions the processor executes is
/// none); empty: nothing does.
[[nodiscard]] std::string emulator_of(const Machine& machine);

/// What the board's file asks of the kernel's command line, words between spaces; empty: nothing.
[[nodiscard]] std::string kernel_command_line(const Board& board);

/// A clock of which at least its rate is there.
struct FoundClock {
  std::string name;
  ClockKind kind = ClockKind::cpu;
  BoardFile rate;
  std::optional<BoardFile> lowest, highest, set, lock, possible, cap;
};
/// The most that may be written to its `set`: what is possible, or its cap. refused: nobody tells.
[[nodiscard]] Result<std::int64_t> highest_settable(const FoundClock& clock, const Machine& machine);
/// Hardware rounds rates.
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
  std::vector<std::string> absent;       // names of the clocks and sensors of which no file is there
  std::vector<ClockFacts> absent_clocks; // of them
};
[[nodiscard]] FoundHardware find_hardware(const Board& board, const Machine& machine);

/// "45.5 C", "3.2 W", "12 of 1000", ...
[[nodiscard]] std::string sensor_text(SensorKind kind, std::int64_t value);

/// Identity, core kinds, clocks and sensors, as `rtexec probe` shows them.
[[nodiscard]] std::vector<Finding> probe_board(const Board& board, const Machine& machine);

} // namespace rtexec::hal
