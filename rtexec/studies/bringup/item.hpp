// The items of a bring-up, each a check of a board. An item that fails says what to change. An item that cannot be
// checked here (an emulator, no GPU, a missing right) is skipped with the reason, and never counts as passed. Set-up
// code: items measure for seconds, allocate and block, one after the other on one thread.
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

/// A number by which two reports can be compared.
struct Figure {
  std::string name; // "p99 of core 1"
  double value = 0;
  std::string unit; // "us", "MB/s", ...
  bool more_is_better = false;
};

struct Answer {
  Outcome outcome = Outcome::skipped;
  std::string state;  // the result in one line; for a skipped item the reason
  std::string advice; // what to change, and how; empty when passed
  std::vector<Figure> figures;
};

/// The subject of a bring-up, and the resources that it may use.
struct Subject {
  Board board;
  hal::Machine machine;
  /// The machine runs in an emulator: times and counters say nothing about the board.
  bool emulated = false;
  /// The software device replaces the board's: checks of the device say nothing about it.
  bool device_stands_in = false;
  /// An empty folder of this bring-up, on the disk that would hold swap stores and recordings
  std::filesystem::path folder;
  /// The length of a measurement, unless an item uses its own
  Duration length{std::chrono::seconds(2)};
  /// Returns the state that the board's GPU reports, read in a process of its own; empty: the GPU must not be asked
  std::function<hal::GpuState()> gpu = {};
  /// Returns false if the user wants to stop; called during measurements
  std::function<bool()> going_on = [] { return true; };
};

struct Item {
  const char* name;  // a path that never changes, for scripts: "kernel/preemption"
  const char* title; // "kernel and its preemption"
  Answer (*ask)(const Subject& subject);
  /// Estimates the time of the item. Null: the item only reads, and disturbs nothing.
  Duration (*takes)(const Subject& subject);
  bool of_device = false; // it checks the board's own device
};

/// Returns the items in their order: those that read come before those that measure.
[[nodiscard]] std::span<const Item> items();

} // namespace rtexec::bringup
