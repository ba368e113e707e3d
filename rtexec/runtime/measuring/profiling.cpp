#include "rtexec/runtime/measuring/profiling.hpp"

#include "config/memory_policy.hpp"
#include "config/base/must.hpp"
#include "config/names.hpp"
#include "config/profile_file.hpp"
#include "hal/machine_files.hpp"
#include "policies/scheduler/co_run.hpp"
#include "rtexec/runtime/observation/layer_times.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "rtexec/runtime/measuring/measured_run.hpp"
#include "rtexec/runtime/planning/memory_choice.hpp"
#include "rtexec/runtime/measuring/pair_profiler.hpp"
#include "rtexec/runtime/measuring/resident_time.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;
using MakeSetup = std::function<Result<Setup>()>;

constexpr Duration shortest_period = 1ms;
// The utilization of the busiest core in the dense run (short periods). This utilization is below the kernel's limit
// for real-time threads
constexpr double busy = 0.8;

traces::WcetOptions wcet_options(const TaskSet& tasks, const ProfileOptions& options) {
  return {.exceedance = tasks.executive.wcet_exceedance, .margin = options.margin};
}

Duration sum(const Wcet& wcet) { return wcet.before + wcet.device + wcet.after; }

using Tunings = std::map<std::string, std::vector<std::string>>;

/// The tuning results, and the device on which the workloads were tuned. The device stays open while the set is
/// measured, because libraries that used it would fail after the end of its context.
struct Tuned {
  std::unique_ptr<hal::Device> device;
  Tunings tunings;
  Board board{};
  // Facts about the workloads, by task
  std::vector<bool> use_device;
  std::vector<std::size_t> layers; // the number of layers on the device

  void know(const Workload& workload) {
    use_device.push_back(workload.uses_device());
    layers.push_back(workload.uses_device() ? workload.layers().size() : 0);
  }
  [[nodiscard]] bool have_layers() const { return std::ranges::any_of(layers, std::identity()); }
};

/// Redirects the outputs of a task, so that files and subscribers do not get the results of measured jobs. The results
/// are processed in the same way, but then discarded.
void keep_to_itself(Task& task) {
  for (TaskOutput& output : task.outputs) {
    if (output.sink == SinkKind::files) output.to.clear();
    if (output.sink == SinkKind::iceoryx) output.to += ".profile";
  }
}

/// Returns the task set for a measuring run. Each task has its period in `periods`, or a longer period if its WCET is
/// longer.
TaskSet measured_at(TaskSet set, std::span<const Duration> periods, const Tuned& tuned) {
  set.executive.order = Order::edf;
  set.executive.priorities = PriorityAssignment::rate_monotonic;
  set.executive.duration.reset();
  set.device.co_run = false;
  set.chains.clear();
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    Task& task = set.tasks[i];
    if (!task.wcet) task.wcet = Wcet{.before = {}, .device = Duration(tuned.use_device[i] ? 1 : 0), .after = {}};
    task.co_run_wcet.reset();
    task.mapping_idle.reset();
    task.period = task.deadline = std::max(periods[i], sum(*task.wcet));
    task.offset = Duration(0);
    task.releases.reset();
    task.trigger = Trigger::timer;
    task.after.clear();
    keep_to_itself(task);
    task.priority.reset();
    task.criticality = Criticality::real_time;
    task.on_overrun = OnOverrun::skip;
    task.on_wcet_exceeded = OnWcetExceeded::tell;
  }
  return set;
}

void tune(Tuned& tuned, LoadedSet& set, std::size_t task, const ProfileObserver& observer) {
  const std::string& name = set.tasks.tasks[task].name;
  auto lines = set.workloads[task]->tune(*tuned.device, [&](std::size_t done, std::size_t wanted) {
    return !observer.tuning || observer.tuning(name, done, wanted);
  });
  if (!lines) give_up(lines.error().code, "task '" + name + "': " + lines.error().what);
  tuned.tunings[name] = std::move(*lines);
}

Tuned tune(const TaskSet& tasks, const ProfileObserver& observer, const MakeSetup& make_setup) {
  Setup setup = must(make_setup());
  setup.tunings.emplace(); // present but empty, so that tunings of an old profile are not used
  LoadedSet set = must(load(tasks, setup));
  Tuned tuned{.device = must(set.open_device(set.tasks.device.capacity.value_or(set.board.capacity))),
              .tunings = {},
              .board = set.board,
              .use_device = {},
              .layers = {}};
  for (std::size_t i = 0; i < set.workloads.size(); ++i) {
    tune(tuned, set, i, observer);
    tuned.know(*set.workloads[i]);
    set.workloads[i].reset();
  }
  return tuned;
}

/// Returns the tunings that an earlier profile holds, by task.
Tunings tunings_of(const TaskSet& tasks, const Profile& before) {
  Tunings tunings;
  for (const Task& task : tasks.tasks) {
    const ProfileEntry* const entry = entry_of(before, task.name, task.memory_policy);
    tunings[task.name] = entry != nullptr ? entry->tuning : std::vector<std::string>();
  }
  return tunings;
}

Tuned tuned_before(const TaskSet& tasks, const Profile& before, const MakeSetup& make_setup) {
  Tuned tuned;
  tuned.tunings = tunings_of(tasks, before);
  Setup setup = must(make_setup());
  setup.tunings = tuned.tunings;
  LoadedSet set = must(load(tasks, setup));
  tuned.device = must(set.open_device(set.tasks.device.capacity.value_or(set.board.capacity)));
  tuned.board = set.board;
  for (std::size_t i = 0; i < set.workloads.size(); ++i) {
    const std::string& name = tasks.tasks[i].name;
    // If the task's policy is open, the profile may contain a measurement under any of the task's policies.
    const bool open = open_policies(tasks.tasks[i], tuned.board).size() > 1;
    if (!open && begun_entry(before, name, tasks.tasks[i].memory_policy, set.fingerprints[i]).samples == 0)
      give_up(Errc::bad_input, before.file.string() + ": error: task '" + name +
                                   "' was measured with another workload: measure without --add");
    tuned.know(*set.workloads[i]);
  }
  return tuned;
}

std::vector<Duration> own_periods(const TaskSet& tasks) {
  std::vector<Duration> periods;
  for (const Task& task : tasks.tasks) periods.push_back(task.period);
  return periods;
}

/// Returns periods that are longer than the periods of the set, by a small factor that differs for each task.
/// Therefore, the releases of any two tasks drift through all phases relative to each other.
std::vector<Duration> shifting_periods(const TaskSet& tasks) {
  constexpr std::size_t apart = 32; // periods become longer by less than 1 / apart
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

/// Returns the average time that the busiest core needs for one job of each task. The device counts as a core.
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

constexpr Enough nothing{.jobs = 0, .time = 0s, .settled = {}};

/// The criteria for the ends of the runs of Runs::measure().
struct Asked {
  Enough own; // with the set's own periods, so that cores and device are idle between jobs as in a normal run
  Enough shifted = nothing;
  Enough dense = nothing;  // with short periods: a high load
  Enough layers = nothing; // with the same periods as `dense`, and with each layer timed
  Enough pairs = nothing;  // with co-running jobs: the criterion for each such run
};

Asked asked_of(const TaskSet& tasks, const ProfileOptions& options, bool have_layers) {
  constexpr Duration soon = 10s, shifted = 5s, first_look = 20s, layers_look = 3s, pairs_look = 5s;
  constexpr std::uint64_t few = 8;
  constexpr int share_of_layers = 10;
  if (options.jobs) {
    const std::uint64_t jobs = *options.jobs;
    const Duration longest = std::ranges::max_element(tasks.tasks, {}, &Task::period)->period;
    const auto own = std::max<std::uint64_t>(std::min(jobs / 10, static_cast<std::uint64_t>(soon / longest)), 1);
    return {.own = {.jobs = own},
            .shifted = {.jobs = own / 2},
            .dense = {.jobs = jobs - own - own / 2},
            .layers = {.jobs = have_layers ? std::max(jobs / share_of_layers, std::min(jobs, few)) : 0},
            .pairs = {.jobs = own}};
  }
  if (options.time) {
    const Duration own = std::min(*options.time / 5, soon);
    const Enough layers = have_layers ? Enough{.time = *options.time / share_of_layers} : nothing;
    return {.own = {.time = own},
            .shifted = {.time = own / 2},
            .dense = {.time = *options.time - own - own / 2 - layers.time},
            .layers = layers,
            .pairs = {.time = own / 2}};
  }
  return {.own = {.time = soon},
          .shifted = {.time = shifted},
          .dense = {.time = first_look, .settled = wcet_options(tasks, options)},
          .layers = have_layers ? Enough{.jobs = few, .time = layers_look} : nothing,
          .pairs = {.jobs = few, .time = pairs_look}};
}

void add(Enough& to, const Enough& more, std::size_t times = 1) {
  to.jobs += more.jobs * times;
  to.time += more.time * static_cast<Duration::rep>(times);
}

/// Reports the progress of all consecutive runs to the observer, as if they were one run.
class Progress {
 public:
  Progress(const ProfileOptions& options, const ProfileObserver& observer) : options_(options), observer_(observer) {}

  /// Sets the sum of the jobs and times of the remaining runs.
  void expect(const Enough& runs) { ahead_ = runs; }
  /// Begins the next run, after the previous run has ended. There may be more runs than were expected.
  void begin(const Enough& run) {
    add(ended_, under_way_);
    under_way_ = {.jobs = run.jobs, .time = run.time};
    ahead_ = {.jobs = ahead_.jobs - std::min(ahead_.jobs, run.jobs),
              .time = ahead_.time - std::min(ahead_.time, run.time)};
  }
  /// Reports the end of all runs. Some expected runs may have been omitted.
  void end() {
    begin(nothing);
    expect(nothing);
    (*this)(0, Duration(0), Duration(0));
  }
  /// Called during a run (Watch); reports the progress. Throws `cancelled` if the observer returns false.
  void operator()(std::uint64_t fewest, Duration elapsed, Duration wanted) {
    under_way_.time = wanted;
    const Enough done{.jobs = ended_.jobs + std::min(fewest, under_way_.jobs),
                      .time = ended_.time + std::min(elapsed, wanted)};
    Enough all = ended_;
    add(all, under_way_);
    add(all, ahead_);
    const bool on = options_.jobs ? !observer_.measuring || observer_.measuring(done.jobs, all.jobs)
                                  : !observer_.measuring_for || observer_.measuring_for(done.time, all.time);
    if (!on) give_up(Errc::cancelled, "measuring was cancelled");
  }

 private:
  const ProfileOptions& options_;
  const ProfileObserver& observer_;
  Enough ended_ = nothing, under_way_ = nothing, ahead_ = nothing;
};

/// The measuring runs of a task set. All runs use the memory policies in the set.
class Runs {
 public:
  /// `across` is true if pairs of co-running tasks will later be measured under other memory policies, too
  /// (runs_of_pairs()).
  Runs(const TaskSet& tasks, const ProfileOptions& options, const MakeSetup& make_setup, const Tuned& tuned,
       bool across, Progress& progress)
      : tasks_(tasks),
        across_(across),
        make_setup_(make_setup),
        tuned_(tuned),
        asked_(asked_of(tasks, options, tuned.have_layers())),
        pair_runs_(count_pair_runs()),
        progress_(progress) {
    for (const std::size_t count : tuned.layers)
      layers.emplace_back(
          count, tuned.device->capabilities().computes_on_core ? LayerTimes::Clock::thread : LayerTimes::Clock::told);
  }

  [[nodiscard]] Enough all() const {
    Enough sum = nothing;
    for (const Enough* each : {&asked_.own, &asked_.shifted, &asked_.dense, &asked_.layers}) add(sum, *each);
    add(sum, asked_.pairs, pair_runs_);
    return sum;
  }

  void measure() {
    seen.push_back(run(own_periods(tasks_), asked_.own, {}));
    if (asked_.shifted.jobs > 0) seen.push_back(run(shifting_periods(tasks_), asked_.shifted, {}));
    const std::vector<Duration> dense(tasks_.tasks.size(),
                                      std::max(shortest_period, with_margin(busiest(seen.front()), 1 / busy)));
    if (asked_.dense.jobs > 0) seen.push_back(run(dense, asked_.dense, {.interference = true}));
    if (asked_.layers.jobs > 0)
      static_cast<void>(run(dense, asked_.layers, {.interference = true, .layer_times = &layers}));
    if (pair_runs_ > 0) measure_co_runs();
  }

  std::vector<MeasuredRun> seen;
  std::vector<LayerTimes> layers;     // by task
  std::vector<MeasuredCoRun> co_runs; // by task; empty: jobs never co-run

 private:
  /// Conditions of a run: the members of Setup with the same names.
  struct Circumstances {
    bool interference = false;
    std::vector<LayerTimes>* layer_times = nullptr;
  };

  MeasuredRun run(std::span<const Duration> periods, const Enough& enough, const Circumstances& circumstances) {
    Setup setup = must(make_setup_());
    setup.tunings = tuned_.tunings;
    setup.interference = circumstances.interference;
    setup.layer_times = circumstances.layer_times;
    progress_.begin(enough);
    return measured_run(measured_at(tasks_, periods, tuned_), std::move(setup), enough, std::ref(progress_));
  }

  [[nodiscard]] std::size_t count_pair_runs() const {
    if (!tasks_.device.co_run) return 0;
    return runs_of_pairs(measured_at(tasks_, own_periods(tasks_), tuned_), tuned_.board, across_);
  }

  void measure_co_runs() {
    std::vector<Wcet> observed(tasks_.tasks.size());
    for (const MeasuredRun& run : seen)
      for (std::size_t i = 0; i < observed.size(); ++i)
        for (const auto part : {&Wcet::before, &Wcet::device, &Wcet::after})
          observed[i].*part = std::max(observed[i].*part, run.report.tasks[i].observed.*part);
    const auto make_setup = [&] {
      Setup setup = must(make_setup_());
      setup.tunings = tuned_.tunings;
      progress_.begin(asked_.pairs);
      return setup;
    };
    const TaskSet alone = measured_at(tasks_, own_periods(tasks_), tuned_);
    co_runs = measure_pairs(alone, tuned_.board, observed, resident_times(alone), make_setup, asked_.pairs,
                            std::ref(progress_), across_);
  }

  /// Returns the longest device part of each task while all data is in device memory. The device part then waits for no
  /// pages. Measures only tasks whose memory policy makes the device part wait for pages. Returns nullopt on the host
  /// device, where waits are measured directly.
  [[nodiscard]] std::optional<ResidentTimes> resident_times(const TaskSet& tasks) const {
    if (tuned_.device->capabilities().computes_on_core) return std::nullopt;
    ResidentTimes times(tasks.tasks.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!config::waits_for_pages(tasks.tasks[i].memory_policy)) continue;
      Setup setup = must(make_setup_());
      setup.tunings = tuned_.tunings;
      times[i] = longest_resident(tasks, i, std::move(setup));
    }
    return times;
  }

  const TaskSet& tasks_;
  const bool across_;
  const MakeSetup& make_setup_;
  const Tuned& tuned_;
  const Asked asked_;
  const std::size_t pair_runs_;
  Progress& progress_;
};

/// Returns the time that timing the layers adds to an execution. On a GPU, this is the time of the events between
/// kernels. On the host device, the added time is negligible, and the function returns 0. `untimed` are the runs
/// without timed layers.
Duration added_by_timing(const LayerTimes& times, std::span<const MeasuredRun> untimed, std::size_t task) {
  if (times.clock() == LayerTimes::Clock::thread) return Duration(0);
  Duration shortest = Duration::max();
  for (const MeasuredRun& run : untimed)
    for (const JobRecord& job : run.of_task(task))
      if (!job.failure) shortest = std::min(shortest, job.executed.device);
  return std::max(*times.shortest() - shortest, Duration(0));
}

void add_layers(MeasuredLayers& layers, const LayerTimes& times, std::span<const MeasuredRun> untimed,
                std::size_t task) {
  if (times.layers() == 0 || !times.shortest()) return;
  const auto known = std::exchange(layers.each, times.pieces());
  layers.pieces = layers.each.size();
  if (std::ranges::equal(known, layers.each, {}, &MeasuredLayers::Piece::last_layer,
                         &MeasuredLayers::Piece::last_layer))
    for (std::size_t i = 0; i < known.size(); ++i)
      layers.each[i].longest = std::max(layers.each[i].longest, known[i].longest);
  layers.sum = std::max(layers.sum, times.sum_of_longest() - added_by_timing(times, untimed, task));
}

void add(ProfileEntry& entry, const Runs& runs, std::size_t task, const traces::WcetOptions& options) {
  add_layers(entry.layers, runs.layers[task], runs.seen, task);
  for (const MeasuredRun& run : runs.seen) {
    entry.samples += run.report.tasks[task].completed;
    add_degraded(entry, run.report.degraded);
  }
  for (const Part part : {Part::before, Part::device, Part::after}) {
    traces::SampleSeries executions;
    Duration longest{0};
    for (const MeasuredRun& run : runs.seen) {
      add_jobs(executions, run.of_task(task), part);
      longest = std::max(longest, run.report.tasks[task].observed.of(part));
    }
    traces::add_executions(entry, part, executions, longest, options);
  }
}

/// Adds the WCET of co-running device parts to the entry. This WCET is derived like the WCET of parts that ran alone.
void add_co_run(ProfileEntry& entry, const MeasuredCoRun& measured, const traces::WcetOptions& options) {
  if (measured.longest > Duration(0)) {
    ProfileEntry co_run;
    traces::add_executions(co_run, Part::device, measured.executions, measured.longest, options);
    entry.co_run_wcet = std::max({co_run.wcet.device, entry.co_run_wcet.value_or(Duration(0)), entry.wcet.device});
  }
  if (measured.idle) entry.mapping_idle = std::min(*measured.idle, entry.mapping_idle.value_or(*measured.idle));
}

/// Returns the names of the inputs that had no new value for any job of any run.
std::vector<std::string> unfed(std::span<const MeasuredRun> runs) {
  std::map<std::string, std::uint64_t> fed; // number of new values, by the input's name
  for (const MeasuredRun& run : runs)
    for (const ChannelReport& channel : run.report.channels)
      if (channel.input) fed["task '" + channel.task + "': " + channel.name] += channel.moved;
  std::vector<std::string> names;
  for (const auto& [name, times] : fed)
    if (times == 0) names.push_back(name);
  return names;
}

/// One round of measuring runs, under one memory policy. A task is *open* if the task set specifies neither its memory
/// policy nor its WCET. The policy of the round applies to each open task that may have this policy. An open task that
/// may not have this policy has its first possible policy. Other tasks have the policy that the task set specifies.
struct Round {
  MemoryPolicy policy{};
  TaskSet tasks;
};

std::vector<Round> rounds_of(const TaskSet& tasks, const Board& board) {
  std::vector<Round> rounds;
  for (const MemoryPolicy policy : {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}) {
    Round round{policy, tasks};
    bool new_to_a_task = rounds.empty();
    for (Task& task : round.tasks.tasks) {
      const std::vector<MemoryPolicy> open = open_policies(task, board);
      if (open.empty()) continue;
      const bool has = std::ranges::find(open, policy) != open.end();
      task.memory_policy = has ? policy : open.front();
      new_to_a_task = new_to_a_task || (has && policy != open.front());
    }
    if (new_to_a_task) rounds.push_back(std::move(round));
  }
  return rounds;
}

/// Returns the entry of `profile` for the task with this fingerprint. If an earlier round added the entry, returns that
/// entry. Otherwise adds a new entry, which starts as a copy of the entry in the earlier profile `before`.
ProfileEntry& entry_for(Profile& profile, const Profile& before, const Task& task, const std::string& fingerprint) {
  const auto begun = std::ranges::find_if(profile.entries, [&](const ProfileEntry& entry) {
    return entry.task == task.name && entry.workload == fingerprint;
  });
  if (begun != profile.entries.end()) return *begun;
  return profile.entries.emplace_back(begun_entry(before, task.name, task.memory_policy, fingerprint));
}

/// Adds the results of one round to the profile, for all tasks.
void add(Profile& profile, const Profile& before, const TaskSet& tasks, const Runs& runs, const Tuned& tuned,
         const ProfileOptions& options) {
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    ProfileEntry& entry = entry_for(profile, before, tasks.tasks[i], runs.seen.front().fingerprints[i]);
    entry.margin = options.margin;
    entry.tuning = tuned.tunings.at(entry.task);
    add(entry, runs, i, wcet_options(tasks, options));
    if (!runs.co_runs.empty()) add_co_run(entry, runs.co_runs[i], wcet_options(tasks, options));
  }
  profile.unfed = unfed(runs.seen);
}

/// Tunes the tasks whose memory policy in this round (`tasks`) differs from their policy in the first round (`first`).
void retune(Tuned& tuned, const TaskSet& first, const TaskSet& tasks, const ProfileObserver& observer,
            const MakeSetup& make_setup) {
  Setup setup = must(make_setup());
  setup.tunings.emplace();
  LoadedSet set = must(load(tasks, setup));
  for (std::size_t i = 0; i < set.workloads.size(); ++i)
    if (tasks.tasks[i].memory_policy != first.tasks[i].memory_policy) tune(tuned, set, i, observer);
}

/// A crossing: a pair of two open tasks (see Round). One task is under policy D (device memory), and the other task is
/// under policy M (managed memory) or H (host memory). No round measures such a pair, because open tasks of a round
/// have the same policy.
struct Crossing {
  MeasuredPair pair;
  TaskSet tasks;
};

/// Returns the entry of the task under its memory policy, or null if it was not measured.
ProfileEntry* measured_entry(Profile& profile, const Task& task) {
  const ProfileEntry* const found = entry_of(profile, task.name, task.memory_policy);
  return found == nullptr ? nullptr : &profile.entries[static_cast<std::size_t>(found - profile.entries.data())];
}

/// True if two tasks of the set may form a crossing.
bool crosses(const TaskSet& tasks, const Board& board) {
  const auto open = [&](const Task& task) { return open_policies(task, board).size() > 1; };
  return tasks.device.co_run && std::ranges::count_if(tasks.tasks, open) > 1;
}

std::vector<Crossing> crossings_of(std::span<const Round> rounds, const TaskSet& asked, const Board& board) {
  std::vector<Crossing> crossings;
  const auto open = [&](std::size_t task) {
    return open_policies(asked.tasks[task], board).size() > 1 &&
           policies::can_use_both_engines(asked.tasks[task], board);
  };
  for (const Round& round : rounds)
    for (std::size_t computing = 0; computing < asked.tasks.size(); ++computing)
      for (std::size_t waiting = 0; waiting < asked.tasks.size(); ++waiting)
        if (computing != waiting && open(computing) && open(waiting) &&
            config::waits_for_pages(round.tasks.tasks[waiting].memory_policy)) {
          Crossing& crossing = crossings.emplace_back(Crossing{{computing, waiting}, round.tasks});
          crossing.tasks.tasks[computing].memory_policy = MemoryPolicy::device;
        }
  return crossings;
}

/// Returns the options for one round: each of `rounds` rounds gets an equal share of the time.
ProfileOptions of_one(ProfileOptions options, std::size_t rounds) {
  if (options.time) *options.time /= static_cast<Duration::rep>(rounds);
  return options;
}

/// True if the error is a lack of memory, which another policy may avoid.
bool lacks_memory(const Error& error) { return error.code == Errc::not_proved || error.code == Errc::out_of_memory; }

/// Measures the two tasks of a crossing while they co-run, and adds the result to the profile. If there is not enough
/// memory for both tasks, adds the crossing to Profile::unmeasured and returns false.
bool measure(Profile& profile, const Crossing& crossing, const ProfileOptions& options, const Enough& enough,
             const MakeSetup& make_setup, const Tuned& tuned, Progress& progress) {
  const TaskSet tasks = measured_at(crossing.tasks, own_periods(crossing.tasks), tuned);
  std::vector<Wcet> observed;
  for (const Task& task : tasks.tasks) {
    const ProfileEntry* const entry = measured_entry(profile, task);
    observed.push_back(entry != nullptr ? entry->observed : *task.wcet);
  }
  std::vector<MeasuredCoRun> co_runs(observed.size());
  const auto tuned_setup = [&] {
    Setup setup = must(make_setup());
    setup.tunings = tunings_of(crossing.tasks, profile);
    progress.begin(enough);
    return setup;
  };
  const auto done = caught([&] {
    measure_pair(co_runs, tasks, crossing.pair, observed, tuned_setup, enough, std::ref(progress));
    return true;
  });
  const Task &d = tasks.tasks[crossing.pair.computing], &w = tasks.tasks[crossing.pair.waiting];
  if (!done) {
    if (!lacks_memory(done.error())) throw Failed{done.error()};
    profile.unmeasured.push_back(d.name + " under D beside " + w.name + " under " +
                                 std::string(spelling(w.memory_policy)) + ": " + done.error().what);
    return false;
  }
  for (const std::size_t task : {crossing.pair.computing, crossing.pair.waiting})
    add_co_run(*measured_entry(profile, tasks.tasks[task]), co_runs[task], wcet_options(crossing.tasks, options));
  return true;
}

/// Measures all crossings whose two tasks already have measurements under the crossing's policies. If a crossing cannot
/// be measured, its task under policy D gets no WCET for co-running, and so never co-runs.
void measure(Profile& profile, std::vector<Crossing> crossings, const ProfileOptions& options, const Enough& enough,
             const MakeSetup& make_setup, const Tuned& tuned, Progress& progress) {
  const auto entry = [&](const Crossing& of, std::size_t task) {
    return measured_entry(profile, of.tasks.tasks[task]);
  };
  std::erase_if(crossings, [&](const Crossing& each) {
    return entry(each, each.pair.computing) == nullptr || entry(each, each.pair.waiting) == nullptr;
  });
  Enough ahead = nothing;
  add(ahead, enough, crossings.size());
  progress.expect(ahead);
  std::vector<ProfileEntry*> alone;
  for (const Crossing& each : crossings)
    if (!measure(profile, each, options, enough, make_setup, tuned, progress))
      alone.push_back(entry(each, each.pair.computing));
  for (ProfileEntry* const each : alone) each->co_run_wcet.reset();
}

Profile measured(const TaskSet& tasks, const ProfileOptions& options, const ProfileObserver& observer,
                 const MakeSetup& make_setup) {
  const Profile before = options.before.value_or(Profile{});
  Tuned tuned = options.before ? tuned_before(tasks, before, make_setup) : tune(tasks, observer, make_setup);
  Profile profile{.file = tasks.executive.profile,
                  .machine = hal::machine_name(),
                  .device = tuned.device->name(),
                  .entries = {},
                  .unfed = {},
                  .unmeasured = {}};
  if (options.before) must(check_same_place(before, profile));
  const std::vector<Round> rounds = rounds_of(tasks, tuned.board);
  const bool across = crosses(tasks, tuned.board);
  const std::vector<Crossing> crossings = across ? crossings_of(rounds, tasks, tuned.board) : std::vector<Crossing>();
  const ProfileOptions each = of_one(options, rounds.size());
  Progress progress(options, observer);
  const auto runs_of = [&](const Round& round) { return Runs(round.tasks, each, make_setup, tuned, across, progress); };
  const Enough of_crossing = asked_of(tasks, each, false).pairs;
  Enough rest = nothing;
  add(rest, of_crossing, crossings.size());
  for (const Round& round : rounds) add(rest, runs_of(round).all());
  std::optional<Error> failure;
  for (const Round& round : rounds) {
    progress.expect(rest);
    const Enough of_round = runs_of(round).all();
    rest = {.jobs = rest.jobs - of_round.jobs, .time = rest.time - of_round.time};
    const auto done = caught([&] {
      if (options.before) tuned.tunings = tunings_of(round.tasks, before);
      else if (&round != &rounds.front()) retune(tuned, rounds.front().tasks, round.tasks, observer, make_setup);
      Runs runs = runs_of(round);
      runs.measure();
      add(profile, before, round.tasks, runs, tuned, options);
      return true;
    });
    if (done) continue;
    if (rounds.size() == 1 || !lacks_memory(done.error())) throw Failed{done.error()};
    profile.unmeasured.push_back(std::string(spelling(round.policy)) + ": " + done.error().what);
    if (!failure) failure = done.error();
  }
  if (profile.entries.empty()) throw Failed{*failure};
  measure(profile, crossings, each, of_crossing, make_setup, tuned, progress);
  progress.end();
  traces::allow_interruptions(profile.entries);
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
