// Measures co-running device parts: with [device] co_run, a job under device memory (D) executes concurrently with a
// job that waits for pages of memory. The second job is under managed memory (M), mapped host memory (H), or D/H
// (MemoryPolicy::switching). Each pair of such tasks is measured in a separate run. Also measures how long the device
// part of the second job waits for pages.
//
// Response-time bounds use the execution times that were measured while co-running. The bounds do not use the wait for
// pages. The wait only decides which tasks may form a pair. If the assumed wait is too short, pairs that would gain
// time are not formed. If the assumed wait is too long, pairs that gain no time are formed. Therefore the shortest
// observed wait is used.
#pragma once

#include <rtexec/board.hpp>
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

/// The measurements of one co-running task. Empty if the task is in no pair.
struct MeasuredCoRun {
  traces::SampleSeries executions; // device parts that co-ran with another job
  Duration longest{0};
  /// The shortest time for which a device part waited for pages. Absent: the task is under memory policy D (device
  /// memory), or was not measured
  std::optional<Duration> idle;
};

/// The longest device part of each task while all its data are in the device's own memory (resident_time.hpp). The
/// device part then waits for no pages. Absent: not measured
using ResidentTimes = std::vector<std::optional<Duration>>;

/// A pair of tasks that co-run, by their indices. Task `computing` is under memory policy D (device memory); task
/// `waiting` waits for pages.
struct MeasuredPair {
  std::size_t computing = 0, waiting = 0;
};

/// Runs a pair together, and adds the executions of both tasks to `measured`. `tasks` is the set that was measured
/// without co-running, with the known WCETs. `observed` holds the longest parts of each task in these measurements.
/// `enough` is the criterion for the end of the run. If fewer than half of the jobs co-ran, because their first CPU
/// parts took longer than expected, repeats the run up to three times. Throws the errors of measured_run().
void measure_pair(std::vector<MeasuredCoRun>& measured, const TaskSet& tasks, const MeasuredPair& pair,
                  std::span<const Wcet> observed, const std::function<Setup()>& make_setup, const Enough& enough,
                  const Watch& watch);

/// Returns the minimum number of runs of measure_pairs(). `across` is true if further pairs will be measured, with
/// memory policies that differ from the policies in `tasks`. The waits of all tasks are then needed, even if `tasks`
/// has no pair.
[[nodiscard]] std::size_t runs_of_pairs(const TaskSet& tasks, const Board& board, bool across = false);

/// Measures all pairs, and how long their device parts wait for pages. If `resident` is present, a part's wait is its
/// execution time minus its time in `resident`. If it is absent, as on the host device, the wait is the time in which
/// the part's thread has no core. Returns the results by task. For `across` see runs_of_pairs(); for the other
/// parameters see measure_pair().
[[nodiscard]] std::vector<MeasuredCoRun> measure_pairs(const TaskSet& tasks, const Board& board,
                                                       std::span<const Wcet> observed,
                                                       const std::optional<ResidentTimes>& resident,
                                                       const std::function<Setup()>& make_setup, const Enough& enough,
                                                       const Watch& watch, bool across = false);

} // namespace rtexec::executive
