// Runs a task set once to measure its execution times. Defines the criterion for the end of such a run.
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

/// The criterion for the end of a run. The run ends when all conditions are fulfilled.
struct Enough {
  std::uint64_t jobs = 1; // the number of jobs of each task
  Duration time{0};
  /// If present, WCETs derived with these options from the first half of the executions must hold for the other half.
  /// The WCETs are checked after `time`, after 1.5 * `time` and after 2 * `time`; after the third check, the run ends
  /// whatever the result
  std::optional<traces::WcetOptions> settled{};
};

/// A function that is called repeatedly during the run. It may throw an exception to end the run. `wanted` is the
/// presently expected length of the run.
using Watch = std::function<void(std::uint64_t fewest_jobs, Duration elapsed, Duration wanted)>;

struct MeasuredRun {
  Report report;
  std::vector<JobRecord> jobs; // task after task
  std::vector<std::string> fingerprints;
  std::vector<unsigned> cores;

  [[nodiscard]] std::span<const JobRecord> of_task(std::size_t task) const;
};

/// Runs the set. This function sets the options of `setup` that enable measurements; the caller must leave them unset.
/// Throws Failed with the error of set-up, or with device_fault if a job failed.
[[nodiscard]] MeasuredRun measured_run(TaskSet tasks, Setup setup, const Enough& enough, const Watch& watch);

/// Adds the execution times of one part of `jobs` to `executions`. All jobs are of one task. Failed jobs are excluded.
void add_jobs(traces::SampleSeries& executions, std::span<const JobRecord> jobs, Part part);

} // namespace rtexec::executive
