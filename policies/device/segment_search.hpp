// How tasks share a device alone whose jobs are cut into segments: which are express, on which level the others are,
// where their jobs are cut, and how much of them is swapped. Set-up only: allocates.
//
// The search is a heuristic, and a promise rests on nothing here: what is chosen is examined by the tests
// (segmented_tests.hpp). It starts where the most urgent tasks are express and the others on one level, or on one each,
// with as few swapped chunks as fit; and goes by single changes (a task's class, chunks of a task, the longest run of
// segments) to what is less late.
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

/// What a task of the set consists of, and what is given of how it is divided.
struct LayeredTask {
  Layers layers;                        // their times add up to DeviceTask::execution; of one: it is not cut
  std::optional<unsigned> device_class; // 0: express
  std::optional<Segmentation> given;    // in place of as few cuts as others need
  /// By layer: the chunks of constants that it reads, in order; empty: they cannot be streamed.
  std::vector<SlotRange> reads{};
  bool streams = false; // they are
  /// How, once that is planned: `given` are its cuts, and its ring is DeviceTask::least and most.
  std::optional<Stream> stream{};
  /// The memory that the task asks for where it is cut so, in place of an estimate; none: cutting changes nothing.
  std::function<Result<MemoryDemand>(std::span<const std::uint32_t> cuts)> memory_if_cut{};
  [[nodiscard]] bool fixed() const { return device_class || given || streams; }
};

/// `tasks`: parallel to those of the device.
struct LayeredSet {
  DeviceSet device;
  std::vector<LayeredTask> tasks;
  unsigned launch_ahead = 0;
};

/// A choice of who preempts whom, of where jobs are cut for that, and of how much of them is swapped. Each is by task.
struct Preemption {
  std::vector<unsigned> classes;
  Volumes volumes;
  std::vector<Segmentation> cuts;
};

/// What the tests make of it: real-time tasks in the order of the set, `index` is whose each is.
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

/// How many ways a search looks at.
enum class Levels { one, any };

/// The first choice that is proved, or the one that comes closest; absent: no volumes fit, or no cuts are short
/// enough.
[[nodiscard]] std::optional<PreemptionVerdict> search_preemption(const LayeredSet& set, Order order,
                                                                 Levels levels = Levels::any);

} // namespace rtexec::policies
