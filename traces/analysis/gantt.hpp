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
    // Before the first release; `job.number` is the number of the tile
    load,     // loading of a task
    contents, // initialisation of a buffer
    prefetch, // prefetch of a tile
    make,     // initialisation of a tile
  };
  Kind kind{};
  std::uint32_t lane = 0;  // index in Gantt::lanes
  policies::JobId job;     // the job that the bar shows, or for which the work was done
  std::uint32_t owner = 0; // the task whose memory moves; for first contents the buffer; else the job's task
  Instant begin{}, end{};
};

struct GanttMark {
  enum class Kind : std::uint8_t { release, deadline, miss, dropped };
  Kind kind{};
  policies::JobId job;
  Instant at{};
};

/// A step of a step function. From `at` on, `bytes` of swapped memory are in use (frames that hold a chunk, including
/// chunks on their way).
struct GanttStep {
  Instant at{};
  std::uint64_t bytes = 0;
};

struct Gantt {
  std::string title; // description of the contents: "simulated run, swap policy pipelined"; may be empty
  Instant origin{};  // zero point of the displayed times
  Instant from{}, to{};
  std::vector<std::string> tasks; // names
  std::vector<GanttLane> lanes;
  std::vector<GanttBar> bars;
  std::vector<GanttMark> marks;
  std::vector<GanttStep> memory;     // empty: nothing is swapped
  std::uint64_t memory_capacity = 0; // bytes of all frames
};

/// Returns the lanes: tasks in the order of the set, cores in ascending order, the device, copy in, copy out. There is
/// a second device lane if jobs co-run. The copy lanes exist if chunks are swapped; copy in also exists if first
/// contents were prefetched.
[[nodiscard]] std::vector<GanttLane> lanes_of(const RunSetup& setup);

/// Returns a chart with lanes, names and capacity, without bars, marks and steps.
[[nodiscard]] Gantt empty_gantt(const RunSetup& setup);

} // namespace rtexec::traces
