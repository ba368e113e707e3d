// Random task sets, for studies of the device tests. A set depends only on the seed, the number of the set and the
// point of the study (StudyPoint). So any thread can generate any set, in any order. Sets with the same number are
// nested: a set of more tasks begins with the tasks of each smaller set. Allocates.
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

/// The execution time and memory of a task on the device.
struct DeviceNeed {
  Duration execution{0};
  Bytes footprint{0};
  Bytes swappable{0}; // the part of the footprint that may be swapped
  Bytes constants{0}; // the part of `swappable` that is constants; the rest of `swappable` is scratch
};

/// One network at each of its resolutions, the lowest first.
using NetworkSizes = std::vector<DeviceNeed>;

struct GeneratedTask {
  Duration period{1}; // also the deadline
  DeviceNeed need;
  std::vector<Duration> layers{}; // the execution time of each layer; empty: one layer
};

template <class T> struct Range {
  T least{};
  T most{};
};

enum class Distribution { uniform, log_uniform };

/// Short tasks with high rates that are added to a set. They need no device memory, and have one layer each.
struct FastTasks {
  Range<std::size_t> count{}; // drawn uniformly
  Range<Duration> period{};   // drawn uniformly
  Range<Duration> execution{};
};

/// The source of tasks. With networks, each task is one network at one resolution, both drawn uniformly. Without
/// networks, tasks are drawn from ranges.
struct TaskSource {
  std::vector<NetworkSizes> networks{}; // each network has at least one resolution
  /// The first `start` tasks of a set must have footprints whose sum is in `start_footprint`. These tasks are drawn
  /// again until the sum is in this range. So the other settings must make such a sum possible
  std::size_t start = 0;
  Range<Bytes> start_footprint{};
  Range<Duration> period{}; // 0 < least <= most
  Distribution periods = Distribution::uniform;
  // Only used without networks:
  Range<Bytes> footprint{};
  Distribution footprints = Distribution::uniform;
  double swappable = 1;        // share of the footprint
  double constants = 1;        // share of the swappable memory
  Range<Duration> execution{}; // drawn uniformly; 0: follows from StudyPoint::utilisation
  /// Uniform. The time of a layer is uniform between the longest possible time and a tenth of that time
  Range<std::size_t> layers{1, 1};
  FastTasks fast{}; // added in front of the other tasks
};

/// The parameters of one row of a study.
struct StudyPoint {
  std::size_t tasks = 0;  // at least source.start; fast tasks are not counted
  double utilisation = 0; // the sum of execution / period, if execution times follow from it
  /// The first `high` tasks have their network's highest resolution; all other tasks have the lowest resolution
  std::optional<std::size_t> high{};
};

[[nodiscard]] std::vector<GeneratedTask> generate(const TaskSource& source, const StudyPoint& point, std::uint64_t seed,
                                                  std::uint64_t number);

/// Returns shares that sum to `total`, uniformly distributed. Algorithm UUniFast: Bini and Buttazzo, Measuring the
/// performance of schedulability tests, 2005. `random`: numbers in [0, 1), one fewer than shares.
[[nodiscard]] std::vector<double> uunifast(double total, std::span<const double> random);

/// How the memory of a task is divided into memory classes (state, constants, scratch).
enum class MemoryModel {
  state,     // no classes: all swappable memory is copied out and in, as in RT-Swap
  constants, // all swappable memory is constants, which are dropped and copied in
  /// Swappable memory is constants, which are dropped and copied in, and scratch, which all tasks share. All other
  /// memory stays on the device
  classes,
  /// Memory is divided as under `classes`. In addition, the memory that is not swappable (a process's context and
  /// libraries) exists only once. The size of this memory is the largest such size of all tasks
  one_process,
};

struct StudyDevice {
  std::optional<Bytes> capacity{}; // absent: the memory that all tasks of a set need together
  double reduced = 0;              // the percentage by which the capacity is reduced
  Bytes chunk{1};
  SwapCost cost{};
  Duration cut_overhead{0}; // the time that each cut of a job adds
};

/// Returns the tasks as a device set. Footprints are rounded up to whole chunks, and swappable memory is rounded down.
/// If the memory model has classes, the size of each class is rounded up (plan_memory.hpp). Under static priority,
/// tasks are sorted by period, the shortest period first. All tasks together must need fewer than 2^31 chunks.
[[nodiscard]] DeviceSet device_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                      MemoryModel memory, unsigned copy_engines, Order order);

/// Returns the tasks as a device set with their layers. Requirements and rounding: see device_set_of().
[[nodiscard]] LayeredSet layered_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                        MemoryModel memory, unsigned copy_engines, Order order);

} // namespace rtexec::policies
