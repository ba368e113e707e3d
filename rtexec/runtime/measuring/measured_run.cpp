#include "rtexec/runtime/measuring/measured_run.hpp"

#include "config/base/must.hpp"
#include "rtexec/runtime/executive/run.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

// The WCETs are checked after 1, 1.5 and 2 times `Enough::time`
constexpr int max_looks = 3;
constexpr int longest_look = 2;
// Maximum number of recorded jobs of each task. Later jobs count only by their longest time
constexpr std::size_t max_recorded = std::size_t{1} << 16U;

/// Returns the maximum number of jobs that a task with this period can end.
std::size_t jobs_within(Duration time, Duration period) { return static_cast<std::size_t>(time / period) + 1; }

std::size_t records_for(const TaskSet& tasks, const Enough& enough) {
  const Duration shortest = std::ranges::min_element(tasks.tasks, {}, &Task::period)->period;
  const Duration longest = enough.time * (enough.settled ? longest_look : 1);
  return std::min(std::max<std::size_t>(2 * enough.jobs, jobs_within(longest, shortest)), max_recorded);
}

std::uint64_t fewest_jobs(const Report& report) {
  const auto fewest = std::ranges::min_element(report.tasks, {}, &TaskReport::completed);
  return fewest == report.tasks.end() ? 0 : fewest->completed;
}

/// Throws Failed with device_fault if the device or a job failed.
void check_faults(const Report& report) {
  if (report.device_fault)
    give_up(Errc::device_fault, "task '" + report.device_fault->task +
                                    "': the device was lost while it was measured: " + report.device_fault->what);
  for (const TaskReport& task : report.tasks)
    if (task.failed > 0) give_up(Errc::device_fault, "task '" + task.name + "': a job failed while it was measured");
}

std::span<const JobRecord> jobs_of(std::span<const JobRecord> jobs, std::size_t task) {
  return std::ranges::equal_range(jobs, task, {}, &JobRecord::task);
}

bool settled(const std::vector<JobRecord>& jobs, std::size_t tasks, const traces::WcetOptions& options) {
  std::vector<traces::MeasuredPart> parts;
  for (std::size_t task = 0; task < tasks; ++task)
    for (const Part part : {Part::before, Part::device, Part::after})
      add_jobs(parts.emplace_back(traces::MeasuredPart{part, traces::SampleSeries()}).executions, jobs_of(jobs, task),
               part);
  return std::ranges::all_of(traces::first_halves_hold(parts, options), std::identity());
}

void await(Executive& executive, const Enough& enough, const Watch& watch) {
  const Instant begin = hal::now();
  Duration wanted = enough.time;
  for (int looks = 1;;) {
    executive.wait(std::chrono::milliseconds(100));
    const Report report = executive.progress();
    const Duration elapsed = hal::now() - begin;
    watch(fewest_jobs(report), elapsed, wanted);
    check_faults(report);
    if (fewest_jobs(report) < enough.jobs || elapsed < wanted) continue;
    if (!enough.settled || looks == max_looks) return;
    if (settled(executive.job_records().jobs, report.tasks.size(), *enough.settled)) return;
    ++looks;
    wanted += enough.time * (longest_look - 1) / (max_looks - 1);
  }
}

} // namespace

std::span<const JobRecord> MeasuredRun::of_task(std::size_t task) const { return jobs_of(jobs, task); }

MeasuredRun measured_run(TaskSet tasks, Setup setup, const Enough& enough, const Watch& watch) {
  setup.force = true;
  setup.background_copies = true;
  setup.exclusive = true;
  setup.whatever_inputs = true;
  setup.record_jobs = records_for(tasks, enough);
  Executive executive = must(create(std::move(tasks), std::move(setup)));
  must(executive.start());
  await(executive, enough, watch);
  MeasuredRun seen{.report = executive.stop(),
                   .jobs = executive.job_records().jobs,
                   .fingerprints = executive.fingerprints(),
                   .cores = {}};
  for (const PlannedTask& task : executive.plan().tasks) seen.cores.push_back(task.core);
  return seen;
}

void add_jobs(traces::SampleSeries& executions, std::span<const JobRecord> jobs, Part part) {
  for (const JobRecord& job : jobs)
    if (!job.failure) executions.add(job.executed.of(part));
}

} // namespace rtexec::executive
