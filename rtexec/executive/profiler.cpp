#include "rtexec/executive/profiler.hpp"

#include "config/must.hpp"
#include "config/profile.hpp"
#include "hal/machine.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <algorithm>
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

/// The task set as it is measured: tasks released with their `periods`, or as soon after as their job before has ended.
TaskSet measured_at(TaskSet set, std::span<const Duration> periods, const Tuned& tuned) {
  set.executive.order = Order::edf;
  set.executive.priorities = PriorityAssignment::rate_monotonic;
  set.executive.duration.reset();
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    Task& task = set.tasks[i];
    if (!task.wcet) task.wcet = Wcet{.before = {}, .device = Duration(tuned.use_device[i] ? 1 : 0), .after = {}};
    task.period = task.deadline = std::max(periods[i], sum(*task.wcet));
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

/// As an earlier profile has it.
Tuned tuned_before(const TaskSet& tasks, const Profile& before, const MakeSetup& make_setup) {
  Tuned tuned;
  for (const Task& task : tasks.tasks) {
    const auto entry = std::ranges::find(before.entries, task.name, &ProfileEntry::task);
    if (entry != before.entries.end()) tuned.tunings[task.name] = entry->tuning;
  }
  Setup setup = must(make_setup());
  setup.tunings = tuned.tunings;
  LoadedSet set = must(load(tasks, setup));
  tuned.device = must(set.open_device(set.tasks.device.capacity.value_or(set.board.capacity)));
  for (std::size_t i = 0; i < set.workloads.size(); ++i) {
    const std::string& name = tasks.tasks[i].name;
    if (begun_entry(before, name, set.fingerprints[i]).samples == 0)
      give_up(Errc::bad_input,
              before.file.string() + ": error: task '" + name +
                  "' was not measured with this workload: nothing can be added; measure without --add");
    tuned.use_device.push_back(set.workloads[i]->uses_device());
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

/// Of the jobs of each task that are asked for: those of earlier segments, and of this one.
struct Share {
  std::uint64_t before = 0, jobs = 0;
};

void await_jobs(Executive& executive, const Share& share, std::uint64_t asked, const ProfileObserver& observer) {
  for (;;) {
    executive.wait(std::chrono::milliseconds(100));
    const Report report = executive.progress();
    const std::uint64_t done = std::min(fewest_jobs(report), share.jobs);
    if (observer.measuring && !observer.measuring(share.before + done, asked))
      give_up(Errc::cancelled, "measuring was cancelled");
    check_faults(report);
    if (done == share.jobs) return;
  }
}

/// What one segment of the measurement saw.
struct Segment {
  Report report;
  std::vector<JobRecord> jobs; // by task
  std::vector<std::string> fingerprints;
  std::vector<unsigned> cores;

  [[nodiscard]] std::span<const JobRecord> of_task(std::size_t task) const {
    return std::ranges::equal_range(jobs, task, {}, &JobRecord::task);
  }
};

Segment segment(TaskSet tasks, const Share& share, std::uint64_t asked, const ProfileObserver& observer, Setup setup,
                const Tuned& tuned) {
  setup.force = true;
  setup.copy_beside = true;
  setup.exclusive = true;
  setup.tunings = tuned.tunings;
  setup.record_jobs = static_cast<std::size_t>(std::min(2 * share.jobs, most_recorded));
  Executive executive = must(create(std::move(tasks), std::move(setup)));
  must(executive.start());
  await_jobs(executive, share, asked, observer);
  Segment seen{.report = executive.stop(),
               .jobs = executive.job_records().jobs,
               .fingerprints = executive.fingerprints(),
               .cores = {}};
  for (const PlannedTask& task : executive.plan().tasks) seen.cores.push_back(task.core);
  return seen;
}

/// As the set asks, so that cores and device idle between jobs as they will; a little apart, so that every task meets
/// every other one in all phases.
std::vector<Duration> own_periods(const TaskSet& tasks) {
  constexpr std::size_t apart = 32; // at most 1 / apart longer
  std::vector<Duration> periods;
  for (const Task& task : tasks.tasks)
    periods.push_back(task.period + task.period * static_cast<Duration::rep>(periods.size()) /
                                        static_cast<Duration::rep>(apart * tasks.tasks.size()));
  return periods;
}

Wcet mean(std::span<const JobRecord> jobs) {
  Wcet all;
  for (const JobRecord& job : jobs) {
    all.before += job.executed.before;
    all.device += job.executed.device;
    all.after += job.executed.after;
  }
  const auto count = static_cast<Duration::rep>(std::max<std::size_t>(jobs.size(), 1));
  return {.before = all.before / count, .device = all.device / count, .after = all.after / count};
}

/// What one job of each task asks of the busiest core, the device's among them, in the mean.
Duration busiest(const Segment& seen) {
  Duration most{0};
  std::map<unsigned, Duration> cores;
  for (std::size_t i = 0; i < seen.cores.size(); ++i) {
    const Wcet took = mean(seen.of_task(i));
    most += took.device;
    cores[seen.cores[i]] += took.before + took.after;
  }
  for (const auto& [core, time] : cores) most = std::max(most, time);
  return most;
}

/// A tenth of the jobs, or as many as end soon.
std::uint64_t jobs_at_own_periods(const TaskSet& tasks, std::uint64_t jobs) {
  constexpr Duration soon = std::chrono::seconds(20);
  const Duration longest = std::ranges::max_element(tasks.tasks, {}, &Task::period)->period;
  return std::max<std::uint64_t>(std::min(jobs / 10, static_cast<std::uint64_t>(soon / longest)), 1);
}

/// First as the set asks, the rest at a load that keeps the busiest core busy.
std::vector<Segment> segments(const TaskSet& tasks, std::uint64_t jobs, const ProfileObserver& observer,
                              const MakeSetup& make_setup, const Tuned& tuned) {
  const Share own{.before = 0, .jobs = jobs_at_own_periods(tasks, jobs)};
  std::vector<Segment> all;
  all.push_back(segment(measured_at(tasks, own_periods(tasks), tuned), own, jobs, observer, must(make_setup()), tuned));
  const Share rest{.before = own.jobs, .jobs = jobs - own.jobs};
  if (rest.jobs == 0) return all;
  const std::vector<Duration> periods(tasks.tasks.size(),
                                      std::max(shortest_period, with_margin(busiest(all.front()), 1 / busy)));
  all.push_back(segment(measured_at(tasks, periods, tuned), rest, jobs, observer, must(make_setup()), tuned));
  return all;
}

traces::SampleSeries executions(std::span<const Segment> seen, std::size_t task, Part part) {
  traces::SampleSeries all;
  for (const Segment& segment : seen)
    for (const JobRecord& job : segment.of_task(task))
      if (!job.failure) all.add(job.executed.of(part));
  return all;
}

void add(ProfileEntry& entry, std::span<const Segment> seen, std::size_t task, const traces::WcetOptions& options) {
  Wcet longest;
  for (const Segment& segment : seen) {
    const TaskReport& report = segment.report.tasks[task];
    entry.samples += report.completed;
    for (const Part part : {Part::before, Part::device, Part::after})
      longest.of(part) = std::max(longest.of(part), report.observed.of(part));
  }
  for (const Part part : {Part::before, Part::device, Part::after})
    traces::add_executions(entry, part, executions(seen, task, part), longest.of(part), options);
}

Profile measured(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                 const MakeSetup& make_setup) {
  const Profile before = options.before.value_or(Profile{});
  const Tuned tuned = options.before ? tuned_before(tasks, before, make_setup) : tune(tasks, observer, make_setup);
  Profile profile{
      .file = tasks.executive.profile, .machine = hal::machine_name(), .device = tuned.device->name(), .entries = {}};
  if (options.before) must(check_same_place(before, profile));
  const std::vector<Segment> seen = segments(tasks, options.jobs, observer, make_setup, tuned);
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    ProfileEntry& entry =
        profile.entries.emplace_back(begun_entry(before, tasks.tasks[i].name, seen.front().fingerprints[i]));
    entry.margin = options.margin;
    entry.tuning = tuned.tunings.at(entry.task);
    add(entry, seen, i, {.exceedance = tasks.executive.wcet_exceedance, .margin = options.margin});
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
