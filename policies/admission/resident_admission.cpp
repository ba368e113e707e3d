#include "policies/admission/resident_admission.hpp"

#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/bounds/priorities.hpp"
#include "policies/bounds/reservations.hpp"
#include "policies/bounds/verdicts.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::policies {
namespace {

bool searches_priorities(const TaskSet& tasks) {
  return tasks.executive.order == Order::static_priority && tasks.executive.priorities == PriorityAssignment::audsley;
}

bool names_cores(const TaskSet& tasks) {
  return std::ranges::all_of(tasks.tasks, [](const Task& task) { return task.core.has_value(); });
}

bool same_uses(std::span<const Wcet> a, std::span<const Wcet> b) {
  return std::ranges::equal(a, b, {}, &Wcet::uses_device, &Wcet::uses_device);
}

bool same_parts(const TimesBetween& times) {
  return same_uses(times.shortest, times.longest) &&
         std::ranges::equal(times.shortest, times.longest,
                            [](const Wcet& a, const Wcet& b) { return a.before == b.before && a.after == b.after; });
}

/// True if the same tasks use the device in `wcets` as in `first`, and no part is shorter in `wcets` than in `first`.
bool no_shorter(std::span<const Wcet> wcets, std::span<const Wcet> first) {
  return same_uses(wcets, first) && std::ranges::equal(wcets, first, [](const Wcet& a, const Wcet& b) {
           return a.before >= b.before && a.device >= b.device && a.after >= b.after;
         });
}

// ---- verdicts without plans ----

Finding end_to_end(const NamedSet& named) {
  if (const Refusal refusal = refused(named)) return *refusal;
  if (named.services && named.order == Order::edf)
    return end_to_end_finding(named, {}, reserved_edf_bounds(named.set, *named.services, Effort::verdict));
  if (named.services)
    return end_to_end_finding(named, {}, reserved_static_priority_bounds(named.set, *named.services, Effort::verdict));
  if (named.order == Order::edf) return end_to_end_finding(named, {}, edf_bounds(named.set, Effort::verdict));
  return end_to_end_finding(named, {}, static_priority_bounds(named.set));
}

/// Returns the slack that make_plan() would find with the cores of `plan`; nullopt if the set is not proved.
std::optional<Nanos> proved_slack(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency) {
  const auto of = [&](std::span<const std::size_t> tried, Lateness lateness) -> std::optional<Nanos> {
    const Finding found = end_to_end(charged_set(plan, set, tried, lateness));
    return found.proved ? std::optional(found.slack()) : std::nullopt;
  };
  const bool fixed = plan.order == Order::static_priority;
  const auto with = [&](std::span<const std::size_t> tried) {
    const auto in_time = of(tried, Lateness::none);
    return in_time || !fixed || !reserved(set.tasks) ? in_time : of(tried, Lateness::any);
  };
  const auto first = with(urgency);
  if (first || !searches_priorities(set.tasks)) return first;
  const auto charged = [&](std::span<const std::size_t> tried) {
    return charged_set(plan, set, tried, Lateness::none).set;
  };
  return with(audsley(set.tasks, {urgency.begin(), urgency.end()}, charged));
}

} // namespace

ResidentAdmission::ResidentAdmission(const ResolvedSet& set, const TimesBetween& times)
    : set_(set), urgency_(by_urgency(set.tasks)) {
  plan_.order = set.tasks.executive.order;
  plan_.tasks.resize(set.tasks.tasks.size());
  add_ways(times);
}

void ResidentAdmission::add_ways(const TimesBetween& times) {
  if (reserved(set_.tasks) || searches_priorities(set_.tasks)) return;
  const bool same = same_parts(times);
  all_alternatives_ = same || names_cores(set_.tasks);
  if (all_alternatives_) {
    for (CoreAssignment& cores : assignments(times.shortest)) add_way(std::move(cores), same);
    return;
  }
  CoreAssignment first = assignments(times.shortest).front();
  if (first == assignments(times.longest).front() && one_core_holds_all(first, times.longest))
    add_way(std::move(first), same);
  add_way({}, same);
}

void ResidentAdmission::add_way(std::optional<CoreAssignment> cores, bool same_parts) {
  using By = PlacedBounds::By;
  Alternative alternative{.cores = std::move(cores)};
  const bool edf = plan_.order == Order::edf;
  alternative.most.by = edf ? By::any_split : By::priorities;
  if (edf && alternative.cores && same_parts) alternative.first_split = Bounds{.by = By::first_split};
  if (edf && alternative.cores && !same_parts) alternative.sure = Bounds{.by = By::last_split};
  alternatives_.push_back(std::move(alternative));
}

std::vector<CoreAssignment> ResidentAdmission::assignments(std::span<const Wcet> wcets) {
  for (std::size_t i = 0; i < wcets.size(); ++i) set_.tasks.tasks[i].wcet = wcets[i];
  std::vector<CoreAssignment> all;
  core_assignments(set_, [&](const CoreAssignment& cores) {
    all.push_back(cores);
    return false;
  });
  return all;
}

/// True if all real-time tasks that name no core are on one core and pass the test `core N` there.
bool ResidentAdmission::one_core_holds_all(const CoreAssignment& cores, std::span<const Wcet> longest) {
  std::optional<unsigned> one;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const Task& task = set_.tasks.tasks[i];
    if (task.core || !task.real_time()) continue;
    if (one.value_or(cores[i]) != cores[i]) return false;
    one = cores[i];
  }
  if (!one || !take(longest)) return false;
  const NamedSet named = charged_set_of(cores);
  const std::vector<FixedPoint> responses = core_responses(named.set);
  for (std::size_t i = 0; i < responses.size(); ++i)
    if (named.set.tasks[i].core == *one && !responses[i].settled) return false;
  return true;
}

bool ResidentAdmission::take(std::span<const Wcet> wcets) {
  for (std::size_t i = 0; i < wcets.size(); ++i) set_.tasks.tasks[i].wcet = wcets[i];
  return can_be_planned(set_, std::vector<MemoryDemand>(wcets.size())).has_value();
}

std::optional<Nanos> ResidentAdmission::slack(std::span<const Wcet> wcets) {
  if (!take(wcets)) return std::nullopt;
  std::optional<Nanos> slack;
  const auto is_proved = [&](const CoreAssignment& cores) {
    for (std::size_t i = 0; i < cores.size(); ++i) plan_.tasks[i].core = cores[i];
    slack = proved_slack(plan_, set_, urgency_);
    return slack.has_value();
  };
  if (!all_alternatives_) core_assignments(set_, is_proved);
  else
    std::ranges::find_if(alternatives_, [&](const Alternative& alternative) { return is_proved(*alternative.cores); });
  if (!slack || set_.tasks.chains.empty()) return slack;
  // Only a plan tells whether chains keep their limits.
  const Result<Plan> plan = make_plan(set_, std::vector<MemoryDemand>(wcets.size()));
  return plan && plan->proved ? std::optional(plan->end_to_end.slack.count()) : std::nullopt;
}

bool ResidentAdmission::has_bounds() const {
  const bool monotone = all_alternatives_ && alternatives_.size() == 1 && plan_.order == Order::static_priority &&
                        set_.tasks.chains.empty();
  return !alternatives_.empty() && !monotone;
}

/// Returns an upper bound on the slack of one alternative (an assignment of cores), computed by `ask(bounds)`. The
/// bound holds for any split (of each deadline into a deadline for each part). If the first split is known to prove the
/// set for all times of the range, make_plan() uses no other split. Then the function may return the bound for the
/// first split.
template <class Ask>
std::optional<Nanos> ResidentAdmission::asked(std::size_t index, const TimesBetween& times, Nanos needed,
                                              const Ask& ask) {
  Alternative& alternative = alternatives_[index];
  PlacedBounds* const any = charged(alternative, alternative.most, times.shortest);
  const std::optional<Nanos> most = any != nullptr ? ask(*any) : std::nullopt;
  if (!most || *most < needed || !alternative.first_split) return most;
  PlacedBounds* const first = charged(alternative, *alternative.first_split, times.shortest);
  const std::optional<Nanos> by_first = first != nullptr ? ask(*first) : std::nullopt;
  return by_first && *by_first < needed && surely_proves(index, times.longest) ? by_first : most;
}

std::optional<Nanos> ResidentAdmission::bound(std::size_t alternative, const TimesBetween& times, Nanos needed) {
  return asked(alternative, times, needed, [](PlacedBounds& bounds) { return bounds.most(); });
}

std::optional<Nanos> ResidentAdmission::glance(std::size_t alternative, const TimesBetween& times, Nanos needed) {
  return asked(alternative, times, needed, [&](PlacedBounds& bounds) { return bounds.glance(needed); });
}

bool ResidentAdmission::surely_proves(std::size_t index, std::span<const Wcet> longest) {
  Alternative& alternative = alternatives_[index];
  if (!alternative.cores || !set_.tasks.chains.empty()) return false;
  Bounds& sure = alternative.first_split ? *alternative.first_split
                 : alternative.sure      ? *alternative.sure
                                         : alternative.most;
  PlacedBounds* const bounds = charged(alternative, sure, longest);
  return bounds != nullptr && bounds->surely_proved();
}

/// Sets the execution times of the bounds in `of` to `wcets`. Returns these bounds, or nullptr if make_plan() refuses
/// the times. If no time is shorter than at construction of the bounds object, the object is reused, since it stores
/// the instants that were tightest in earlier calls.
PlacedBounds* ResidentAdmission::charged(const Alternative& alternative, Bounds& of, std::span<const Wcet> wcets) {
  if (!of.bounds || !no_shorter(wcets, of.first)) {
    of.bounds.reset();
    of.first.assign(wcets.begin(), wcets.end());
    if (take(wcets)) of.bounds.emplace(charged_set_of(alternative.cores), of.by);
    return of.bounds ? &*of.bounds : nullptr;
  }
  Nanos background = 0;
  std::size_t staged = 0;
  for (const std::size_t i : urgency_) {
    const Wcet& wcet = wcets[i];
    if (std::max({wcet.before, wcet.device, wcet.after}).count() > longest_time) return nullptr;
    const Nanos device = on_device(wcet.device, set_.board);
    if (set_.tasks.tasks[i].real_time())
      of.bounds->set_parts(staged++, on_core(wcet.before, set_.board), device, on_core(wcet.after, set_.board));
    else background = std::max(background, device);
  }
  of.bounds->set_background(background);
  return &*of.bounds;
}

/// Returns the charged set (with the overheads that the analysis adds). If `cores` is absent, each task gets a core of
/// its own. No task takes longer on a core of its own than on a shared core.
NamedSet ResidentAdmission::charged_set_of(const std::optional<CoreAssignment>& cores) {
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i) plan_.tasks[i].core = cores ? (*cores)[i] : 0;
  NamedSet named = charged_set(plan_, set_, urgency_, Lateness::none);
  if (cores) return named;
  named.obstacle.reset();
  named.set.service.clear();
  named.set.regulated.clear();
  for (std::size_t i = 0; i < named.set.tasks.size(); ++i) named.set.tasks[i].core = static_cast<unsigned>(i);
  named.compute_core = static_cast<unsigned>(named.set.tasks.size());
  return named;
}

} // namespace rtexec::policies
