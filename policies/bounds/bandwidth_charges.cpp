#include "policies/bounds/bandwidth_charges.hpp"

#include "config/counter_events.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "policies/bounds/charges.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::policies {
namespace {

Wide quotient_up(Wide a, Wide b) { return (a + b - 1) / b; }

// ---- the counter ----

/// True if the event does not count memory traffic, but is used as a substitute for a counter of memory traffic.
bool stands_in(std::string_view event) { return config::meaning_of(event) != config::EventMeaning::traffic; }

/// True if `core` stalls when the budget of `budget.core` is used up. The core stalls if both cores are the same core,
/// or if one counter counts the events of a cluster that contains both cores.
bool governs(const CoreBudget& budget, const CounterFacts& counter, unsigned core) {
  if (core == budget.core) return true;
  return counter.cluster && (counter.cores.empty() || std::ranges::find(counter.cores, core) != counter.cores.end());
}

/// Returns the highest bandwidth at which one core can move memory lines; 0 if unknown.
Bandwidth peak(const CounterFacts& counter, const Board& board) {
  return stands_in(counter.event) ? Bandwidth{} : board.memory.core_bandwidth;
}

bool carries(const TaskSet& tasks) { return tasks.bandwidth.overshoot == Overshoot::carry; }

// ---- the charge ----

/// Returns the least time in which a core with bandwidth `peak` moves `lines` memory lines of `line` bytes.
Nanos moving(Nanos lines, Bytes line, Bandwidth peak) {
  constexpr Wide most = Wide{1} << 64;
  return bounded(std::min(Wide{lines} * line.count, most) * second / peak.bytes_per_second);
}

RegulatedCore charge_of(const CoreBudget& budget, const CounterFacts& counter, const ResolvedSet& set) {
  const TaskSet& tasks = set.tasks;
  const Board& board = set.board;
  const Nanos period = tasks.bandwidth.period.count();
  const Nanos latency = board.release_latency.count();
  const Bandwidth fastest = peak(counter, board);
  RegulatedCore core{.core = budget.core, .tick = {period, event_cost(board.context_switch).count(), latency}};
  core.budget = bounded(lines_of(budget.budget, counter.line, tasks.bandwidth.period));
  core.stall = period + latency + (tasks.bandwidth.sharing == BandwidthSharing::proportional ? core.tick.cost : 0);
  if (fastest == Bandwidth{}) {
    core.once = core.stall;
    return core;
  }
  core.stall = std::max(Nanos{0}, core.stall - moving(core.budget, counter.line, fastest));
  core.once = core.stall;
  if (!carries(tasks)) return core;
  core.overshoot = quotient_up(Wide{latency} * fastest.bytes_per_second, Wide{counter.line.count} * second);
  core.once = bounded(Wide{core.once} + latency + moving(1, counter.line, fastest) + 1);
  return core;
}

Nanos lines_in(const std::optional<Bytes>& traffic, Bytes line) {
  return traffic ? static_cast<Nanos>((traffic->count + line.count - 1) / line.count) : 0;
}

// ---- budgets that cannot be charged ----

using Why = BudgetUncharged::Why;

/// Returns a finding if the budget would stall the core of the compute engine or of the service threads. The device
/// waits for the threads on these cores, and no test covers such a wait.
std::optional<Finding> feeds(const CoreBudget& budget, const CounterFacts& counter, const ResolvedSet& set) {
  const bool compute = governs(budget, counter, set.compute_core);
  if (!compute && !governs(budget, counter, set.service_core)) return std::nullopt;
  return unmet(
      BudgetUncharged{.why = Why::feeds_device, .core = budget.core, .board = set.board.name, .compute_core = compute});
}

/// Returns a finding if a thread stops itself when the budget of its core is used up. Threads do so with every kind of
/// counter except `core` and `polling`. Under SCHED_DEADLINE a thread that stops itself loses its reservation. No
/// charge covers this loss.
std::optional<Finding> stops_reservations(const CoreBudget& budget, const TaskSet& tasks) {
  const CounterBackEnd back_end = tasks.bandwidth.counter;
  if (back_end == CounterBackEnd::core || back_end == CounterBackEnd::polling) return std::nullopt;
  return unmet(BudgetUncharged{.why = Why::stops_reservations, .core = budget.core});
}

std::optional<Finding> unbounded_stalls(const CoreBudget& budget, const CounterFacts& counter, const ResolvedSet& set) {
  const auto uncharged = [&](Why why) {
    return unmet(BudgetUncharged{.why = why,
                                 .core = budget.core,
                                 .board = set.board.name,
                                 .event = counter.event,
                                 .stands_in = stands_in(counter.event)});
  };
  if (set.board.platform_stall > Duration(0)) return uncharged(Why::machine_stops);
  const CounterBackEnd back_end = set.tasks.bandwidth.counter;
  if (back_end == CounterBackEnd::thread || back_end == CounterBackEnd::polling) return uncharged(Why::stops_threads);
  if (counter.cluster && (counter.cores.size() != 1 || counter.cores.front() != budget.core))
    return uncharged(Why::shared_counter);
  if (carries(set.tasks) && peak(counter, set.board) == Bandwidth{}) return uncharged(Why::endless_overshoot);
  return std::nullopt;
}

std::optional<Finding> uncounted(const CoreBudget& budget, const Task& task) {
  if (task.traffic_before) return std::nullopt;
  return unmet(BudgetUncharged{.why = Why::unknown_traffic, .core = budget.core}, task.name);
}

// ---- one core ----

/// The real-time tasks that stall when the budget of one core is used up: for each task its index in `named.set.tasks`,
/// and the task itself.
using Parts = std::vector<std::pair<std::size_t, const Task*>>;

std::optional<Finding> regulate(NamedSet& named, const CoreBudget& budget, const Parts& parts, const ResolvedSet& set) {
  const CounterFacts counter = counter_of(budget.core, set.board, set.tasks.bandwidth.event);
  if (auto found = feeds(budget, counter, set)) return found;
  if (parts.empty()) return std::nullopt;
  if (reserved(set.tasks)) return stops_reservations(budget, set.tasks);
  if (auto found = unbounded_stalls(budget, counter, set)) return found;
  const StallCharge charge{charge_of(budget, counter, set), counter.line};
  for (const auto& [position, task] : parts) {
    if (auto found = uncounted(budget, *task)) return found;
    named.set.tasks[position].lines_before = lines_in(task->traffic_before, charge.line);
    named.set.tasks[position].lines_after = lines_in(task->traffic_after, charge.line);
  }
  named.set.regulated.push_back(charge.core);
  named.regulated[budget.core] = {
      .budget = budget.budget, .period = set.tasks.bandwidth.period, .line = charge.line, .charge = charge.core};
  return std::nullopt;
}

} // namespace

std::optional<StallCharge> stall_charge(const CoreBudget& budget, const ResolvedSet& set) {
  const CounterFacts counter = counter_of(budget.core, set.board, set.tasks.bandwidth.event);
  if (unbounded_stalls(budget, counter, set)) return std::nullopt;
  return StallCharge{charge_of(budget, counter, set), counter.line};
}

void add_regulation(NamedSet& named, const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency) {
  if (named.names.empty()) return;
  for (const CoreBudget& budget : set.tasks.core_budgets) {
    const CounterFacts counter = counter_of(budget.core, set.board, set.tasks.bandwidth.event);
    Parts parts;
    std::size_t position = 0;
    for (const std::size_t index : urgency) {
      const Task& task = set.tasks.tasks[index];
      if (!task.real_time()) continue;
      if (governs(budget, counter, plan.tasks[index].core)) parts.emplace_back(position, &task);
      ++position;
    }
    auto found = regulate(named, budget, parts, set);
    if (!named.obstacle) named.obstacle = std::move(found);
  }
}

} // namespace rtexec::policies
