#include "policies/bounds/charges.hpp"

#include "policies/bounds/bandwidth_charges.hpp"
#include "policies/scheduler/co_run.hpp"
#include "policies/segments/segment_cuts.hpp"
#include "policies/segments/stream_plan.hpp"
#include "policies/device/swap_charges.hpp"

#include <algorithm>
#include <vector>

namespace rtexec::policies {
namespace {

/// True if the threads of the engines (compute engine and copy engines) compute or spin while their engine works.
/// Otherwise these threads sleep meanwhile, and never use up a reservation.
bool computes(const ResolvedSet& set) {
  return set.board.computes_on_core() || set.tasks.device.completion == Completion::spin;
}

/// Returns the number of tasks with a device part.
std::size_t device_tasks(const TaskSet& tasks) {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks.tasks, [](const Task& task) { return task.wcet->uses_device(); }));
}

Traffic traffic_of(const SwapCharges& swap) {
  return {.quickest = std::max(Nanos{1}, swap.in() / 2), .burst = static_cast<std::uint32_t>(swap.largest())};
}

/// True if the copy engine's thread is busy while chunks are copied. The thread copies chunks itself if the device
/// computes on a core or if the memory is not page-locked. The thread spins if threads spin for completion.
bool copies(const Plan& plan, const ResolvedSet& set) {
  return computes(set) || plan.swap->store_kind() == StoreKind::pageable;
}

/// Returns the CPU time that the thread of a copy engine needs for each moved chunk.
Nanos handling(Nanos per_chunk, const Plan& plan, const ResolvedSet& set) {
  return (copies(plan, set) ? per_chunk : plan.swap->cost.drop_per_chunk.count()) +
         event_cost(set.board.context_switch).count();
}

// ---- decisions of the scheduler ----

/// True if late jobs of a best-effort task may follow each other without a gap, and without a limit on their number.
bool endless(const Task& task) { return !task.real_time() && task.on_overrun == OnOverrun::catch_up; }

/// Returns the jitter J of the scheduler's decisions on jobs of a task with period T: in a window of length w, the
/// scheduler decides on at most ceil((w + J) / T) jobs. A real-time job ends by its deadline, so J is the relative
/// deadline. A best-effort job may be late. But until it ends, no other job of its task runs, and later releases are a
/// period apart. So J is one period. If late jobs are aborted (at the next release), one more release has passed when
/// the job ends, and J is two periods. After a stop of the machine, releases come early by up to `platform_stall`,
/// which is added to J.
Nanos latest_decision(const Task& task, const Board& board) {
  const Nanos early = board.platform_stall.count();
  if (task.real_time()) return task.deadline.count() + early;
  return (task.on_overrun == OnOverrun::abort_job ? 2 : 1) * task.period.count() + early;
}

/// Returns the number of the scheduler's decisions on each job: one for its request, one for the end of each segment,
/// and one for its withdrawal if the job may be aborted. Under reservations a withdrawal is counted for every job.
Wide decisions_on_job(const Task& task, const PlannedTask& planned, const ResolvedSet& set) {
  if (!task.wcet->uses_device()) return 0;
  const bool abandoned = !task.real_time() && task.on_overrun == OnOverrun::abort_job;
  return Wide{planned.segments} + (reserved(set.tasks) || abandoned ? 2 : 1);
}

/// The number of the scheduler's decisions for each loaded chunk: one at the end of the load, and one at the end of the
/// copy-out that frees the chunk's frame (physical chunk).
constexpr Wide decisions_on_chunk = 2;

// ---- service threads under SCHED_DEADLINE ----

/// True if later segments of the task's jobs are submitted to the device while earlier segments execute.
bool is_ahead(const Plan& plan, const PlannedTask& task) {
  return plan.launch_ahead > 0 && task.segments > 1 && !task.stream;
}

/// True if jobs of `task` can interrupt jobs of another task that have later segments submitted to the device.
bool stops_others(const Plan& plan, const PlannedTask& task) {
  return std::ranges::any_of(plan.tasks, [&](const PlannedTask& other) {
    const bool below = other.device_class > task.device_class || (other.device_class == 0 && task.device_class == 0);
    return &other != &task && below && is_ahead(plan, other);
  });
}

/// Returns the charged length of each segment of a job: its WCET and the overheads of the compute engine. The lengths
/// are valid whichever jobs execute concurrently. `decision`: the scheduler's time, added to each segment.
///
/// Suppose that segment n is submitted ahead. Segment n can begin only after the compute engine's thread has processed
/// the end of segment n - 2. Segment n - 1 executes in the meantime. So the charged length of each segment except the
/// last is at least this processing time. A job that interrupts segments submitted ahead is charged for resuming them.
/// Proof: proofs/segmented.md.
std::vector<Nanos> dispatched(const Task& task, const PlannedTask& planned, const Plan& plan, const Board& board,
                              Nanos decision = 0) {
  const Nanos begin = between_segments(board, false) + decision;
  std::vector<Nanos> segments;
  if (planned.segments == 1) segments = {device_part(*task.wcet, planned.co_run).count()};
  else
    for (const Duration each : planned.segment_wcets) segments.push_back(each.count());
  const bool ahead = is_ahead(plan, planned);
  for (Nanos& each : segments)
    each = ahead && &each != &segments.back() ? std::max(each, begin) + between_segments(board, true) : each + begin;
  if (stops_others(plan, planned)) segments.back() += begin;
  return segments;
}

/// Returns the load of a service thread under the assumption that no job is late. `cost(task, planned)`: the work for
/// each job that uses the device. Returns nullopt if jobs may be late, since the load then has no bound.
template <class Cost>
std::optional<std::vector<Load>> arrivals(const Plan& plan, const ResolvedSet& set, Lateness lateness, Cost cost) {
  if (lateness == Lateness::any) return std::nullopt;
  std::vector<Load> all;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    if (!task.wcet->uses_device()) continue;
    if (endless(task)) return std::nullopt;
    all.push_back({task.period.count(), cost(task, plan.tasks[i]), latest_decision(task, set.board)});
  }
  return all;
}

/// Returns a reservation that the compute engine never uses up, or nullopt if no reservation suffices. When a
/// hypervisor halts other threads (a stop of the machine), the kernel may count this time as runtime of the engine's
/// thread. So the length of a stop is counted as work.
std::optional<CpuReservation> room_for_executions(const Plan& plan, const ResolvedSet& set, Lateness lateness) {
  auto executions = arrivals(plan, set, lateness, [&](const Task& task, const PlannedTask& planned) {
    return sum_of(dispatched(task, planned, plan, set.board));
  });
  if (!executions) return std::nullopt;
  if (const Nanos stopped = set.board.platform_stall.count(); stopped > 0)
    executions->push_back({longest_time, stopped, 0});
  return never_used_up(*executions);
}

/// Returns a reservation that the scheduler never uses up. Returns nullopt if no reservation suffices, or if
/// copy engines or real-time CPU parts use the scheduler's core.
std::optional<CpuReservation> room_for_decisions(const Plan& plan, const ResolvedSet& set, Lateness lateness) {
  if (plan.swap) return std::nullopt; // copy engines use that core
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    if (set.tasks.tasks[i].real_time() && plan.tasks[i].core == set.service_core) return std::nullopt;
  const auto decisions = arrivals(plan, set, lateness, [&](const Task& task, const PlannedTask& planned) {
    return bounded(decisions_on_job(task, planned, set) * event_cost(set.board.context_switch).count());
  });
  return decisions ? never_used_up(*decisions) : std::nullopt;
}

/// Returns the reservations of the service threads, or nullopt if threads are SCHED_FIFO. If jobs may be late
/// (`lateness`), the work of a service thread has no bound and can exceed its reservation.
std::optional<ServiceThreads> services_of(const Plan& plan, const ResolvedSet& set, Lateness lateness) {
  if (!reserved(set.tasks)) return std::nullopt;
  ServiceThreads services{};
  services.core = set.service_core;
  std::optional<Traffic> traffic;
  if (plan.swap) {
    traffic = traffic_of(SwapCharges(plan));
    services.reserved.copy = copy_reservation;
  }
  if (const auto room = room_for_decisions(plan, set, lateness)) {
    services.reserved.scheduler = *room;
  } else {
    services.reserved.scheduler =
        scheduler_reservation(device_tasks(set.tasks), set.board.context_switch, traffic, set.board.platform_stall);
    services.decision = services.reserved.scheduler.window.count() + set.board.platform_stall.count();
  }
  const auto room = computes(set) ? room_for_executions(plan, set, lateness) : std::nullopt;
  services.reserved.compute = room.value_or(slices);
  services.pauses = computes(set) && !room;
  return services;
}

// ---- device parts ----

/// Computes the charged times of device parts, and of moving chunks for them.
class DeviceCharges {
 public:
  /// `services`: the reservations of the service threads; absent if the service threads have no reservations.
  DeviceCharges(const Plan& plan, const ResolvedSet& set, const std::optional<ServiceThreads>& services)
      : plan_(plan), set_(set) {
    if (services) pauses_ = services->pauses, decision_ = services->decision;
    if (!plan.swap) return;
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
      const Task& task = set.tasks.tasks[i];
      interruptions_.push_back(interruption(task, plan.tasks[i]));
      if (task.real_time() && plan.tasks[i].core == set.service_core)
        interruptions_.push_back(looks_of(task, set.board));
    }
  }

  /// Returns the charged length of each segment of a task; empty if the task has no device part.
  std::vector<Nanos> segments(std::size_t task) const {
    const Task& charged = set_.tasks.tasks[task];
    if (!charged.wcet->uses_device()) return {};
    if (!pauses_) return dispatched(charged, plan_.tasks[task], plan_, set_.board, decision_);
    std::vector<Nanos> segments = dispatched(charged, plan_.tasks[task], plan_, set_.board);
    for (Nanos& each : segments) each = with_pauses(each) + decision_;
    if (stops_others(plan_, plan_.tasks[task])) segments.back() += decision_;
    return segments;
  }
  Nanos execution(std::size_t task) const { return sum_of(segments(task)); }

  /// Returns the charged time to move `chunks` chunks, or 0 for no chunks. `time`: the measured time of the move. The
  /// function adds the time to submit the move to the device, and interruptions by other work on the core of the copy
  /// engines' threads.
  Nanos moving(std::size_t chunks, Nanos time) const {
    if (chunks == 0) return 0;
    const Nanos begun = bounded(Wide{time} + set_.board.dispatch.count() + decision_);
    const FixedPoint found = least_fixed_point(begun, unbounded, [&](Nanos window) {
      Wide work = begun;
      for (const Load& load : interruptions_) work += jobs_in(load, window) * load.cost;
      return work;
    });
    return found.settled ? found.value : unbounded;
  }

 private:
  /// Returns the load with which jobs of `task` interrupt the threads of copy engines. The load consists of the task's
  /// CPU parts on their core and, under reservations, of the scheduler's decisions. Under SCHED_FIFO, the measured
  /// costs of moving chunks already include the decisions.
  Load interruption(const Task& task, const PlannedTask& planned) const {
    const bool shared = task.real_time() && planned.core == set_.service_core;
    const Nanos parts = shared ? on_core(task.wcet->before, set_.board) + on_core(task.wcet->after, set_.board) : 0;
    const Wide decisions = reserved(set_.tasks) ? decisions_on_job(task, planned, set_) : 0;
    const Wide events = decisions * event_cost(set_.board.context_switch).count();
    return {task.period.count(), bounded(events + parts), latest_decision(task, set_.board)};
  }

  const Plan& plan_;
  const ResolvedSet& set_;
  bool pauses_ = false;
  Nanos decision_ = 0;
  std::vector<Load> interruptions_;
};

/// Returns the times of a device part. If the task has a stream (constants that are loaded during executions), the
/// times include these loads. `StreamTimes::copies` is the time by which the streamed copies delay a concurrent load.
StreamTimes stream_times(const SwapCharges& swap, const PlannedTask& task, std::span<const Nanos> segments,
                         const DeviceCharges& charges) {
  if (!task.stream) return {.execution = sum_of(segments), .copies = 0};
  StreamCosts costs = swap.stream();
  costs.copy = charges.moving(1, costs.copy);
  costs.in_flight = charges.moving(1, costs.in_flight);
  return stream_times(stream_layers(segments, task.stream->reads), costs, task.stream->ring)
      .value_or(StreamTimes{unbounded, unbounded});
}

/// Returns the times of a job on the device, including the charges for moving its chunks.
JobTimes job_times(const SwapCharges& swap, std::size_t chunks, Nanos execution, const DeviceCharges& charges) {
  return {execution, charges.moving(chunks, swap.swap_in(chunks)), charges.moving(chunks, swap.swap_out(chunks)),
          chunks > 0};
}

/// Returns the largest swap volume (in chunks) of the other tasks in the same class (preemption class).
std::uint64_t largest_other(const Plan& plan, std::size_t task) {
  std::uint64_t largest = 0;
  for (std::size_t j = 0; j < plan.tasks.size(); ++j)
    if (j != task && plan.tasks[j].device_class == plan.tasks[task].device_class)
      largest = std::max<std::uint64_t>(largest, plan.tasks[j].begins_with());
  return largest;
}

/// The charged times of one task on the device, under the swap rule of the plan.
struct SwappedPart {
  Nanos device = 0;
  Nanos load = 0;
  Nanos lead = 0;
  Nanos delay = 0;
  std::optional<Nanos> blocking{};
};

/// Returns the blocking by jobs under rules that move chunks in swap operations (`serial`, `rt-swap`). For other rules
/// the result contains no jobs.
SwapBlocking blocking_of(const SwapCharges& swap, SwapRule rule, const Plan& plan, const DeviceCharges& charges) {
  SwapBlocking blocking(rule, charges.moving(swap.tasks(), swap.uncharged(rule)));
  for (std::size_t i = 0; in_operations(rule) && i < plan.tasks.size(); ++i)
    blocking.add(job_times(swap, plan.tasks[i].begins_with(), charges.execution(i), charges));
  return blocking;
}

SwappedPart swapped_part(const SwapCharges& swap, const SwapBlocking& blocking, const Plan& plan, std::size_t task,
                         const DeviceCharges& charges) {
  const SwapRule rule = rule_of(plan.swap->policy);
  const std::size_t chunks = plan.tasks[task].begins_with();
  const Nanos execution = charges.execution(task);
  if (rule == SwapRule::pipelined) {
    const StreamTimes times = stream_times(swap, plan.tasks[task], charges.segments(task), charges);
    const Nanos delay =
        load_delay(times.execution, chunks, largest_other(plan, task), plan.swap->frames, swap.alpha()) + times.copies;
    return {.device = times.execution,
            .load = charges.moving(chunks, swap.load(chunks)),
            .delay = std::min(delay, times.execution)};
  }
  if (rule == SwapRule::demand_paging)
    return {.device = bounded(Wide{execution} + charges.moving(chunks, swap.on_demand(chunks)))};
  const JobTimes job = job_times(swap, chunks, execution, charges);
  SwappedPart part{.device = job.serial(), .lead = job.out};
  if (rule == SwapRule::serial) part.blocking = blocking.all_by(job);
  return part;
}

// ---- preemption ----

/// Sets the members of `staged` that only the test `segmented` needs (the test of sets whose jobs are preempted).
void put_into_class(StagedTask& staged, const Plan& plan, std::size_t task, const DeviceCharges& charges,
                    const std::optional<SwapCharges>& swap) {
  const std::vector<Nanos> segments = charges.segments(task);
  if (segments.empty()) return;
  staged.device_class = plan.tasks[task].device_class;
  staged.run = longest_run(segments, plan.launch_ahead);
  staged.last = segments.back();
  if (!swap) return;
  const std::size_t chunks = plan.tasks[task].begins_with();
  staged.restore = charges.moving(chunks, swap->restore(chunks));
}

void add_background(StagedSet& set, const StagedTask& task) {
  set.background_run = std::max(set.background_run, task.run);
  set.background_delay = std::max(set.background_delay, task.delay);
}

// ---- cores ----

/// Returns the load of the scheduler's decisions on its core. A job counts two decisions for each swap slot of its
/// task: one for loading a chunk into the slot, and one for the eviction of another task's chunk that this load may
/// need. Under reservations the scheduler has a reservation instead, and the result is empty.
std::vector<CoreLoad> service_loads(const Plan& plan, const ResolvedSet& set) {
  if (reserved(set.tasks)) return {};
  const Wide decision = event_cost(set.board.context_switch).count();
  std::vector<CoreLoad> loads;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    const Wide decisions = decisions_on_job(task, plan.tasks[i], set) +
                           decisions_on_chunk * static_cast<Wide>(plan.tasks[i].swap_slots.size());
    if (decisions == 0) continue;
    loads.push_back({set.service_core,
                     {task.period.count(), endless(task) ? unbounded : bounded(decisions * decision),
                      latest_decision(task, set.board)}});
  }
  if (plan.swap && rule_of(plan.swap->policy) == SwapRule::rt_swap) {
    const Wide decisions = decisions_on_chunk * static_cast<Wide>(SwapCharges(plan).largest());
    loads.push_back({set.service_core, {longest_time, bounded(decisions * decision), 0}});
  }
  return loads;
}

/// Sets `alone` and `backlog` of each task. On a core with several reservations, the work of other tasks that a stop of
/// the machine has delayed also delays the task (`backlog`).
void share_cores(NamedSet& named) {
  for (StagedTask& task : named.set.tasks) {
    const auto others = std::ranges::count(named.set.tasks, task.core, &StagedTask::core) - 1;
    task.alone = others == 0 && task.core != named.services->core;
    task.backlog = task.alone ? 0 : named.set.platform_stall;
  }
}

// ---- situations that no test covers ----

/// Returns a finding if chunks are verified or compared by digests. The cost of digests is not known.
std::optional<Finding> uncharged(const TaskSet& tasks) {
  if (!tasks.swap.verify && !tasks.swap.skip_unchanged) return std::nullopt;
  return unmet(DigestsUncharged{.verify = tasks.swap.verify});
}

/// Returns a finding if a release thread (which starts the jobs of a task) has a reservation and polls for messages.
/// The polls use up runtime of the reservation, so that too little may be left for the CPU part.
std::optional<Finding> looks_in_reservations(const ResolvedSet& set) {
  const auto looks = std::ranges::find_if(
      set.tasks.tasks, [&](const Task& task) { return task.real_time() && looks_of(task, set.board).cost > 0; });
  if (!reserved(set.tasks) || looks == set.tasks.tasks.end()) return std::nullopt;
  return unmet(LooksUncharged{}, looks->name);
}

/// Returns a finding if jobs co-run under reservations: the reservation of the compute engine has no room for a second
/// job.
std::optional<Finding> co_runs_reserved(const Plan& plan, const ResolvedSet& set) {
  if (!plan.co_runs() || !reserved(set.tasks)) return std::nullopt;
  return unmet(CoRunUnreserved{});
}

/// Returns a finding if the compute engine runs on the core of the copy engines. Under SCHED_FIFO the compute engine is
/// more urgent and would starve the copy engines.
std::optional<Finding> starved(const ResolvedSet& set) {
  if (!computes(set) || set.compute_core != set.service_core) return std::nullopt;
  return unmet(
      CopyEnginesStarved{.core = set.compute_core, .computes = set.board.computes_on_core(), .board = set.board.name});
}

/// Returns a finding if a copy engine or the scheduler may use up its reservation. The thread of that engine or
/// scheduler would then pause, and the time to move chunks would have no bound.
std::optional<Finding> overrun(const SwapCharges& swap, const Plan& plan, const ResolvedSet& set,
                               const ServiceReservations& services) {
  using Thread = ServiceOverrun::Thread;
  const Traffic traffic = traffic_of(swap);
  const auto check = [&](Thread thread, const CpuReservation& reservation, Wide work) -> std::optional<Finding> {
    const Nanos needed = bounded(work + spare_runtime);
    if (needed <= reservation.runtime.count()) return std::nullopt;
    return Finding{
        .left = needed,
        .right = reservation.runtime.count(),
        .reason = ServiceOverrun{.thread = thread, .window = reservation.window.count(), .copies = copies(plan, set)}};
  };
  const Nanos copying = services.copy->window.count();
  const Nanos deciding = services.scheduler.window.count();
  const Wide events = 3 * static_cast<Wide>(device_tasks(set.tasks)) + traffic.in(deciding) + traffic.out(deciding);
  const auto handled = [&](Wide chunks, Nanos each) { return chunks * handling(each, plan, set); };
  auto found = check(Thread::copy_in, *services.copy, handled(traffic.in(copying), swap.in()));
  if (!found) found = check(Thread::copy_out, *services.copy, handled(traffic.out(copying), swap.out()));
  if (!found)
    found = check(Thread::scheduler, services.scheduler, events * event_cost(set.board.context_switch).count());
  return found;
}

SwapFacts facts_of(const SwapCharges& swap, const Plan& plan) {
  return {.rule = rule_of(plan.swap->policy),
          .chunks = swap.total(),
          .chunk = plan.chunk,
          .tasks = swap.tasks(),
          .frames = plan.swap->frames,
          .in = swap.in(),
          .out = swap.out()};
}

void add_swapping(NamedSet& named, const SwapCharges& swap, const Plan& plan, const ResolvedSet& set,
                  const DeviceCharges& charges, const SwapBlocking& blocking) {
  named.swap = facts_of(swap, plan);
  if (in_operations(named.swap->rule)) named.set.background = std::max(named.set.background, blocking.once());
  if (named.swap->rule == SwapRule::rt_swap) named.background.clear();
  if (!named.uses_device()) return; // no task waits for the device
  named.obstacle = uncharged(set.tasks);
  if (!named.obstacle) named.obstacle = starved(set);
  named.set.flight = charges.moving(swap.tasks(), swap.flight());
  if (!named.obstacle && named.services) named.obstacle = overrun(swap, plan, set, named.services->reserved);
}

} // namespace

const TaskInput* releasing_input(const Task& task) {
  const auto releases = std::ranges::find_if(task.inputs, [&](const TaskInput& input) {
    if (task.trigger == Trigger::call) return input.source == SourceKind::program;
    return input.source == SourceKind::camera || input.source == SourceKind::iceoryx;
  });
  const bool released = task.trigger == Trigger::input || task.trigger == Trigger::call;
  return released && releases != task.inputs.end() ? &*releases : nullptr;
}

/// Returns the load of the release thread's polls for iceoryx messages. The polls are at least `message_looks` apart,
/// and the jitter of the polls is the release jitter. Returns an empty load if the task waits for no iceoryx messages.
Load looks_of(const Task& task, const Board& board) {
  const TaskInput* const source = releasing_input(task);
  if (source == nullptr || source->source != SourceKind::iceoryx) return {};
  return {message_looks.count(), event_cost(board.context_switch).count(), release_jitter(board).count()};
}

Nanos on_core(Duration part, const Board& board) {
  return std::max(Nanos{1}, (part + 2 * board.context_switch).count());
}

Nanos on_device(Duration part, const Board& board) {
  return part > Duration(0) ? (part + 2 * board.dispatch).count() : 0;
}

Nanos between_segments(const Board& board, bool ahead) {
  return ahead ? board.cut.value_or(board.dispatch).count() : (2 * board.dispatch).count();
}

double share_of_cuts(const Plan& plan, const ResolvedSet& set) {
  double share = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    if (!task.wcet->uses_device()) continue;
    const Nanos whole = on_device(device_part(*task.wcet, plan.tasks[i].co_run), set.board);
    const Nanos others = stops_others(plan, plan.tasks[i]) ? between_segments(set.board, false) : 0;
    const Nanos cuts = sum_of(dispatched(task, plan.tasks[i], plan, set.board)) - whole - others;
    share += static_cast<double>(cuts) / static_cast<double>(task.period.count());
  }
  return share;
}

std::vector<Nanos> charged_executions(const Plan& plan, const ResolvedSet& set) {
  const DeviceCharges charges(plan, set, services_of(plan, set, Lateness::any));
  std::vector<Nanos> executions;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) executions.push_back(charges.execution(i));
  return executions;
}

NamedSet charged_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                     Lateness lateness) {
  NamedSet named;
  named.services = services_of(plan, set, lateness);
  named.lateness = lateness;
  const DeviceCharges charges(plan, set, named.services);
  std::optional<SwapCharges> swap;
  std::optional<SwapBlocking> blocking;
  if (plan.swap) blocking.emplace(blocking_of(swap.emplace(plan), rule_of(plan.swap->policy), plan, charges));
  named.order = plan.order;
  named.set.release_jitter = release_jitter(set.board).count();
  named.set.platform_stall = set.board.platform_stall.count();
  named.set.service = service_loads(plan, set);
  named.compute_core = set.compute_core;
  named.co_runs = plan.co_runs();
  if (named.services && named.services->pauses)
    named.set.device_delay = longest_pause + with_pauses(named.set.platform_stall) - named.set.platform_stall;
  const auto part_of = [&](std::size_t index) -> SwappedPart {
    if (!swap || !set.tasks.tasks[index].wcet->uses_device()) return {.device = charges.execution(index)};
    return swapped_part(*swap, *blocking, plan, index, charges);
  };
  named.set.preempts = plan.preempts();
  for (const std::size_t index : urgency) {
    const Task& task = set.tasks.tasks[index];
    const SwappedPart part = part_of(index);
    if (part.delay > named.load_delay.time) named.load_delay = {.time = part.delay, .task = task.name};
    StagedTask staged{.period = task.period.count(),
                      .deadline = task.deadline.count(),
                      .before = on_core(task.wcet->before, set.board),
                      .device = part.device,
                      .after = on_core(task.wcet->after, set.board),
                      .core = plan.tasks[index].core,
                      .load = part.load,
                      .lead = part.lead,
                      .blocking = part.blocking,
                      .delay = part.delay,
                      .looks = looks_of(task, set.board)};
    if (named.set.preempts) put_into_class(staged, plan, index, charges, swap);
    if (task.real_time()) {
      named.set.tasks.push_back(staged);
      named.names.push_back(task.name);
    } else {
      if (staged.blocks() > named.set.background) named.background = task.name;
      named.set.background = std::max(named.set.background, staged.blocks());
      named.set.background_load = std::max(named.set.background_load, part.load);
      add_background(named.set, staged);
    }
  }
  if (swap) add_swapping(named, *swap, plan, set, charges, *blocking);
  if (named.services) share_cores(named);
  if (!named.obstacle) named.obstacle = looks_in_reservations(set);
  if (!named.obstacle) named.obstacle = co_runs_reserved(plan, set);
  add_regulation(named, plan, set, urgency);
  return named;
}

} // namespace rtexec::policies
