// One run of a task set to measure its execution times, and the criterion of its end.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::executive {

/// The criterion of a run's end: all conditions must be fulfilled.
struct Enough {
  std::uint64_t jobs = 1; // of each task
  Duration time{0};
  /// The WCETs of the first half of the executions must hold for the other half. This is checked after `time`, 1.5
  /// times and twice that, and then no more. Absent: it is not checked
  std::optional<traces::WcetOptions> settled{};
};

/// Called while it runs; throws to end it. `wanted`: the total time currently expected.
using Watch = std::function<void(std::uint64_t fewest_jobs, Duration elapsed, Duration wanted)>;

struct MeasuredRun {
  Report report;
  std::vector<JobRecord> jobs; // by task
  std::vector<std::string> fingerprints;
  std::vector<unsigned> cores;

  [[nodiscard]] std::span<const JobRecord> of_task(std::size_t task) const;
};

/// Runs the set. `setup` must not set the options that measure; this function sets them. Throws like set-up code;
/// device_fault if a job failed.
[[nodiscard]] MeasuredRun measured_run(TaskSet tasks, Setup setup, const Enough& enough, const Watch& watch);

/// Adds the executions of one part in `jobs`, which are of one task; leaves out failed jobs.
void add_jobs(traces::SampleSeries& executions, std::span<const JobRecord> jobs, Part part);

} // namespace rtexec::executive
