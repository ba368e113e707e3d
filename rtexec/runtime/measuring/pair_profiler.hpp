// Measures device parts beside one another, as a run with [device] co_run executes them: each pair of a task under D
// and one under M, H or D/H, in a run of its own; and how long parts of the latter only wait for pages.
//
// Bounds rest on what was measured beside another one, whatever was said of the wait: that decides who is a pair. A
// wait that is said too short costs pairs that would gain time, one that is said too long makes pairs that gain none.
// So it is the least that was seen.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "rtexec/runtime/measuring/measured_run.hpp"
#include "traces/wcet/sample_series.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::executive {

/// Of one task; nothing where it is in no pair.
struct MeasuredBeside {
  traces::SampleSeries executions; // device parts while another job executed beside them
  Duration longest{0};
  /// The shortest time that a part only waited. Absent: under D, or not measured
  std::optional<Duration> idle;
};

/// Of each task the longest part in the device's own memory (resident_time.hpp). Absent: not measured
using ResidentTimes = std::vector<std::optional<Duration>>;

/// Places of a task under D and of one that waits.
struct MeasuredPair {
  std::size_t computing = 0, waiting = 0;
};

/// Executions of both beside one another, added to what was `measured` of each task, in a run that is `enough`: again,
/// up to three times, where fewer than half of their jobs were in pairs, since first parts took longer than they use
/// their cores.
/// `tasks`: as they are measured alone, with their WCETs where they are known; `observed`: the longest part of each
/// task alone. Errors are thrown, as by measured_run().
void measure_pair(std::vector<MeasuredBeside>& measured, const TaskSet& tasks, const MeasuredPair& pair,
                  std::span<const Wcet> observed, const std::function<Setup()>& make_setup, const Enough& enough,
                  const Watch& watch);

/// How many runs measure_pairs() makes, at least. `across`: tasks that wait are in pairs under other policies, too.
[[nodiscard]] std::size_t runs_of_pairs(const TaskSet& tasks, bool across = false);

/// All pairs, by task, and how long tasks wait that are in one. `resident`: beyond it a part waits. Absent, on the host
/// device: it waits while its thread has no core. All else as above.
[[nodiscard]] std::vector<MeasuredBeside> measure_pairs(const TaskSet& tasks, std::span<const Wcet> observed,
                                                        const std::optional<ResidentTimes>& resident,
                                                        const std::function<Setup()>& make_setup, const Enough& enough,
                                                        const Watch& watch, bool across = false);

} // namespace rtexec::executive
