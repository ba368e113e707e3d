#include "policies/device/device_tests.hpp"

#include "policies/device/device_response.hpp"
#include "policies/device/overlap.hpp"
#include "policies/device/swap_charges.hpp"
#include "policies/device/volume_search.hpp"

#include <algorithm>

namespace rtexec::policies {
namespace {

void conclude(DeviceVerdict& verdict, Nanos left, Nanos right) {
  verdict.left = left;
  verdict.right = right;
  verdict.proved = left <= right;
}

/// The times and the blocking of the jobs of a set in which swap-out, swap-in and execution of a job follow each other.
struct SerialJobs {
  SerialJobs(const DeviceSet& set, const Volumes& volumes) : blocking(set.rule, 0) {
    const SwapCharges swap(set, volumes);
    blocking = SwapBlocking(set.rule, swap.uncharged(set.rule));
    times.reserve(set.tasks.size());
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      times.push_back(swap.job(set.tasks[i].execution, volumes[i]));
      blocking.add(times.back());
    }
  }
  [[nodiscard]] Nanos blocked_by(std::size_t task) const { return blocking.by(times[task]); }
  std::vector<JobTimes> times; // by task
  SwapBlocking blocking;
};

bool any_real_time(const DeviceSet& set) { return std::ranges::any_of(set.tasks, &DeviceTask::real_time); }

// ---- theorem1 ----

void theorem1(const DeviceSet& set, const Volumes& volumes, DeviceVerdict& verdict) {
  const Theorem1 found = theorem1(set, volumes);
  verdict.limiting = found.limiting();
  verdict.blocker = found.blocker();
  verdict.instant = found.shortest();
  verdict.blocking = found.blocking();
  verdict.demand = found.demand();
  conclude(verdict, found.left(), second);
  verdict.slack = time_in(second - verdict.left, verdict.instant);
}

// ---- baker ----

std::vector<std::size_t> by_deadline(const DeviceSet& set) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    if (set.tasks[i].real_time) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(set.tasks[i].deadline, i); });
  return order;
}

/// Tests for each task k: B_k / D_k + sum over D_i <= D_k of e_i / D_i <= 1. B_k: the blocking of task k; D_k, D_i:
/// deadlines; e_i: the time of a job of task i.
void baker(const DeviceSet& set, const Volumes& volumes, DeviceVerdict& verdict) {
  const SerialJobs jobs(set, volumes);
  const std::vector<std::size_t> order = by_deadline(set);
  // By index in `order`: the longest blocking by this task and the tasks after it
  std::vector<Nanos> longest(order.size() + 1, 0);
  std::vector<std::optional<std::size_t>> by(order.size() + 1);
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    if (!set.tasks[i].real_time && jobs.blocked_by(i) > longest.back()) {
      longest.back() = jobs.blocked_by(i);
      by.back() = i;
    }
  for (std::size_t k = order.size(); k-- > 0;) {
    const Nanos own = jobs.blocked_by(order[k]);
    longest[k] = std::max(longest[k + 1], own);
    by[k] = own > longest[k + 1] ? std::optional(order[k]) : by[k + 1];
  }
  Wide prefix = 0;
  verdict.slack = unbounded;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const DeviceTask& task = set.tasks[order[k]];
    prefix += share_of(jobs.times[order[k]].serial(), task.deadline);
    if (k + 1 < order.size() && set.tasks[order[k + 1]].deadline == task.deadline) continue;
    const Wide blocked = Wide{longest[k + 1]} + jobs.blocking.once();
    const Nanos left = bounded(prefix + share_of(blocked, task.deadline));
    verdict.slack = std::min(verdict.slack, time_in(second - left, task.deadline));
    if (verdict.limiting && left <= verdict.left) continue;
    verdict.limiting = order[k];
    verdict.blocker = by[k + 1];
    verdict.instant = task.deadline;
    verdict.blocking = bounded(blocked);
    verdict.demand = bounded(prefix * task.deadline / second);
    conclude(verdict, left, second);
  }
}

// ---- demand ----

/// The real-time tasks as DemandTask, and their indices in the set.
struct DemandSet {
  std::vector<DemandTask> tasks;
  std::vector<std::size_t> index;
  Surroundings others;
};

DemandSet serial_set(const DeviceSet& set, const Volumes& volumes) {
  const SerialJobs jobs(set, volumes);
  DemandSet result;
  Nanos background = 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    if (task.real_time) {
      result.tasks.push_back({.period = task.period,
                              .deadline = task.deadline,
                              .cost = jobs.times[i].serial(),
                              .load = 0,
                              .blocking = jobs.blocking.all_by(jobs.times[i])});
      result.index.push_back(i);
    } else {
      background = std::max(background, jobs.blocked_by(i));
    }
  }
  result.others.background.execution = bounded(Wide{background} + jobs.blocking.once());
  return result;
}

/// Returns the device part of each task, with the charged time to load its chunks under the rule `pipelined`.
std::vector<DevicePart> parts_of(const DeviceSet& set, const Volumes& volumes) {
  const SwapCharges swap(set, volumes);
  const std::uint64_t frames = swap.total() - set.overflow;
  LargestVolumes largest;
  for (const std::uint32_t volume : volumes) largest.add(volume);
  std::vector<DevicePart> parts;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const Nanos execution = set.tasks[i].execution;
    parts.push_back({.execution = execution,
                     .load = swap.load(volumes[i]),
                     .delay = load_delay(execution, volumes[i], largest.other_than(volumes[i]), frames, swap.alpha())});
  }
  return parts;
}

DemandSet pipelined_set(const DeviceSet& set, const Volumes& volumes) {
  const std::vector<DevicePart> parts = parts_of(set, volumes);
  DemandSet result;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    const DevicePart& part = parts[i];
    if (task.real_time) {
      result.tasks.push_back({.period = task.period,
                              .deadline = task.deadline,
                              .cost = part.execution,
                              .load = part.load,
                              .delay = part.delay});
      result.index.push_back(i);
    } else {
      DevicePart& background = result.others.background;
      background.execution = std::max(background.execution, part.execution);
      background.load = std::max(background.load, part.load);
      background.delay = std::max(background.delay, part.delay);
    }
  }
  return result;
}

void demand(const DeviceSet& set, const DemandSet& demanded, DeviceVerdict& verdict) {
  const DemandAnalysis analysis = analyse_demand(demanded.tasks, demanded.others);
  const Demand& at = analysis.tightest;
  verdict.instant = at.instant;
  verdict.demand = bounded(at.demand);
  verdict.blocking = at.blocking;
  verdict.slack = at.slack();
  if (at.blocker) verdict.blocker = demanded.index[*at.blocker];
  for (std::size_t i = 0; i < demanded.tasks.size(); ++i) {
    const DemandTask& task = demanded.tasks[i];
    if (at.instant >= task.deadline && (at.instant - task.deadline) % task.period == 0 && !verdict.limiting)
      verdict.limiting = demanded.index[i];
  }
  conclude(verdict, at.instant - at.slack(), at.instant);
  verdict.proved = analysis.proved();
  if (!verdict.proved) return;
  verdict.responses.assign(set.tasks.size(), 0);
  for (std::size_t i = 0; i < demanded.tasks.size(); ++i)
    verdict.responses[demanded.index[i]] = demanded.tasks[i].deadline - analysis.slack[i];
}

// ---- response times ----

/// Adds the response of one task to the verdict. The other numbers of the verdict belong to the task with the least
/// slack so far.
void keep_worst(DeviceVerdict& verdict, std::size_t task, const DeviceTask& timing, const DeviceResponse& found,
                Nanos blocking) {
  verdict.proved = verdict.proved && found.settled && found.from_release <= timing.deadline;
  verdict.responses[task] = found.from_release;
  const Nanos slack = timing.deadline - found.from_release;
  if (verdict.limiting && slack >= verdict.slack) return;
  verdict.limiting = task;
  verdict.left = found.from_release;
  verdict.right = verdict.instant = timing.deadline;
  verdict.blocking = blocking;
  verdict.demand = found.from_release - blocking;
  verdict.slack = slack;
}

void serial_responses(const DeviceSet& set, const Volumes& volumes, DeviceVerdict& verdict) {
  const SerialJobs jobs(set, volumes);
  std::vector<Load> higher;
  verdict.responses.assign(set.tasks.size(), 0);
  for (std::size_t i = 0; i < set.tasks.size() && verdict.proved; ++i) {
    const DeviceTask& task = set.tasks[i];
    if (!task.real_time) continue;
    Nanos blocked = 0;
    for (std::size_t j = i + 1; j < set.tasks.size(); ++j) blocked = std::max(blocked, jobs.blocked_by(j));
    blocked = bounded(Wide{blocked} + jobs.blocking.once());
    const Nanos cost = jobs.times[i].serial();
    const Nanos out = jobs.times[i].out;
    keep_worst(
        verdict, i, task,
        device_response({task.period, cost, 0}, {.lead = out, .rest = cost - out}, higher, blocked, task.deadline),
        blocked);
    higher.push_back({task.period, cost, 0});
  }
}

/// If a set has more tasks than this, only one charge model of the loads is examined: the model with the least
/// utilisation. There is one model for each value of lambda, the time in which an execution and a load overlap
/// (overlap.hpp)
constexpr std::size_t many = 64;

/// The charges for one value of lambda (the time in which an execution and a load overlap; overlap.hpp), for the tasks
/// that have been examined so far.
struct Charging {
  std::vector<Load> higher;    // loads of the more urgent tasks
  double share = 0;            // the share of the device that the loads in `higher` take
  std::vector<Nanos> blocking; // by task: the longest blocking by this task and less urgent tasks
};

Charging charging_of(const DeviceSet& set, const Overlap& overlap) {
  Charging charging;
  charging.blocking.assign(set.tasks.size() + 1, overlap.background);
  for (std::size_t i = set.tasks.size(); i-- > 0;)
    charging.blocking[i] = std::max(charging.blocking[i + 1], overlap.tasks[i].blocking);
  return charging;
}

/// Computes the responses under the rule `pipelined`, from the most urgent task on. If neither a task nor a more urgent
/// task loads chunks, loads by less urgent tasks do not affect its response. Stops after the first task that is late.
void pipelined_responses(const DeviceSet& set, const Volumes& volumes, DeviceVerdict& verdict) {
  const std::vector<Overlap> all = overlaps(parts_of(set, volumes), {});
  std::vector<Charging> charged;
  for (const Overlap& overlap : all) charged.push_back(charging_of(set, overlap));
  std::vector<Nanos> longest_below(set.tasks.size() + 1, 0);
  for (std::size_t i = set.tasks.size(); i-- > 0;)
    longest_below[i] = std::max(longest_below[i + 1], set.tasks[i].execution);
  std::vector<Load> unloaded;
  bool loads = false;
  verdict.responses.assign(set.tasks.size(), 0);
  for (std::size_t i = 0; i < set.tasks.size() && verdict.proved; ++i) {
    const DeviceTask& task = set.tasks[i];
    if (!task.real_time) continue;
    loads = loads || volumes[i] > 0;
    if (!loads) {
      keep_worst(verdict, i, task,
                 device_response({task.period, task.execution, 0}, unloaded, longest_below[i + 1], task.deadline),
                 longest_below[i + 1]);
    } else {
      std::optional<DeviceResponse> best;
      Nanos blocking = 0;
      const std::size_t least =
          static_cast<std::size_t>(std::ranges::min_element(charged, {}, &Charging::share) - charged.begin());
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (set.tasks.size() > many && k != least) continue;
        const Overlap::Charge& charge = all[k].tasks[i];
        const DeviceResponse found = device_response({task.period, charge.cost, 0}, {charge.lead, task.execution},
                                                     charged[k].higher, charged[k].blocking[i + 1], task.deadline);
        if (best && !(found.settled && (!best->settled || found.from_release < best->from_release))) continue;
        best = found;
        blocking = charged[k].blocking[i + 1];
      }
      keep_worst(verdict, i, task, *best, blocking);
    }
    unloaded.push_back({task.period, task.execution, 0});
    for (std::size_t k = 0; k < all.size(); ++k) {
      charged[k].higher.push_back({task.period, all[k].tasks[i].cost, 0});
      charged[k].share += static_cast<double>(all[k].tasks[i].cost) / static_cast<double>(task.period);
    }
  }
}

} // namespace

std::vector<DeviceTest> device_tests(Order order) {
  if (order == Order::edf) return {DeviceTest::theorem1, DeviceTest::baker, DeviceTest::demand, DeviceTest::pipelined};
  return {DeviceTest::rta, DeviceTest::pipelined};
}

DeviceVerdict test_device(const DeviceSet& set, DeviceTest test, Order order, const Volumes& volumes) {
  DeviceVerdict verdict{.test = test, .proved = true, .volumes = volumes};
  if (!any_real_time(set)) return verdict;
  switch (test) {
  case DeviceTest::theorem1: theorem1(set, volumes, verdict); break;
  case DeviceTest::baker: baker(set, volumes, verdict); break;
  case DeviceTest::demand: demand(set, serial_set(set, volumes), verdict); break;
  case DeviceTest::rta: serial_responses(set, volumes, verdict); break;
  default: // pipelined
    if (order == Order::edf) demand(set, pipelined_set(set, volumes), verdict);
    else pipelined_responses(set, volumes, verdict);
    break;
  }
  return verdict;
}

} // namespace rtexec::policies
