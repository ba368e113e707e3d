// Measures co-running device parts, as a run with [device] co_run executes them. Each pair of a task under D and one
// under M, H or D/H gets a run of its own. Also measures how long parts of the latter only wait for pages.
//
// Bounds rest on the execution times measured while co-running, and not on the wait. The wait only decides which tasks
// may form a pair. Too short a wait loses pairs that would gain time; too long a wait makes pairs that gain none.
// Therefore the shortest observed wait is used.
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

/// The measurements of one task; empty if it is in no pair.
struct MeasuredBeside {
  traces::SampleSeries executions; // device parts that co-ran with another job
  Duration longest{0};
  /// The shortest time that a part only waited. Absent: the task is under D, or was not measured
  std::optional<Duration> idle;
};

/// The longest part of each task in the device's own memory (resident_time.hpp). Absent: not measured
using ResidentTimes = std::vector<std::optional<Duration>>;

/// The indices of a task under D and of one that waits for pages.
struct MeasuredPair {
  std::size_t computing = 0, waiting = 0;
};

/// Runs a pair together, and adds the executions of both to `measured`. `enough` is the criterion of the run's end.
/// Repeats the run up to three times if fewer than half of the jobs co-ran, because first parts took longer than their
/// processor time. `tasks`: as they are measured alone, with their WCETs if they are known. `observed`: the longest
/// part of each task alone. Throws the errors of measured_run().
void measure_pair(std::vector<MeasuredBeside>& measured, const TaskSet& tasks, const MeasuredPair& pair,
                  std::span<const Wcet> observed, const std::function<Setup()>& make_setup, const Enough& enough,
                  const Watch& watch);

/// Returns the minimum number of runs of measure_pairs(). `across`: tasks that wait are in pairs under other policies,
/// too.
[[nodiscard]] std::size_t runs_of_pairs(const TaskSet& tasks, bool across = false);

/// Measures all pairs, and the waits of the tasks in them. `resident`: a part waits in the time beyond these. Absent,
/// on the host device: a part waits while its thread has no core. Returns the results by task; the other parameters are
/// those of measure_pair().
[[nodiscard]] std::vector<MeasuredBeside> measure_pairs(const TaskSet& tasks, std::span<const Wcet> observed,
                                                        const std::optional<ResidentTimes>& resident,
                                                        const std::function<Setup()>& make_setup, const Enough& enough,
                                                        const Watch& watch, bool across = false);

} // namespace rtexec::executive
