// Searches for a configuration in which tasks share a device whose jobs are cut into segments. For each task the search
// chooses its class, the cuts of its jobs, and the number of its chunks that are swapped. A class is a preemption
// class: the top class, or a *level*. Top-class jobs take the device at the next end of a segment; jobs of a level
// preempt lower levels (segmented_tests.hpp). Set-up only: allocates.
//
// The search is a heuristic, and no promise depends on it: the tests (segmented_tests.hpp) examine its choice. At first
// the most urgent tasks are in the top class. The other tasks are all on one level, or each task has a level of its
// own. No more chunks are swapped than necessary. Then the search hill-climbs by single changes that reduce lateness
// (the sum of how late tasks are, relative to their deadlines). A change concerns the class of a task, the number of a
// task's swapped chunks, or the longest run of segments (during which no other job can take the device).
#pragma once

#include <rtexec/memory.hpp>
#include <rtexec/result.hpp>
#include "policies/device/device_set.hpp"
#include "policies/segments/segment_cuts.hpp"
#include "policies/device/segmented_tests.hpp"
#include "policies/segments/stream_plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The layers of a task of the set, and the user's choices for cutting it.
struct LayeredTask {
  Layers layers; // the times of the layers add up to DeviceTask::execution; a single layer: the task is not cut
  std::optional<unsigned> device_class; // the class that the user sets; 0: the top class
  /// The cuts that the user sets; absent: the search cuts the task into segments as short as other tasks need
  std::optional<Segmentation> given;
  /// By layer: the range of constant chunks that the layer reads, in ascending order; empty: the task cannot stream
  std::vector<SlotRange> reads{};
  bool streams = false; // true if the task's constants are streamed: loaded layer by layer during executions
  /// The planned stream, if the task streams. `given` then holds the cuts of the stream. DeviceTask::least and
  /// DeviceTask::most are then both the number of frames of its ring (streaming.hpp)
  std::optional<Stream> stream{};
  /// Returns the memory demand of the task with the given cuts. An empty function: cutting does not change the memory
  /// demand
  std::function<Result<MemoryDemand>(std::span<const std::uint32_t> cuts)> memory_if_cut{};
  [[nodiscard]] bool fixed() const { return device_class || given || streams; }
};

/// A device with the layers of its tasks; `tasks` has the same order as `device.tasks`.
struct LayeredSet {
  DeviceSet device;
  std::vector<LayeredTask> tasks;
  unsigned launch_ahead = 0;
};

/// A choice of classes, swap volumes and cuts, each by task.
struct Preemption {
  std::vector<unsigned> classes;
  Volumes volumes;
  std::vector<Segmentation> cuts;
};

/// The set that the tests examine: the real-time tasks only, in the order of the set. `index`: for each of these tasks,
/// its index in the set.
struct TestedSet {
  SegmentedSet set;
  std::vector<std::size_t> index;
};
[[nodiscard]] TestedSet tested(const LayeredSet& set, const Preemption& preemption);

struct PreemptionVerdict {
  Preemption preemption;
  bool proved = false;
  Nanos slack = 0;
};

/// Examines one choice and returns its verdict.
[[nodiscard]] PreemptionVerdict test_preemption(const LayeredSet& set, Order order, Preemption preemption);

/// The number of levels that a search tries for the tasks outside the top class: one level for all, or any number.
enum class Levels { one, any };

/// Returns the first choice that is proved, or else the choice with the least lateness. Returns nullopt if no swap
/// volumes fit, or if no cuts make the segments short enough.
[[nodiscard]] std::optional<PreemptionVerdict> search_preemption(const LayeredSet& set, Order order,
                                                                 Levels levels = Levels::any);

} // namespace rtexec::policies
