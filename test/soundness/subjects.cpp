#include "test/soundness/subjects.hpp"

#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/scheduler/co_run.hpp"
#include "policies/bounds/priorities.hpp"
#include "policies/bounds/reservations.hpp"
#include "policies/device/volume_search.hpp"
#include "test/policies/reference_analysis.hpp"
#include "test/policies/reference_pipelined.hpp"
#include "test/policies/reference_serial.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/soundness/preemptions.hpp"
#include "test/soundness/edge.hpp"
#include "test/soundness/random_sets.hpp"
#include "test/support/resolved.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtexec::soundness {
namespace {

using policies::DeviceSet;
using policies::DeviceTask;
using policies::DeviceTest;
using policies::DeviceVerdict;
using policies::Nanos;
using policies::StagedTask;
using policies::Volumes;
using simulator::chance;
using simulator::draw;
using test::PipelinedFaults;
using test::SerialFaults;

// ---- the device alone ----

using Judge = std::function<std::optional<Promise>(const DeviceSet&)>;

bool swaps(const DeviceSet& set, const Volumes& volumes) {
  return set.overflow > 0 && std::ranges::count_if(volumes, [](std::uint32_t each) { return each > 0; }) > 1;
}

} // namespace

Claim claim_of(const DeviceSet& set, const Promise& promise, const Way& way) {
  Claim claim;
  claim.plan.order = claim.tasks.executive.order = way.order;
  if (swaps(set, promise.volumes))
    claim.plan.swap =
        SwapPlan{.policy = way.policy,
                 .frames = std::accumulate(promise.volumes.begin(), promise.volumes.end(), 0U) - set.overflow,
                 .copy_engines = set.copy_engines,
                 .cost = set.cost,
                 .store = {}};
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& of = set.tasks[i];
    Task& task = claim.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = Duration(of.period);
    task.deadline = Duration(of.deadline);
    task.core = static_cast<unsigned>(i);
    task.wcet = Wcet{Duration(0), Duration(of.execution), Duration(0)};
    task.criticality = of.real_time ? Criticality::real_time : Criticality::best_effort;
    PlannedTask& planned = claim.plan.tasks.emplace_back();
    planned.name = task.name;
    planned.wcet = *task.wcet;
    planned.period = task.period;
    planned.core_rank = static_cast<unsigned>(i);
    planned.device_rank = way.order == Order::static_priority ? planned.core_rank : of.real_time ? 0 : 1;
    planned.ready_by = planned.device_done_by = planned.done_by = task.deadline;
    if (of.real_time) planned.response_bound = promise.bounds.empty() ? task.deadline : Duration(promise.bounds[i]);
    for (std::uint32_t slot = 0; claim.plan.swap && slot < promise.volumes[i]; ++slot)
      planned.swap_slots.push_back({.slot = slot, .copied_out = slot >= of.constants});
  }
  return claim;
}

void scale(DeviceTask& task, std::int64_t by) {
  task.period = std::max<Nanos>(1, task.period * by / whole);
  task.deadline = std::clamp<Nanos>(task.deadline * by / whole, 1, task.period);
}

DeviceSet charged(DeviceSet set) {
  set.cost = test::charged(set.cost);
  return set;
}

namespace {

DeviceSet scaled(const DeviceSet& original, std::int64_t by) {
  DeviceSet set = original;
  for (DeviceTask& task : set.tasks) scale(task, by);
  return set;
}

std::optional<Claim> device_claim(const Way& way, const Judge& judge, const Judge& unbroken,
                                  const DeviceSet& original) {
  using Found = std::pair<DeviceSet, Promise>;
  const auto found = at_the_edge<Found>(shortest, longest, [&](std::int64_t scale) -> std::optional<Found> {
    DeviceSet set = scaled(original, scale);
    auto promise = judge(set);
    if (!promise) return std::nullopt;
    return Found{std::move(set), std::move(*promise)};
  });
  if (!found || (unbroken && unbroken(found->first))) return std::nullopt;
  return claim_of(found->first, found->second, way);
}

/// True if some load may have to wait for the job that executes.
bool is_tight(const DeviceSet& set) {
  const Volumes volumes = policies::max_of(set);
  return policies::fits(set, volumes) && policies::without_load_room(set, volumes);
}

bool all_given(const DeviceSet& set) {
  return std::ranges::all_of(set.tasks, [](const DeviceTask& task) { return task.least == task.most; });
}

std::optional<Promise> by_test(const DeviceSet& set, const Way& way) {
  const DeviceVerdict verdict = all_given(set) ? policies::test_device(set, way.test, way.order, policies::max_of(set))
                                               : policies::test_device(set, way.test, way.order);
  if (!verdict.proved) return std::nullopt;
  return Promise{verdict.volumes, verdict.responses};
}

/// Returns a subject with fixed volumes that leave no free frames for loads during some job.
Subject tight_subject(const Way& way, unsigned weight) {
  return {"tight " + way.name, weight, [way](Random& random) -> std::optional<Claim> {
            const DeviceSet set = random_device(random, way);
            if (!all_given(set) || !is_tight(charged(set))) return std::nullopt;
            return device_claim(
                way, [&](const DeviceSet& scaled) { return by_test(charged(scaled), way); }, {}, set);
          }};
}

Subject device_subject(const Way& way, unsigned weight) {
  return {way.name, weight, [way](Random& random) {
            return device_claim(
                way, [&](const DeviceSet& set) { return by_test(charged(set), way); }, {}, random_device(random, way));
          }};
}

// ---- deliberate errors ----

std::optional<Promise> by_serial_formula(const DeviceSet& set, const Way& way, const SerialFaults& faults) {
  const Volumes volumes = policies::max_of(set);
  if (way.order == Order::edf) {
    if (!test::reference_serial_edf(set, volumes, way.test == DeviceTest::demand, faults)) return std::nullopt;
    return Promise{volumes, {}};
  }
  const auto bounds = test::reference_serial_static(set, volumes, faults);
  if (!bounds) return std::nullopt;
  return Promise{volumes, {bounds->begin(), bounds->end()}};
}

std::optional<Promise> by_pipelined_formula(const DeviceSet& set, const Way& way, const PipelinedFaults& faults) {
  const Volumes volumes = policies::max_of(set);
  const auto in = set.cost.in_per_chunk.count();
  const auto out = (set.copies_out(volumes) ? set.cost.out_per_chunk : set.cost.drop_per_chunk).count();
  const auto others = std::ranges::count_if(volumes, [](std::uint32_t each) { return each > 0; }) - 1;
  test::PipelinedSet reference;
  reference.frames = std::accumulate(volumes.begin(), volumes.end(), 0U) - set.overflow;
  reference.per_chunk = set.copy_engines > 1 ? std::max(in, out) : in + out;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    if (!task.real_time) return std::nullopt;
    const auto once = set.cost.in_fixed.count() + std::min<Nanos>(volumes[i], others) * set.cost.out_fixed.count() +
                      (set.copy_engines > 1 ? std::min(in, out) : 0);
    reference.tasks.push_back({.period = task.period,
                               .deadline = task.deadline,
                               .device = task.execution,
                               .load = volumes[i] == 0 ? 0 : once + reference.per_chunk * volumes[i],
                               .chunks = volumes[i]});
  }
  const auto bounds = test::reference_pipelined(reference, way.order, faults);
  if (!bounds) return std::nullopt;
  return Promise{volumes, {bounds->begin(), bounds->end()}};
}

/// The error of a test: its formula, or that it charges the measured costs.
enum class Wrong { formula, costs };

Subject broken_device(const std::string& name, const Way& way,
                      std::function<std::optional<Promise>(const DeviceSet&, bool broken)> judge,
                      Wrong wrong = Wrong::formula) {
  return {name, 1, [way, judge, wrong](Random& random) {
            const auto given = [&](const DeviceSet& set, bool broken) {
              if (!all_given(set) || !policies::fits(set, policies::max_of(set))) return std::optional<Promise>();
              return judge(broken && wrong == Wrong::costs ? set : charged(set), broken);
            };
            const bool of_rt_swap = way.policy == SwapPolicy::rt_swap;
            return device_claim(
                way, [&](const DeviceSet& set) { return given(set, true); },
                [&](const DeviceSet& set) { return given(set, false); },
                of_rt_swap ? random_hole(random, way) : random_device(random, way));
          }};
}

Subject broken_serial(const std::string& name, SwapPolicy policy, DeviceTest test, const SerialFaults& faults) {
  const Way way{name, policy, test, test == DeviceTest::rta ? Order::static_priority : Order::edf};
  return broken_device(name, way, [way, faults](const DeviceSet& set, bool broken) {
    return by_serial_formula(set, way, broken ? faults : SerialFaults{});
  });
}

Subject broken_pipelined(const std::string& name, Order order, unsigned engines, const PipelinedFaults& faults) {
  const Way way{name, SwapPolicy::pipelined, DeviceTest::pipelined, order, engines};
  return broken_device(name, way, [way, faults](const DeviceSet& set, bool broken) {
    return by_pipelined_formula(set, way, broken ? faults : PipelinedFaults{});
  });
}

Subject dear_drops(const std::string& name, const Way& way) {
  return broken_device(
      name, way,
      [way](const DeviceSet& set, bool) {
        return way.policy == SwapPolicy::pipelined ? by_pipelined_formula(set, way, {})
                                                   : by_serial_formula(set, way, {});
      },
      Wrong::costs);
}

Subject theorem1() {
  const Way way{"theorem1", SwapPolicy::rt_swap, DeviceTest::theorem1, Order::edf};
  const auto covered = [](const DeviceTask& task) { return task.real_time && task.deadline == task.period; };
  return broken_device(way.name, way, [way, covered](const DeviceSet& set, bool broken) {
    return std::ranges::all_of(set.tasks, covered)
               ? by_test(set, {way.name, way.policy, broken ? DeviceTest::theorem1 : DeviceTest::demand, way.order})
               : std::nullopt;
  });
}

// ---- end to end ----

struct EndToEnd {
  SwapPolicy policy{};
  Order order{};
  bool swaps = true;
  Cores cores = Cores::by_priority;
};

ResolvedSet resolved(const WholeSet& set) { return test::resolved(set.tasks, set.board, set.cores); }

/// Returns the service threads as the plan charged them: without late jobs, if that gives the plan's reservations.
std::optional<policies::ServiceThreads> services_of(const Plan& plan, const ResolvedSet& set) {
  const auto charged = [&](policies::Lateness lateness) {
    return policies::charged_set(plan, set, policies::by_urgency(set.tasks), lateness).services;
  };
  const auto in_time = charged(policies::Lateness::none);
  return in_time && in_time->reserved == plan.services ? in_time : charged(policies::Lateness::any);
}

bool is_ahead(const Plan& plan, const PlannedTask& task) {
  return plan.launch_ahead > 0 && task.segments > 1 && !task.stream;
}

bool makes_others_leave(const Plan& plan, std::size_t task) {
  for (std::size_t other = 0; other < plan.tasks.size(); ++other) {
    const std::uint32_t own = plan.tasks[task].device_class, its = plan.tasks[other].device_class;
    if (other != task && is_ahead(plan, plan.tasks[other]) && (its > own || its + own == 0)) return true;
  }
  return false;
}

/// Adds the machine's overheads that the plan's costs do not contain to the parts: switches, dispatch, decisions.
void add_machine(Claim& claim, const ResolvedSet& set) {
  const Board& board = set.board;
  const auto services = services_of(claim.plan, set);
  if (services) claim.decision = Duration(services->decision);
  for (std::size_t i = 0; i < claim.tasks.tasks.size(); ++i) {
    PlannedTask& planned = claim.plan.tasks[i];
    Wcet& wcet = planned.wcet;
    wcet.before += 2 * board.context_switch;
    wcet.after += 2 * board.context_switch;
    // Includes spurious wake-ups.
    if (planned.before_reservation) wcet.before = planned.before_reservation->runtime;
    if (planned.after_reservation) wcet.after = planned.after_reservation->runtime;
    const Duration dispatched = 2 * board.dispatch + claim.decision;
    const Duration after_others = makes_others_leave(claim.plan, i) ? dispatched : Duration(0);
    if (wcet.uses_device()) wcet.device += dispatched + after_others;
    for (Duration& segment : planned.segment_wcets) {
      const bool last = &segment == &planned.segment_wcets.back();
      Duration added = dispatched + (last ? after_others : Duration(0));
      if (!last && is_ahead(claim.plan, planned))
        added = std::max(dispatched - segment, Duration(0)) + board.cut.value_or(board.dispatch);
      segment += added;
      if (!last) wcet.device += added;
    }
    if (planned.co_run) {
      planned.co_run->wcet += dispatched;
      if (planned.co_run->idle) *planned.co_run->idle += dispatched; // this keeps the pairs as they are
    }
    claim.co_runs.push_back(planned.co_run);
    claim.tasks.tasks[i].wcet = wcet;
  }
  if (claim.plan.swap) {
    claim.plan.swap->cost = board.swap_costs[0]; // the real costs, not the charged ones
    claim.plan.swap->cost.in_fixed += board.dispatch + claim.decision;
  }
  if (services && services->pauses)
    claim.pause =
        Duration(policies::longest_pause + policies::with_pauses(board.platform_stall.count())) - board.platform_stall;
}

void add_budgets(Claim& claim, const WholeSet& set) {
  if (set.tasks.core_budgets.empty()) return;
  const BandwidthOptions& options = set.tasks.bandwidth;
  for (const CoreBudget& each : set.tasks.core_budgets)
    claim.regulated.push_back({.core = each.core,
                               .period = options.period,
                               .budget = policies::lines_of(each.budget, set.board.counters[0].line, options.period),
                               .line = set.line,
                               .overshoot = options.overshoot,
                               .tick = policies::event_cost(set.board.context_switch),
                               .latency = {},
                               .burst = {}});
  const auto time = [&](const std::optional<Bytes>& traffic) {
    return set.line * static_cast<std::int64_t>(traffic.value_or(Bytes{0}).count / set.board.counters[0].line.count);
  };
  for (const Task& task : set.tasks.tasks)
    claim.traffic.push_back({time(task.traffic_before), time(task.traffic_after)});
}

/// Adds interference that uses the tenth of each core that reservations leave, and the reservations of the service
/// threads. A core with only one task gets none.
void add_interference(Claim& claim, const ResolvedSet& set, Random& random) {
  for (const unsigned core : set.machine.cores) {
    std::vector<Duration> windows;
    for (const PlannedTask& task : claim.plan.tasks)
      if (task.core == core && task.before_reservation)
        windows.insert(windows.end(), {task.before_reservation->window, task.after_reservation->window});
    if (windows.empty() || (windows.size() == 2 && core != set.service_core)) continue;
    const Duration like =
        windows[static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(windows.size()) - 1))];
    const Duration window = std::max(Duration(policies::shortest_window), like * draw(random, 1, 20) / 10);
    claim.interference.push_back({.core = core, .reservation = {.runtime = window / 10, .window = window}});
  }
  const auto serve = [&](const CpuReservation& reservation) {
    claim.interference.push_back({.core = set.service_core, .reservation = reservation});
  };
  serve(claim.plan.services->scheduler);
  for (int engine = 0; claim.plan.services->copy && engine < 2; ++engine) serve(*claim.plan.services->copy);
}

/// Returns a time longer than any job's busy window: a busy period, and what its earliest job did before.
Duration between_stops(const WholeSet& set) {
  Duration period{0};
  for (const Task& task : set.tasks.tasks) period = std::max(period, task.period);
  return 2 * (period + set.board.platform_stall);
}

/// Returns the claim of a plan for the set, proved or not.
std::optional<Claim> planned(const WholeSet& set, Random& random) {
  Claim claim;
  claim.tasks = set.tasks;
  claim.release_latency = set.board.release_latency;
  claim.platform_stall = set.board.platform_stall;
  claim.between = between_stops(set);
  const ResolvedSet machine = resolved(set);
  auto plan = policies::make_plan(machine, set.memory, set.layered);
  if (!plan) return std::nullopt;
  claim.plan = std::move(*plan);
  if (set.tasks.executive.threads == ThreadPolicy::deadline) add_interference(claim, machine, random);
  else add_budgets(claim, set);
  add_machine(claim, machine);
  return claim;
}

WholeSet scaled(const WholeSet& original, std::int64_t scale) {
  WholeSet set = original;
  for (Task& task : set.tasks.tasks) {
    task.period = std::max(Duration(1), task.period * scale / whole);
    task.deadline = std::clamp(task.deadline * scale / whole, Duration(1), task.period);
  }
  return set;
}

std::optional<Claim> proved_claim(Random& random, const WholeSet& original) {
  return at_the_edge<Claim>(shortest, longest, [&](std::int64_t scale) {
    auto claim = planned(scaled(original, scale), random);
    return claim && claim->plan.proved ? std::move(claim) : std::nullopt;
  });
}

std::optional<Claim> whole_claim(Random& random, const EndToEnd& kind) {
  return proved_claim(random, random_whole(random, kind.policy, kind.order, kind.swaps, kind.cores));
}

/// Draws a proved set whose jobs execute concurrently.
std::optional<Claim> co_running_claim(Random& random, Order order) {
  auto claim = proved_claim(random, random_co_running(random, order));
  return claim && claim->plan.co_runs() ? std::move(claim) : std::nullopt;
}

/// Draws a proved set with cut jobs or with classes.
std::optional<Claim> divided_claim(Random& random, Order order, bool swaps, Cores cores) {
  auto claim = proved_claim(random, random_divisible(random, order, swaps, cores));
  const auto divided = [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; };
  return claim && std::ranges::any_of(claim->plan.tasks, divided) ? std::move(claim) : std::nullopt;
}

// ---- chains ----

/// Draws a proved set with chains. `change` modifies the chains' bounds, or returns false to change none.
std::optional<Claim> chain_claim(Random& random, Order order, Cores cores,
                                 const std::function<bool(const Claim&, PlannedChain&)>& change = {}) {
  auto claim = proved_claim(random, random_chained(random, order, cores));
  const auto bounded = [&](PlannedChain& chain) {
    return (chain.reaction || chain.reduced_age) && (!change || change(*claim, chain));
  };
  if (!claim || std::ranges::count_if(claim->plan.chains, bounded) == 0) return std::nullopt;
  return claim;
}

Subject chains(const std::string& name, Order order, Cores cores) {
  return {name, 2, [order, cores](Random& random) { return chain_claim(random, order, cores); }};
}

/// Returns a subject whose bound of a reaction time lacks a part of the sum.
Subject broken_chains(const std::string& name,
                      const std::function<Duration(const Claim&, const PlannedChain&)>& left_out) {
  return {name, 1, [left_out](Random& random) {
            const auto change = [&](const Claim& claim, PlannedChain& chain) {
              if (!chain.reaction) return false;
              const Duration less = left_out(claim, chain);
              *chain.reaction -= less;
              return less > Duration(0);
            };
            return chain_claim(random, chance(random, 50) ? Order::edf : Order::static_priority, Cores::by_priority,
                               change);
          }};
}

/// Returns how much longer than the common step of the two grids a timer waits.
Duration phases(const Claim& claim, const PlannedChain& chain) {
  Duration sum{0};
  const Task* before = nullptr; // the task whose grid the data come on
  for (const ChainTerm& term : chain.terms) {
    const Task& task = *std::ranges::find(claim.tasks.tasks, term.task, &Task::name);
    if (task.trigger == Trigger::after) continue;
    if (before != nullptr && before->trigger == Trigger::timer)
      sum += term.waits - task.period + Duration(std::gcd(before->period.count(), task.period.count()));
    before = &task;
  }
  return sum;
}

/// Returns the time of tasks that are sampled by a less urgent task of their core, while they wait for the device.
Duration waiting(const Claim& claim, const PlannedChain& chain) {
  Duration sum{0};
  for (std::size_t i = 0; i + 1 < chain.terms.size(); ++i) {
    const auto place = [&](const ChainTerm& term) {
      return static_cast<std::size_t>(std::ranges::find(claim.tasks.tasks, term.task, &Task::name) -
                                      claim.tasks.tasks.begin());
    };
    const std::size_t next = place(chain.terms[i + 1]);
    const PlannedTask &task = claim.plan.tasks[place(chain.terms[i])], &other = claim.plan.tasks[next];
    if (chain.communicate == Communication::immediate && claim.tasks.tasks[next].trigger != Trigger::after &&
        task.wcet.uses_device() && task.core == other.core && task.core_rank < other.core_rank)
      sum += chain.terms[i].takes;
  }
  return sum;
}

// ---- tasks that connect, change and leave ----

Subject exchanges(const std::string& name, const ExchangeWay& way, Mistake mistake = Mistake::none) {
  return {name, 1, {}, [way, mistake](Random& random, const auto& tell) {
            return exchange_tasks(way, mistake, random, tell);
          }};
}

// ---- deliberate errors end to end ----

/// The set as an analysis sees it.
struct Seen {
  policies::NamedSet named;
  const ResolvedSet& machine;
  const Plan& plan;
};
using Error = std::function<void(Seen&)>;

/// Sets the bounds that the analyses give for the set as seen. Returns false if some deadline is missed.
bool promise(Claim& claim, const Seen& seen, std::span<const std::size_t> urgency) {
  const policies::StagedSet& set = seen.named.set;
  std::vector<policies::StageBounds> bounds;
  bool proved = !seen.named.obstacle;
  const auto take = [&](const policies::EdfBounds& found) {
    bounds = found.tasks;
    proved = proved && found.proved();
  };
  if (!seen.named.services) {
    if (claim.plan.order == Order::edf) take(policies::edf_bounds(set));
    else bounds = policies::static_priority_bounds(set);
  } else if (claim.plan.order == Order::edf) {
    const auto found = policies::reserved_edf_bounds(set, *seen.named.services);
    take(found.bounds);
    proved = proved && found.fits;
  } else {
    const auto found = policies::reserved_static_priority_bounds(set, *seen.named.services);
    bounds = found.bounds;
    proved = proved && found.fits;
  }
  if (!proved || bounds.size() != set.tasks.size()) return false;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!bounds[i].settled || bounds[i].done > set.tasks[i].deadline) return false;
    PlannedTask& task = claim.plan.tasks[urgency[i]];
    task.ready_by = Duration(bounds[i].ready);
    task.device_done_by = Duration(bounds[i].device_done);
    task.response_bound = Duration(bounds[i].done);
  }
  return true;
}

/// True if an analysis with the error accepts the set; the claim then has its bounds. Nothing is swapped.
bool promise_with(const Error& error, const WholeSet& set, Claim& claim) {
  const ResolvedSet machine = resolved(set);
  const std::vector<std::size_t> urgency = policies::by_urgency(machine.tasks);
  const Plan plan = policies::make_plan(machine, set.memory).value();
  Seen seen{policies::charged_set(plan, machine, urgency, policies::Lateness::any), machine, plan};
  error(seen);
  return promise(claim, seen, urgency);
}

/// Returns a subject whose analysis omits charges.
Subject uncharged(const std::string& name, const std::function<WholeSet(Random&)>& next, const Error& error) {
  return {name, 1, [next, error](Random& random) -> std::optional<Claim> {
            const WholeSet original = next(random);
            bool known = false; // true: the correct analysis accepts the set
            auto found = at_the_edge<Claim>(shortest, longest, [&](std::int64_t scale) -> std::optional<Claim> {
              const WholeSet set = scaled(original, scale);
              auto claim = planned(set, random);
              if (!claim) return std::nullopt;
              known = claim->plan.proved;
              return promise_with(error, set, *claim) ? std::move(claim) : std::nullopt;
            });
            return known ? std::nullopt : std::move(found);
          }};
}

Subject uncharged(const std::string& name, Order order, Cores cores, const Error& error) {
  return uncharged(
      name, [order, cores](Random& random) { return random_whole(random, SwapPolicy::none, order, false, cores); },
      error);
}

/// Returns a subject whose analysis omits the cost of co-running for tasks for which `left_out` holds.
Subject uncharged_co_run(const std::string& name, Order order, const std::function<bool(const CoRun&)>& left_out) {
  return uncharged(
      name, [order](Random& random) { return random_co_running(random, order); },
      [left_out](Seen& seen) {
        for (std::size_t i = 0; i < seen.named.names.size(); ++i) {
          const PlannedTask& task = *std::ranges::find(seen.plan.tasks, seen.named.names[i], &PlannedTask::name);
          if (task.co_run && left_out(*task.co_run))
            seen.named.set.tasks[i].device -= (task.co_run->wcet - task.wcet.device).count();
        }
      });
}

/// Returns a subject whose scheduler assumes wrong co-running times.
Subject deceived(const std::string& name, Order order, const std::function<void(CoRun&)>& change) {
  return {name, 1, [order, change](Random& random) {
            auto claim = co_running_claim(random, order);
            for (std::size_t i = 0; claim && i < claim->plan.tasks.size(); ++i)
              if (auto& co_run = claim->plan.tasks[i].co_run) change(*co_run);
            return claim;
          }};
}

void nobody_else(Seen& seen) {
  for (StagedTask& task : seen.named.set.tasks) task.alone = true;
}

/// Charges only the fraction `part` / `of` of the release jitter that platform stalls add.
Error charge_stops(Nanos part, Nanos of) {
  return [part, of](Seen& seen) {
    policies::StagedSet& set = seen.named.set;
    const Nanos charged = 2 * set.platform_stall;
    set.release_jitter -= charged - charged * part / of;
  };
}

/// Charges S instead of 2 S, with the set and the two stalls that refute it.
Subject one_stop_charged(const std::string& name) {
  return {name, 1, [](Random& random) -> std::optional<Claim> {
            const test::TwoStops example;
            const WholeSet set{.tasks = example.tasks,
                               .board = example.board(),
                               .memory = std::vector<MemoryDemand>(example.tasks.tasks.size()),
                               .cores = {0}};
            auto claim = planned(set, random);
            if (!claim || !promise_with(charge_stops(1, 2), set, *claim)) return std::nullopt;
            claim->script = example;
            return claim;
          }};
}

/// Takes the reservations of a proved plan, and makes each a fifth too large for its core.
Subject crowded_cores(const std::string& name, Order order) {
  return {name, 1, [order](Random& random) {
            auto found = whole_claim(random, {SwapPolicy::none, order, false, Cores::reserved});
            for (std::size_t i = 0; found && i < found->plan.tasks.size(); ++i) {
              PlannedTask& task = found->plan.tasks[i];
              if (!task.before_reservation) continue;
              for (CpuReservation* each : {&*task.before_reservation, &*task.after_reservation})
                each->window = each->window * 4 / 5;
              const Duration first = task.before_reservation->window / 4, last = task.after_reservation->window / 4;
              task.ready_by -= first;
              *task.response_bound -= task.wcet.uses_device() ? last : first + last;
            }
            return found;
          }};
}

/// Returns a second implementation of the end-to-end analyses, with an error. Nothing is swapped.
Subject broken_stages(const std::string& name, Order order, const test::Faults& faults) {
  return {name, 1, [order, faults](Random& random) -> std::optional<Claim> {
            WholeSet original = random_whole(random, SwapPolicy::none, order, false);
            const auto judged = [&](const Claim& claim, const test::Faults& with) {
              policies::StagedSet set;
              set.release_jitter = claim.release_latency.count();
              for (const Task& task : claim.tasks.tasks) {
                policies::StagedTask& part = set.tasks.emplace_back();
                part.period = task.period.count();
                part.deadline = task.deadline.count();
                part.before = std::max<Nanos>(1, task.wcet->before.count());
                part.device = task.wcet->device.count();
                part.after = std::max<Nanos>(1, task.wcet->after.count());
                part.core = claim.plan.tasks[set.tasks.size() - 1].core;
              }
              return order == Order::edf ? test::reference_edf(set, {}, with) : test::reference_static(set, with);
            };
            for (Task& task : original.tasks.tasks) task.criticality = Criticality::real_time;
            auto found = at_the_edge<Claim>(shortest, longest, [&](std::int64_t scale) -> std::optional<Claim> {
              auto planned_claim = planned(scaled(original, scale), random);
              if (!planned_claim) return std::nullopt;
              Claim& claim = *planned_claim;
              const auto bounds = judged(claim, faults);
              if (!bounds) return std::nullopt;
              for (std::size_t i = 0; i < bounds->size(); ++i) {
                PlannedTask& task = claim.plan.tasks[i];
                task.ready_by = Duration((*bounds)[i].ready);
                task.device_done_by = Duration((*bounds)[i].device_done);
                task.response_bound = Duration((*bounds)[i].done);
              }
              return planned_claim;
            });
            if (found && judged(*found, {})) return std::nullopt;
            return found;
          }};
}

} // namespace

/// If the jobs cannot overlap completely, the execution that does not fit into the waiting time adds to the time.
Duration Claim::longest_co_run(std::size_t task, std::size_t other) const {
  const CoRun &own = *co_runs[task], &theirs = *co_runs[other];
  if (policies::may_pair(own, theirs)) return own.wcet;
  if (own.idle.has_value() == theirs.idle.has_value()) return own.wcet + theirs.wcet;
  return own.wcet + (own.idle ? theirs.wcet - *own.idle : own.wcet - *theirs.idle);
}

std::vector<Way> device_ways() {
  std::vector<Way> ways;
  for (const auto& [policy, name] :
       {std::pair(SwapPolicy::serial, std::string("serial")), std::pair(SwapPolicy::rt_swap, std::string("rt-swap"))})
    for (const DeviceTest test : {DeviceTest::baker, DeviceTest::demand, DeviceTest::rta})
      ways.push_back({std::string(to_string(test)) + " " + name, policy, test,
                      test == DeviceTest::rta ? Order::static_priority : Order::edf});
  for (const Order order : {Order::edf, Order::static_priority})
    for (const unsigned engines : {1U, 2U})
      ways.push_back({std::string("pipelined ") + (order == Order::edf ? "edf " : "static ") + std::to_string(engines),
                      SwapPolicy::pipelined, DeviceTest::pipelined, order, engines});
  return ways;
}

std::vector<Subject> sound_tests() {
  std::vector<Subject> subjects;
  for (const Way& way : device_ways())
    subjects.push_back(
        device_subject(way, way.test == DeviceTest::pipelined || way.policy == SwapPolicy::serial ? 4 : 3));
  constexpr std::pair<SwapPolicy, const char*> policies[] = {{SwapPolicy::none, "all fits"},
                                                             {SwapPolicy::pipelined, "pipelined"},
                                                             {SwapPolicy::serial, "serial"},
                                                             {SwapPolicy::rt_swap, "rt-swap"},
                                                             {SwapPolicy::lru, "lru"}};
  for (const auto& [policy, name] : policies)
    for (const Order order : {Order::edf, Order::static_priority}) {
      const EndToEnd kind{policy, order, policy != SwapPolicy::none};
      subjects.push_back({std::string("end-to-end ") + (order == Order::edf ? "edf " : "static ") + name, 1,
                          [kind](Random& random) { return whole_claim(random, kind); }});
    }
  for (const auto& [cores, on] : {std::pair(Cores::regulated, "budgets "), std::pair(Cores::reserved, "reserved ")})
    for (const auto& [policy, name] : {policies[0], policies[1], policies[2]})
      for (const Order order : {Order::edf, Order::static_priority}) {
        const EndToEnd kind{policy, order, policy != SwapPolicy::none, cores};
        subjects.push_back({std::string(on) + (order == Order::edf ? "edf " : "static ") + name, 2,
                            [kind](Random& random) { return whole_claim(random, kind); }});
      }
  for (const Order order : {Order::edf, Order::static_priority})
    subjects.push_back({std::string("co-run ") + (order == Order::edf ? "edf" : "static"), 2,
                        [order](Random& random) { return co_running_claim(random, order); }});
  subjects.push_back(chains("chains edf", Order::edf, Cores::by_priority));
  subjects.push_back(chains("chains static", Order::static_priority, Cores::by_priority));
  subjects.push_back(chains("chains reserved", Order::edf, Cores::reserved));
  for (const auto& [policy, name] : std::span(policies).subspan(1))
    for (const Order order : {Order::edf, Order::static_priority})
      for (const unsigned engines : {1U, 2U})
        subjects.push_back(exchanges(std::string("exchanges ") + (order == Order::edf ? "edf " : "static ") + name +
                                         " " + std::to_string(engines),
                                     {policy, order, engines}));
  for (Subject& subject : divided_tests()) subjects.push_back(std::move(subject));
  for (const bool swaps : {false, true})
    for (const Order order : {Order::edf, Order::static_priority})
      subjects.push_back(
          {std::string("segmented plans ") + (order == Order::edf ? "edf " : "static ") +
               (swaps ? "pipelined" : "all fits"),
           2, [order, swaps](Random& random) { return divided_claim(random, order, swaps, Cores::by_priority); }});
  for (const auto& [name, cores] :
       {std::pair("segmented budgets", Cores::regulated), std::pair("segmented reserved", Cores::reserved)})
    subjects.push_back({name, 1, [cores](Random& random) {
                          const Order order = chance(random, 50) ? Order::edf : Order::static_priority;
                          return divided_claim(random, order, chance(random, 50), cores);
                        }});
  for (const Way& way : device_ways())
    if (way.test == DeviceTest::pipelined) subjects.push_back(tight_subject(way, 4));
  return subjects;
}

std::vector<Subject> broken_tests() {
  constexpr Order edf = Order::edf, fixed = Order::static_priority;
  std::vector<Subject> subjects{
      theorem1(),
      broken_serial("rt-swap: chunks that leave for others not charged", SwapPolicy::rt_swap, DeviceTest::baker,
                    {.uncharged = true}),
      broken_serial("serial demand: no blocking", SwapPolicy::serial, DeviceTest::demand, {.blocking = true}),
      broken_serial("serial demand: running job free", SwapPolicy::serial, DeviceTest::demand, {.running_job = true}),
      broken_serial("serial demand: swap-outs free", SwapPolicy::serial, DeviceTest::demand, {.swap_out = true}),
      broken_serial("serial demand: one chunk less", SwapPolicy::serial, DeviceTest::demand, {.one_chunk_less = true}),
      broken_serial("serial demand: only first jobs", SwapPolicy::serial, DeviceTest::demand, {.first_job = true}),
      broken_serial("serial demand: D taken for T", SwapPolicy::serial, DeviceTest::demand, {.deadlines = true}),
      broken_serial("serial rta: no blocking", SwapPolicy::serial, DeviceTest::rta, {.blocking = true}),
      broken_serial("serial rta: only first jobs", SwapPolicy::serial, DeviceTest::rta, {.first_job = true}),
      broken_serial("serial rta: never overtaken", SwapPolicy::serial, DeviceTest::rta, {.lead = true}),
      broken_pipelined("pipelined edf 1: staged load free", edf, 1, {.staged_load = true}),
      broken_pipelined("pipelined static 2: staged load free", fixed, 2, {.staged_load = true}),
      broken_pipelined("pipelined edf 2: running job free", edf, 2, {.running_job = true}),
      broken_pipelined("pipelined edf 2: max(C, o) each", edf, 2, {.pairing = true}),
      broken_pipelined("pipelined edf 1: loads never delayed", edf, 1, {.delay = true}),
      broken_pipelined("pipelined static 1: bypass costs C", fixed, 1, {.bypass = true}),
      dear_drops("pipelined edf 2: a drop costs a copy",
                 {"dear drops", SwapPolicy::pipelined, DeviceTest::pipelined, edf, 2}),
      dear_drops("serial rta: a drop costs a copy", {"dear drops", SwapPolicy::serial, DeviceTest::rta, fixed}),
      broken_stages("end-to-end static: no device blocking", fixed, {.device_blocking = true}),
      broken_stages("end-to-end static: last part's jitter", fixed, {.last_part_jitter = true}),
      broken_stages("end-to-end static: suspension", fixed, {.suspension = true}),
      broken_stages("end-to-end edf: deadlines from request", edf, {.stage_deadline = true}),
      broken_stages("end-to-end edf: release jitter", edf, {.release_jitter = true}),
      uncharged("end-to-end edf: dispatch", edf, Cores::by_priority,
                [](Seen& seen) {
                  for (StagedTask& task : seen.named.set.tasks)
                    task.device =
                        std::max<Nanos>(task.uses_device(), task.device - 2 * seen.machine.board.dispatch.count());
                }),
      uncharged("end-to-end static: context switches", fixed, Cores::by_priority,
                [](Seen& seen) {
                  const Nanos switches = 2 * seen.machine.board.context_switch.count();
                  for (StagedTask& task : seen.named.set.tasks) {
                    task.before = std::max<Nanos>(1, task.before - switches);
                    task.after = std::max<Nanos>(1, task.after - switches);
                  }
                }),
      uncharged("placement: tasks without a core are alone", fixed, Cores::by_priority,
                [](Seen& seen) {
                  for (std::size_t i = 0; i < seen.named.names.size(); ++i) {
                    const auto task = std::ranges::find(seen.machine.tasks.tasks, seen.named.names[i], &Task::name);
                    if (!task->core) seen.named.set.tasks[i].core = static_cast<unsigned>(1000 + i);
                  }
                }),
      uncharged("abort-job: what is given up blocks nobody", fixed, Cores::by_priority,
                [](Seen& seen) {
                  const auto blocks = [](const Task& task) {
                    return !task.real_time() && task.on_overrun != OnOverrun::abort_job;
                  };
                  if (std::ranges::none_of(seen.machine.tasks.tasks, blocks)) seen.named.set.background = 0;
                }),
      uncharged("budgets static: held as a part begins", fixed, Cores::regulated,
                [](Seen& seen) {
                  for (policies::RegulatedCore& core : seen.named.set.regulated) core.once = 0;
                }),
      uncharged("budgets edf: one stall in a window", edf, Cores::regulated,
                [](Seen& seen) {
                  for (policies::RegulatedCore& core : seen.named.set.regulated) core.budget = policies::unbounded;
                }),
      uncharged("budgets static: ticks", fixed, Cores::regulated,
                [](Seen& seen) {
                  for (policies::RegulatedCore& core : seen.named.set.regulated) core.tick.cost = 0;
                }),
      uncharged("budgets static: overshoot", fixed, Cores::regulated,
                [](Seen& seen) {
                  for (policies::RegulatedCore& core : seen.named.set.regulated) {
                    core.overshoot = 0;
                    core.once = core.stall;
                  }
                }),
      crowded_cores("reserved edf: a fifth too much on a core", edf),
      crowded_cores("reserved static: a fifth too much on a core", fixed),
      uncharged("reserved static: decisions take no time", fixed, Cores::reserved,
                [](Seen& seen) {
                  for (StagedTask& task : seen.named.set.tasks)
                    if (task.uses_device())
                      task.device = std::max<Nanos>(1, task.device - seen.named.services->decision);
                }),
      uncharged("end-to-end edf: stops are free", edf, Cores::by_priority, charge_stops(0, 2)),
      uncharged("end-to-end static: stops are free", fixed, Cores::by_priority, charge_stops(0, 2)),
      uncharged("end-to-end static: half of one stop", fixed, Cores::by_priority, charge_stops(1, 4)),
      uncharged("end-to-end edf: half of one stop", edf, Cores::by_priority, charge_stops(1, 4)),
      one_stop_charged("end-to-end static: one stop of two"),
      uncharged("reserved edf: stops are free", edf, Cores::reserved, charge_stops(0, 2)),
      uncharged("reserved static: half of one stop", fixed, Cores::reserved, charge_stops(1, 4)),
      uncharged("reserved static: stops leave no backlog", fixed, Cores::reserved,
                [](Seen& seen) {
                  for (StagedTask& task : seen.named.set.tasks) task.backlog = 0;
                }),
      uncharged("reserved edf: each task has its core for itself", edf, Cores::reserved, nobody_else),
      uncharged("reserved static: each task has its core for itself", fixed, Cores::reserved, nobody_else),
      uncharged("reserved edf: the engine never pauses", edf, Cores::reserved,
                [](Seen& seen) { seen.named.set.device_delay = 0; }),
      uncharged_co_run("co-run edf: beside others as alone", edf, [](const CoRun&) { return true; }),
      uncharged_co_run("co-run static: what executes is free", fixed, [](const CoRun& task) { return !task.idle; }),
      uncharged_co_run("co-run edf: what waits is free", edf, [](const CoRun& task) { return task.idle.has_value(); }),
      deceived("co-run edf: partners that do not fit", edf,
               [](CoRun& task) {
                 if (task.idle) task.idle = Duration::max();
               }),
      deceived("co-run static: partners that do not fit", fixed,
               [](CoRun& task) {
                 if (task.idle) task.idle = Duration::max();
               }),
      deceived("co-run edf: partners longer than the head", edf,
               [](CoRun& task) {
                 if (task.idle) task.wcet = Duration(1);
               }),
      deceived("co-run static: partners longer than the head", fixed,
               [](CoRun& task) {
                 if (task.idle) task.wcet = Duration(1);
               }),
      broken_chains("chains: the event waits for nothing",
                    [](const Claim&, const PlannedChain& chain) { return chain.terms.front().waits; }),
      broken_chains("chains: what is read was sampled at the release",
                    [](const Claim&, const PlannedChain& chain) { return chain.input_delay.value_or(Duration(0)); }),
      broken_chains("chains: the last response is free",
                    [](const Claim&, const PlannedChain& chain) { return chain.terms.back().takes; }),
      broken_chains("chains: samples wait for nothing",
                    [](const Claim&, const PlannedChain& chain) {
                      Duration sum{0};
                      for (const ChainTerm& term : chain.terms) sum += term.waits;
                      return sum - chain.terms.front().waits;
                    }),
      broken_chains("chains: grids in phase", phases),
      broken_chains("chains: nothing begins while a task waits for the device", waiting),
      exchanges("exchanges edf lru: who grows comes back at once", {SwapPolicy::lru, edf, 1}, Mistake::returns_at_once),
      exchanges("exchanges edf: who grows comes back at once, serial", {SwapPolicy::serial, edf, 1},
                Mistake::returns_at_once),
      exchanges("exchanges edf: a process ends too early", {SwapPolicy::pipelined, edf, 1}, Mistake::frames_too_early),
      exchanges("exchanges edf: released before it came", {SwapPolicy::serial, edf, 1}, Mistake::released_before),
      exchanges("exchanges static: a newcomer changes no rank", {SwapPolicy::pipelined, fixed, 2}, Mistake::old_ranks),
      exchanges("exchanges edf: who went is forgotten", {SwapPolicy::pipelined, edf, 2}, Mistake::forgets_who_went),
      exchanges("exchanges static: who went is forgotten", {SwapPolicy::pipelined, fixed, 2},
                Mistake::forgets_who_went),
      exchanges("exchanges edf: declared after a job", {SwapPolicy::pipelined, edf, 2}, Mistake::forgets_what_it_was),
      exchanges("exchanges edf: told late that all fit", {SwapPolicy::pipelined, edf, 2}, Mistake::tells_late),
      broken_pipelined("pipelined static 2: loads never delayed", fixed, 2, {.delay = true}),
  };
  for (Subject& subject : broken_divided_tests()) subjects.push_back(std::move(subject));
  return subjects;
}

} // namespace rtexec::soundness
