#include "test/soundness/ambush.hpp"

#include "policies/scheduler/sporadic_gate.hpp"
#include "rtexec/studies/simulator/chain_recorder.hpp"
#include "rtexec/studies/simulator/release_patterns.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

namespace rtexec::soundness {
namespace {

using simulator::chance;
using simulator::draw;

/// Fills the frames at the begin of the run with chunks of some tasks, in random order.
void fill_frames(Plan& plan, Random& random) {
  if (!plan.swap) return;
  std::vector<std::size_t> order(plan.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  std::uint32_t room = plan.swap->frames;
  for (const std::size_t i : order) {
    PlannedTask& task = plan.tasks[i];
    const auto most = std::min(room, static_cast<std::uint32_t>(task.swap_slots.size()));
    task.resident_slots = chance(random, 70) ? most : static_cast<std::uint32_t>(draw(random, 0, most));
    room -= *task.resident_slots;
  }
}

constexpr Instant last{std::chrono::hours(24 * 365 * 20)}; // of a run
constexpr Instant after_all = last + Duration(1);

/// Chooses releases, and which fraction of each allowed maximum is used.
class Rounds {
 public:
  Rounds(const Claim& claim, Random& random, std::uint64_t jobs)
      : claim_(claim),
        random_(random),
        tasks_(claim.tasks.tasks.size()),
        on_grid_(simulator::kept_grids(claim.tasks)),
        left_(jobs) {
    for (const Task& task : claim.tasks.tasks) {
      sources_.emplace_back(task.period);
      longest_ = std::max(longest_, task.period.count());
      shortest_ = std::min(shortest_, task.period.count());
    }
    early_ = chance(random, 40);
    pause_left_ = claim.pause;
    aims_ = !claim.regulated.empty() && chance(random, 70);
    springs_ = std::ranges::any_of(claim.plan.tasks,
                                   [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
    for (const simulator::CoreRegulation& each : claim.regulated)
      regulated_.emplace_back(each).first_period = Instant{Duration(draw(random, 0, each.period.count() - 1))};
    prepare();
  }

  /// True if all releases were chosen.
  [[nodiscard]] bool over() const { return left_ == 0; }
  /// True if execution times are chosen.
  [[nodiscard]] bool executions() const { return early_ || claim_.pause > Duration(0); }
  [[nodiscard]] bool early() const { return early_; }

  /// Returns the regulated cores with the phases and choices of this run.
  std::vector<simulator::CoreRegulation> regulated() {
    for (simulator::CoreRegulation& each : regulated_) {
      each.greedy = chance(random_, 75);
      each.latency = [this] { return latency(); };
      each.burst = [this](std::uint32_t task, bool second) { return burst(task, second); };
    }
    return regulated_;
  }

  /// Returns the next release, or nullopt if the task waits for another job to begin.
  std::optional<Instant> release(std::uint32_t task, Instant earliest) {
    if (left_ == 0) return after_all;
    TaskRounds& own = tasks_[task];
    if (own.waits) return std::nullopt;
    --left_;
    if (on_grid_[task] || std::exchange(own.comes, false)) return earliest;
    std::int64_t at = earliest.time_since_epoch().count();
    if (own.round == round_ && at >= end_) prepare();
    if (own.round != round_) {
      own.round = round_;
      at = std::max(at, meeting_ - own.lead);
      if (bait_ == task) bait_comes_ = Instant{Duration(at)};
      else if (bait_ && !sprung_ && chance(random_, 80)) {
        own.waits = true;
        ++left_;
        return std::nullopt;
      }
    } else if (chance(random_, gaps_)) {
      at += draw(random_, 0, claim_.tasks.tasks[task].period.count());
    }
    if (claim_.tasks.tasks[task].input_delay) return seen(task, earliest, Instant{Duration(at)});
    return Instant{Duration(at)};
  }
  /// Releases waiting tasks when a part or a transfer begins, at the latest when the job for which they wait ends.
  void see(const simulator::Step& step) {
    using Kind = simulator::Step::Kind;
    if (!bait_) return;
    const bool baited = step.job.task == *bait_ && step.now >= bait_comes_;
    const bool begins = step.kind == Kind::execution_start || step.kind == Kind::segment_begin ||
                        step.kind == Kind::resumption || step.kind == Kind::transfer_begin;
    if (baited && step.kind == Kind::completion) spring(100);
    else if (begins && (sprung_ || baited) && chance(random_, 30)) spring(80);
  }
  /// Returns when the input of the job released at `nominal` was sampled.
  Instant sampled(std::uint32_t task, Instant nominal) {
    Source& source = sources_[task];
    const Duration delay = *claim_.tasks.tasks[task].input_delay;
    if (on_grid_[task])
      return source.last = std::max(source.last, nominal - (chance(random_, 60) ? delay : portion(delay, 100)));
    while (source.released.size() > 1 && source.released[1].first <= nominal) source.released.pop_front();
    return source.released.front().second;
  }

  Duration execution(policies::JobId job, Part part) {
    const Wcet& wcet = *claim_.tasks.tasks[job.task].wcet;
    const Duration most = part == Part::before ? wcet.before : part == Part::device ? wcet.device : wcet.after;
    const Duration taken = portion(most, tasks_[job.task].early_percent);
    if (part != Part::device) return taken;
    return taken + pause(taken - claim_.plan.tasks[job.task].segments * claim_.decision);
  }
  Duration co_run_execution(policies::JobId job, policies::JobId other) {
    return portion(claim_.longest_co_run(job.task, other.task), tasks_[job.task].early_percent);
  }
  /// Chooses the next platform stall: as soon as one is allowed, when all tasks are released, or at random.
  std::optional<simulator::MachineStop> stop(Instant now) {
    if (now < next_stop_) return std::nullopt;
    const std::int64_t at = now.time_since_epoch().count();
    const bool near = at >= meeting_ - 2 * longest_ && at < meeting_ + shortest_;
    if (!chance(random_, near ? 20 : 3)) return std::nullopt;
    const std::int64_t length = claim_.platform_stall.count();
    std::int64_t begin = at;
    if (chance(random_, 30)) begin = std::max(at, meeting_ - draw(random_, 0, length + 1));
    else if (chance(random_, 30)) begin += draw(random_, 0, shortest_);
    next_stop_ = Instant{Duration(begin)} + claim_.between;
    simulator::MachineStop stop{
        .begin = Instant{Duration(begin)}, .length = portion(claim_.platform_stall, 15), .cores = {}};
    if (chance(random_, 50)) return stop;
    stop.cores = [mask = random_()](unsigned core) { return (mask >> core % 64 & 1) != 0; };
    stop.device = chance(random_, 60);
    stop.transfers = chance(random_, 60);
    stop.releases = chance(random_, 60);
    return stop;
  }
  Duration transfer(Duration planned) { return portion(planned, transfers_early_); }
  Duration latency() { return chance(random_, 70) ? claim_.release_latency : portion(claim_.release_latency, 100); }

 private:
  struct TaskRounds {
    int round = 0;
    std::int64_t lead = 0; // ns before the common release
    bool waits = false;    // waits for another job to begin
    bool comes = false;    // that job has begun
    int early_percent = 0; // percentage of its parts that take less than their WCET
  };

  /// The source of a task's input, with its samples.
  struct Source {
    explicit Source(Duration period) : gate(period) {}
    policies::SporadicGate gate;
    Instant last = Instant{} - std::chrono::hours(24);     // the last sample
    std::deque<std::pair<Instant, Instant>> released = {}; // the release of a job, and the sample that it reads
  };

  /// Draws a sample of a source that samples at least a period apart. Each sample is seen within the delay. Returns the
  /// next job's release, near `at` if possible.
  Instant seen(std::uint32_t task, Instant earliest, Instant at) {
    Source& source = sources_[task];
    const Duration period = claim_.tasks.tasks[task].period, most = *claim_.tasks.tasks[task].input_delay;
    const Duration delay = chance(random_, 50) ? most : chance(random_, 50) ? Duration(0) : portion(most, 100);
    const Instant soonest = source.last + period;
    source.last =
        at > earliest || chance(random_, 20) ? std::max(soonest, at - delay) : std::max(soonest, earliest - most);
    source.gate.trigger(source.last + delay);
    const Instant release = std::max(*source.gate.next(), earliest);
    source.gate.release(release);
    source.released.emplace_back(release, source.last);
    return release;
  }

  /// Returns the engine's pause within an execution of this length: all that is allowed, a part or none. The rest is
  /// saved for later.
  Duration pause(Duration execution) {
    if (claim_.pause == Duration(0)) return Duration(0);
    const Duration most = pause_left_ + std::max(Duration(0), execution) / 9;
    const Duration taken = chance(random_, 50) ? most : chance(random_, 60) ? Duration(0) : portion(most, 100);
    pause_left_ = std::min(claim_.pause, most - taken);
    return taken;
  }

  simulator::Burst burst(std::uint32_t task, bool second) {
    const Claim::Traffic& traffic = claim_.traffic[task];
    const Duration length = second ? traffic.after : traffic.before;
    const Wcet& wcet = *claim_.tasks.tasks[task].wcet;
    const std::int64_t latest = std::max<std::int64_t>(0, ((second ? wcet.after : wcet.before) - length).count());
    const std::int64_t begin = chance(random_, 40) ? 0 : chance(random_, 60) ? latest : draw(random_, 0, latest);
    return {Duration(begin), length};
  }

  /// Returns the next instant from `at` on at which some core has used up its lines, if it moves them as fast as
  /// possible.
  std::int64_t used_up(std::int64_t at) {
    const auto& each =
        regulated_[static_cast<std::size_t>(draw(random_, 0, static_cast<std::int64_t>(regulated_.size()) - 1))];
    const std::int64_t period = each.period.count();
    const std::int64_t begin = each.first_period.time_since_epoch().count();
    const std::int64_t used = each.line.count() * static_cast<std::int64_t>(each.budget) + draw(random_, -1, 1) +
                              (chance(random_, 50) ? 0 : latency().count());
    return at + period - (at - begin - used) % period;
  }

  std::int64_t chunks(std::size_t task) const {
    return static_cast<std::int64_t>(claim_.plan.tasks[task].swap_slots.size());
  }

  Duration portion(Duration most, int percent) {
    if (percent == 0 || !chance(random_, percent)) return most;
    return chance(random_, 60) ? Duration(0) : most * draw(random_, 0, 100) / 100;
  }

  void spring(int percent) {
    sprung_ = true;
    for (TaskRounds& task : tasks_)
      if (task.waits && chance(random_, percent)) {
        task.waits = false;
        task.comes = true;
      }
  }

  /// Begins another round after the end of the last one. Tasks that are still busy with the last one join late.
  void prepare() {
    ++round_;
    const auto any = [&] {
      return static_cast<std::size_t>(draw(random_, 0, static_cast<std::int64_t>(tasks_.size()) - 1));
    };
    const std::size_t first = any(), staged = any();
    // Either one task is released when the first job ends and all others at the meeting, or all at the meeting.
    const bool alone = chance(random_, 20);
    const std::size_t latecomer = any();
    const bool evictors = !alone && chance(random_, 50);
    const Duration in = claim_.plan.swap ? claim_.plan.swap->cost.in_per_chunk : Duration(0),
                   out = claim_.plan.swap ? claim_.plan.swap->cost.out_per_chunk : Duration(0);
    const std::int64_t device = claim_.tasks.tasks[first].wcet->device.count();
    const bool loads_first = alone || chance(random_, 50);
    const std::int64_t first_lead =
        loads_first ? chunks(first) * (alone || chance(random_, 50) ? out : in + out).count() + draw(random_, -1, 3)
                    : draw(random_, 1, device + 1);
    const std::int64_t first_end = device + (loads_first ? chunks(first) * in.count() : 0);
    meeting_ = end_ + 2 * longest_;
    const bool aimed = aims_ && chance(random_, 80);
    if (aimed) meeting_ = used_up(meeting_) - (chance(random_, 50) ? 0 : claim_.release_latency.count());
    const std::int64_t kind = draw(random_, 0, 9);
    end_ = meeting_ + (kind < 6   ? draw(random_, shortest_, 4 * shortest_)
                       : kind < 9 ? draw(random_, shortest_, longest_)
                                  : draw(random_, longest_, 3 * longest_));
    bait_ = springs_ && chance(random_, 70) ? std::optional(static_cast<std::uint32_t>(first)) : std::nullopt;
    bait_comes_ = after_all;
    sprung_ = false;
    gaps_ = chance(random_, 60) ? 0 : static_cast<int>(draw(random_, 1, 20));
    transfers_early_ = early_ && chance(random_, 30) ? static_cast<int>(draw(random_, 5, 60)) : 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Wcet& wcet = *claim_.tasks.tasks[i].wcet;
      const std::int64_t period = claim_.tasks.tasks[i].period.count();
      const bool evicts = evictors && chance(random_, 40);
      tasks_[i].waits = tasks_[i].comes = false;
      // The task requests the device after its first part.
      const std::int64_t before = chance(random_, 80) ? wcet.before.count() : 0;
      std::int64_t lead = -draw(random_, 0, 2);
      if (aimed && chance(random_, 70)) {
        tasks_[i].lead = lead;
        continue;
      }
      if (i == first) lead = first_lead;
      else if (i == staged) lead = draw(random_, 0, 3);
      else if (alone) lead = i == latecomer ? draw(random_, 0, 6) - 4 - first_end : lead;
      else if (evicts) lead = draw(random_, 1, period + 1);
      else if (chance(random_, 30))
        lead = chance(random_, 50) ? -draw(random_, 0, period / 2) : -first_end + draw(random_, -3, 3);
      tasks_[i].lead = lead + before;
      tasks_[i].early_percent = early_ && chance(random_, 50) ? static_cast<int>(draw(random_, 5, 50)) : 0;
    }
  }

  const Claim& claim_;
  Random& random_;
  std::vector<TaskRounds> tasks_;
  std::vector<Source> sources_; // by task
  std::vector<bool> on_grid_;   // true: the task's releases are not chosen
  std::uint64_t left_;          // jobs to be released
  std::int64_t longest_ = 1, shortest_ = std::int64_t{1} << 60;
  bool early_ = false, aims_ = false, springs_ = false;
  std::optional<std::uint32_t> bait_; // the task for whose next job others wait
  Instant bait_comes_{};
  bool sprung_ = false;
  Duration pause_left_{0};
  std::vector<simulator::CoreRegulation> regulated_;
  int round_ = 0, gaps_ = 0, transfers_early_ = 0;
  std::int64_t meeting_ = 0, end_ = 0;
  Instant next_stop_{};
};

} // namespace

Ambush ambush(const Claim& claim, Random& random, std::uint64_t jobs,
              const std::function<void(const simulator::Step&)>& observe) {
  Plan plan = claim.plan;
  fill_frames(plan, random);
  Rounds rounds(claim, random, jobs);
  simulator::Options options;
  options.horizon = last - Instant{};
  options.release = [&](std::uint32_t task, Instant earliest) { return rounds.release(task, earliest); };
  if (claim.release_latency > Duration(0)) options.release_latency = [&](policies::JobId) { return rounds.latency(); };
  if (claim.platform_stall > Duration(0)) options.stop = [&](Instant now) { return rounds.stop(now); };
  options.interference = claim.interference;
  options.regulated = rounds.regulated();
  if (rounds.executions())
    options.execution = [&](policies::JobId job, Part part) { return rounds.execution(job, part); };
  options.co_run_execution = [&](policies::JobId job, policies::JobId other) {
    return rounds.co_run_execution(job, other);
  };
  if (rounds.early()) {
    options.transfer = [&](const policies::Action&, Duration planned) { return rounds.transfer(planned); };
  }
  if (claim.script) options = test::options_of(*claim.script);
  simulator::ChainRecorder chains(claim.tasks, plan);
  if (!claim.script)
    chains.sample([&](policies::JobId job, Instant nominal) { return rounds.sampled(job.task, nominal); });
  chains.watch(options);
  Ambush result;
  std::vector<std::optional<policies::JobId>> begun(claim.tasks.tasks.size());
  options.observe = [&](const simulator::Step& step) {
    rounds.see(step);
    if (!rounds.over()) chains.see(step); // after that, grids end
    if (step.kind == simulator::Step::Kind::execution_start) begun[step.job.task] = step.job;
    const bool comes_in =
        step.kind == simulator::Step::Kind::transfer_begin && step.action.kind == policies::Action::Kind::copy_in;
    if (comes_in && begun[step.job.task] == step.job) ++result.restored;
    if (observe) observe(step);
  };
  const simulator::Outcome outcome = simulator::simulate(claim.tasks, plan, options);

  for (std::uint32_t i = 0; i < outcome.tasks.size(); ++i) {
    const simulator::TaskStatistics& task = outcome.tasks[i];
    result.jobs += task.completed;
    result.preempted += task.preempted;
    const auto& bound = plan.tasks[i].response_bound;
    if (!bound || result.broken) continue;
    if (task.response_max > *bound)
      result.broken =
          simulator::BrokenBound{.task = i, .part = Part::after, .took = task.response_max, .bound = *bound};
    else if (task.missed + task.skipped > 0)
      result.broken = simulator::BrokenBound{.task = i, .part = {}, .took = task.longest(), .bound = *bound};
  }
  for (const ChainReport& chain : chains.report())
    for (const auto& [what, measured] : {std::pair("reaction", &chain.reaction), std::pair("age", &chain.age),
                                         std::pair("reduced age", &chain.reduced_age)})
      if (measured->violations > 0)
        result.broken_chain = "chain " + chain.name + ": " + what + " " + to_string(measured->times.max) + " of " +
                              to_string(*measured->bound) + "\n";
  return result;
}

} // namespace rtexec::soundness
