#include "rtexec/executive/profiler.hpp"

#include "config/must.hpp"
#include "config/profile.hpp"
#include "hal/machine.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "rtexec/executive/measured_run.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;
using MakeSetup = std::function<Result<Setup>()>;

constexpr Duration shortest_period = 1ms;
// Of the busiest core while measuring: below what the kernel lets real-time threads have
constexpr double busy = 0.8;

traces::WcetOptions wcet_options(const TaskSet& tasks, const ProfileOptions& options) {
  return {.exceedance = tasks.executive.wcet_exceedance, .margin = options.margin};
}

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
Duration busiest(const MeasuredRun& seen) {
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

/// What is asked of both runs, the first one with the set's own periods.
struct Asked {
  Enough own, dense;
};

Asked asked_of(const TaskSet& tasks, const ProfileOptions& options) {
  constexpr Duration soon = 10s, first_look = 20s;
  const Duration longest = std::ranges::max_element(tasks.tasks, {}, &Task::period)->period;
  if (options.jobs) {
    const std::uint64_t own =
        std::max<std::uint64_t>(std::min(*options.jobs / 10, static_cast<std::uint64_t>(soon / longest)), 1);
    return {.own = {.jobs = own}, .dense = {.jobs = *options.jobs - own}};
  }
  if (options.time)
    return {.own = {.time = std::min(*options.time / 5, soon)}, .dense = {.time = *options.time * 4 / 5}};
  return {.own = {.time = soon}, .dense = {.time = first_look, .settled = wcet_options(tasks, options)}};
}

/// Tells `observer` of one run as a part of both.
Watch watch_of(const ProfileOptions& options, const ProfileObserver& observer, const Enough& before,
               const Enough& after) {
  return [=](std::uint64_t fewest, Duration elapsed, Duration wanted) {
    const bool on =
        options.jobs
            ? !observer.measuring || observer.measuring(std::min(before.jobs + fewest, *options.jobs), *options.jobs)
            : !observer.measuring_for ||
                  observer.measuring_for(before.time + std::min(elapsed, wanted), before.time + wanted + after.time);
    if (!on) give_up(Errc::cancelled, "measuring was cancelled");
  };
}

std::vector<MeasuredRun> runs(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                              const MakeSetup& make_setup, const Tuned& tuned) {
  const Asked asked = asked_of(tasks, options);
  constexpr Enough none{.jobs = 0, .time = 0s, .settled = {}};
  const auto run = [&](std::span<const Duration> periods, const Enough& enough, const Watch& watch) {
    Setup setup = must(make_setup());
    setup.tunings = tuned.tunings;
    return measured_run(measured_at(tasks, periods, tuned), std::move(setup), enough, watch);
  };
  std::vector<MeasuredRun> all;
  all.push_back(run(own_periods(tasks), asked.own, watch_of(options, observer, none, asked.dense)));
  if (asked.dense.jobs == 0) return all;
  const std::vector<Duration> dense(tasks.tasks.size(),
                                    std::max(shortest_period, with_margin(busiest(all.front()), 1 / busy)));
  all.push_back(run(dense, asked.dense, watch_of(options, observer, asked.own, none)));
  return all;
}

void add(ProfileEntry& entry, std::span<const MeasuredRun> seen, std::size_t task, const traces::WcetOptions& options) {
  for (const MeasuredRun& run : seen) entry.samples += run.report.tasks[task].completed;
  for (const Part part : {Part::before, Part::device, Part::after}) {
    traces::SampleSeries executions;
    Duration longest{0};
    for (const MeasuredRun& run : seen) {
      add_jobs(executions, run.of_task(task), part);
      longest = std::max(longest, run.report.tasks[task].observed.of(part));
    }
    traces::add_executions(entry, part, executions, longest, options);
  }
}

Profile measured(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                 const MakeSetup& make_setup) {
  const Profile before = options.before.value_or(Profile{});
  const Tuned tuned = options.before ? tuned_before(tasks, before, make_setup) : tune(tasks, observer, make_setup);
  Profile profile{
      .file = tasks.executive.profile, .machine = hal::machine_name(), .device = tuned.device->name(), .entries = {}};
  if (options.before) must(check_same_place(before, profile));
  const std::vector<MeasuredRun> seen = runs(tasks, options, observer, make_setup, tuned);
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    ProfileEntry& entry =
        profile.entries.emplace_back(begun_entry(before, tasks.tasks[i].name, seen.front().fingerprints[i]));
    entry.margin = options.margin;
    entry.tuning = tuned.tunings.at(entry.task);
    add(entry, seen, i, wcet_options(tasks, options));
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
