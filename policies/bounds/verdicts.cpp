#include "policies/bounds/verdicts.hpp"

#include "policies/bounds/core_windows.hpp"
#include "policies/device/device_response.hpp"

#include <set>

namespace rtexec::policies {
namespace {

std::set<unsigned> cores_of(const NamedSet& named) {
  std::set<unsigned> cores;
  for (const StagedTask& task : named.set.tasks) cores.insert(task.core);
  return cores;
}

/// Makes a finding. `limiting`: the name of the task that the finding is about; empty if it is about no task.
Finding found(AdmissionTest test, bool proved, const std::string& limiting, Nanos left, Nanos right, Reason reason) {
  return {
      .test = test, .proved = proved, .limiting = limiting, .left = left, .right = right, .reason = std::move(reason)};
}

// ---- findings without an analysis ----

Utilisation utilisation_of(const NamedSet& named, std::span<const Nanos> costs) {
  Utilisation utilisation;
  for (std::size_t i = 0; i < costs.size(); ++i) utilisation.add(costs[i], named.set.tasks[i].period);
  return utilisation;
}

/// Returns a finding if the device has a second or more of work to do per second. If `core` is set, the finding is
/// about that core instead.
std::optional<Finding> overload(const NamedSet& named, std::span<const Nanos> costs, std::optional<unsigned> core) {
  Utilisation total;
  std::string limiting;
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    if (core && named.set.tasks[i].core != core) continue;
    total.add(costs[i], named.set.tasks[i].period);
    if (limiting.empty() && !total.below_one()) limiting = named.names[i];
  }
  if (total.below_one()) return std::nullopt;
  return found({}, false, limiting, total.per_second(), second - 1, Overload{core});
}

/// Returns the cost of one job of each task on the device. If chunks are loaded while other jobs execute, there are
/// several charge models for the loads: one for each value of lambda, the time in which an execution and a load overlap
/// (overlap.hpp). Then the costs are those of the charge model with the least utilisation.
std::vector<Nanos> device_costs(const NamedSet& named) {
  std::vector<Nanos> least;
  for (const StagedTask& task : named.set.tasks) least.push_back(task.device);
  if (named.set.preempts) return least;
  Nanos min_share = unbounded;
  for (const Overlap& overlap : named.set.overlapped()) {
    std::vector<Nanos> costs;
    for (const Overlap::Charge& charge : overlap.tasks) costs.push_back(charge.cost);
    const Nanos share = utilisation_of(named, costs).per_second();
    if (share >= min_share) continue;
    min_share = share;
    least = std::move(costs);
  }
  return least;
}

/// Returns a finding if a CPU part is on the core that executes device parts. No test covers such a set.
std::optional<Finding> on_compute_core(const NamedSet& named) {
  for (std::size_t i = 0; i < named.names.size(); ++i)
    if (const StagedTask& task = named.set.tasks[i]; task.core == named.compute_core)
      return found({}, false, named.names[i], task.before + task.after, 0, OnComputeCore{task.core});
  return std::nullopt;
}

Finding of_test(AdmissionTest test, Finding finding) {
  finding.test = test;
  return finding;
}

/// Returns the finding of a device or end-to-end test if it needs no analysis, for example for an empty or a refused
/// set. Otherwise returns nullopt.
std::optional<Finding> settled(AdmissionTest test, const NamedSet& named, const Refusal& refusal) {
  if (named.names.empty()) return found(test, true, "", 0, 0, NoTask{});
  if (test != AdmissionTest::end_to_end && !named.uses_device()) return found(test, true, "", 0, 0, NoDevicePart{});
  std::optional<Finding> finding;
  if (test == AdmissionTest::end_to_end) finding = on_compute_core(named);
  if (!finding) finding = refusal;
  return finding ? std::optional(of_test(test, std::move(*finding))) : std::nullopt;
}

// ---- device ----

AdmissionTest device_test(const NamedSet& named) {
  if (named.set.preempts) return AdmissionTest::segmented;
  if (named.pipelined()) return AdmissionTest::pipelined;
  return named.order == Order::edf ? AdmissionTest::demand : AdmissionTest::rta;
}

/// Returns a task that has a job due at `instant`.
std::size_t due_at(const EdfBounds& bounds, Nanos instant) {
  for (std::size_t i = 0; i < bounds.device.size(); ++i) {
    const DemandTask& task = bounds.device[i];
    if (task.deadline <= instant && (instant - task.deadline) % task.period == 0) return bounds.on_device[i];
  }
  return bounds.on_device.front();
}

Finding demand_found(AdmissionTest test, const NamedSet& named, const EdfBounds& bounds) {
  const Demand& at = bounds.demand.tightest;
  Finding finding =
      found(test, bounds.demand.proved(), named.names[due_at(bounds, at.instant)], at.instant - at.slack(), at.instant,
            DemandFound{.blocked_by_task = at.blocker.has_value(),
                        .settled = bounds.demand.settled,
                        .split = test == AdmissionTest::end_to_end,
                        .above = bounded(at.above)});
  finding.instant = at.instant;
  finding.demand = bounded(at.demand);
  finding.blocking = at.blocking;
  finding.blocker = at.blocker ? named.names[bounds.on_device[*at.blocker]] : named.background;
  return finding;
}

/// Sets the blocking of `task` in the finding: the longest delay by one job of lower priority, or by other work
/// (StagedSet::background), that began before. Has no effect if jobs are preempted on the device. Also has no effect if
/// `task` or a more urgent task loads chunks while other jobs execute: the blocking then depends on the charge model of
/// the loads (Overlap) that the test selects.
void set_blocker(Finding& finding, const NamedSet& named, std::size_t task) {
  if (named.set.preempts || named.set.loads(task + 1)) return;
  finding.blocking = named.set.background;
  finding.blocker = named.background;
  for (std::size_t j = task + 1; j < named.names.size(); ++j) {
    if (named.set.tasks[j].blocks() <= finding.blocking) continue;
    finding.blocking = named.set.tasks[j].blocks();
    finding.blocker = named.names[j];
  }
}

Finding device_response_found(const NamedSet& named, std::size_t i, const DeviceResponse& response) {
  const StagedTask& task = named.set.tasks[i];
  Finding finding = found(device_test(named), false, named.names[i], response.from_release, task.deadline,
                          DeviceResponseFound{.device = task.device, .load = task.load, .settled = response.settled});
  set_blocker(finding, named, i);
  finding.instant = task.deadline;
  finding.demand = bounded(Wide{response.from_release} - finding.blocking);
  return finding;
}

// ---- cores ----

Finding of_core(unsigned core, Finding finding) {
  finding.test = AdmissionTest::core;
  finding.core = core;
  return finding;
}

Finding core_finding(const NamedSet& named, unsigned core, std::span<const FixedPoint> responses) {
  std::optional<Finding> least;
  std::vector<Nanos> parts;
  bool proved = true;
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    const StagedTask& task = named.set.tasks[i];
    const FixedPoint& response = responses[i];
    parts.push_back(task.before + task.after);
    if (task.core != core) continue;
    proved = proved && response.settled;
    if (least && task.deadline - response.value >= least->slack()) continue;
    least =
        found({}, false, named.names[i], response.value, task.deadline,
              CoreResponseFound{
                  .parts = parts.back(), .settled = response.settled, .service = !service_on(named.set, core).empty()});
  }
  least->proved = proved;
  return proved ? std::move(*least) : overload(named, parts, core).value_or(std::move(*least));
}

// ---- end to end ----

std::size_t min_slack(const NamedSet& named, std::span<const StageBounds> bounds) {
  const auto slack = [&](std::size_t i) { return named.set.tasks[i].deadline - bounds[i].done; };
  std::size_t limiting = 0;
  for (std::size_t i = 1; i < bounds.size(); ++i)
    if (slack(i) < slack(limiting)) limiting = i;
  return limiting;
}

/// Returns the first task without a device part whose bound is missing or exceeds its deadline. Returns nullopt if
/// there is no such task.
std::optional<std::size_t> late_off_device(const NamedSet& named, const EdfBounds& bounds) {
  for (std::size_t i = 0; i < bounds.tasks.size(); ++i)
    if (!named.set.tasks[i].uses_device() && !bounds.tasks[i].settled) return i;
  return std::nullopt;
}

Finding stages_found(const NamedSet& named, bool proved, std::span<const StageBounds> bounds, std::size_t limiting,
                     bool by_split) {
  return found(AdmissionTest::end_to_end, proved, named.names[limiting], bounds[limiting].done,
               named.set.tasks[limiting].deadline,
               StagesFound{bounds[limiting], named.set.tasks[limiting].uses_device(), by_split});
}

// ---- reservations ----

/// Returns the task whose two reservations take the most of the core.
std::size_t largest_share(const NamedSet& named, std::span<const CpuWindows> windows, unsigned core) {
  const auto share = [&](std::size_t i) {
    const StagedTask& task = named.set.tasks[i];
    if (task.core != core) return 0.0;
    return static_cast<double>(runtime_of(task.before)) / static_cast<double>(windows[i].before) +
           static_cast<double>(runtime_of(task.after)) / static_cast<double>(windows[i].after);
  };
  std::size_t largest = 0;
  for (std::size_t i = 1; i < named.names.size(); ++i)
    if (share(i) > share(largest)) largest = i;
  return largest;
}

/// Returns the finding for the reservations on one core. `room`: for each task, the total length of the windows of its
/// two reservations.
Finding reservations_found(const NamedSet& named, std::span<const Nanos> room, unsigned core, bool beside_device) {
  const std::vector<CpuWindows> windows = split_windows(named.set, room);
  const Nanos tasks = reserved_share(named.set, windows, core);
  const Nanos others = named.services->share_on(core);
  return found(AdmissionTest::end_to_end, tasks + others <= reservable,
               named.names[largest_share(named, windows, core)], tasks + others, reservable,
               ReservationsFound{.core = core,
                                 .tasks = tasks,
                                 .others = others,
                                 .copies = named.services->reserved.copy.has_value(),
                                 .beside_device = beside_device});
}

/// Returns a finding if the task cannot have any windows of reservations.
std::optional<Finding> impossible(const NamedSet& named, std::size_t i) {
  const StagedTask& task = named.set.tasks[i];
  const auto refuse = [&](Nanos left, Nanos right, Reason reason) {
    return found(AdmissionTest::end_to_end, false, named.names[i], left, right, std::move(reason));
  };
  const Nanos longest = std::max(runtime_of(task.before), runtime_of(task.after));
  if (longest > longest_window) return refuse(longest, longest_window, PartTooLong{});
  const Nanos parts = runtime_of(task.before) + runtime_of(task.after);
  const Nanos device = named.set.device_time(task);
  const Nanos needed = named.set.release_jitter + parts + device + 2 * task.backlog;
  if (needed <= task.deadline) return std::nullopt;
  return refuse(needed, task.deadline, DeadlineTooShort{parts, device});
}

// ---- the three kinds of tests ----

Finding demand_finding(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds) {
  const AdmissionTest test = device_test(named);
  if (auto finding = settled(test, named, refusal)) return std::move(*finding);
  return demand_found(test, named, bounds);
}

Finding response_finding(const NamedSet& named, const Refusal& refusal) {
  if (auto finding = settled(device_test(named), named, refusal)) return std::move(*finding);
  std::optional<Finding> least;
  bool proved = true;
  bool examined = true;
  const Nanos requested = 2 * named.set.platform_stall; // a request comes at the release, or later if the machine stops
  const std::vector<StageBounds> requests(named.names.size(), {.ready = requested});
  const std::vector<Overlap> overlaps = named.set.overlapped();
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    if (!named.set.tasks[i].uses_device()) continue;
    const Nanos deadline = named.set.tasks[i].deadline;
    const DeviceResponse response = static_priority_device(named.set, overlaps, i, requests, requested);
    const bool late = response.from_release > deadline;
    proved = proved && response.settled && !late;
    examined = examined && (response.settled || late);
    if (!least || deadline - response.from_release < least->slack()) least = device_response_found(named, i, response);
  }
  least->proved = proved;
  std::get<DeviceResponseFound>(least->reason).examined = examined;
  return std::move(*least);
}

std::vector<Finding> by_core(const NamedSet& named, const auto& finding_of) {
  std::vector<Finding> findings;
  for (const unsigned core : cores_of(named))
    findings.push_back(of_core(core, core == named.compute_core ? *on_compute_core(named) : finding_of(core)));
  return findings;
}

std::vector<Finding> core_findings(const NamedSet& named) {
  const std::vector<FixedPoint> responses = core_responses(named.set);
  return by_core(named, [&](unsigned core) { return core_finding(named, core, responses); });
}

std::vector<Finding> reserved_core_findings(const NamedSet& named) {
  std::vector<Nanos> room;
  for (const StagedTask& task : named.set.tasks)
    room.push_back(std::max(task.deadline - named.set.release_jitter - 2 * task.backlog,
                            runtime_of(task.before) + runtime_of(task.after)));
  return by_core(named, [&](unsigned core) { return reservations_found(named, room, core, false); });
}

/// Returns the finding for a set for which no windows of reservations fit.
Finding misfit_finding(const NamedSet& named, const Refusal& refusal) {
  if (auto finding = settled(AdmissionTest::end_to_end, named, refusal)) return std::move(*finding);
  for (std::size_t i = 0; i < named.names.size(); ++i)
    if (auto finding = impossible(named, i)) return std::move(*finding);
  const std::vector<Nanos> room = room_beside_device(named.set);
  std::optional<Finding> least;
  for (const unsigned core : cores_of(named)) {
    Finding finding = reservations_found(named, room, core, true);
    if (!least || finding.slack() < least->slack()) least = std::move(finding);
  }
  least->proved = false;
  return std::move(*least);
}

} // namespace

Refusal refused(const NamedSet& named) {
  if (named.names.empty()) return std::nullopt;
  return named.obstacle ? named.obstacle : overload(named, device_costs(named), std::nullopt);
}

Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds) {
  if (auto finding = settled(AdmissionTest::end_to_end, named, refusal)) return std::move(*finding);
  if (bounds.proved()) return stages_found(named, true, bounds.tasks, min_slack(named, bounds.tasks), true);
  if (const auto late = late_off_device(named, bounds); late && bounds.demand.proved())
    return stages_found(named, false, bounds.tasks, *late, false);
  Finding finding = demand_found(AdmissionTest::end_to_end, named, bounds);
  const std::size_t limiting = due_at(bounds, bounds.demand.tightest.instant);
  const StagedTask& task = named.set.tasks[limiting];
  const StageBounds& split = bounds.tasks[limiting];
  if (split.device_done - split.ready - named.set.device_delay < task.on_device()) {
    finding.left = split.ready + task.on_device() + split.last_window;
    finding.right = task.deadline;
    finding.reason = NoSplit{split, task.on_device()};
  }
  finding.proved = false;
  return finding;
}

Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, std::span<const StageBounds> bounds) {
  if (auto finding = settled(AdmissionTest::end_to_end, named, refusal)) return std::move(*finding);
  const std::size_t last = bounds.size() - 1;
  const bool proved = bounds.size() == named.names.size() && bounds[last].settled &&
                      bounds[last].done <= named.set.tasks[last].deadline;
  return stages_found(named, proved, bounds, proved ? min_slack(named, bounds) : last, false);
}

Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal, const Reserved<EdfBounds>& reserved) {
  return reserved.fits ? end_to_end_finding(named, refusal, reserved.bounds) : misfit_finding(named, refusal);
}

Finding end_to_end_finding(const NamedSet& named, const Refusal& refusal,
                           const Reserved<std::vector<StageBounds>>& reserved) {
  return reserved.fits ? end_to_end_finding(named, refusal, reserved.bounds) : misfit_finding(named, refusal);
}

Findings findings(const NamedSet& named, const Refusal& refusal, const EdfBounds& bounds) {
  return {demand_finding(named, refusal, bounds), core_findings(named), end_to_end_finding(named, refusal, bounds)};
}

Findings findings(const NamedSet& named, const Refusal& refusal, std::span<const StageBounds> bounds) {
  return {response_finding(named, refusal), core_findings(named), end_to_end_finding(named, refusal, bounds)};
}

Findings findings(const NamedSet& named, const Refusal& refusal, const Reserved<EdfBounds>& reserved,
                  const EdfBounds& device) {
  return {demand_finding(named, refusal, device), reserved_core_findings(named),
          end_to_end_finding(named, refusal, reserved)};
}

Findings findings(const NamedSet& named, const Refusal& refusal, const Reserved<std::vector<StageBounds>>& reserved) {
  return {response_finding(named, refusal), reserved_core_findings(named),
          end_to_end_finding(named, refusal, reserved)};
}

} // namespace rtexec::policies
