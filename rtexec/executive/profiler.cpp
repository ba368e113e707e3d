#include "rtexec/executive/profiler.hpp"

#include "config/must.hpp"
#include "config/profile.hpp"
#include "hal/machine.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace rtexec::executive {

namespace {

using MakeSetup = std::function<Result<Setup>()>;

constexpr Duration shortest_period = std::chrono::milliseconds(1);
// Of the busiest core while measuring: below what the kernel lets real-time threads have
constexpr double busy = 0.8;
// Jobs of each task; where more ended, the longest of the others counts all the same
constexpr std::uint64_t most_recorded = 1U << 16U;

Duration sum(const Wcet& wcet) { return wcet.before + wcet.device + wcet.after; }

using Tunings = std::map<std::string, std::vector<std::string>>;

/// What the workloads told, and the device that they were tuned on: it is kept open while the set is measured, since
/// libraries that were used on it would not survive its context.
struct Tuned {
  std::unique_ptr<hal::Device> device;
  Tunings tunings;
  std::vector<bool> use_device; // by task
};

/// The task set as it is measured: every task released every `period`, or as soon after as its job before has ended.
TaskSet measured_at(TaskSet set, Duration period, const Tuned& tuned) {
  set.executive.order = Order::edf;
  set.executive.priorities = PriorityAssignment::rate_monotonic;
  set.executive.duration.reset();
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    Task& task = set.tasks[i];
    if (!task.wcet) task.wcet = Wcet{.before = {}, .device = Duration(tuned.use_device[i] ? 1 : 0), .after = {}};
    task.period = task.deadline = std::max(period, sum(*task.wcet));
    task.offset = Duration(0);
    task.releases.reset();
    task.priority.reset();
    task.criticality = Criticality::real_time;
    task.on_overrun = OnOverrun::skip;
    task.on_wcet_exceeded = OnWcetExceeded::tell;
  }
  return set;
}

std::uint64_t fewest_jobs(const Report& report) {
  const auto fewest = std::ranges::min_element(report.tasks, {}, &TaskReport::completed);
  return fewest == report.tasks.end() ? 0 : fewest->completed;
}

Tuned tune(const TaskSet& tasks, const ProfileObserver& observer, const MakeSetup& make_setup) {
  Setup setup = must(make_setup());
  setup.tunings.emplace(); // those of an old profile do not count
  LoadedSet set = must(load(tasks, setup));
  Tuned tuned{.device = must(set.open_device(set.tasks.device.capacity.value_or(set.board.capacity))),
              .tunings = {},
              .use_device = {}};
  for (std::size_t i = 0; i < set.workloads.size(); ++i) {
    const std::string& name = set.tasks.tasks[i].name;
    auto lines = set.workloads[i]->tune(*tuned.device, [&](std::size_t done, std::size_t wanted) {
      return !observer.tuning || observer.tuning(name, done, wanted);
    });
    if (!lines) give_up(lines.error().code, "task '" + name + "': " + lines.error().what);
    tuned.tunings[name] = std::move(*lines);
    tuned.use_device.push_back(set.workloads[i]->uses_device());
    set.workloads[i].reset();
  }
  return tuned;
}

/// A fault of the device, or of a job.
void check_faults(const Report& report) {
  if (report.device_fault)
    give_up(Errc::device_fault, "task '" + report.device_fault->task +
                                    "': the device was lost while it was measured: " + report.device_fault->what);
  for (const TaskReport& task : report.tasks)
    if (task.failed > 0) give_up(Errc::device_fault, "task '" + task.name + "': a job failed while it was measured");
}

void await_jobs(Executive& executive, std::uint64_t jobs, const ProfileObserver& observer) {
  for (;;) {
    executive.wait(std::chrono::milliseconds(100));
    const Report report = executive.progress();
    const std::uint64_t done = std::min(fewest_jobs(report), jobs);
    if (observer.measuring && !observer.measuring(done, jobs)) give_up(Errc::cancelled, "measuring was cancelled");
    check_faults(report);
    if (done == jobs) return;
  }
}

/// What the measured executions of a part stand for.
Duration wcet_of(std::span<const double> executions, Duration longest, double margin) {
  const Duration least = with_margin(longest, margin);
  if (executions.empty()) return least;
  const double value = traces::part_wcet(executions, 1, {.margin = margin}).value;
  return std::max(least, Duration(static_cast<Duration::rep>(std::ceil(value))));
}

/// `jobs`: of one task. In nanoseconds.
std::vector<double> executions(std::span<const JobRecord> jobs, Duration Wcet::*part) {
  std::vector<double> all;
  for (const JobRecord& job : jobs)
    if (!job.failure) all.push_back(static_cast<double>((job.executed.*part).count()));
  return all;
}

Wcet wcet_of(std::span<const JobRecord> jobs, const Wcet& longest, double margin) {
  const auto part = [&](Duration Wcet::*which) { return wcet_of(executions(jobs, which), longest.*which, margin); };
  return {.before = part(&Wcet::before), .device = part(&Wcet::device), .after = part(&Wcet::after)};
}

Executive started(const TaskSet& tasks, Duration period, Setup setup, const Tuned& tuned) {
  setup.force = true;
  setup.copy_beside = true;
  setup.exclusive = true;
  setup.tunings = tuned.tunings;
  Executive executive = must(create(measured_at(tasks, period, tuned), std::move(setup)));
  must(executive.start());
  return executive;
}

/// What one job of each task asks of the busiest core, the device's among them, by the warm-up jobs before a
/// run.
Duration busiest(const TaskSet& tasks, Setup setup, const Tuned& tuned) {
  Executive executive = started(tasks, std::chrono::seconds(1), std::move(setup), tuned);
  const Report report = executive.stop();
  Duration most{0};
  std::map<unsigned, Duration> cores;
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    const Wcet& warm_up = report.tasks[i].warm_up;
    most += warm_up.device;
    cores[executive.plan().tasks[i].core] += warm_up.before + warm_up.after;
  }
  for (const auto& [core, time] : cores) most = std::max(most, time);
  return most;
}

Profile measured(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                 const MakeSetup& make_setup) {
  const Tuned tuned = tune(tasks, observer, make_setup);
  const Duration round = busiest(tasks, must(make_setup()), tuned);
  Setup setup = must(make_setup());
  setup.record_jobs = static_cast<std::size_t>(std::min(2 * options.jobs, most_recorded));
  Executive executive =
      started(tasks, std::max(shortest_period, with_margin(round, 1 / busy)), std::move(setup), tuned);
  await_jobs(executive, options.jobs, observer);
  const Report report = executive.stop();

  const std::vector<JobRecord> jobs = executive.job_records().jobs;
  const auto of_task = [&](std::size_t task) -> std::span<const JobRecord> {
    return std::ranges::equal_range(jobs, task, {}, &JobRecord::task);
  };

  Profile profile{
      .file = tasks.executive.profile, .machine = hal::machine_name(), .device = report.device->name, .entries = {}};
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const TaskReport& task = report.tasks[i];
    profile.entries.push_back({.task = task.name,
                               .workload = executive.fingerprints()[i],
                               .wcet = wcet_of(of_task(i), task.observed, options.margin),
                               .observed = task.observed,
                               .samples = task.completed,
                               .margin = options.margin,
                               .tuning = tuned.tunings.at(task.name)});
  }
  return profile;
}

} // namespace

Result<Profile> measure(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                        const MakeSetup& make_setup) {
  return caught([&] { return measured(tasks, options, observer, make_setup); });
}

} // namespace rtexec::executive

rtexec::Result<rtexec::Profile> rtexec::profile(const TaskSet& tasks, const ProfileOptions& options,
                                                const ProfileObserver& observer, const MakeSetup& make_setup) {
  return executive::measure(tasks, options, observer, [&]() -> Result<executive::Setup> {
    executive::Setup setup;
    if (!make_setup) return setup;
    auto given = make_setup();
    if (!given) return Unexpected(given.error());
    static_cast<ExecutiveSetup&>(setup) = std::move(*given);
    return setup;
  });
}
