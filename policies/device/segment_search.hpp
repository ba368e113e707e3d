// Searches for a way in which tasks share a device whose jobs are cut into segments: which tasks are express, on which
// level the others are, where their jobs are cut, and how much of them is swapped. Set-up only: allocates.
//
// The search is a heuristic, and no promise relies on it: the tests (segmented_tests.hpp) examine its choice. It starts
// with the most urgent tasks express, the others on one level or on one each, and as few swapped chunks as fit. Then it
// hill-climbs by single changes (a task's class, chunks of a task, the longest run of segments) that reduce lateness.
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

/// The layers of a task of the set, and what the user gives of its division.
struct LayeredTask {
  Layers layers;                        // their times add up to DeviceTask::execution; a single layer is not cut
  std::optional<unsigned> device_class; // as given; 0: express
  std::optional<Segmentation> given;    // these cuts, instead of as few as other tasks need
  /// By layer: the chunks of constants that it reads, in order; empty: they cannot be streamed.
  std::vector<SlotRange> reads{};
  bool streams = false; // these constants are streamed
  /// The planned stream. Then `given` are its cuts, and its ring is DeviceTask::least and most.
  std::optional<Stream> stream{};
  /// Returns the memory demand of the task if it is cut so, instead of an estimate. Empty: cutting does not change it.
  std::function<Result<MemoryDemand>(std::span<const std::uint32_t> cuts)> memory_if_cut{};
  [[nodiscard]] bool fixed() const { return device_class || given || streams; }
};

/// A device with the layers of its tasks; `tasks` is parallel to those of the device.
struct LayeredSet {
  DeviceSet device;
  std::vector<LayeredTask> tasks;
  unsigned launch_ahead = 0;
};

/// A choice of classes, which decide who preempts whom, of cuts, and of swap volumes. Each is by task.
struct Preemption {
  std::vector<unsigned> classes;
  Volumes volumes;
  std::vector<Segmentation> cuts;
};

/// The set that the tests examine. It has the real-time tasks in the order of the set; `index` is the task of each.
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

/// Examines one choice.
[[nodiscard]] PreemptionVerdict test_preemption(const LayeredSet& set, Order order, Preemption preemption);

/// The levels that a search tries: one for all tasks that are not express, or any number.
enum class Levels { one, any };

/// Returns the first choice that is proved, or the one that comes closest. Returns nullopt if no volumes fit or no cuts
/// are short enough.
[[nodiscard]] std::optional<PreemptionVerdict> search_preemption(const LayeredSet& set, Order order,
                                                                 Levels levels = Levels::any);

} // namespace rtexec::policies
