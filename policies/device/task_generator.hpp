// Random task sets, for studies of the device tests. A set depends on the seed, its number and the point of the study
// alone, so that any thread can make any of them, in any order. Sets of one number are nested: those of more tasks
// begin with the same ones. Allocates.
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

/// What a task needs of the device.
struct DeviceNeed {
  Duration execution{0};
  Bytes footprint{0};
  Bytes swappable{0}; // of the footprint
  Bytes constants{0}; // of the swappable memory; the rest of that is scratch
};

/// By resolution, the lowest first.
using NetworkSizes = std::vector<DeviceNeed>;

struct GeneratedTask {
  Duration period{1}; // and deadline
  DeviceNeed need;
  std::vector<Duration> layers{}; // what the execution consists of; empty: one layer
};

template <class T> struct Range {
  T least{};
  T most{};
};

enum class Distribution { uniform, log_uniform };

/// Short tasks of high rates beside the others of a set. They need no memory of the device, and are of one layer.
struct FastTasks {
  Range<std::size_t> count{}; // uniform
  Range<Duration> period{};   // uniform
  Range<Duration> execution{};
};

/// Where tasks come from: from networks, of which each task is one at one resolution, both drawn evenly; or, without
/// any, from ranges.
struct TaskSource {
  std::vector<NetworkSizes> networks{}; // none empty
  /// So many first tasks, drawn again until their footprints sum to `start_footprint`; some must
  std::size_t start = 0;
  Range<Bytes> start_footprint{};
  Range<Duration> period{}; // 0 < least <= most
  Distribution periods = Distribution::uniform;
  // Without networks:
  Range<Bytes> footprint{};
  Distribution footprints = Distribution::uniform;
  double swappable = 1;            // share of the footprint
  double constants = 1;            // share of the swappable memory
  Range<Duration> execution{};     // uniform; of 0: by utilisation
  Range<std::size_t> layers{1, 1}; // uniform; their times are uniform from a tenth of the longest possible one to it
  FastTasks fast{};                // come first in a set
};

/// What a row of a study fixes.
struct StudyPoint {
  std::size_t tasks = 0;  // at least source.start; fast ones aside
  double utilisation = 0; // sum of execution / period, where executions are by that
  /// The first so many tasks at their network's highest resolution, all others at its lowest
  std::optional<std::size_t> high{};
};

[[nodiscard]] std::vector<GeneratedTask> generate(const TaskSource& source, const StudyPoint& point, std::uint64_t seed,
                                                  std::uint64_t number);

/// Shares that sum to `total`, evenly among all such. UUniFast: Bini and Buttazzo, Measuring the performance of
/// schedulability tests, 2005. `random`: numbers from 0 to 1, without 1, one fewer than shares.
[[nodiscard]] std::vector<double> uunifast(double total, std::span<const double> random);

/// What is told apart of a task's memory.
enum class MemoryModel {
  state,     // nothing: swappable memory is copied out and in, as RT-Swap does
  constants, // all swappable memory is constants, which are dropped and copied in
  /// Constants are dropped and copied in; scratch is the same chunks for all tasks; what is not swappable stays
  classes,
  /// As classes; and what is not swappable, a process's context and libraries, is there once, for the largest
  one_process,
};

struct StudyDevice {
  std::optional<Bytes> capacity{}; // absent: what the tasks of each set need
  double reduced = 0;              // percent that it is less
  Bytes chunk{1};
  SwapCost cost{};
  Duration cut_overhead{0}; // of each cut of a job into segments
};

/// Footprints in whole chunks, rounded up; swappable memory rounded down, where classes are told apart each of them up
/// (plan_memory.hpp). Under static priority the shortest period first. All memory of all tasks must be fewer than 2^31
/// chunks.
[[nodiscard]] DeviceSet device_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                      MemoryModel memory, unsigned copy_engines, Order order);

/// The same tasks with their layers.
[[nodiscard]] LayeredSet layered_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device,
                                        MemoryModel memory, unsigned copy_engines, Order order);

} // namespace rtexec::policies
