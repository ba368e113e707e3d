// Tests the analysis against what really happened in runs of the simulator: every counter, every job's time by cause,
// every decision. Also tests that a recording changed by one event is noticed.
#include "test/rtexec/studies/simulated_records.hpp"
#include "test/support/rounds.hpp"
#include "traces/analysis/analyzer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

namespace rtexec::traces {
namespace {

using policies::Action;
using policies::Event;
using policies::JobId;
using simulator::Step;
using test::SimulatedRun;
using testing::IsEmpty;
using Random = std::mt19937_64;

constexpr std::array every_policy{SwapPolicy::pipelined, SwapPolicy::serial,   SwapPolicy::rt_swap, SwapPolicy::mo_vmm,
                                  SwapPolicy::min,       SwapPolicy::pageable, SwapPolicy::lru,     SwapPolicy::none};

// ---- the analysis ----

class Jobs final : public AnalysisObserver {
 public:
  void job(const JobBreakdown& job) override { all[job.job] = job; }
  std::map<JobId, JobBreakdown> all;
};

Analysis analyze(const RunSetup& setup, const std::vector<Record>& records, Jobs* jobs = nullptr) {
  Analyzer analyzer(setup, jobs ? std::vector<AnalysisObserver*>{jobs} : std::vector<AnalysisObserver*>{});
  for (const Record& record : records) analyzer.record(record);
  ReadSummary read;
  read.events = records.size();
  if (!records.empty()) read.last = records.back().time;
  return analyzer.finish(read);
}

// ---- what really happened ----

struct TrueJob {
  Instant nominal{}, deadline{}, device_deadline{};
  std::optional<Instant> released, start, ready, device_begin, device_end, after_begin, end;
  Instant segment_begin{};
  Duration on_device{0};             // in segments that have ended
  bool co_running = false;           // it executed concurrently with another
  std::optional<JobOutcome> outcome; // nullopt: cut off by the end of the run
  Duration before{0}, after{0};      // time for which it had its core
};

/// An interval in which nothing changes.
struct Moment {
  Instant begin{};
  std::map<unsigned, JobId> cores;
  std::optional<JobId> executes; // the first of two concurrent jobs
  std::set<JobId> executing;
  std::vector<std::pair<JobId, bool>> copies; // the job for which it moves; true: a copy in
  std::vector<JobId> ordered;                 // jobs with copies that no engine has begun
};

class Truth {
 public:
  explicit Truth(const SimulatedRun& run) : run_(run) {
    for (const Step& step : run.steps) see(step);
    for (auto& [id, job] : jobs)
      if (abandoned_.contains(id) && !job.end) end(id, run.outcome.end, JobOutcome::aborted);
    for (const auto& stretch : run.stretches) see(stretch);
    for (auto& [id, job] : jobs) see_parts_of_no_length(job);
    see_copies();
    cut();
  }

  std::map<JobId, TrueJob> jobs;
  std::vector<Moment> moments;
  std::map<std::uint32_t, std::map<policies::ReleaseReason, std::uint64_t>> skips;

  [[nodiscard]] bool more_urgent(JobId a, JobId b) const {
    const auto key = [this](JobId id) {
      const PlannedTask& task = run_.plan.tasks[id.task];
      return std::tuple(task.device_class, task.device_rank, jobs.at(id).device_deadline, id);
    };
    return key(a) < key(b);
  }
  [[nodiscard]] const SimulatedRun& run() const { return run_; }

 private:
  struct Interval {
    JobId job;
    Instant begin{}, end{};
  };

  void end(JobId id, Instant at, JobOutcome outcome) {
    jobs.at(id).end = at;
    jobs.at(id).outcome = outcome;
  }

  /// Ends an abandoned job at `at`: it ends when the next job is released, or its release dropped.
  void end_abandoned_before(JobId id, Instant at) {
    const JobId last{id.task, id.number - 1};
    if (id.number > 0 && abandoned_.erase(last) > 0) end(last, at, JobOutcome::aborted);
  }

  void begin_stretch(JobId id, Instant at) {
    executing_.insert(id);
    executions_.push_back({id, at, run_.outcome.end});
  }

  void end_stretch(JobId id, Instant at) {
    std::ranges::find(executions_.rbegin(), executions_.rend(), id, &Interval::job)->end = at;
    executing_.erase(id);
  }

  void see(const Step& step) {
    const JobId id = step.job;
    const auto& task = run_.tasks.tasks[id.task];
    switch (step.kind) {
    case Step::Kind::release: {
      end_abandoned_before(id, step.now);
      TrueJob& job = jobs[id];
      job.nominal = step.nominal;
      job.deadline = step.nominal + task.deadline;
      job.device_deadline = step.nominal + run_.plan.tasks[id.task].device_done_by;
      job.released = step.now;
      return;
    }
    case Step::Kind::skip:
      end_abandoned_before(id, step.now);
      ++skips[id.task][step.reason];
      return;
    case Step::Kind::request: jobs.at(id).ready = step.now; return;
    case Step::Kind::hand_on: jobs.at(id).ready = jobs.at(id).device_begin = jobs.at(id).device_end = step.now; return;
    case Step::Kind::execution_start:
      jobs.at(id).device_begin = step.now;
      jobs.at(id).co_running = !executing_.empty();
      jobs.at(id).segment_begin = step.now;
      return begin_stretch(id, step.now);
    case Step::Kind::resumption: return begin_stretch(id, step.now);
    case Step::Kind::preemption: return end_stretch(id, step.now);
    case Step::Kind::execution_end:
      jobs.at(id).device_end = step.now;
      jobs.at(id).on_device += step.now - jobs.at(id).segment_begin;
      return end_stretch(id, step.now);
    case Step::Kind::segment_begin: jobs.at(id).segment_begin = step.now; return;
    case Step::Kind::segment_end: jobs.at(id).on_device += step.now - jobs.at(id).segment_begin; return;
    case Step::Kind::completion:
      return end(id, step.now, step.now > jobs.at(id).deadline ? JobOutcome::late : JobOutcome::in_time);
    case Step::Kind::fail: return end(id, step.now, JobOutcome::failed);
    case Step::Kind::abort: abandoned_.insert(id); return;
    case Step::Kind::transfer_begin: copies_[in(step.action)].push_back({id, step.now, run_.outcome.end}); return;
    // An engine serves one copy at a time.
    case Step::Kind::transfer_end: copies_[in(step.action)].back().end = step.now; return;
    case Step::Kind::stop: return;
    }
  }

  void see(const simulator::TimeInterval& stretch) {
    TrueJob& job = jobs.at(stretch.job);
    const bool first = !job.device_end || stretch.begin < *job.device_end;
    auto& begin = first ? job.start : job.after_begin;
    if (!begin) begin = stretch.begin;
    (first ? job.before : job.after) += stretch.end - stretch.begin;
  }

  static void see_parts_of_no_length(TrueJob& job) {
    if (!job.start) job.start = job.ready;
    if (!job.after_begin && (job.outcome == JobOutcome::in_time || job.outcome == JobOutcome::late))
      job.after_begin = job.end;
  }

  static bool in(const Action& action) { return action.kind == Action::Kind::copy_in; }

  /// Tracks copies. Each engine begins them in the order of their decisions.
  void see_copies() {
    std::array<std::size_t, 2> begun{};
    for (const auto& [action, at] : run_.orders) {
      if (action.kind != Action::Kind::copy_in && action.kind != Action::Kind::copy_out) continue;
      const auto& begins = copies_[in(action)];
      const std::size_t number = begun[in(action)]++;
      orders_.push_back({action.job, at, number < begins.size() ? begins[number].begin : run_.outcome.end});
    }
  }

  void cut() {
    std::set<Instant> instants{Instant{}, run_.outcome.end};
    for (const Step& step : run_.steps) instants.insert(step.now);
    for (const auto& [id, job] : jobs) instants.insert(job.nominal);
    for (const auto& stretch : run_.stretches) instants.insert({stretch.begin, stretch.end});
    for (const Instant each : instants)
      moments.push_back({.begin = each, .cores = {}, .executes = {}, .executing = {}, .copies = {}, .ordered = {}});
    for (const auto& stretch : run_.stretches)
      during(stretch.begin, stretch.end, [&](Moment& moment) { moment.cores[stretch.core] = stretch.job; });
    for (const auto& [job, begin, end] : executions_)
      // If two jobs are concurrent, the head counts as long as it executes.
      during(begin, end, [&](Moment& moment) {
        if (!moment.executes) moment.executes = job;
        moment.executing.insert(job);
      });
    for (const bool in : {false, true})
      for (const auto& [job, begin, end] : copies_[in])
        during(begin, end, [&](Moment& moment) { moment.copies.emplace_back(job, in); });
    for (const auto& [job, begin, end] : orders_)
      during(begin, end, [&](Moment& moment) { moment.ordered.push_back(job); });
  }

  template <class Do> void during(Instant begin, Instant end, Do what) {
    for (auto moment = std::ranges::lower_bound(moments, begin, {}, &Moment::begin);
         moment != moments.end() && moment->begin < end; ++moment)
      what(*moment);
  }

  const SimulatedRun& run_;
  std::set<JobId> abandoned_, executing_;
  std::vector<Interval> executions_, orders_;
  std::array<std::vector<Interval>, 2> copies_; // out, in
};

struct Why {
  Cause cause{};
  std::optional<JobId> culprit{};
};

/// Computes the causes from the definitions of Cause.
class Oracle {
 public:
  explicit Oracle(const Truth& truth) : truth_(truth) {}

  [[nodiscard]] std::map<Cause, Duration> by_cause(JobId id) {
    std::map<Cause, Duration> result;
    shares.clear();
    const TrueJob& job = truth_.jobs.at(id);
    for (std::size_t i = 0; i + 1 < truth_.moments.size(); ++i) {
      const Moment& moment = truth_.moments[i];
      if (moment.begin < job.nominal || moment.begin >= *job.end) continue;
      const Why why = at(id, job, moment);
      const Duration time = truth_.moments[i + 1].begin - moment.begin;
      result[why.cause] += time;
      shares[{why.cause, why.culprit}] += time;
    }
    return result;
  }

  std::map<std::pair<Cause, std::optional<JobId>>, Duration> shares; // of the last job

 private:
  [[nodiscard]] Why at(JobId id, const TrueJob& job, const Moment& moment) const {
    const auto yet = [&](const std::optional<Instant>& when) { return when && *when <= moment.begin; };
    if (yet(job.device_end)) return on_core(id, moment, Cause::overhead);
    if (moment.executing.contains(id)) return {Cause::execution};
    if (yet(job.ready)) return before_device(id, moment);
    if (yet(job.start)) return on_core(id, moment, Cause::overhead);
    const auto previous = truth_.jobs.find({id.task, id.number - 1});
    if (previous != truth_.jobs.end() && (!previous->second.end || *previous->second.end > moment.begin))
      return {Cause::queueing, previous->first};
    return on_core(id, moment, Cause::release_latency);
  }

  [[nodiscard]] Why on_core(JobId id, const Moment& moment, Cause rest) const {
    const auto& tasks = truth_.run().plan.tasks;
    const auto holder = moment.cores.find(tasks[id.task].core);
    if (holder == moment.cores.end()) return {rest};
    if (holder->second == id) return {Cause::execution};
    if (tasks[holder->second.task].core_rank < tasks[id.task].core_rank) return {Cause::queueing, holder->second};
    return {rest};
  }

  [[nodiscard]] Why before_device(JobId id, const Moment& moment) const {
    if (moment.executes)
      return {truth_.more_urgent(*moment.executes, id) ? Cause::queueing : Cause::blocking_execution, moment.executes};
    for (const bool in : {true, false})
      if (std::ranges::count(moment.copies, std::pair(id, in)) > 0) return {in ? Cause::swap_in : Cause::swap_out};
    if (std::ranges::count(moment.ordered, id) > 0) return {Cause::copy_engine};
    if (moment.copies.empty()) return {Cause::overhead};
    // The job that is loaded, rather than the victim.
    const JobId other = std::ranges::max(moment.copies, {}, &std::pair<JobId, bool>::second).first;
    return {truth_.more_urgent(other, id) ? Cause::queueing : Cause::blocking_copy, other};
  }

  const Truth& truth_;
};

// ---- every run ----

std::string shown(const std::map<Cause, Duration>& times) {
  std::ostringstream text;
  for (const auto& [cause, time] : times)
    if (time != Duration(0)) text << name(cause) << " " << time.count() << "; ";
  return text.str();
}

std::map<Cause, Duration> times_of(const JobBreakdown& job) {
  std::map<Cause, Duration> times;
  for (std::size_t i = 0; i < causes; ++i)
    if (job.by_cause[i] != Duration(0)) times[static_cast<Cause>(i)] = job.by_cause[i];
  return times;
}

void expect_distribution(const Distribution& found, const std::vector<Duration>& times) {
  ASSERT_EQ(found.count, times.size());
  if (times.empty()) return;
  EXPECT_EQ(found.min, std::ranges::min(times));
  EXPECT_EQ(found.max, std::ranges::max(times));
  EXPECT_EQ(found.mean,
            std::accumulate(times.begin(), times.end(), Duration(0)) / static_cast<Duration::rep>(times.size()));
}

void expect_distributions(const Truth& truth, std::uint32_t task, const TaskAnalysis& found) {
  std::vector<Duration> before, device, after, arrivals;
  std::optional<Instant> last;
  for (const auto& [id, job] : truth.jobs) {
    if (id.task != task) continue;
    if (last) arrivals.push_back(job.nominal - *last);
    last = job.nominal;
    if (job.ready || (job.start && job.outcome == JobOutcome::aborted)) before.push_back(job.before);
    if (job.device_end && truth.run().plan.tasks[task].wcet.uses_device()) device.push_back(job.on_device);
    if (job.outcome == JobOutcome::in_time || job.outcome == JobOutcome::late) after.push_back(job.after);
  }
  expect_distribution(found.stages[0].times, before);
  expect_distribution(found.stages[1].times, device);
  expect_distribution(found.stages[2].times, after);
  expect_distribution(found.inter_arrival, arrivals);
}

void expect_counters(const Truth& truth, const Analysis& analysis) {
  const SimulatedRun& run = truth.run();
  for (std::uint32_t task = 0; task < analysis.tasks.size(); ++task) {
    const TaskAnalysis& found = analysis.tasks[task];
    const simulator::TaskStatistics& told = run.outcome.tasks[task];
    std::map<JobOutcome, std::uint64_t> ends;
    std::uint64_t unfinished = 0;
    Duration shortest = Duration::max();
    for (const auto& [id, job] : truth.jobs) {
      if (id.task != task) continue;
      if (job.outcome) ++ends[*job.outcome];
      else ++unfinished;
      if (job.outcome == JobOutcome::in_time || job.outcome == JobOutcome::late)
        shortest = std::min(shortest, *job.end - job.nominal);
    }
    SCOPED_TRACE(found.setup.name);
    EXPECT_EQ(found.released, told.released);
    EXPECT_EQ(found.completed, told.completed);
    EXPECT_EQ(found.missed, ends[JobOutcome::late] + ends[JobOutcome::aborted] + ends[JobOutcome::failed]);
    EXPECT_LE(found.missed, told.missed); // told.missed includes jobs that were late when the run ended
    auto skips = truth.skips.contains(task) ? truth.skips.at(task) : decltype(truth.skips)::mapped_type();
    EXPECT_EQ(found.skipped_by.overrun, skips[policies::ReleaseReason::overrun]);
    EXPECT_EQ(found.skipped_by.wcet_exceeded, skips[policies::ReleaseReason::wcet_exceeded]);
    EXPECT_EQ(found.skipped, found.skipped_by.overrun + found.skipped_by.wcet_exceeded);
    EXPECT_EQ(found.aborted, told.aborted);
    EXPECT_EQ(found.failed, told.failed);
    EXPECT_EQ(found.unfinished, unfinished);
    EXPECT_EQ(found.unknown, 0u);
    EXPECT_EQ(found.invalid, "");
    expect_distributions(truth, task, found);
    const Distribution& responses = found.stages.back().times;
    EXPECT_EQ(responses.count, told.completed);
    EXPECT_EQ(responses.max, told.response_max);
    if (told.completed > 0) { EXPECT_EQ(responses.min, shortest); }
  }
}

void expect_replayed(const SimulatedRun& run, const Analysis& analysis) {
  EXPECT_EQ(analysis.replay.difference, "");
  EXPECT_EQ(analysis.replay.inputs, run.inputs);
  EXPECT_EQ(analysis.replay.actions, run.actions);
  if (run.inputs == 0) return;
  EXPECT_EQ(analysis.replay.not_replayed, "");
  EXPECT_TRUE(analysis.replay.complete);
}

/// Returns the share of one cause and culprit, whatever the culprit did.
Duration share_of(const JobBreakdown& job, const std::pair<Cause, std::optional<JobId>>& owner) {
  Duration sum{0};
  for (const Share& share : job.shares)
    if (share.cause == owner.first && share.culprit == owner.second) sum += share.time;
  return sum;
}

void expect_sums(const JobBreakdown& job) {
  EXPECT_EQ(std::accumulate(job.by_cause.begin(), job.by_cause.end(), Duration(0)), job.response);
  std::array<Duration, causes> sums{};
  for (const Share& share : job.shares) sums[static_cast<std::size_t>(share.cause)] += share.time;
  EXPECT_EQ(sums, job.by_cause);
}

void expect_jobs(const Truth& truth, const Jobs& jobs) {
  Oracle oracle(truth);
  for (const auto& [id, job] : truth.jobs) {
    SCOPED_TRACE("job " + std::to_string(id.number) + " of t" + std::to_string(id.task));
    const auto found = jobs.all.find(id);
    ASSERT_EQ(found != jobs.all.end(), job.outcome.has_value());
    if (!job.outcome) continue;
    EXPECT_EQ(found->second.outcome, *job.outcome);
    EXPECT_EQ(found->second.response, *job.end - job.nominal);
    expect_sums(found->second);
    const auto times = oracle.by_cause(id);
    EXPECT_EQ(times_of(found->second), times)
        << "found    " << shown(times_of(found->second)) << "\nexpected " << shown(times);
    for (const auto& [owner, time] : oracle.shares)
      if (owner.second) {
        EXPECT_EQ(share_of(found->second, owner), time)
            << name(owner.first) << " of job " << owner.second->number << " of t" << owner.second->task;
      }
  }
}

void expect_use(const Truth& truth, const Analysis& analysis) {
  // Only on cores and on the device, and in parts whose end is recorded.
  std::map<std::uint32_t, std::pair<Duration, Duration>> tasks;
  std::map<std::string, Duration> resources;
  for (const auto& [id, job] : truth.jobs) {
    const bool ready = job.ready || (job.outcome == JobOutcome::aborted && job.start);
    const bool done = job.outcome == JobOutcome::in_time || job.outcome == JobOutcome::late;
    const Duration on_core = (ready ? job.before : Duration(0)) + (done ? job.after : Duration(0));
    tasks[id.task].first += on_core;
    if (job.device_end) tasks[id.task].second += job.on_device;
    resources["core " + std::to_string(truth.run().plan.tasks[id.task].core)] += on_core;
    resources[job.co_running ? "beside" : "device"] += job.on_device;
  }
  const auto recorded = static_cast<double>((analysis.to - analysis.from).count());
  for (std::uint32_t task = 0; task < analysis.tasks.size(); ++task) {
    EXPECT_NEAR(analysis.tasks[task].utilisation_core * recorded, static_cast<double>(tasks[task].first.count()), 1e-6);
    EXPECT_NEAR(analysis.tasks[task].utilisation_device * recorded, static_cast<double>(tasks[task].second.count()),
                1e-6);
  }
  for (const ResourceAnalysis& resource : analysis.resources)
    if (!resource.name.starts_with("copy")) {
      EXPECT_EQ(resource.busy, resources[resource.name]) << resource.name;
      EXPECT_NEAR(resource.utilisation * recorded, static_cast<double>(resource.busy.count()), 1e-6);
    }
}

void expect_chunks(const SimulatedRun& run, const Analysis& analysis) {
  ASSERT_EQ(analysis.swap.has_value(), run.plan.swap.has_value());
  if (!analysis.swap) return;
  std::uint64_t in = 0, out = 0, dropped = 0, failed = 0;
  for (const simulator::TaskStatistics& task : run.outcome.tasks)
    in += task.chunks_in, out += task.chunks_out, dropped += task.chunks_dropped;
  for (const Step& step : run.steps) failed += step.failed;
  EXPECT_EQ(analysis.swap->in, in);
  EXPECT_EQ(analysis.swap->out, out);
  EXPECT_EQ(analysis.swap->dropped, dropped);
  EXPECT_EQ(analysis.swap->failed, failed);
  std::array<Duration, 2> busy{};
  std::map<std::pair<JobId, std::pair<std::uint32_t, std::uint32_t>>, Instant> begun;
  for (const Step& step : run.steps) {
    const auto key = std::pair(step.job, std::pair(step.action.transfer.task, step.action.transfer.slot));
    if (step.kind == Step::Kind::transfer_begin) begun[key] = step.now;
    if (step.kind == Step::Kind::transfer_end) busy[step.action.kind == Action::Kind::copy_in] += step.now - begun[key];
  }
  for (const ResourceAnalysis& resource : analysis.resources)
    if (resource.name.starts_with("copy")) {
      EXPECT_EQ(resource.busy, busy[resource.name == "copy in"]) << resource.name;
    }
}

// ---- chains ----

/// Adds chains through any tasks, which pass data in either way of communication.
void add_chains(Random& random, RunSetup& setup) {
  std::vector<std::uint32_t> tasks(setup.tasks.size());
  std::iota(tasks.begin(), tasks.end(), 0U);
  const auto communicate = static_cast<Communication>(random() % 2);
  for (int i = 0; i < 3; ++i) {
    std::ranges::shuffle(tasks, random);
    ChainSetup& chain = setup.chains.emplace_back();
    chain.name = "c" + std::to_string(i);
    chain.communicate = communicate;
    chain.triggered = random() % 2 == 0;
    chain.reaction = Duration(random() % 400);
    chain.age = Duration(random() % 400);
    if (random() % 2 == 0) chain.reduced_age = Duration(random() % 300);
    for (std::size_t place = 0; place < 1 + random() % std::min<std::size_t>(tasks.size(), 4); ++place)
      chain.places.push_back({tasks[place], {}, {}});
  }
}

/// Applies the definitions of policies/proofs/chains.md to every job that had outputs.
class ChainOracle {
 public:
  struct Job {
    JobId id;
    Instant nominal{}, read{}, write{};
  };
  using Way = std::vector<Job>; // from the first task to the last

  ChainOracle(const Truth& truth, const ChainSetup& chain) {
    for (const ChainSetup::Member& place : chain.places) {
      auto& jobs = jobs_.emplace_back();
      for (const auto& [id, job] : truth.jobs) {
        if (id.task != place.task || (job.outcome != JobOutcome::in_time && job.outcome != JobOutcome::late)) continue;
        const bool let = chain.communicate == Communication::let;
        jobs.push_back(
            {id, job.nominal, let ? job.nominal : *job.start, let ? std::max(job.deadline, *job.end) : *job.end});
      }
    }
    std::optional<Way> before;
    for (const Job& last : jobs_.back()) {
      const auto method = way_to(last, jobs_.size() - 1);
      if (!method) continue;
      const Instant appears = last.write;
      reduced_ages.push_back(appears - method->front().read);
      if (before) ages.push_back(appears - before->front().read);
      if (before && before->front().id != method->front().id) {
        const Instant event = chain.triggered ? method->front().nominal : before->front().read;
        reactions.emplace_back(appears - event, way_from(chain.triggered ? method->front() : next(before->front())));
      }
      before = method;
    }
  }

  std::vector<Duration> ages, reduced_ages;
  std::vector<std::pair<Duration, Way>> reactions;

 private:
  [[nodiscard]] std::optional<Way> way_to(const Job& job, std::size_t place) const {
    if (place == 0) return Way{job};
    std::optional<Way> newest;
    for (const Job& source : jobs_[place - 1]) {
      if (source.write > job.read) continue;
      if (auto method = way_to(source, place - 1)) newest = std::move(method);
    }
    if (newest) newest->push_back(job);
    return newest;
  }

  [[nodiscard]] Job next(const Job& first) const {
    return *std::ranges::upper_bound(jobs_[0], first.id.number, {}, [](const Job& job) { return job.id.number; });
  }

  [[nodiscard]] Way way_from(const Job& first) const {
    Way method{first};
    for (std::size_t place = 1; place < jobs_.size(); ++place)
      method.push_back(
          *std::ranges::find_if(jobs_[place], [&](const Job& job) { return job.read >= method.back().write; }));
    return method;
  }

  std::vector<std::vector<Job>> jobs_; // by place, in order
};

void expect_measure(const ChainMeasure& found, const std::vector<Duration>& times,
                    const std::optional<Duration>& bound) {
  expect_distribution(found.times, times);
  EXPECT_EQ(found.bound, bound);
  EXPECT_EQ(found.above, bound ? std::ranges::count_if(times, [&](Duration time) { return time > *bound; }) : 0);
}

Duration sum_of(const std::vector<Share>& shares) {
  return std::accumulate(shares.begin(), shares.end(), Duration(0),
                         [](Duration sum, const Share& share) { return sum + share.time; });
}

/// Checks that every instant of the way is reported once.
void expect_way(const ChainPath& found, const std::pair<Duration, ChainOracle::Way>& expected) {
  EXPECT_EQ(found.reaction, expected.first);
  EXPECT_NE(found.blame, "");
  ASSERT_EQ(found.steps.size(), expected.second.size());
  Instant there = found.event;
  for (std::size_t place = 0; place < found.steps.size(); ++place) {
    const ChainStep& step = found.steps[place];
    const ChainOracle::Job& job = expected.second[place];
    EXPECT_EQ(step.job, job.id);
    EXPECT_EQ(step.there, there);
    EXPECT_EQ(step.read, job.read);
    EXPECT_EQ(step.output, job.write);
    EXPECT_EQ(sum_of(step.shares), step.ended - step.read);
    EXPECT_EQ(sum_of(step.delays), step.read - step.nominal);
    for (const Duration piece :
         {step.until_release(), step.until_read(), step.on_core(), step.on_device(), step.waited(), step.held()}) {
      EXPECT_GE(piece, Duration(0));
      there += piece;
    }
    EXPECT_EQ(there, step.output);
  }
  EXPECT_EQ(there - found.event, found.reaction);
}

void expect_divisions(const ChainAnalysis& found, std::vector<std::pair<Duration, ChainOracle::Way>> reactions) {
  ASSERT_EQ(found.all.reactions, reactions.size());
  ASSERT_EQ(found.longest.reactions, (reactions.size() + 99) / 100);
  if (reactions.empty()) return;
  std::vector<ChainPart> sums(found.setup.places.size());
  for (const auto& [time, method] : reactions) {
    Instant there = method.back().write - time;
    for (std::size_t place = 0; place < method.size(); ++place) {
      const ChainOracle::Job& job = method[place];
      const Instant released = std::clamp(job.nominal, there, std::max(job.read, there));
      sums[place].waits += released - there;
      sums[place].takes += job.write - released;
      there = job.write;
    }
  }
  const auto count = static_cast<Duration::rep>(reactions.size());
  ASSERT_EQ(found.all.parts.size(), sums.size());
  for (std::size_t place = 0; place < sums.size(); ++place) {
    EXPECT_EQ(found.all.parts[place].waits, sums[place].waits / count);
    EXPECT_EQ(found.all.parts[place].takes, sums[place].takes / count);
  }
  std::ranges::sort(reactions, std::ranges::greater(), &std::pair<Duration, ChainOracle::Way>::first);
  Duration longest{0};
  for (std::size_t i = 0; i < found.longest.reactions; ++i) longest += reactions[i].first;
  longest /= static_cast<Duration::rep>(found.longest.reactions);
  EXPECT_LE(found.longest.whole(), longest);
  EXPECT_GE(found.longest.whole() + Duration(2 * sums.size()), longest); // each part is rounded down
}

void expect_chains(const Truth& truth, const Analysis& analysis) {
  ASSERT_EQ(analysis.chains.size(), truth.run().setup.chains.size());
  std::size_t broken = 0;
  for (const ChainAnalysis& found : analysis.chains) {
    SCOPED_TRACE(found.setup.name + " " + std::string(name(found.setup.communicate)));
    const ChainOracle oracle(truth, found.setup);
    std::vector<Duration> reactions;
    for (const auto& [time, method] : oracle.reactions) reactions.push_back(time);
    expect_measure(found.reaction, reactions, found.setup.reaction);
    expect_measure(found.age, oracle.ages, found.setup.age);
    expect_measure(found.reduced_age, oracle.reduced_ages, found.setup.reduced_age);
    EXPECT_EQ(found.invalid, "");
    ASSERT_EQ(found.worst.has_value(), !reactions.empty());
    expect_divisions(found, oracle.reactions);
    for (const ChainMeasure* each : {&found.reaction, &found.age, &found.reduced_age}) broken += each->above > 0;
    if (found.worst)
      expect_way(*found.worst,
                 *std::ranges::max_element(oracle.reactions, {}, &std::pair<Duration, ChainOracle::Way>::first));
  }
  EXPECT_EQ(std::ranges::count_if(analysis.breaches, [](const Breach& breach) { return !breach.chain.empty(); }),
            broken);
}

class AnalysisOracle : public testing::TestWithParam<SwapPolicy> {};

TEST_P(AnalysisOracle, ConfirmsAnalysisOfSimulatedRuns) {
  Random random(11 + static_cast<unsigned>(GetParam())), chain_random(5);
  std::uint64_t reactions = 0, preemptions = 0;
  std::map<JobOutcome, std::uint64_t> seen;
  std::set<Cause> causes_seen;
  for (int i = 0; i < test::rounds(250) && !HasFailure(); ++i) {
    SCOPED_TRACE("run " + std::to_string(i));
    SimulatedRun run = test::random_run(random, GetParam());
    add_chains(chain_random, run.setup);
    Jobs jobs;
    const Analysis analysis = analyze(run.setup, run.records, &jobs);
    const Truth truth(run);
    expect_counters(truth, analysis);
    expect_replayed(run, analysis);
    expect_jobs(truth, jobs);
    expect_use(truth, analysis);
    expect_chunks(run, analysis);
    expect_chains(truth, analysis);
    for (const ChainAnalysis& chain : analysis.chains)
      if (chain.setup.places.size() > 2) reactions += chain.reaction.times.count;
    for (const simulator::TaskStatistics& task : run.outcome.tasks) preemptions += task.preempted;
    for (const auto& [id, job] : jobs.all) {
      ++seen[job.outcome];
      for (const auto& [cause, time] : times_of(job)) causes_seen.insert(cause);
    }
  }
  if (HasFailure()) return;
  EXPECT_GT(seen[JobOutcome::in_time], test::rounds(1000u)); // the test must have seen enough cases
  EXPECT_GT(seen[JobOutcome::late], test::rounds(500u));
  EXPECT_GT(seen[JobOutcome::aborted], test::rounds(20u));
  EXPECT_GT(reactions, test::rounds(500u));
  EXPECT_EQ(seen[JobOutcome::failed] > test::rounds(50u), GetParam() != SwapPolicy::none);
  EXPECT_EQ(preemptions > test::rounds(100u), GetParam() == SwapPolicy::none || GetParam() == SwapPolicy::pipelined);
  EXPECT_EQ(causes_seen.contains(Cause::swap_in), GetParam() != SwapPolicy::none);
}

std::string policy_name(const testing::TestParamInfo<SwapPolicy>& policy) {
  constexpr std::array names{"pipelined", "serial", "rt_swap", "mo_vmm", "min", "pageable", "lru", "none"};
  return names.at(static_cast<std::size_t>(policy.param));
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, AnalysisOracle, testing::ValuesIn(every_policy), policy_name);

// ---- recordings changed by one event ----

constexpr std::array kind_names{
    "job_release",    "job_start",     "job_input",        "cpu_end",      "device_request",  "device_begin",
    "segment_end",    "segment_begin", "device_executed",  "device_end",   "after_begin",     "result_drop",
    "job_end",        "job_miss",      "job_overrun",      "job_skip",     "job_abort",       "device_fault",
    "swap_in_begin",  "swap_in_end",   "swap_out_begin",   "swap_out_end", "scheduler_input", "scheduler_action",
    "throttle_begin", "throttle_end",  "bandwidth_budget", "core_stolen",  "core_clock",      "device_clock",
    "layer_begin",    "layer_end",     "run_end",          "other"};

struct Change {
  std::string name;
  std::function<bool(std::vector<Record>&, std::size_t)> apply; // returns false if the event has no such field
};

bool is_transfer(const Record& record) {
  return record.kind >= RecordKind::swap_in_begin && record.kind <= RecordKind::swap_out_end;
}
bool is_decision(const Record& record) {
  return record.kind == RecordKind::scheduler_input || record.kind == RecordKind::scheduler_action;
}
bool is_end_of_run(const Record& record) { return record.kind == RecordKind::run_end; }
bool any_of(const Record& record, std::initializer_list<RecordKind> kinds) {
  return std::ranges::count(kinds, record.kind) > 0;
}

bool moves_chunk(const Record& record) {
  const auto input = record.input.kind;
  const auto action = record.action.kind;
  return is_transfer(record) ||
         (record.kind == RecordKind::scheduler_input &&
          (input == Event::Kind::copied_in || input == Event::Kind::copied_out)) ||
         (record.kind == RecordKind::scheduler_action &&
          (action == Action::Kind::copy_in || action == Action::Kind::copy_out));
}

JobId* job_of(Record& record) {
  if (is_end_of_run(record)) return nullptr;
  if (record.kind == RecordKind::scheduler_input) return moves_chunk(record) ? nullptr : &record.input.job;
  return record.kind == RecordKind::scheduler_action ? &record.action.job : &record.job;
}

policies::Transfer& transfer_of(Record& record) {
  return record.kind == RecordKind::scheduler_input    ? record.input.transfer
         : record.kind == RecordKind::scheduler_action ? record.action.transfer
                                                       : record.transfer;
}

std::uint32_t task_of(Record record) {
  const JobId* job = job_of(record);
  return job ? job->task : moves_chunk(record) ? transfer_of(record).task : ~0U;
}

/// Returns a change that applies `how` to a record for which `when` holds.
Change field(std::string name, std::function<bool(Record&)> when, std::function<void(Record&)> how) {
  return {std::move(name), [when = std::move(when), how = std::move(how)](std::vector<Record>& records, std::size_t i) {
            if (!when(records[i])) return false;
            how(records[i]);
            return true;
          }};
}

bool swap_with_next(std::vector<Record>& records, std::size_t i) {
  const std::uint32_t task = task_of(records[i]);
  for (std::size_t next = i + 1; next < records.size(); ++next)
    if (task_of(records[next]) == task) return std::swap(records[i], records[next]), true;
  return false;
}

std::vector<Change> changes(std::uint32_t tasks) {
  using enum RecordKind;
  const Duration least(1);
  const auto next_kind = [](auto& kind, int kinds) {
    kind = static_cast<std::remove_reference_t<decltype(kind)>>((static_cast<int>(kind) + 1) % kinds);
  };
  return {
      {"removed", [](auto& records,
                     std::size_t i) { return records.erase(records.begin() + static_cast<std::ptrdiff_t>(i)), true; }},
      {"twice",
       [](auto& records, std::size_t i) {
         return records.insert(records.begin() + static_cast<std::ptrdiff_t>(i), Record(records[i])), true;
       }},
      {"swapped", swap_with_next},
      field(
          "job", [](Record& r) { return r.kind != job_skip && job_of(r); }, [](Record& r) { ++job_of(r)->number; }),
      field(
          "task", [](Record& r) { return job_of(r) != nullptr; },
          [tasks](Record& r) { job_of(r)->task = (job_of(r)->task + 1) % tasks; }),
      field("moved_task", moves_chunk, [tasks](Record& r) { transfer_of(r).task = (transfer_of(r).task + 1) % tasks; }),
      field("slot", moves_chunk, [](Record& r) { ++transfer_of(r).slot; }),
      field("frame", moves_chunk, [](Record& r) { ++transfer_of(r).frame; }),
      field(
          "at", [](Record& r) { return r.kind != scheduler_action; },
          [least](Record& r) { (r.kind == scheduler_input ? r.input.now : r.at) += least; }),
      field(
          "nominal",
          [](Record& r) {
            return any_of(r, {job_release, job_skip});
          },
          [least](Record& r) { r.nominal += least; }),
      field(
          "deadline",
          [](Record& r) {
            return any_of(r, {job_release, device_request, job_miss}) ||
                   (r.kind == scheduler_input && r.input.kind == Event::Kind::job_requested);
          },
          [least](Record& r) { (r.kind == scheduler_input ? r.input.deadline : r.deadline) += least; }),
      field(
          "executed",
          [](Record& r) {
            return any_of(r, {cpu_end, job_end});
          },
          [least](Record& r) { r.executed += least; }),
      field(
          "response", [](Record& r) { return r.kind == job_end; }, [least](Record& r) { r.response += least; }),
      field(
          "outcome",
          [](Record& r) {
            return any_of(r, {device_end, swap_in_end, swap_out_end});
          },
          [](Record& r) { r.ok = !r.ok; }),
      field(
          "failed", [](Record& r) { return r.kind == scheduler_input && moves_chunk(r); },
          [](Record& r) { r.input.failed = !r.input.failed; }),
      field(
          "bytes",
          [](Record& r) {
            return any_of(r, {swap_in_end, swap_out_end});
          },
          [](Record& r) { r.bytes = r.bytes == 0 ? 4096 : 0; }),
      field(
          "segment",
          [](Record& r) {
            return any_of(r, {segment_end, segment_begin}) || (r.kind == scheduler_input && r.input.segment > 0) ||
                   (r.kind == scheduler_action && r.action.segment > 0);
          },
          [](Record& r) {
            ++(r.kind == scheduler_input ? r.input.segment : r.kind == scheduler_action ? r.action.segment : r.segment);
          }),
      field(
          "committed", [](Record& r) { return r.kind == scheduler_action && r.action.committed > 0; },
          [](Record& r) { --r.action.committed; }),
      field("sequence", is_decision, [](Record& r) { ++r.sequence; }),
      field(
          "input", [](Record& r) { return r.kind == scheduler_input; }, [=](Record& r) { next_kind(r.input.kind, 6); }),
      field(
          "action", [](Record& r) { return r.kind == scheduler_action; },
          [=](Record& r) { next_kind(r.action.kind, 6); }),
  };
}

bool caught(const Analysis& analysis) {
  return !analysis.replay.difference.empty() || !analysis.replay.not_replayed.empty() || !analysis.ended ||
         std::ranges::any_of(analysis.tasks, [](const TaskAnalysis& task) { return !task.invalid.empty(); });
}

/// True for changes of information that nothing else in a recording repeats.
bool told_once(const std::string& change) {
  static const std::set<std::string> all{
      // Slightly later.
      "job_release at",
      "job_start at",
      "device_begin at",
      "segment_begin at",
      "after_begin at",
      "swap_in_begin at",
      "swap_out_begin at",
      "run_end at",
      "cpu_end executed",
      "job_end executed", // with a little more CPU time
      "job_miss at",      // for a job that failed
      "job_abort at",
      "job_abort removed", // it failed instead
      "job_skip at",
      "job_skip nominal",
      "job_skip removed",
      "job_skip task",
      "swap_in_begin removed",
      "swap_out_begin removed", // the transfer failed: as if before its begin
      "swap_in_end bytes",
      "swap_out_end bytes",
      "run_end twice",
      // These contain nothing that is analysed.
      "job_overrun at",
      "job_overrun job",
      "job_overrun task",
      "job_overrun removed",
      "job_overrun twice",
  };
  return all.contains(change);
}

/// True for changes of a task's first or last job that look as if the recording began or ended there. Also true for
/// changes that look as if a job failed that missed its deadline.
bool as_if_cut_off(const std::string& change) {
  static const std::set<std::string> all{"job_release removed", "job_release job",     "job_release swapped",
                                         "job_start removed",   "job_start task",      "device_begin removed",
                                         "device_end outcome",  "after_begin removed", "after_begin task",
                                         "job_end removed",     "job_miss removed"};
  return all.contains(change);
}

bool first_last_or_missed(std::vector<Record> records, std::size_t place) {
  const JobId job = *job_of(records[place]);
  const auto of_task = [&](const Record& record) {
    return record.kind == RecordKind::job_release && record.job.task == job.task;
  };
  const auto here = records.begin() + static_cast<std::ptrdiff_t>(place);
  const bool missed = std::ranges::any_of(
      records, [&](const Record& record) { return record.kind == RecordKind::job_miss && record.job == job; });
  return missed || std::none_of(records.begin(), here, of_task) || std::none_of(here + 1, records.end(), of_task);
}

/// True if different threads would report the two in a real run, in any order.
bool apart(const Record& a, const Record& b) {
  const auto told_by = [](const Record& record) {
    return is_decision(record) ? 0
           : any_of(record, {RecordKind::device_begin, RecordKind::segment_end, RecordKind::segment_begin,
                             RecordKind::device_end})
               ? 1
           : any_of(record, {RecordKind::swap_in_begin, RecordKind::swap_in_end}) ? 2
           : is_transfer(record)                                                  ? 3
                                                                                  : 4;
  };
  return told_by(a) != told_by(b) || a.kind == RecordKind::job_skip || a.kind == RecordKind::job_overrun ||
         b.kind == RecordKind::job_skip || b.kind == RecordKind::job_overrun;
}

/// True if the end belongs to a job that did not request the device then.
bool is_unanswered_end(const std::vector<Record>& records, const Record& end) {
  return end.kind == RecordKind::cpu_end && std::ranges::none_of(records, [&](const Record& record) {
           return record.kind == RecordKind::device_request && record.job == end.job;
         });
}

TEST(ChangedRecording, IsDetectedByAnalysis) {
  Random random(3);
  std::uint64_t tried = 0, noticed = 0;
  for (const SwapPolicy policy : every_policy)
    for (int i = 0; i < 8; ++i) {
      const SimulatedRun run = test::random_run(random, policy);
      const auto all = changes(static_cast<std::uint32_t>(run.plan.tasks.size()));
      for (int k = 0; k < test::rounds(200); ++k) {
        const std::size_t place = random() % run.records.size();
        const Change& change = all[random() % all.size()];
        std::vector<Record> records = run.records;
        if (!change.apply(records, place)) continue;
        ++tried;
        if (caught(analyze(run.setup, records))) {
          ++noticed;
          continue;
        }
        const std::string what =
            std::string(kind_names.at(static_cast<std::size_t>(run.records[place].kind))) + " " + change.name;
        const Record& changed = run.records[place];
        const bool swapped = change.name == "swapped" && apart(changed, records[place]);
        // No thread reports it.
        const bool withdrawn = what == "scheduler_input at" && changed.input.kind == Event::Kind::job_withdrawn;
        const bool unanswered = change.name == "at" && is_unanswered_end(run.records, changed);
        EXPECT_TRUE(swapped || withdrawn || unanswered || told_once(what) ||
                    (as_if_cut_off(what) && first_last_or_missed(run.records, place)))
            << what << ", record " << place << " of run " << i << " of policy " << static_cast<int>(policy);
      }
    }
  EXPECT_GT(tried, test::rounds(3000u));
  EXPECT_GT(noticed, tried * 3 / 4);
  RecordProperty("noticed", std::to_string(noticed) + " of " + std::to_string(tried));
}

/// The rest of the recording is analysed, and nothing is invented.
TEST(ChangedRecording, TruncatedRecordingIsAnalysedWithoutFalseErrors) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const SimulatedRun run = test::random_run(random, every_policy[random() % every_policy.size()]);
    const auto cut = static_cast<std::ptrdiff_t>(random() % run.records.size());
    for (const auto& records : {std::vector(run.records.begin(), run.records.begin() + cut),
                                std::vector(run.records.begin() + cut, run.records.end())}) {
      const Analysis analysis = analyze(run.setup, records);
      EXPECT_EQ(analysis.replay.difference, "") << "cut at " << cut;
      for (const TaskAnalysis& task : analysis.tasks)
        EXPECT_EQ(task.invalid, "") << task.setup.name << ", cut at " << cut;
    }
  }
}

} // namespace
} // namespace rtexec::traces
