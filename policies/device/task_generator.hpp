// Random task sets, for studies of the device tests. A set depends only on the seed, its number and the point of the
// study, so that any thread can make any set, in any order. Sets of one number are nested: those of more tasks begin
// with the same ones. Allocates.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/units.hpp>
#include "policies/device/device_set.hpp"
#include "policies/device/segment_search.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The demand of a task on the device.
struct DeviceNeed {
  Duration execution{0};
  Bytes footprint{0};
  Bytes swappable{0}; // of the footprint
  Bytes constants{0}; // of the swappable memory; the rest of that is scratch
};

/// The needs of one network by resolution, the lowest first.
using NetworkSizes = std::vector<DeviceNeed>;

struct GeneratedTask {
  Duration period{1}; // and deadline
  DeviceNeed need;
  std::vector<Duration> layers{}; // the execution by layer; empty: one layer
};

template <class T> struct Range {
  T least{};
  T most{};
};

enum class Distribution { uniform, log_uniform };

/// Short tasks with high rates that are added to a set. They need no memory of the device, and have one layer.
struct FastTasks {
  Range<std::size_t> count{}; // uniform
  Range<Duration> period{};   // uniform
  Range<Duration> execution{};
};

/// The source of tasks. With networks, each task is one network at one resolution, both drawn evenly. Without networks,
/// tasks are drawn from ranges.
struct TaskSource {
  std::vector<NetworkSizes> networks{}; // none empty
  /// The number of first tasks, drawn again until their footprints sum to `start_footprint`; some such set must exist
  std::size_t start = 0;
  Range<Bytes> start_footprint{};
  Range<Duration> period{}; // 0 < least <= most
  Distribution periods = Distribution::uniform;
  // Without networks:
  Range<Bytes> footprint{};
  Distribution footprints = Distribution::uniform;
  double swappable = 1;            // share of the footprint
  double constants = 1;            // share of the swappable memory
  Range<Duration> execution{};     // uniform; if 0, it follows from the utilisation
  Range<std::size_t> layers{1, 1}; // uniform; their times are uniform from a tenth of the longest possible one to it
  FastTasks fast{};                // come first in a set
};

/// The parameters that a row of a study fixes.
struct StudyPoint {
  std::size_t tasks = 0;  // at least source.start; without fast ones
  double utilisation = 0; // sum of execution / period, if executions follow from it
  /// The number of first tasks that have their network's highest resolution; all others have its lowest
  std::optional<std::size_t> high{};
};

[[nodiscard]] std::vector<GeneratedTask> generate(const TaskSource& source, const StudyPoint& point, std::uint64_t seed,
                                                  std::uint64_t number);

/// Returns shares that sum to `total`, evenly distributed among all such. UUniFast: Bini and Buttazzo, Measuring the
/// performance of schedulability tests, 2005. `random`: numbers in [0, 1), one fewer than shares.
[[nodiscard]] std::vector<double> uunifast(double total, std::span<const double> random);

/// The classes of a task's memory that are distinguished.
enum class MemoryModel {
  state,     // none: swappable memory is copied out and in, as RT-Swap does
  constants, // all swappable memory is constants, which are dropped and copied in
  /// Constants are dropped and copied in; scratch is the same chunks for all tasks; what is not swappable stays
  classes,
  /// As `classes`. In addition, memory that is not swappable (a process's context and libraries) exists once, for the
  /// largest
  one_process,
};

struct StudyDevice {
  std::optional<Bytes> capacity{}; // absent: the demand of the tasks of each set
  double reduced = 0;              // percent by which it is reduced
  Bytes chunk{1};
  SwapCost cost{};
  Duration cut_overhead{0}; // of each cut of a job into segments
};

/// Returns the tasks as a device set. Footprints are in whole chunks, rounded up. Swappable memory is rounded down; if
/// classes are told apart, each of them is rounded up (plan_memory.hpp). Under static priority the shortest period
/// comes first. All memory of all tasks must be fewer than 2^31 chunks.
[[nodiscard]] DeviceSet device_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                      MemoryModel memory, unsigned copy_engines, Order order);

/// Returns the same tasks with their layers.
[[nodiscard]] LayeredSet layered_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                        MemoryModel memory, unsigned copy_engines, Order order);

} // namespace rtexec::policies
