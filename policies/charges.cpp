#include "policies/charges.hpp"

#include "policies/bandwidth_charges.hpp"
#include "policies/swap_charges.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rtexec::policies {
namespace {

bool real_time(const Task& task) { return task.criticality == Criticality::real_time; }

Nanos bounded(Wide time) { return static_cast<Nanos>(std::min<Wide>(time, unbounded)); }

/// Whether a thread that serves an engine computes, or spins, while it works. One that sleeps meanwhile never uses its
/// reservation up.
bool computes(const TaskSet& tasks, const Board& board) {
  return board.device == DeviceKind::host || tasks.device.completion == Completion::spin;
}

/// Under a reservation the compute engine then pauses.
bool pauses(const TaskSet& tasks, const Board& board) { return reserved(tasks) && computes(tasks, board); }

Traffic traffic_of(const SwapCharges& swap) {
  return {.quickest = std::max(Nanos{1}, swap.in() / 2), .burst = static_cast<std::uint32_t>(swap.largest())};
}

/// Whether a copy engine's thread copies by itself, as drivers do from memory that is not page-locked.
bool copies(const Plan& plan, const TaskSet& tasks, const Board& board) {
  return computes(tasks, board) || plan.swap->store_kind() == StoreKind::pageable;
}

/// Processor time for a chunk that moves, on the thread of its copy engine.
Nanos handling(Nanos per_chunk, const Plan& plan, const TaskSet& tasks, const Board& board) {
  return (copies(plan, tasks, board) ? per_chunk : plan.swap->cost.drop_per_chunk.count()) +
         event_cost(board.context_switch).count();
}

/// The latest that a job's chunks are moved, after its release; a best-effort job may wait for them for long, but then
/// none follows it sooner than a period.
Nanos latest_move(const Task& task) { return (real_time(task) ? task.deadline : task.period).count(); }

// ---- device parts ----

/// Charges of device parts and of what is moved for them.
class DeviceCharges {
 public:
  DeviceCharges(const Plan& plan, const TaskSet& tasks, const Board& board) : tasks_(tasks), board_(board) {
    if (reserved(tasks)) window_ = service_of(plan, tasks, board).reservation.window.count();
    if (!plan.swap) return;
    for (std::size_t i = 0; i < tasks.tasks.size(); ++i)
      interruptions_.push_back(interruption(tasks.tasks[i], plan.tasks[i].core));
  }

  /// Under reservations the scheduler decides within its window, and the compute engine may pause.
  Nanos execution(const Task& task) const {
    const Nanos charged = (task.wcet->device + 2 * board_.dispatch).count();
    return (pauses(tasks_, board_) ? with_pauses(charged) : charged) + window_;
  }

  /// Of moving chunks: begun like an execution, and interrupted by what else runs on its threads' core.
  Nanos moving(Nanos time) const {
    if (time == 0) return 0;
    const Nanos begun = bounded(Wide{time} + board_.dispatch.count() + window_);
    return least_fixed_point(begun, unbounded,
                             [&](Nanos window) {
                               Wide work = begun;
                               for (const Load& load : interruptions_) work += jobs_in(load, window) * load.cost;
                               return work;
                             })
        .value;
  }

 private:
  /// CPU parts, and under reservations the scheduler's three events for each job, which otherwise are part of measured
  /// costs.
  Load interruption(const Task& task, unsigned core) const {
    const bool shared = real_time(task) && (!board_.service_core || *board_.service_core == core);
    const Nanos parts = shared ? on_core(task.wcet->before, board_) + on_core(task.wcet->after, board_) : 0;
    const Nanos events = reserved(tasks_) ? 3 * event_cost(board_.context_switch).count() : 0;
    return {task.period.count(), events + parts, latest_move(task)};
  }

  const TaskSet& tasks_;
  const Board& board_;
  Nanos window_ = 0; // the scheduler's, under reservations
  std::vector<Load> interruptions_;
};

/// Device part and load of one task, by the rule that moves its chunks.
struct SwappedPart {
  Nanos device = 0;
  Nanos load = 0;
  Nanos lead = 0;
  std::optional<Nanos> blocking{};
};

SwappedPart swapped_part(const SwapCharges& swap, SwapRule rule, std::size_t chunks, Nanos execution,
                         const DeviceCharges& charges) {
  switch (rule) {
  case SwapRule::overlapped: return {execution, charges.moving(swap.load(chunks)), 0};
  case SwapRule::guarded:
  case SwapRule::exchanged: {
    const Nanos out = charges.moving(swap.swap_out(chunks));
    return {bounded(Wide{execution} + out + charges.moving(swap.swap_in(chunks))), 0, out};
  }
  case SwapRule::on_demand: break;
  }
  return {bounded(Wide{execution} + charges.moving(swap.on_demand(chunks))), 0, 0};
}

/// By a job that began before, under the guarded rule: its swap-out; or its swap-in beside any execution, and its
/// execution; and what no job is charged for.
Nanos guarded_blocking(const SwapCharges& swap, const Plan& plan, const TaskSet& tasks, std::size_t index,
                       const DeviceCharges& charges) {
  const Nanos execution = charges.execution(tasks.tasks[index]);
  const Nanos stray = charges.moving(swap.stray_operations());
  const std::size_t chunks = plan.tasks[index].swap_slots.size();
  if (chunks == 0) return bounded(Wide{execution} + stray);
  Nanos beside = charges.moving(swap.swap_in(chunks));
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    if (i != index) beside = std::max(beside, charges.execution(tasks.tasks[i]));
  return bounded(std::max<Wide>(charges.moving(swap.swap_out(chunks)), Wide{beside} + execution) + stray);
}

/// max(longest swap-in with its execution, the two longest executions) and what leaves for others: whatever is under
/// way when a busy period begins, under the exchanged rule.
Nanos exchange_blocking(const SwapCharges& swap, const Plan& plan, const TaskSet& tasks, const DeviceCharges& charges) {
  Wide region = 0;
  Nanos longest = 0;
  Nanos second = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Nanos execution = charges.execution(tasks.tasks[i]);
    region = std::max<Wide>(region, Wide{execution} + charges.moving(swap.swap_in(plan.tasks[i].swap_slots.size())));
    second = std::max(second, std::min(longest, execution));
    longest = std::max(longest, execution);
  }
  return bounded(std::max<Wide>(region, Wide{longest} + second) + charges.moving(swap.stray()));
}

// ---- cores ----

/// What deciding on chunks takes of the service core: two decisions for each that comes, for a task of its own or in
/// the place of another's. Under reservations the scheduler has its own time.
std::vector<CoreLoad> service_loads(const SwapCharges& swap, const Plan& plan, const TaskSet& tasks,
                                    const Board& board) {
  if (reserved(tasks)) return {};
  const Wide decisions = 2 * event_cost(board.context_switch).count();
  std::vector<CoreLoad> loads;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const auto chunks = static_cast<Wide>(plan.tasks[i].swap_slots.size());
    const Task& task = tasks.tasks[i];
    if (chunks == 0) continue;
    // Late jobs follow each other at once
    const bool endless = !real_time(task) && task.on_overrun == OnOverrun::catch_up;
    loads.push_back({board.service_core,
                     {task.period.count(), endless ? unbounded : bounded(chunks * decisions), latest_move(task)}});
  }
  if (rule_of(plan.swap->policy) == SwapRule::exchanged)
    loads.push_back({board.service_core, {longest_time, bounded(static_cast<Wide>(swap.largest()) * decisions), 0}});
  return loads;
}

// ---- what no test covers ----

/// What it costs to compute digests is not known.
std::optional<Obstacle> uncharged(const TaskSet& tasks) {
  if (!tasks.swap.verify && !tasks.swap.skip_unchanged) return std::nullopt;
  const std::string key = tasks.swap.verify ? "verify" : "skip_unchanged";
  return Obstacle{.inequality = "no digests: neither verify nor skip_unchanged",
                  .task = "",
                  .left = 1,
                  .right = 0,
                  .explanation = "[swap] " + key +
                                 " = true computes a digest of each chunk that moves, which is not charged; leave it "
                                 "out for a promise, or run with --force"};
}

/// Under FIFO the compute engine is more urgent than the copy engines.
std::optional<Obstacle> starved(const TaskSet& tasks, const Board& board) {
  if (!computes(tasks, board) || !board.compute_core || board.compute_core != board.service_core) return std::nullopt;
  const std::string core = std::to_string(*board.compute_core);
  return Obstacle{
      .inequality = "no copy engine on the core that executes device parts",
      .task = "",
      .left = 1,
      .right = 0,
      .explanation = "core " + core + " of board '" + board.name + "' runs the compute engine, which " +
                     (board.device == DeviceKind::host ? "computes" : "spins") +
                     " there, and the copy engines, which then stand still; give the board another service_core"};
}

/// Condition (M): the next job's chunks land beside those of each job that executes.
std::optional<Obstacle> without_room(const SwapCharges& swap, const Plan& plan, const TaskSet& tasks,
                                     const DeviceCharges& charges) {
  for (std::size_t k = 0; k < plan.tasks.size(); ++k) {
    const std::size_t own = plan.tasks[k].swap_slots.size();
    std::size_t other = 0;
    for (std::size_t j = 0; j < plan.tasks.size(); ++j)
      if (j != k) other = std::max(other, plan.tasks[j].swap_slots.size());
    const std::size_t frames = plan.swap->frames;
    if (own == 0 || own + other <= frames) continue;
    const std::size_t beside = frames - std::min(frames, own);
    const Nanos execution = charges.execution(tasks.tasks[k]);
    const Nanos room = bounded(Wide{swap.per_chunk()} * beside);
    if (own <= frames && execution <= room) continue;
    const std::string& name = plan.tasks[k].name;
    return Obstacle{
        .inequality = "(M) for each k that swaps: x_k + max of the others' x <= P, or C_k <= alpha (P - x_k)",
        .task = name,
        .left = execution,
        .right = room,
        .explanation = "while task '" + name + "' executes for " + in_ms(execution) +
                       ", the next job is loaded into the " + std::to_string(beside) + " of " + std::to_string(frames) +
                       " frames beside its own, which takes " + in_ms(room) +
                       ", and then waits for more; [swap] policy = \"serial\" needs less room"};
  }
  return std::nullopt;
}

/// A reservation that its thread can use up: it then stands still, and the time of moving chunks has no bound.
std::optional<Obstacle> overrun(const SwapCharges& swap, const Plan& plan, const TaskSet& tasks, const Board& board) {
  const ServiceThread service = service_of(plan, tasks, board);
  const Traffic traffic = traffic_of(swap);
  const std::string advice = copies(plan, tasks, board) ? ", since it copies by itself; use threads = \"fifo\""
                                                        : "; use a larger chunk, or threads = \"fifo\"";
  const auto check = [&](const std::string& who, const CpuReservation& reservation,
                         Wide work) -> std::optional<Obstacle> {
    const Nanos needed = bounded(work + spare_runtime);
    if (needed <= reservation.runtime.count()) return std::nullopt;
    return Obstacle{.inequality = "work in a window <= Q",
                    .task = "",
                    .left = needed,
                    .right = reservation.runtime.count(),
                    .explanation = who + " may have to compute for " + in_ms(needed) + " in " +
                                   in_ms(reservation.window.count()) + ", and its reservation is " +
                                   in_ms(reservation.runtime.count()) + advice};
  };
  const Nanos copying = service.copy->window.count();
  const Nanos deciding = service.reservation.window.count();
  const Wide events = 3 * static_cast<Wide>(tasks.tasks.size()) + traffic.in(deciding) + traffic.out(deciding);
  auto found =
      check("the copy-in engine's thread", *service.copy, traffic.in(copying)*handling(swap.in(), plan, tasks, board));
  if (!found)
    found = check("the copy-out engine's thread", *service.copy,
                  traffic.out(copying) * handling(swap.out(), plan, tasks, board));
  if (!found)
    found = check("the scheduler's thread", service.reservation, events * event_cost(board.context_switch).count());
  return found;
}

std::string summary(const SwapCharges& swap, const Plan& plan) {
  return "; " + std::to_string(swap.total()) + " chunks of " + to_string(plan.chunk) + " of " +
         std::to_string(swap.tasks()) + " tasks are swapped in " + std::to_string(plan.swap->frames) + " frames, at " +
         in_ms(swap.in()) + " in and " + in_ms(swap.out()) + " out for each";
}

void add_swapping(NamedSet& named, const SwapCharges& swap, const Plan& plan, const TaskSet& tasks, const Board& board,
                  const DeviceCharges& charges) {
  named.rule = rule_of(plan.swap->policy);
  named.set.service = service_loads(swap, plan, tasks, board);
  named.swapping = summary(swap, plan);
  if (named.rule == SwapRule::exchanged) {
    named.set.background = exchange_blocking(swap, plan, tasks, charges);
    named.background.clear();
  }
  if (named.rule == SwapRule::guarded)
    named.set.background = std::max(named.set.background, charges.moving(swap.stray_operations()));
  named.obstacle = uncharged(tasks);
  if (!named.obstacle) named.obstacle = starved(tasks, board);
  if (!named.obstacle && named.rule == SwapRule::overlapped) named.obstacle = without_room(swap, plan, tasks, charges);
  if (!named.obstacle && reserved(tasks)) named.obstacle = overrun(swap, plan, tasks, board);
}

} // namespace

Nanos on_core(Duration part, const Board& board) {
  return std::max(Nanos{1}, (part + 2 * board.context_switch).count());
}

ServiceThread service_of(const Plan& plan, const TaskSet& tasks, const Board& board) {
  ServiceThread service{.reservation = {}, .core = board.service_core, .copy = {}};
  std::optional<Traffic> traffic;
  if (plan.swap) {
    traffic = traffic_of(SwapCharges(plan));
    service.copy = copy_reservation;
  }
  service.reservation = scheduler_reservation(tasks.tasks.size(), board.context_switch, traffic);
  return service;
}

std::vector<Nanos> charged_executions(const Plan& plan, const TaskSet& tasks, const Board& board) {
  const DeviceCharges charges(plan, tasks, board);
  std::vector<Nanos> executions;
  for (const Task& task : tasks.tasks) executions.push_back(charges.execution(task));
  return executions;
}

NamedSet charged_set(const Plan& plan, const TaskSet& tasks, const Board& board, std::span<const std::size_t> order) {
  const DeviceCharges charges(plan, tasks, board);
  std::optional<SwapCharges> swap;
  if (plan.swap) swap.emplace(plan);
  NamedSet named;
  named.set.release_jitter = board.release_latency.count();
  named.compute_core = board.compute_core;
  if (pauses(tasks, board)) named.set.device_delay = longest_pause;
  for (const std::size_t index : order) {
    const Task& task = tasks.tasks[index];
    const Nanos execution = charges.execution(task);
    SwappedPart part =
        swap ? swapped_part(*swap, rule_of(plan.swap->policy), plan.tasks[index].swap_slots.size(), execution, charges)
             : SwappedPart{.device = execution};
    if (swap && rule_of(plan.swap->policy) == SwapRule::guarded)
      part.blocking = guarded_blocking(*swap, plan, tasks, index, charges);
    if (real_time(task)) {
      named.set.tasks.push_back({.period = task.period.count(),
                                 .deadline = task.deadline.count(),
                                 .before = on_core(task.wcet->before, board),
                                 .device = part.device,
                                 .after = on_core(task.wcet->after, board),
                                 .core = plan.tasks[index].core,
                                 .load = part.load,
                                 .lead = part.lead,
                                 .blocking = part.blocking});
      named.names.push_back(task.name);
    } else {
      const Nanos blocking = part.blocking.value_or(part.device);
      if (blocking > named.set.background) named.background = task.name;
      named.set.background = std::max(named.set.background, blocking);
      named.set.background_load = std::max(named.set.background_load, part.load);
    }
  }
  if (swap) add_swapping(named, *swap, plan, tasks, board, charges);
  add_regulation(named, plan, tasks, board, order);
  return named;
}

} // namespace rtexec::policies
