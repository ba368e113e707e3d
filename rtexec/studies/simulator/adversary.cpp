#include "rtexec/studies/simulator/adversary.hpp"

#include "rtexec/studies/simulator/release_patterns.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace rtexec::simulator {

using policies::JobId;

namespace {

constexpr std::uint64_t whole_machine = ~std::uint64_t{0};

/// Returns a stop of some parts of the machine. Bits 0 to 2 of `parts` stand for the device, transfers and releases,
/// and the other bits for cores.
MachineStop stop_of(std::uint64_t parts, Instant begin, Duration length) {
  return {.begin = begin,
          .length = length,
          .cores = [parts](unsigned core) { return (parts >> (3 + core % 61) & 1) != 0; },
          .device = (parts & 1) != 0,
          .transfers = (parts & 2) != 0,
          .releases = (parts & 4) != 0};
}

} // namespace

Adversary::Adversary(const Claim& claim, Random& random, Freedom freedom)
    : claim_(claim), random_(random), freedom_(std::move(freedom)) {
  Limits limits{.periods = {},
                .wcets = {},
                .co_running = {},
                .on_grid = kept_grids(claim.tasks),
                .release_latency = claim.release_latency,
                .platform_stall = claim.platform_stall,
                .between = claim.between};
  for (const Task& task : claim.tasks.tasks) {
    longest_ = std::max(longest_, task.period.count());
    limits.periods.push_back(task.period);
    limits.wcets.push_back(*task.wcet);
  }
  for (const PlannedTask& task : claim.plan.tasks)
    limits.co_running.push_back(task.co_run ? task.co_run->wcet : Duration(0));
  limits_ = std::make_shared<const Limits>(std::move(limits));
  if (freedom_.horizon == Duration{0}) freedom_.horizon = Duration(longest_ * 4);
}

std::optional<BrokenBound> Adversary::attack(int steps) {
  found_.reset();
  grain_ = freedom_.grains[attacks_++ % freedom_.grains.size()].count();
  target_ = static_cast<std::uint32_t>(any_task());
  const auto kinds = {Step::Kind::execution_end, Step::Kind::completion, Step::Kind::completion, Step::Kind::request};
  target_kind_ = *(kinds.begin() + draw(random_, 0, 3));
  auto best =
      std::make_shared<const Pattern>(claim_.plan.swap && chance(random_, 80) ? critical_instant() : random_pattern());
  Duration reached = run(best);
  for (int i = 0; i < steps && !found_; ++i) {
    Pattern changed = *best;
    for (std::int64_t changes = draw(random_, 1, 3); changes > 0; --changes) change(changed);
    auto next = std::make_shared<const Pattern>(std::move(changed));
    if (const Duration now = run(next); now >= reached) {
      reached = now;
      best = std::move(next);
    }
  }
  return found_;
}

Options Adversary::worst() const { return worst_ ? options_of(worst_) : Options{}; }

// ---- patterns ----

int Adversary::share() {
  static constexpr std::array shares{0, 0, 100, 100, 100, 50};
  return shares[static_cast<std::size_t>(draw(random_, 0, shares.size() - 1))];
}

std::size_t Adversary::any_task() {
  return static_cast<std::size_t>(draw(random_, 0, static_cast<std::int64_t>(claim_.tasks.tasks.size()) - 1));
}

std::int64_t Adversary::nudge() { return draw(random_, -3, 3) * grain_; }

/// Adds stops of the whole machine before and near the instant at which the tasks' releases coincide.
void Adversary::add_stops(Pattern& pattern) {
  if (limits_->platform_stall == Duration(0)) return;
  const std::int64_t meeting = longest_ * 2;
  pattern.stops.push_back({.at = meeting - draw(random_, 0, longest_), .parts = whole_machine});
  pattern.stops.push_back({.at = meeting + draw(random_, -2, longest_ / 4), .parts = whole_machine});
  if (chance(random_, 50)) pattern.stops.erase(pattern.stops.begin());
}

/// Returns a pattern in which the releases of all tasks coincide. Each task releases a job shortly before one common
/// instant, and then as often as allowed.
Adversary::Pattern Adversary::random_pattern() {
  Pattern pattern;
  for (const Task& task : claim_.tasks.tasks) {
    const std::int64_t lead = draw(random_, 0, 2) == 0
                                  ? draw(random_, 0, task.wcet->before.count() + task.wcet->device.count())
                                  : draw(random_, 0, 2) * grain_;
    pattern.first_release.push_back(std::max<std::int64_t>(0, longest_ * 2 - lead) % task.period.count());
    auto& jobs = pattern.jobs.emplace_back();
    const bool restless = chance(random_, 50);
    for (JobChoice& job : jobs)
      if (restless) job.parts = {share(), share() == 0 && chance(random_, 30) ? 0 : 100, share()};
  }
  add_stops(pattern);
  return pattern;
}

/// Returns a pattern in which the releases of all tasks coincide. At that instant one job executes or is about to be
/// loaded. Another job is staged: it is loading or loaded, and waits to execute. In most patterns, earlier jobs take no
/// time and only leave their chunks in the slots of other tasks. Some tasks release such a job just before the common
/// instant. Some tasks release later, many of them at about the end of the executing job.
Adversary::Pattern Adversary::critical_instant() {
  constexpr JobChoice quiet{.delay = 0, .latency = 100, .parts = {0, 0, 0}, .transfers = 0};
  Pattern pattern;
  const std::size_t first = any_task();
  const std::size_t staged = any_task();
  const bool noisy_before = chance(random_, 30);
  const auto chunks = static_cast<std::int64_t>(claim_.plan.tasks[first].swap_slots.size());
  const std::int64_t device = claim_.tasks.tasks[first].wcet->device.count();
  const bool swapped_out_before = chance(random_, 50);
  const std::int64_t first_lead =
      swapped_out_before ? chunks * claim_.plan.swap->cost.out_per_chunk.count() + draw(random_, 0, 3) * grain_
                         : draw(random_, 1, device + 2);
  const std::int64_t first_end =
      device + (swapped_out_before ? chunks * claim_.plan.swap->cost.in_per_chunk.count() : 0);
  for (std::size_t i = 0; i < claim_.tasks.tasks.size(); ++i) {
    const std::int64_t period = claim_.tasks.tasks[i].period.count();
    const bool early = i == first || i == staged;
    const bool evicts = !early && chance(random_, 30);
    const bool late = !early && !evicts && chance(random_, 40);
    const std::int64_t lead = evicts                        ? draw(random_, 1, period / 4 + 1)
                              : i == first                  ? first_lead
                              : i == staged                 ? draw(random_, 0, 3) * grain_
                              : late && chance(random_, 50) ? -draw(random_, 0, period / 2)
                              : late                        ? -first_end + nudge()
                                                            : -draw(random_, 0, 2) * grain_;
    const std::int64_t meeting = std::max<std::int64_t>(0, longest_ * 2 - lead);
    pattern.first_release.push_back(meeting % period);
    auto& jobs = pattern.jobs.emplace_back();
    const auto before = static_cast<std::size_t>(meeting / period) + (evicts ? 1 : 0);
    if (!noisy_before) std::fill_n(jobs.begin(), std::min(before, jobs.size()), quiet);
    else if (evicts) jobs[(before - 1) % choices] = quiet;
  }
  add_stops(pattern);
  return pattern;
}

void Adversary::change_stop(StopChoice& stop) {
  switch (draw(random_, 0, 3)) {
  case 0: stop.at += nudge(); break;
  case 1: stop.at += draw(random_, -longest_, longest_) / 8; break;
  case 2: stop.parts = chance(random_, 50) ? whole_machine : random_(); break;
  default: stop.parts ^= std::uint64_t{1} << draw(random_, 0, 7); break;
  }
  stop.at = std::max<std::int64_t>(0, stop.at);
}

void Adversary::change(Pattern& pattern) {
  if (!pattern.stops.empty() && chance(random_, 30))
    return change_stop(
        pattern.stops[static_cast<std::size_t>(draw(random_, 0, static_cast<std::int64_t>(pattern.stops.size()) - 1))]);
  const std::size_t task = any_task();
  const std::int64_t period = claim_.tasks.tasks[task].period.count();
  const auto jobs_in_run = std::min<std::int64_t>(choices - 1, freedom_.horizon.count() / period);
  JobChoice& job = pattern.jobs[task][static_cast<std::size_t>(draw(random_, 0, jobs_in_run))];
  static constexpr std::array of_releases{0, 1, 2, 3, 8};
  const std::int64_t last = claim_.plan.swap ? 8 : 6;
  switch (freedom_.early ? draw(random_, 0, last)
                         : of_releases[static_cast<std::size_t>(draw(random_, 0, of_releases.size() - 1))]) {
  case 0: pattern.first_release[task] = draw(random_, 0, period); break;
  case 1:
  case 2: pattern.first_release[task] = std::max<std::int64_t>(0, pattern.first_release[task] + nudge()); break;
  case 3: job.delay = chance(random_, 60) ? 0 : static_cast<int>(draw(random_, 0, 100)); break;
  case 4: job.latency = share(); break;
  default:
    job.parts[static_cast<std::size_t>(draw(random_, 0, 2))] =
        chance(random_, 80) ? share() : static_cast<int>(draw(random_, 0, 100));
    break;
  case 7: job.transfers = chance(random_, 80) ? share() : static_cast<int>(draw(random_, 0, 100)); break;
  case 8:
    pattern.first_release[task] =
        std::max<std::int64_t>(0, pattern.first_release[task] + draw(random_, -period, period) / 16);
    break;
  }
}

// ---- runs ----

Options Adversary::options_of(std::shared_ptr<const Pattern> pattern) const {
  Options options;
  options.horizon = freedom_.horizon;
  options.release = [limits = limits_, pattern, released = std::vector<std::size_t>(pattern->jobs.size(), 0)](
                        std::uint32_t task, Instant earliest) mutable {
    if (limits->on_grid[task]) return earliest;
    const std::size_t job = released[task]++;
    if (job == 0) return Instant{} + Duration(pattern->first_release[task]); // independent of the offset
    return earliest + limits->periods[task] * pattern->jobs[task][job % choices].delay / 100;
  };
  if (!pattern->stops.empty())
    options.stop = [limits = limits_, pattern, next = std::size_t{0},
                    earliest = Instant{}](Instant now) mutable -> std::optional<MachineStop> {
      if (next == pattern->stops.size()) return std::nullopt;
      const StopChoice& choice = pattern->stops[next++];
      const Instant begin = std::max({now, earliest, Instant{} + Duration(choice.at)});
      earliest = begin + limits->between;
      return stop_of(choice.parts, begin, limits->platform_stall);
    };
  if (!freedom_.early) return options;
  const auto choice = [pattern](JobId job) -> const JobChoice& {
    return pattern->jobs[job.task][job.number % choices];
  };
  options.execution = [limits = limits_, choice](JobId job, Part part) {
    return of(limits->wcets[job.task], part) * choice(job).parts[static_cast<std::size_t>(part)] / 100;
  };
  options.co_run_execution = [limits = limits_, choice](JobId job, JobId) {
    return limits->co_running[job.task] * choice(job).parts[static_cast<std::size_t>(Part::device)] / 100;
  };
  options.release_latency = [limits = limits_, choice](JobId job) {
    return limits->release_latency * choice(job).latency / 100;
  };
  options.transfer = [choice](const policies::Action& action, Duration planned) {
    return planned * choice(action.job).transfers / 100;
  };
  return options;
}

/// Simulates a pattern. Returns the maximum lateness of the attacked part relative to its bound, which is negative if
/// the part always ends before its bound.
Duration Adversary::run(const std::shared_ptr<const Pattern>& pattern) {
  Duration reached{-longest_};
  Options options = options_of(pattern);
  options.observe = [&](const Step& step) {
    const auto over = lateness(step);
    if (step.job.task == target_ && step.kind == target_kind_ && over) reached = std::max(reached, *over);
  };
  const Outcome outcome = simulate(claim_.tasks, claim_.plan, options);
  for (std::uint32_t i = 0; i < outcome.tasks.size() && !found_; ++i)
    if (claim_.plan.tasks[i].response_bound && outcome.tasks[i].missed + outcome.tasks[i].skipped > 0)
      found_ = BrokenBound{
          .task = i, .part = {}, .took = outcome.tasks[i].response_max, .bound = claim_.tasks.tasks[i].deadline};
  keep_if_worst(pattern, outcome);
  return reached;
}

std::optional<Duration> Adversary::lateness(const Step& step) {
  const PlannedTask& task = claim_.plan.tasks[step.job.task];
  if (!task.response_bound) return std::nullopt;
  const auto against = [&](Part part, Duration bound) {
    const Duration took = step.now - step.nominal;
    if (took > bound && !found_)
      found_ = BrokenBound{.task = step.job.task, .part = part, .took = took, .bound = bound};
    return took - bound;
  };
  switch (step.kind) {
  case Step::Kind::request:
  case Step::Kind::hand_on: return against(Part::before, task.ready_by);
  case Step::Kind::execution_end: return against(Part::device, task.device_done_by);
  case Step::Kind::completion: return against(Part::after, *task.response_bound);
  default: return std::nullopt;
  }
}

void Adversary::keep_if_worst(const std::shared_ptr<const Pattern>& pattern, const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.tasks.size(); ++i) {
    const auto& bound = claim_.plan.tasks[i].response_bound;
    if (!bound) continue;
    const Duration response = outcome.tasks[i].longest();
    const double taken =
        static_cast<double>(response.count()) / static_cast<double>(std::max<Duration::rep>(1, bound->count()));
    if (taken <= worst_share_) continue;
    worst_share_ = taken;
    worst_ = pattern;
  }
}

} // namespace rtexec::simulator
