// The contents of a Gantt chart of a time interval: bars on lanes, marks, and curves. Plain data, which traces/report/
// draws.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rtexec::traces {

struct GanttLane {
  enum class Kind : std::uint8_t { task, core, device, copy_in, copy_out };
  Kind kind{};
  std::uint32_t index = 0; // index of the task or core
  std::string name;
};

struct GanttBar {
  enum class Kind : std::uint8_t {
    response,
    before,
    device,
    after,
    swap_in,
    swap_out,
    throttled,
    preempted, // between two segments
    // The following bars lie before the first release; their `job.number` is the number of the tile
    load,     // loading of a task
    contents, // initialisation of a buffer
    prefetch, // prefetch of a tile
    make,     // initialisation of a tile
  };
  Kind kind{};
  std::uint32_t lane = 0;  // index in Gantt::lanes
  policies::JobId job;     // the job that the bar shows, or the job for which the work was done
  std::uint32_t owner = 0; // the task whose memory is moved; for `contents` the buffer; otherwise the task of `job`
  Instant begin{}, end{};
};

struct GanttMark {
  enum class Kind : std::uint8_t { release, deadline, miss, dropped };
  Kind kind{};
  policies::JobId job;
  Instant at{};
};

/// A step of the step function of memory in use. From `at` on, the frames in use have `bytes` bytes. A frame is in use
/// if it holds a chunk or if a chunk is on its way to it.
struct GanttStep {
  Instant at{};
  std::uint64_t bytes = 0;
};

struct Gantt {
  std::string title; // description: "simulated run, swap policy pipelined"; may be empty
  Instant origin{};  // zero point of the displayed times
  Instant from{}, to{};
  std::vector<std::string> tasks; // names of the tasks
  std::vector<GanttLane> lanes;
  std::vector<GanttBar> bars;
  std::vector<GanttMark> marks;
  std::vector<GanttStep> memory;     // empty if no memory is swapped
  std::uint64_t memory_capacity = 0; // bytes of all frames
};

/// Returns the lanes: tasks in the order of the set, cores in ascending order, the device, copy in, copy out. If jobs
/// co-run, there is a second device lane. The copy lanes exist if chunks are swapped. The lane copy in also exists if
/// the first contents of buffers were prefetched.
[[nodiscard]] std::vector<GanttLane> lanes_of(const RunSetup& setup);

/// Returns a chart with lanes, names and capacity, without bars, marks and steps.
[[nodiscard]] Gantt empty_gantt(const RunSetup& setup);

} // namespace rtexec::traces
