#include "policies/admission.hpp"

#include "policies/charges.hpp"
#include "policies/core_windows.hpp"
#include "policies/plan_memory.hpp"
#include "policies/reservations.hpp"
#include "policies/swap_volumes.hpp"
#include "policies/verdicts.hpp"

#include <numeric>
#include <optional>
#include <string>
#include <tuple>

namespace rtexec::policies {
namespace {

bool real_time(const Task& task) { return task.criticality == Criticality::real_time; }

bool in_range(Duration value) { return value >= Duration::zero() && value.count() <= longest_time; }

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

Analysis analyse_edf(const NamedSet& named, Effort effort) {
  EdfBounds bounds = edf_bounds(named.set, effort);
  return {demand_verdict(named, bounds), core_verdicts(named), end_to_end_verdict(named, bounds), std::move(bounds.tasks), false};
}

/// Of what a late task could use beyond its bounds.
bool cores_are_free(const NamedSet& named) {
  return !named.obstacle && std::ranges::none_of(named.set.tasks, [&](const StagedTask& task) {
    return task.core == named.compute_core || !service_on(named.set, task.core).empty();
  });
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

Analysis analyse_reserved_edf(Plan& plan, const NamedSet& named, const ServiceThread& service, std::span<const std::size_t> order, Effort effort) {
  Reserved<EdfBounds> found = reserved_edf_bounds(named.set, service, effort);
  set_reservations(plan, named, order, found.windows);
  TestVerdict device = demand_verdict(named, found.fits ? found.bounds : edf_bounds(named.set, effort));
  return {std::move(device), core_verdicts(named, service), end_to_end_verdict(named, service, found), std::move(found.bounds.tasks), false};
}

Analysis analyse_reserved_static_priority(Plan& plan, const NamedSet& named, const ServiceThread& service, std::span<const std::size_t> order,
                                          Effort effort) {
  Reserved<std::vector<StageBounds>> found = reserved_static_priority_bounds(named.set, service, effort);
  set_reservations(plan, named, order, found.windows);
  return {response_verdict(named), core_verdicts(named, service), end_to_end_verdict(named, service, found), std::move(found.bounds),
          found.fits && cores_are_free(named)};
}

Analysis analyse(Plan& plan, const TaskSet& tasks, const Board& board, const NamedSet& named, std::span<const std::size_t> order, Effort effort) {
  const bool edf = plan.order == Order::edf;
  if (!reserved(tasks)) return edf ? analyse_edf(named, effort) : analyse_static_priority(named);
  const ServiceThread service = service_of(plan, tasks, board);
  plan.services = {.scheduler = service.reservation, .compute = compute_reservation, .copy = service.copy};
  return edf ? analyse_reserved_edf(plan, named, service, order, effort) : analyse_reserved_static_priority(plan, named, service, order, effort);
}

void conclude(Plan& plan, Analysis analysis, const NamedSet& named, std::span<const std::size_t> order) {
  plan.proved = analysis.end_to_end.proved;
  for (TestVerdict* verdict : {&analysis.device, &analysis.end_to_end})
    if (!named.names.empty()) verdict->explanation += named.swapping;
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

void set_ranks(Plan& plan, const TaskSet& tasks, std::span<const std::size_t> order) {
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Task& task = tasks.tasks[order[rank]];
    PlannedTask& planned = plan.tasks[order[rank]];
    planned.name = task.name;
    planned.wcet = *task.wcet;
    planned.core_rank = static_cast<unsigned>(rank);
    planned.device_rank = plan.order == Order::static_priority ? planned.core_rank : real_time(task) ? 0 : 1;
    planned.ready_by = planned.device_done_by = planned.done_by = task.deadline;
  }
}

/// The plan with all that admission has to say of it.
Plan examined(Plan plan, const TaskSet& tasks, const Board& board, std::span<const std::size_t> order, Effort effort) {
  const NamedSet named = charged_set(plan, tasks, board, order);
  Analysis analysis = analyse(plan, tasks, board, named, order, hopeless(named) ? Effort::quick : effort);
  conclude(plan, std::move(analysis), named, order);
  return plan;
}

/// With the first volumes that are proved, otherwise with those that come closest.
Plan with_volumes(const Plan& plan, const TaskSet& tasks, const Board& board, std::span<const std::size_t> order, std::uint32_t overflow) {
  std::optional<Plan> closest;
  Duration most = Duration::min();
  for (const std::vector<std::uint32_t>& volumes : swap_volumes(plan, tasks, board, overflow)) {
    Plan assigned = plan;
    assign_volumes(assigned, tasks, volumes, overflow);
    const bool without_hope = hopeless(charged_set(assigned, tasks, board, order));
    if (closest && without_hope) continue;
    Plan tried = examined(assigned, tasks, board, order, Effort::quick);
    if (tried.proved) return tried;
    const Duration slack = without_hope ? Duration::min() : tried.tests.back().slack;
    if (closest && slack <= most) continue;
    most = slack;
    closest = std::move(assigned);
  }
  return examined(std::move(*closest), tasks, board, order, Effort::full);
}

} // namespace

Result<Plan> make_plan(const TaskSet& tasks, const Board& board, std::span<const MemoryDemand> memory) {
  if (const auto valid = check(tasks, board, memory); !valid) return std::unexpected(valid.error());

  Plan plan;
  plan.order = tasks.executive.order;
  plan.tasks.resize(tasks.tasks.size());
  const auto overflow = plan_memory(plan, tasks, board, memory);
  if (!overflow) return std::unexpected(overflow.error());

  const std::vector<std::size_t> order = by_urgency(tasks);
  set_ranks(plan, tasks, order);
  if (*overflow > 0) return with_volumes(plan, tasks, board, order, *overflow);
  return examined(std::move(plan), tasks, board, order, Effort::full);
}

} // namespace rtexec::policies
