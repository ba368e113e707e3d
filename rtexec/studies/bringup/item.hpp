// What a bring-up asks of a board, item by item. An item that fails says what to change; one that cannot be asked here
// (an emulator, no GPU, a right that is missing) is skipped with the reason, and never counts as passed. Set-up code:
// items measure for seconds, allocate and block, one after the other on one thread.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"
#include "hal/open/gpu_state.hpp"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::bringup {

enum class Outcome { passed, failed, skipped };

/// A number that two reports can be held against each other by.
struct Figure {
  std::string name; // "p99 of core 1"
  double value = 0;
  std::string unit; // "us", "MB/s", ...
  bool more_is_better = false;
};

struct Answer {
  Outcome outcome = Outcome::skipped;
  std::string state;  // what was found, in a line; of a skipped item, why
  std::string advice; // what to change, and how; empty when passed
  std::vector<Figure> figures;
};

/// What is asked, and what may be taken for it.
struct Subject {
  Board board;
  hal::Machine machine;
  /// Another machine computes what this one seems to be: times and counters tell nothing of the board.
  bool emulated = false;
  /// The software device stands in for the board's: what is asked of its device tells nothing of it.
  bool device_stands_in = false;
  /// An empty folder of this bring-up, on the disk that swap stores and recordings would lie on
  std::filesystem::path folder;
  /// Of a measurement, where an item does not know better
  Duration length{std::chrono::seconds(2)};
  /// What the board's GPU tells of itself, asked in a process of its own; empty: it is not to be asked
  std::function<hal::GpuState()> gpu = {};
  /// False: the user wants no more; asked while it measures
  std::function<bool()> going_on = [] { return true; };
};

struct Item {
  const char* name;  // a path that never changes, for scripts: "kernel/preemption"
  const char* title; // "kernel and its preemption"
  Answer (*ask)(const Subject& subject);
  /// About; null: it is read, and disturbs nobody.
  Duration (*takes)(const Subject& subject);
  bool of_device = false; // of the board's own
};

/// In the order in which they are asked: what is read comes before what is measured.
[[nodiscard]] std::span<const Item> items();

} // namespace rtexec::bringup
