#include "policies/device_demand.hpp"

#include "policies/overlap.hpp"

namespace rtexec::policies {
namespace {

/// One sound way to charge the jobs of an interval that is shorter than `below`.
struct Way {
  struct Charge {
    Nanos cost = 0;     // of each job that is due
    Nanos blocking = 0; // of a job that is due later
    Nanos tail = 0;     // once, of the tasks that are due
  };
  std::vector<Charge> tasks;
  Nanos background = 0; // blocks in every interval
  Nanos below = unbounded;
};

Nanos first_loaded_deadline(std::span<const DemandTask> tasks) {
  Nanos first = unbounded;
  for (const DemandTask& task : tasks)
    if (task.load > 0) first = std::min(first, task.deadline);
  return first;
}

/// Jobs that need no load bypass those that are loaded: for them the device is as if nothing were staged.
Way one_by_one(std::span<const DemandTask> tasks, Nanos background) {
  Way way{.tasks = {}, .background = background, .below = first_loaded_deadline(tasks)};
  way.tasks.reserve(tasks.size());
  for (const DemandTask& task : tasks) way.tasks.push_back({task.cost, task.blocking.value_or(task.cost), 0});
  return way;
}

std::vector<Way> overlapped(std::span<const DemandTask> tasks, DevicePart background) {
  std::vector<DevicePart> parts;
  for (const DemandTask& task : tasks) parts.push_back({task.cost, task.load});
  std::vector<Way> ways;
  for (const Overlap& overlap : overlaps(std::move(parts), background)) {
    Way& way = ways.emplace_back(Way{.tasks = {}, .background = overlap.background});
    way.tasks.reserve(tasks.size());
    for (const Overlap::Charge& charge : overlap.tasks)
      way.tasks.push_back({charge.cost, charge.blocking, charge.tail});
  }
  return ways;
}

Demand demand_of(const Way& way, std::span<const DemandTask> tasks, std::span<const Wide> jobs, Nanos instant) {
  Demand result{.instant = instant, .demand = 0, .blocking = way.background, .blocker = {}};
  Nanos tail = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Way::Charge& charge = way.tasks[i];
    if (tasks[i].deadline <= instant) {
      result.demand += jobs[i] * charge.cost;
      tail = std::max(tail, charge.tail);
    } else if (charge.blocking > result.blocking) {
      result.blocking = charge.blocking;
      result.blocker = i;
    }
  }
  result.demand += tail;
  return result;
}

/// h(t): the least over all ways.
class DeviceDemand {
 public:
  DeviceDemand(std::span<const DemandTask> tasks, Nanos background, Nanos background_load)
      : tasks_(tasks), ways_{one_by_one(tasks, background)} {
    if (ways_.front().below == unbounded) return;
    std::ranges::move(overlapped(tasks, {background, background_load}), std::back_inserter(ways_));
  }

  Demand at(Nanos instant) const {
    std::vector<Wide> jobs;
    jobs.reserve(tasks_.size());
    for (const DemandTask& task : tasks_)
      jobs.push_back(task.deadline <= instant ? (instant - task.deadline) / task.period + 1 : 0);
    std::optional<Demand> least;
    for (const Way& way : ways_) {
      if (instant >= way.below) continue;
      const Demand demand = demand_of(way, tasks_, jobs, instant);
      if (!least || demand.demand + demand.blocking < least->demand + least->blocking) least = demand;
    }
    return *least;
  }

  /// h(t') <= max(h(t), demand(t) + rise) for t' < t: what blocks before it is due may be longer than what it then
  /// demands.
  Nanos rise() const {
    Nanos rise = 0;
    for (const Way::Charge& charge : ways_.front().tasks) rise = std::max(rise, charge.blocking - charge.cost);
    return rise;
  }

  /// Beyond it t - h(t) >= `slack`, for instants after the last first deadline: h(t) <= U t + sum (T - d) C / T + what
  /// comes once, in any way whose U is below one. Absent: there is none.
  std::optional<Wide> horizon(Nanos slack) const {
    std::optional<Wide> least;
    for (const Way& way : ways_) {
      if (way.below < unbounded) continue;
      Utilisation utilisation;
      Wide work = Wide{way.background} + slack;
      Nanos tail = 0;
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const Nanos cost = way.tasks[i].cost;
        utilisation.add(cost, tasks_[i].period);
        work += (Wide{cost} * (tasks_[i].period - tasks_[i].deadline) + tasks_[i].period - 1) / tasks_[i].period;
        tail = std::max(tail, way.tasks[i].tail);
      }
      if (!utilisation.below_one()) continue;
      const Wide end = utilisation.spread(work + tail);
      if (!least || end < *least) least = end;
    }
    return least;
  }

 private:
  std::span<const DemandTask> tasks_;
  std::vector<Way> ways_;
};

/// The last instant before `bound` at which some job is due.
Nanos step_before(std::span<const DemandTask> tasks, Nanos bound) {
  Nanos last = 0;
  for (const DemandTask& task : tasks)
    if (task.deadline < bound)
      last = std::max(last, task.deadline + (bound - 1 - task.deadline) / task.period * task.period);
  return last;
}

/// A device part that takes longer than its own deadline needs no search.
std::optional<Demand> impossible(std::span<const DemandTask> tasks) {
  std::optional<Demand> worst;
  for (const DemandTask& task : tasks) {
    const Demand alone{.instant = task.deadline, .demand = Wide{task.load} + task.cost, .blocking = 0, .blocker = {}};
    if (alone.slack() < 0 && (!worst || alone.slack() < worst->slack())) worst = alone;
  }
  return worst;
}

} // namespace

Nanos Demand::slack() const { return static_cast<Nanos>(std::max<Wide>(instant - demand - blocking, -unbounded)); }

Demand demand_at(std::span<const DemandTask> tasks, Nanos background, Nanos instant, Nanos background_load) {
  return DeviceDemand(tasks, background, background_load).at(instant);
}

DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, Nanos background, Nanos background_load) {
  DemandAnalysis analysis{.settled = tasks.empty(), .tightest = {}, .slack = {}};
  if (tasks.empty()) return analysis;
  const auto by_deadline = [](const DemandTask& a, const DemandTask& b) { return a.deadline < b.deadline; };
  const auto [first, last] = std::ranges::minmax(tasks, by_deadline);
  const DeviceDemand device(tasks, background, background_load);
  analysis.tightest = device.at(last.deadline);
  analysis.slack.assign(tasks.size(), analysis.tightest.slack());
  const auto top = device.horizon(analysis.tightest.slack());
  if (!top) return analysis;
  if (const auto late = impossible(tasks)) {
    analysis.settled = true;
    analysis.tightest = *late;
    analysis.slack.assign(tasks.size(), late->slack());
    return analysis;
  }
  const Wide highest = std::max<Wide>(*top, last.deadline);
  if (highest > unbounded) return analysis;

  // With s the smallest slack found so far, and h' the most that h reaches up to t, t - h(t) >= s holds from h' + s up
  // to t: continue below.
  const Nanos rise = device.rise();
  Nanos below = static_cast<Nanos>(highest) + 1;
  Nanos previous = unbounded;
  for (int step = 0; step < most_steps; ++step) {
    const Nanos instant = step_before(tasks, below);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].deadline > instant && tasks[i].deadline <= previous) analysis.slack[i] = analysis.tightest.slack();
    if (instant < first.deadline) {
      analysis.settled = true;
      return analysis;
    }
    const Demand here = device.at(instant);
    if (here.slack() < analysis.tightest.slack()) analysis.tightest = here;
    const Wide highest_before = here.demand + std::max(here.blocking, rise);
    below = static_cast<Nanos>(std::min<Wide>(instant, highest_before + analysis.tightest.slack()));
    previous = instant;
  }
  return analysis;
}

} // namespace rtexec::policies
