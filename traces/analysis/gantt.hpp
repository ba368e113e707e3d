// What a Gantt chart shows of a stretch of time: bars on lanes, marks, and curves; plain data, drawn by
// traces/report/.
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
  std::uint32_t index = 0; // of the task or core
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
    // Before the first release; the number of the job is that of the tile
    load,     // of a task
    contents, // a buffer got its first ones
    prefetch, // of a tile of them
    make,     // of one
  };
  Kind kind{};
  std::uint32_t lane = 0;  // index in Gantt::lanes
  policies::JobId job;     // that it is of, or for
  std::uint32_t owner = 0; // task whose memory moves; the buffer of first contents; else the job's task
  Instant begin{}, end{};
};

struct GanttMark {
  enum class Kind : std::uint8_t { release, deadline, miss, dropped };
  Kind kind{};
  policies::JobId job;
  Instant at{};
};

/// A step function: from `at` on, so many bytes of swapped memory are in use (frames that hold a chunk, on their way
/// included).
struct GanttStep {
  Instant at{};
  std::uint64_t bytes = 0;
};

struct Gantt {
  std::string title; // what is shown, beside the stretch of time: "simulated run, swap policy pipelined"; may be empty
  Instant origin{};  // that times are told from
  Instant from{}, to{};
  std::vector<std::string> tasks; // names
  std::vector<GanttLane> lanes;
  std::vector<GanttBar> bars;
  std::vector<GanttMark> marks;
  std::vector<GanttStep> memory;     // empty: nothing is swapped
  std::uint64_t memory_capacity = 0; // bytes of all frames
};

/// Tasks in the order of the set, cores in ascending order, the device, copy in, copy out (these two where chunks are
/// swapped; the first also where first contents were prefetched).
[[nodiscard]] std::vector<GanttLane> lanes_of(const RunSetup& setup);

/// With lanes, names and capacity, and nothing on it.
[[nodiscard]] Gantt empty_gantt(const RunSetup& setup);

} // namespace rtexec::traces
