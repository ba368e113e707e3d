#include "policies/device/device_demand.hpp"

namespace rtexec::policies {
namespace {

/// The search of analyse_demand() examines instants in descending order. After each `timeout` steps, it also examines
/// the largest relative deadline that is not above the present instant. A small slack at that deadline makes the next
/// steps longer.
constexpr int timeout = 16;

/// An upper limit: every sum of demand is below this value.
constexpr Wide any_demand = Wide{1} << 126;

/// The costs with which the analysis counts the jobs of all tasks. The demand with these
/// costs is a sound bound for intervals shorter than `below`.
struct ChargeModel {
  struct Charge {
    Nanos cost = 0;     // for each job that is due in the interval
    Nanos blocking = 0; // the blocking by a job that is due later
    /// The time by which the last execution exceeds the sum of the costs (Overlap::Charge::tail). The largest tail of
    /// all tasks with due jobs is added once
    Nanos tail = 0;
  };
  std::vector<Charge> tasks;
  Nanos background = 0; // the blocking that counts in every interval
  Nanos below = unbounded;
};

Nanos first_loaded_deadline(std::span<const DemandTask> tasks) {
  Nanos first = unbounded;
  for (const DemandTask& task : tasks)
    if (task.load > 0) first = std::min(first, task.deadline);
  return first;
}

/// Returns the charge model for intervals in which only jobs without a load are due. Such jobs bypass (begin before)
/// staged jobs that load chunks. So no load delays these jobs.
ChargeModel one_by_one(std::span<const DemandTask> tasks, const Surroundings& others) {
  const Nanos background = std::max(others.background.execution, others.below.run);
  ChargeModel model{.tasks = {}, .background = background, .below = first_loaded_deadline(tasks)};
  model.tasks.reserve(tasks.size());
  for (const DemandTask& task : tasks) model.tasks.push_back({task.cost, task.blocking.value_or(task.cost), 0});
  return model;
}

/// Returns the charge models for loads that overlap executions: one model for each value of lambda, the time in which
/// an execution and a load overlap (overlap.hpp). `rests`: a task that executes no job when the interval begins.
/// `below`: the models are valid only for intervals shorter than this.
std::vector<ChargeModel> overlapped(std::span<const DemandTask> tasks, const Surroundings& others,
                                    std::optional<std::size_t> rests = {}, Nanos below = unbounded) {
  std::vector<DevicePart> parts;
  for (const DemandTask& task : tasks) parts.push_back({task.cost, task.load, task.delay});
  std::vector<ChargeModel> models;
  for (const Overlap& overlap : overlaps(std::move(parts), others.background, others.below, rests)) {
    ChargeModel& model =
        models.emplace_back(ChargeModel{.tasks = {}, .background = overlap.background, .below = below});
    model.tasks.reserve(tasks.size());
    for (const Overlap::Charge& charge : overlap.tasks)
      model.tasks.push_back({charge.cost, charge.blocking, charge.tail});
  }
  return models;
}

/// Returns the charge models for intervals so short that only jobs of one task are due. When such an interval begins,
/// no earlier job of that task executes: the earlier job has ended by its deadline, before the job that is due in the
/// interval is requested.
std::vector<ChargeModel> of_one_due(std::span<const DemandTask> tasks, const Surroundings& others) {
  const auto first = std::ranges::min_element(tasks, {}, &DemandTask::deadline);
  Nanos second = unbounded;
  for (auto task = tasks.begin(); task != tasks.end(); ++task)
    if (task != first) second = std::min(second, task->deadline);
  if (tasks.size() == 1 || second == first->deadline) return {};
  return overlapped(tasks, others, static_cast<std::size_t>(first - tasks.begin()), second);
}

Demand demand_of(const ChargeModel& model, std::span<const DemandTask> tasks, std::span<const Wide> jobs,
                 Nanos instant) {
  Demand result{.instant = instant, .demand = 0, .blocking = model.background, .blocker = {}};
  Nanos tail = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const ChargeModel::Charge& charge = model.tasks[i];
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

/// Computes h(t), the bound on the work in an interval of length t (Demand). Each charge model gives a
/// bound on this work. h(t) is the smallest of these bounds.
class DeviceDemand {
 public:
  DeviceDemand(std::span<const DemandTask> tasks, const Surroundings& others)
      : tasks_(tasks), above_(others.above), models_{one_by_one(tasks, others)} {
    if (models_.front().below == unbounded) return;
    std::ranges::move(overlapped(tasks, others), std::back_inserter(models_));
    std::ranges::move(of_one_due(tasks, others), std::back_inserter(models_));
  }

  Demand at(Nanos instant) const {
    std::vector<Wide> jobs;
    jobs.reserve(tasks_.size());
    for (const DemandTask& task : tasks_)
      jobs.push_back(task.deadline <= instant ? (instant - task.deadline) / task.period + 1 : 0);
    std::optional<Demand> least;
    for (const ChargeModel& model : models_) {
      if (instant >= model.below) continue;
      const Demand demand = demand_of(model, tasks_, jobs, instant);
      if (!least || demand.demand + demand.blocking < least->demand + least->blocking) least = demand;
    }
    if (!above_.empty()) least->above = above(bounded(least->demand + least->blocking), instant);
    return *least;
  }

  /// Returns a bound on the longest busy period, in which some real-time job is pending at every instant. Returns
  /// `unbounded` if no bound is found after a few steps.
  Nanos busy_period() const {
    constexpr int few_steps = 1000;
    const ChargeModel* model = lightest();
    if (model == nullptr) return unbounded;
    Wide first_jobs = model->background;
    Nanos tail = 0;
    for (const ChargeModel::Charge& charge : model->tasks) {
      first_jobs += charge.cost;
      tail = std::max(tail, charge.tail);
    }
    const auto work_in = [&](Nanos window) {
      Wide work = model->background + work_above(bounded(Wide{window} + tail));
      for (std::size_t i = 0; i < tasks_.size(); ++i)
        work += jobs_in({tasks_[i].period, 0, tasks_[i].jitter}, window) * model->tasks[i].cost;
      return work;
    };
    const FixedPoint found = least_fixed_point(bounded(first_jobs), unbounded, work_in, few_steps);
    return found.settled ? bounded(Wide{found.value} + tail) : unbounded;
  }

  /// Returns a bound on the decrease of h(t), the bound on the work in an interval of length t, when t grows: h(t') <=
  /// max(h(t), demand(t) + rise) for all t' < t. h decreases if a job blocks for a longer time before it is due than
  /// the time that it demands when it is due.
  Nanos rise() const {
    Nanos rise = 0;
    for (const ChargeModel::Charge& charge : models_.front().tasks)
      rise = std::max(rise, charge.blocking - charge.cost);
    return rise;
  }

  /// Returns an instant after which t - h(t) >= `slack`, or nullopt if there is no such instant. h(t) is the bound on
  /// the work in an interval of length t. The result is valid for all t after the largest relative deadline.
  ///
  /// How: let a charge model have utilisation U < 1. Then h(t) is at most U t + sum of ((T - d) C / T), plus the work
  /// that counts only once per interval, such as blocking. The sum is over all tasks. d: deadline; T: period; C: cost.
  /// Each task of a more urgent class adds at most (h(t) + J) / T + 1 jobs. J: the jitter of that task.
  std::optional<Wide> horizon(Nanos slack) const {
    std::optional<Wide> least;
    for (const ChargeModel& model : models_) {
      if (model.below < unbounded) continue;
      Utilisation utilisation;
      Wide work = Wide{model.background} + (above_.empty() ? slack : std::max(slack, Nanos{0}));
      Nanos tail = 0;
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const Nanos cost = model.tasks[i].cost;
        utilisation.add(cost, tasks_[i].period);
        work += (Wide{cost} * (tasks_[i].period - tasks_[i].deadline) + tasks_[i].period - 1) / tasks_[i].period;
        tail = std::max(tail, model.tasks[i].tail);
      }
      for (const Load& load : above_) {
        utilisation.add(load.cost, load.period);
        work += load.cost + (Wide{load.cost} * load.jitter + load.period - 1) / load.period;
      }
      if (!utilisation.below_one()) continue;
      const Wide end = utilisation.spread(work + tail);
      if (!least || end < *least) least = end;
    }
    return least;
  }

 private:
  Wide work_above(Nanos window) const {
    Wide work = 0;
    for (const Load& load : above_) work += jobs_in(load, window) * load.cost;
    return work;
  }

  /// Returns the work of more urgent classes in the shortest time in which the device can do this work and `own`. If
  /// the total exceeds `instant`, the result is only a part of the work.
  Wide above(Nanos own, Nanos instant) const {
    return least_fixed_point(own, instant, [&](Nanos window) { return own + work_above(window); }).value - own;
  }

  /// Returns the model with the least utilisation, among the models that are valid for intervals of any length. Returns
  /// null if the device is overloaded with all of them.
  const ChargeModel* lightest() const {
    const ChargeModel* lightest = nullptr;
    Nanos least = 0;
    for (const ChargeModel& model : models_) {
      if (model.below < unbounded) continue;
      Utilisation utilisation;
      for (std::size_t i = 0; i < tasks_.size(); ++i) utilisation.add(model.tasks[i].cost, tasks_[i].period);
      for (const Load& load : above_) utilisation.add(load.cost, load.period);
      if (!utilisation.below_one() || (lightest != nullptr && utilisation.per_second() >= least)) continue;
      least = utilisation.per_second();
      lightest = &model;
    }
    return lightest;
  }

  std::span<const DemandTask> tasks_;
  std::span<const Load> above_;
  std::vector<ChargeModel> models_;
};

/// Returns the last instant before `bound` at which a job is due if all tasks release a job at 0; 0 if there is no such
/// instant.
Nanos step_before(std::span<const DemandTask> tasks, Nanos bound) {
  Nanos last = 0;
  for (const DemandTask& task : tasks)
    if (task.deadline < bound)
      last = std::max(last, task.deadline + (bound - 1 - task.deadline) / task.period * task.period);
  return last;
}

/// Returns the largest relative deadline below `bound`; 0 if there is none.
Nanos deadline_before(std::span<const DemandTask> tasks, Nanos bound) {
  Nanos last = 0;
  for (const DemandTask& task : tasks)
    if (task.deadline < bound) last = std::max(last, task.deadline);
  return last;
}

/// Limits h(t) by the longest busy period `busy`: all jobs that are due in an interval end at most `busy` after it
/// begins.
Demand within(Demand demand, Wide busy) {
  demand.blocking = static_cast<Nanos>(std::min<Wide>(demand.blocking, busy));
  demand.demand = std::min(demand.demand, busy - demand.blocking);
  demand.above = std::min(demand.above, busy - demand.blocking - demand.demand);
  return demand;
}

/// Returns the demand of a device part that is longer than its own deadline, or nullopt if there is no such device
/// part. If there is one, the set cannot be proved, and no search is needed.
std::optional<Demand> impossible(std::span<const DemandTask> tasks) {
  std::optional<Demand> worst;
  for (const DemandTask& task : tasks) {
    const Demand alone{.instant = task.deadline, .demand = Wide{task.load} + task.cost, .blocking = 0, .blocker = {}};
    if (alone.slack() < 0 && (!worst || alone.slack() < worst->slack())) worst = alone;
  }
  return worst;
}

} // namespace

Nanos Demand::slack() const {
  return static_cast<Nanos>(std::max<Wide>(instant - demand - blocking - above, -unbounded));
}

Demand demand_at(std::span<const DemandTask> tasks, const Surroundings& others, Nanos instant) {
  return DeviceDemand(tasks, others).at(instant);
}

Nanos busy_period(std::span<const DemandTask> tasks, const Surroundings& others) {
  return DeviceDemand(tasks, others).busy_period();
}

DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, const Surroundings& others, Nanos enough) {
  DemandAnalysis analysis{.settled = tasks.empty(), .tightest = {}, .busy_known = false, .slack = {}};
  if (tasks.empty()) return analysis;
  const auto by_deadline = [](const DemandTask& a, const DemandTask& b) { return a.deadline < b.deadline; };
  const auto [first, last] = std::ranges::minmax(tasks, by_deadline);
  const DeviceDemand device(tasks, others);
  const Nanos found = device.busy_period();
  analysis.busy_known = found < unbounded;
  const Wide busy = analysis.busy_known ? Wide{found} : any_demand; // an unknown busy period does not limit the demand
  const auto at = [&](Nanos instant) { return within(device.at(instant), busy); };
  analysis.tightest = at(last.deadline);
  analysis.slack.assign(tasks.size(), analysis.tightest.slack());
  const auto min_slack = [&] { return std::min(analysis.tightest.slack(), enough); };
  const auto top = device.horizon(min_slack());
  if (!top) return analysis;
  if (const auto late = impossible(tasks)) {
    analysis.settled = true;
    analysis.tightest = *late;
    analysis.slack.assign(tasks.size(), late->slack());
    return analysis;
  }
  const Wide highest = std::min(std::max<Wide>(*top, last.deadline), busy + min_slack());
  if (highest >= unbounded) return analysis;

  // Let s be the smallest slack found so far, and h' the maximum of h (the bound on the work in an interval) up to t.
  // Then the slack is at least s for all instants from h' + s up to t, so the search continues below h' + s. After each
  // `timeout` steps, the search also examines the largest relative deadline that is not above `instant`. In descending
  // order, the search may reach that deadline only much later.
  const Nanos rise = device.rise();
  Nanos below = static_cast<Nanos>(std::max<Wide>(highest, -1)) + 1;
  Nanos previous = unbounded;
  Nanos ahead = unbounded;
  for (int step = 0; step < max_steps; ++step) {
    const Nanos instant = step_before(tasks, below);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].deadline > instant && tasks[i].deadline <= previous) analysis.slack[i] = analysis.tightest.slack();
    if (instant < first.deadline) {
      analysis.settled = true;
      return analysis;
    }
    const Demand here = at(instant);
    if (here.slack() < analysis.tightest.slack()) analysis.tightest = here;
    const Wide highest_before = std::min<Wide>(here.demand + std::max(here.blocking, rise) + here.above, busy);
    if (step % timeout == timeout - 1) ahead = at(deadline_before(tasks, instant + 1)).slack();
    // `least` is the s of the comment before the loop. `ahead` is the slack at the relative deadline that the search
    // last examined out of the descending order. `least` is at most `ahead` + 1, so that the search does not skip
    // instants with the slack `ahead`.
    const Nanos least = std::min(min_slack(), ahead + 1);
    below = static_cast<Nanos>(std::min<Wide>(instant, highest_before + least));
    previous = instant;
  }
  return analysis;
}

} // namespace rtexec::policies
