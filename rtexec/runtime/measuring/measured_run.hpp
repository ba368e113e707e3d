// One run of a task set that is made to measure its execution times, and when it has seen enough.
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

/// How long a run goes on: until all of it is so.
struct Enough {
  std::uint64_t jobs = 1; // of each task
  Duration time{0};
  /// And until the WCETs that the first half of the executions make held for the other half: looked at after `time`,
  /// 1.5 times and twice that, and then no more. Absent: whether they do or not
  std::optional<traces::WcetOptions> settled{};
};

/// Told while it runs; throws to end it. `wanted`: of the time, as it stands.
using Watch = std::function<void(std::uint64_t fewest_jobs, Duration elapsed, Duration wanted)>;

struct MeasuredRun {
  Report report;
  std::vector<JobRecord> jobs; // by task
  std::vector<std::string> fingerprints;
  std::vector<unsigned> cores;

  [[nodiscard]] std::span<const JobRecord> of_task(std::size_t task) const;
};

/// `setup` without what makes a run one that measures. Exceptions as in set-up code; device_fault where a job failed.
[[nodiscard]] MeasuredRun measured_run(TaskSet tasks, Setup setup, const Enough& enough, const Watch& watch);

/// Executions of one part in those `jobs` that did not fail, of one task.
void add_jobs(traces::SampleSeries& executions, std::span<const JobRecord> jobs, Part part);

} // namespace rtexec::executive
