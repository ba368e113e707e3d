// The items of a bring-up. Each item is a check of a board. The answer of a failed item states what to change. An item
// that cannot be checked on this machine (an emulator, no GPU, a missing right) is skipped with the reason, and never
// counts as passed. Set-up code: items measure for seconds, allocate and block, one after the other on one thread.
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

/// A number in an answer that can be compared between two reports.
struct Figure {
  std::string name; // for example "p99 of core 1"
  double value = 0;
  std::string unit; // "us", "MB/s", ...
  bool more_is_better = false;
};

struct Answer {
  Outcome outcome = Outcome::skipped;
  std::string state;  // the result in one line; for a skipped item, the reason for skipping
  std::string advice; // what to change, and how; empty when passed
  std::vector<Figure> figures;
};

/// The machine and board that the items check, and the resources that the items may use.
struct Subject {
  Board board;
  hal::Machine machine;
  /// True if the machine is an emulator, whose times and counters differ from the board's
  bool emulated = false;
  /// True if the software device replaces the board's device, so that checks of the device say nothing about the board
  bool device_stands_in = false;
  /// An empty folder for the items' files, on the disk that would hold swap stores and recordings
  std::filesystem::path folder;
  /// The length of a measurement, unless an item uses its own length
  Duration length{std::chrono::seconds(2)};
  /// Returns the state that the board's GPU reports, read in a separate process. Empty if no item may query the GPU
  std::function<hal::GpuState()> gpu = {};
  /// Returns false if the user wants to stop. The function is called during measurements
  std::function<bool()> going_on = [] { return true; };
};

struct Item {
  const char* name;  // an identifier that never changes, for scripts, such as "kernel/preemption"
  const char* title; // a text for users, such as "kernel and its preemption"
  Answer (*ask)(const Subject& subject);
  /// Estimates how long the item takes. Null for an item that only reads files and settings, so that it disturbs no
  /// other program.
  Duration (*takes)(const Subject& subject);
  bool of_device = false; // true if the item checks the board's own device
};

/// Returns all items in the order in which they run. Items that only read come first, followed by items that measure.
[[nodiscard]] std::span<const Item> items();

} // namespace rtexec::bringup
