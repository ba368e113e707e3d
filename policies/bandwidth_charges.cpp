#include "policies/bandwidth_charges.hpp"

#include "config/counter_events.hpp"
#include "policies/bandwidth.hpp"
#include "policies/charges.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::policies {
namespace {

Wide quotient_up(Wide a, Wide b) { return (a + b - 1) / b; }

// ---- the counter ----

/// Whether it says nothing of how fast memory moves.
bool stands_in(std::string_view event) { return config::meaning_of(event) != config::EventMeaning::traffic; }

/// Whether `core` stands still with the one that has the budget.
bool governs(const CoreBudget& budget, const CounterFacts& counter, unsigned core) {
  if (core == budget.core) return true;
  return counter.cluster && (counter.cores.empty() || std::ranges::find(counter.cores, core) != counter.cores.end());
}

/// What the core moves at most while nobody holds it, as far as that is known.
Bandwidth peak(const CounterFacts& counter, const Board& board) {
  return stands_in(counter.event) ? Bandwidth{} : board.memory.core_bandwidth;
}

bool carries(const TaskSet& tasks) { return tasks.bandwidth.overshoot == Overshoot::carry; }

// ---- the charge ----

/// Of `lines`, at least.
Nanos moving(Nanos lines, Bytes line, Bandwidth peak) {
  constexpr Wide most = Wide{1} << 64;
  return static_cast<Nanos>(
      std::min<Wide>(std::min(Wide{lines} * line.count, most) * second / peak.bytes_per_second, unbounded));
}

RegulatedCore charge_of(const CoreBudget& budget, const CounterFacts& counter, const TaskSet& tasks,
                        const Board& board) {
  const Nanos period = tasks.bandwidth.period.count();
  const Nanos latency = board.release_latency.count();
  const Bandwidth fastest = peak(counter, board);
  RegulatedCore core{.core = budget.core, .tick = {period, event_cost(board.context_switch).count(), latency}};
  core.budget =
      static_cast<Nanos>(std::min<Lines>(lines_of(budget.budget, counter.line, tasks.bandwidth.period), unbounded));
  core.stall = period + latency + (tasks.bandwidth.sharing == BandwidthSharing::proportional ? core.tick.cost : 0);
  if (fastest == Bandwidth{}) {
    core.once = core.stall;
    return core;
  }
  core.stall = std::max(Nanos{0}, core.stall - moving(core.budget, counter.line, fastest));
  core.once = core.stall;
  if (!carries(tasks)) return core;
  core.overshoot = quotient_up(Wide{latency} * fastest.bytes_per_second, Wide{counter.line.count} * second);
  core.once =
      static_cast<Nanos>(std::min<Wide>(Wide{core.once} + latency + moving(1, counter.line, fastest) + 1, unbounded));
  return core;
}

Nanos lines_in(const std::optional<Bytes>& traffic, Bytes line) {
  return traffic ? static_cast<Nanos>((traffic->count + line.count - 1) / line.count) : 0;
}

std::string words(const CoreBudget& budget, const StallCharge& charge, const TaskSet& tasks) {
  return "; core " + std::to_string(budget.core) + " may move " + std::to_string(charge.core.budget) + " lines of " +
         to_string(charge.line) + " in each " + in_ms(tasks.bandwidth.period.count()) + " (" +
         to_string(budget.budget) + "), and stands still for up to " + in_ms(charge.core.stall) +
         " once in each window and once for as many lines as its parts move";
}

// ---- what is not charged ----

Obstacle obstacle(const std::string& inequality, const std::string& explanation, const std::string& task = "") {
  return {.inequality = inequality, .task = task, .left = 1, .right = 0, .explanation = explanation};
}

std::string budget_named(const CoreBudget& budget) {
  return "core " + std::to_string(budget.core) + " has a memory bandwidth budget ([[bandwidth.core]])";
}

/// Threads that feed the device cannot be held; a core that is not known may be any.
std::optional<Obstacle> feeds(const CoreBudget& budget, const CounterFacts& counter, const Board& board) {
  const auto is = [&](const std::optional<unsigned>& core) { return !core || governs(budget, counter, *core); };
  if (!is(board.compute_core) && !is(board.service_core)) return std::nullopt;
  const std::string which = is(board.compute_core) ? "compute_core" : "service_core";
  return obstacle(
      "no budget for cores that feed the device",
      budget_named(budget) + " and " +
          ((is(board.compute_core) ? board.compute_core : board.service_core) ? "is" : "may be") + " the " + which +
          " of board '" + board.name +
          "', whose threads feed the device and cannot be charged for standing still; give the board another " + which +
          ", or leave this budget out");
}

/// Under SCHED_DEADLINE threads are stopped by themselves or not at all.
std::optional<Obstacle> stops_reservations(const CoreBudget& budget, const TaskSet& tasks) {
  const CounterBackEnd back_end = tasks.bandwidth.counter;
  if (back_end == CounterBackEnd::core || back_end == CounterBackEnd::polling) return std::nullopt;
  return obstacle(
      "no stop within a reservation",
      budget_named(budget) +
          ", and a thread that stops itself for it loses its place under SCHED_DEADLINE, which is not charged; "
          "use threads = \"fifo\", or [bandwidth] counter = \"core\", which stops best-effort threads only, or leave "
          "this budget out");
}

std::optional<Obstacle> unbounded_stalls(const CoreBudget& budget, const CounterFacts& counter, const TaskSet& tasks,
                                         const Board& board) {
  const CounterBackEnd back_end = tasks.bandwidth.counter;
  if (back_end == CounterBackEnd::thread || back_end == CounterBackEnd::polling)
    return obstacle(
        "a core is held as a whole, by overflows",
        budget_named(budget) +
            ", and only stalls by [bandwidth] counter = \"core\" are charged; use that, or leave this budget out");
  if (counter.cluster && (counter.cores.size() != 1 || counter.cores.front() != budget.core))
    return obstacle(
        "a budget for one core alone",
        budget_named(budget) + ", and counter " + counter.event + " of board '" + board.name +
            "' counts several cores at once: the others can use the budget up at any time; leave this budget out, "
            "or name an event of each core in [bandwidth] event");
  if (carries(tasks) && peak(counter, board) == Bandwidth{})
    return obstacle("a bound on overshoot",
                    budget_named(budget) +
                        ", and what is moved beyond it is taken off later budgets, without a bound that is known" +
                        (stands_in(counter.event) ? " for " + counter.event + "; "
                                                  : "; give board '" + board.name + "' [memory] core_bandwidth, or ") +
                        "set [bandwidth] overshoot = \"forgive\"");
  return std::nullopt;
}

std::optional<Obstacle> uncounted(const CoreBudget& budget, const Task& task) {
  if (task.traffic_before) return std::nullopt;
  return obstacle("traffic is known of each part on a core with a budget",
                  budget_named(budget) + ", and runs task '" + task.name +
                      "', whose memory traffic is not known, nor how often it uses the budget up; "
                      "give its traffic_before and traffic_after, in bytes, or leave this budget out",
                  task.name);
}

// ---- one core ----

/// `parts`: what runs on it, as positions in `named` and the tasks themselves.
using Parts = std::vector<std::pair<std::size_t, const Task*>>;

std::optional<Obstacle> regulate(NamedSet& named, const CoreBudget& budget, const Parts& parts, const TaskSet& tasks,
                                 const Board& board) {
  const CounterFacts counter = counter_of(budget.core, board, tasks.bandwidth.event);
  if (auto found = feeds(budget, counter, board)) return found;
  if (parts.empty()) return std::nullopt;
  if (reserved(tasks)) return stops_reservations(budget, tasks);
  if (auto found = unbounded_stalls(budget, counter, tasks, board)) return found;
  const StallCharge charge{charge_of(budget, counter, tasks, board), counter.line};
  for (const auto& [position, task] : parts) {
    if (auto found = uncounted(budget, *task)) return found;
    named.set.tasks[position].lines_before = lines_in(task->traffic_before, charge.line);
    named.set.tasks[position].lines_after = lines_in(task->traffic_after, charge.line);
  }
  named.set.regulated.push_back(charge.core);
  named.regulated[budget.core] = words(budget, charge, tasks);
  return std::nullopt;
}

} // namespace

std::optional<StallCharge> stall_charge(const CoreBudget& budget, const TaskSet& tasks, const Board& board) {
  const CounterFacts counter = counter_of(budget.core, board, tasks.bandwidth.event);
  if (unbounded_stalls(budget, counter, tasks, board)) return std::nullopt;
  return StallCharge{charge_of(budget, counter, tasks, board), counter.line};
}

void add_regulation(NamedSet& named, const Plan& plan, const TaskSet& tasks, const Board& board,
                    std::span<const std::size_t> order) {
  if (named.names.empty()) return;
  for (const CoreBudget& budget : tasks.core_budgets) {
    const CounterFacts counter = counter_of(budget.core, board, tasks.bandwidth.event);
    Parts parts;
    std::size_t position = 0;
    for (const std::size_t index : order) {
      if (!tasks.tasks[index].real_time()) continue;
      if (governs(budget, counter, plan.tasks[index].core)) parts.emplace_back(position, &tasks.tasks[index]);
      ++position;
    }
    auto found = regulate(named, budget, parts, tasks, board);
    if (!named.obstacle) named.obstacle = std::move(found);
  }
}

} // namespace rtexec::policies
