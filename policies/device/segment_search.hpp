// Searches for a configuration in which tasks share a device whose jobs are cut into segments. It chooses each task's
// class (the top class, or a level), the cuts of its jobs, and the number of its chunks that are swapped. Top-class
// jobs take the device at the next end of a segment; jobs of a level preempt lower levels (segmented_tests.hpp). Set-up
// only: allocates.
//
// The search is a heuristic, and no promise relies on it: the tests (segmented_tests.hpp) examine its choice. At first
// the most urgent tasks are in the top class. The other tasks are all on one level, or each on its own level. As few
// chunks are swapped as fit. Then the search hill-climbs by single changes that reduce lateness: the class of a task,
// the number of a task's swapped chunks, or the longest run of segments.
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
  Layers layers; // their times add up to DeviceTask::execution; a single layer: the task is not cut
  std::optional<unsigned> device_class; // the class that the user sets; 0: the top class
  std::optional<Segmentation> given;    // the cuts that the user sets; absent: as few cuts as other tasks need
  /// By layer: the range of constant chunks that it reads, in ascending order; empty: the task cannot stream
  std::vector<SlotRange> reads{};
  bool streams = false; // true if its constants are streamed: loaded layer by layer during executions
  /// The planned stream, if the task streams. `given` then holds the cuts of the stream. DeviceTask::least and
  /// DeviceTask::most are both the number of frames of its ring, through which constants are loaded
  std::optional<Stream> stream{};
  /// Returns the memory demand of the task with the given cuts. Empty: cutting does not change its memory demand
  std::function<Result<MemoryDemand>(std::span<const std::uint32_t> cuts)> memory_if_cut{};
  [[nodiscard]] bool fixed() const { return device_class || given || streams; }
};

/// A device with the layers of its tasks; `tasks` has the same order as `device.tasks`.
struct LayeredSet {
  DeviceSet device;
  std::vector<LayeredTask> tasks;
  unsigned launch_ahead = 0;
};

/// A choice of classes, swap volumes and cuts, each by task. The classes determine which tasks preempt which.
struct Preemption {
  std::vector<unsigned> classes;
  Volumes volumes;
  std::vector<Segmentation> cuts;
};

/// The set that the tests examine: only the real-time tasks, in the order of the set. `index`: by tested task, its
/// index in the set.
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

/// Returns the first choice that is proved, or the choice that comes closest to it. Returns nullopt if no swap volumes
/// fit, or if tasks cannot be cut finely enough.
[[nodiscard]] std::optional<PreemptionVerdict> search_preemption(const LayeredSet& set, Order order,
                                                                 Levels levels = Levels::any);

} // namespace rtexec::policies
