#include "policies/admission.hpp"

#include "policies/plan_memory.hpp"
#include "policies/reservations.hpp"
#include "policies/verdicts.hpp"

#include <numeric>
#include <string>
#include <tuple>

namespace rtexec::policies {
namespace {

bool real_time(const Task& task) { return task.criticality == Criticality::real_time; }

bool in_range(Duration value) { return value >= Duration::zero() && value.count() <= longest_time; }

bool reserved(const TaskSet& tasks) { return tasks.executive.threads == ThreadPolicy::deadline; }

Result<> check(const TaskSet& tasks, const Board& board, std::span<const MemoryDemand> memory) {
  std::string errors;
  const auto complain = [&](const std::string& what) { errors += (errors.empty() ? "" : "\n") + what; };
  if (memory.size() != tasks.tasks.size())
    complain("the memory of " + std::to_string(memory.size()) + " tasks was given for a set of " + std::to_string(tasks.tasks.size()));
  if (tasks.tasks.size() > most_tasks)
    complain(std::to_string(tasks.tasks.size()) + " tasks; at most " + std::to_string(most_tasks) + " can be planned");
  for (const Duration charge : {board.context_switch, board.dispatch, board.release_latency})
    if (!in_range(charge)) complain("board '" + board.name + "': a charge of " + std::to_string(charge.count()) + " ns is out of range");
  if (reserved(tasks) && board.compute_core && board.compute_core == board.service_core)
    complain("board '" + board.name + "': core " + std::to_string(*board.compute_core) +
             " is to run the scheduler beside the compute engine, whose reservation takes all of it; give the scheduler another service_core");
  for (const Task& task : tasks.tasks) {
    const std::string who = "task '" + task.name + "': ";
    if (!task.wcet) complain(who + "it has no wcet; give one, or measure it with 'rtexec profile'");
    else if (!in_range(task.wcet->before) || !in_range(task.wcet->device) || !in_range(task.wcet->after))
      complain(who + "its wcet must be between 0 and " + readable(Duration(longest_time)));
    if (task.deadline <= Duration::zero() || task.deadline > task.period || !in_range(task.period))
      complain(who + "0 < deadline <= period <= " + readable(Duration(longest_time)) + " must hold");
    if (tasks.executive.priorities == PriorityAssignment::explicit_priorities && real_time(task) && !task.priority)
      complain(who + "it has no priority, and [executive] priorities is \"explicit\"");
  }
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

/// Task indices, the most urgent first: real-time before best-effort, then by the assignment, then by index.
std::vector<std::size_t> by_urgency(const TaskSet& tasks) {
  const auto key = [&](std::size_t index) {
    const Task& task = tasks.tasks[index];
    Nanos value = 0;
    switch (tasks.executive.priorities) {
      case PriorityAssignment::rate_monotonic: value = task.period.count(); break;
      case PriorityAssignment::deadline_monotonic: value = task.deadline.count(); break;
      case PriorityAssignment::explicit_priorities: value = -Nanos{task.priority.value_or(0)}; break;
    }
    return std::tuple(!real_time(task), value, index);
  };
  std::vector<std::size_t> order(tasks.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, key);
  return order;
}

ServiceThread service_of(const TaskSet& tasks, const Board& board) {
  return {.reservation = scheduler_reservation(tasks.tasks.size(), board.context_switch), .core = board.service_core};
}

/// Whether the compute engine's thread computes, or spins, all the time: under a reservation it then pauses. One that sleeps while a GPU
/// works never uses its reservation up.
bool pauses(const TaskSet& tasks, const Board& board) {
  return reserved(tasks) && (board.device == DeviceKind::host || tasks.device.completion == Completion::spin);
}

/// A device part with its charges. Under reservations the scheduler decides within its window, and the compute engine may pause.
Nanos charged_device(Duration part, const TaskSet& tasks, const Board& board) {
  const Nanos charged = (part + 2 * board.dispatch).count();
  if (!reserved(tasks)) return charged;
  return (pauses(tasks, board) ? with_pauses(charged) : charged) + service_of(tasks, board).reservation.window.count();
}

/// Every part with its charges. A part of no length still needs its core once, to hand the job on: at least 1 ns.
NamedSet charged_set(const TaskSet& tasks, const Board& board, std::span<const std::size_t> order) {
  NamedSet named;
  named.set.release_jitter = board.release_latency.count();
  named.compute_core = board.compute_core;
  if (pauses(tasks, board)) named.set.device_delay = longest_pause;
  const auto on_core = [&](Duration part) { return std::max(Nanos{1}, (part + 2 * board.context_switch).count()); };
  for (const std::size_t index : order) {
    const Task& task = tasks.tasks[index];
    const Nanos device = charged_device(task.wcet->device, tasks, board);
    if (real_time(task)) {
      named.set.tasks.push_back({.period = task.period.count(), .deadline = task.deadline.count(), .before = on_core(task.wcet->before),
                                 .device = device, .after = on_core(task.wcet->after), .core = task.core});
      named.names.push_back(task.name);
    } else if (device > named.set.background) {
      named.set.background = device;
      named.background = task.name;
    }
  }
  return named;
}

void promise(PlannedTask& planned, const StageBounds& bounds) {
  planned.promised = true;
  planned.response_bound = Duration(bounds.done);
}

/// Stage deadlines that order jobs and describe stages; under overload they are no more than plausible, hence kept in order.
void set_stages(PlannedTask& planned, const StageBounds& bounds) {
  const Nanos deadline = planned.done_by.count();
  planned.device_done_by = Duration(std::clamp(bounds.device_done, Nanos{0}, deadline));
  planned.ready_by = Duration(std::clamp(bounds.ready, Nanos{0}, planned.device_done_by.count()));
}

/// What the tests found; `bounds` in the order of the set.
struct Analysis {
  TestVerdict device;
  std::vector<TestVerdict> cores;
  TestVerdict end_to_end;
  std::vector<StageBounds> bounds;
  bool each_alone = false; // a task that is late breaks no promise of those before it
};

Analysis analyse_edf(const NamedSet& named) {
  EdfBounds bounds = edf_bounds(named.set);
  return {demand_verdict(named, bounds), core_verdicts(named), end_to_end_verdict(named, bounds), std::move(bounds.tasks), false};
}

bool cores_are_free(const NamedSet& named) {
  return std::ranges::none_of(named.set.tasks, [&](const StagedTask& task) { return task.core == named.compute_core; });
}

Analysis analyse_static_priority(const NamedSet& named) {
  std::vector<StageBounds> bounds = static_priority_bounds(named.set);
  return {response_verdict(named), core_verdicts(named), end_to_end_verdict(named, bounds), std::move(bounds), cores_are_free(named)};
}

void set_reservations(Plan& plan, const NamedSet& named, std::span<const std::size_t> order, std::span<const CpuWindows> windows) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const StagedTask& task = named.set.tasks[i];
    plan.tasks[order[i]].before_reservation = {Duration(runtime_of(task.before)), Duration(windows[i].before)};
    plan.tasks[order[i]].after_reservation = {Duration(runtime_of(task.after)), Duration(windows[i].after)};
  }
}

Analysis analyse_reserved_edf(Plan& plan, const NamedSet& named, const ServiceThread& service, std::span<const std::size_t> order) {
  Reserved<EdfBounds> found = reserved_edf_bounds(named.set, service);
  set_reservations(plan, named, order, found.windows);
  TestVerdict device = demand_verdict(named, found.fits ? found.bounds : edf_bounds(named.set));
  return {std::move(device), core_verdicts(named, service), end_to_end_verdict(named, service, found), std::move(found.bounds.tasks), false};
}

Analysis analyse_reserved_static_priority(Plan& plan, const NamedSet& named, const ServiceThread& service, std::span<const std::size_t> order) {
  Reserved<std::vector<StageBounds>> found = reserved_static_priority_bounds(named.set, service);
  set_reservations(plan, named, order, found.windows);
  return {response_verdict(named), core_verdicts(named, service), end_to_end_verdict(named, service, found), std::move(found.bounds),
          found.fits && cores_are_free(named)};
}

Analysis analyse(Plan& plan, const TaskSet& tasks, const Board& board, const NamedSet& named, std::span<const std::size_t> order) {
  const bool edf = plan.order == Order::edf;
  if (!reserved(tasks)) return edf ? analyse_edf(named) : analyse_static_priority(named);
  const ServiceThread service = service_of(tasks, board);
  plan.services = {.scheduler = service.reservation, .compute = compute_reservation};
  return edf ? analyse_reserved_edf(plan, named, service, order) : analyse_reserved_static_priority(plan, named, service, order);
}

void conclude(Plan& plan, Analysis analysis, const NamedSet& named, std::span<const std::size_t> order) {
  plan.proved = analysis.end_to_end.proved;
  plan.tests.push_back(std::move(analysis.device));
  std::ranges::move(analysis.cores, std::back_inserter(plan.tests));
  plan.tests.push_back(std::move(analysis.end_to_end));
  for (std::size_t i = 0; i < analysis.bounds.size(); ++i) {
    const StageBounds& bounds = analysis.bounds[i];
    set_stages(plan.tasks[order[i]], bounds);
    const bool alone = analysis.each_alone && bounds.settled && bounds.done <= named.set.tasks[i].deadline;
    if (plan.proved || alone) promise(plan.tasks[order[i]], bounds);
  }
}

} // namespace

Result<Plan> make_plan(const TaskSet& tasks, const Board& board, std::span<const MemoryDemand> memory) {
  if (const auto valid = check(tasks, board, memory); !valid) return std::unexpected(valid.error());

  Plan plan;
  plan.order = tasks.executive.order;
  plan.tasks.resize(tasks.tasks.size());
  if (const auto fits = plan_memory(plan, tasks, board, memory); !fits) return std::unexpected(fits.error());

  const std::vector<std::size_t> order = by_urgency(tasks);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Task& task = tasks.tasks[order[rank]];
    PlannedTask& planned = plan.tasks[order[rank]];
    planned.name = task.name;
    planned.wcet = *task.wcet;
    planned.core_rank = static_cast<unsigned>(rank);
    planned.device_rank = plan.order == Order::static_priority ? planned.core_rank : real_time(task) ? 0 : 1;
    planned.ready_by = planned.device_done_by = planned.done_by = task.deadline;
  }
  const NamedSet named = charged_set(tasks, board, order);
  conclude(plan, analyse(plan, tasks, board, named, order), named, order);
  return plan;
}

} // namespace rtexec::policies
