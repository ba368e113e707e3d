#include "policies/device_demand.hpp"

namespace rtexec::policies {
namespace {

/// The last instant before `bound` at which some job is due.
Nanos step_before(std::span<const DemandTask> tasks, Nanos bound) {
  Nanos last = 0;
  for (const DemandTask& task : tasks)
    if (task.deadline < bound) last = std::max(last, task.deadline + (bound - 1 - task.deadline) / task.period * task.period);
  return last;
}

/// Beyond it t - h(t) >= `slack`, for instants after the last first deadline: h(t) <= U t + sum (T - d) C / T + background.
Wide horizon(std::span<const DemandTask> tasks, Nanos background, const Utilisation& utilisation, Nanos slack) {
  Wide work = Wide{background} + slack;
  for (const DemandTask& task : tasks) work += (Wide{task.cost} * (task.period - task.deadline) + task.period - 1) / task.period;
  return utilisation.spread(work);
}

/// A device part longer than its own deadline needs no search.
std::optional<Demand> impossible(std::span<const DemandTask> tasks) {
  std::optional<Demand> worst;
  for (const DemandTask& task : tasks) {
    const Demand alone{.instant = task.deadline, .demand = task.cost, .blocking = 0, .blocker = {}};
    if (alone.slack() < 0 && (!worst || alone.slack() < worst->slack())) worst = alone;
  }
  return worst;
}

} // namespace

Nanos Demand::slack() const { return static_cast<Nanos>(std::max<Wide>(instant - demand - blocking, -unbounded)); }

Demand demand_at(std::span<const DemandTask> tasks, Nanos background, Nanos instant) {
  Demand result{.instant = instant, .demand = 0, .blocking = background, .blocker = {}};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const DemandTask& task = tasks[i];
    if (task.deadline <= instant) {
      result.demand += Wide{(instant - task.deadline) / task.period + 1} * task.cost;
    } else if (task.cost > result.blocking) {
      result.blocking = task.cost;
      result.blocker = i;
    }
  }
  return result;
}

DemandAnalysis analyse_demand(std::span<const DemandTask> tasks, Nanos background) {
  DemandAnalysis analysis{.settled = tasks.empty(), .tightest = {}, .slack = {}};
  if (tasks.empty()) return analysis;
  const auto by_deadline = [](const DemandTask& a, const DemandTask& b) { return a.deadline < b.deadline; };
  const auto [first, last] = std::ranges::minmax(tasks, by_deadline);
  analysis.tightest = demand_at(tasks, background, last.deadline);
  analysis.slack.assign(tasks.size(), analysis.tightest.slack());
  Utilisation utilisation;
  for (const DemandTask& task : tasks) utilisation.add(task.cost, task.period);
  if (!utilisation.below_one()) return analysis;
  if (const auto hopeless = impossible(tasks)) {
    analysis.settled = true;
    analysis.tightest = *hopeless;
    analysis.slack.assign(tasks.size(), hopeless->slack());
    return analysis;
  }
  const Wide top = std::max<Wide>(horizon(tasks, background, utilisation, analysis.tightest.slack()), last.deadline);
  if (top > unbounded) return analysis;

  // h never falls. With s the smallest slack found so far, t - h(t) >= s holds from h(t) + s up to t: continue below.
  Nanos below = static_cast<Nanos>(top) + 1;
  Nanos previous = unbounded;
  for (int step = 0; step < most_steps; ++step) {
    const Nanos instant = step_before(tasks, below);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].deadline > instant && tasks[i].deadline <= previous) analysis.slack[i] = analysis.tightest.slack();
    if (instant < first.deadline) {
      analysis.settled = true;
      return analysis;
    }
    const Demand here = demand_at(tasks, background, instant);
    if (here.slack() < analysis.tightest.slack()) analysis.tightest = here;
    below = static_cast<Nanos>(here.demand + here.blocking + analysis.tightest.slack());
    previous = instant;
  }
  return analysis;
}

} // namespace rtexec::policies
