#include "policies/bounds/placed_bounds.hpp"

#include "policies/bounds/core_windows.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace rtexec::policies {
namespace {

bool contains(const auto& range, const auto& value, auto of) {
  return std::ranges::find(range, value, of) != range.end();
}

std::optional<Nanos> unless_late(Nanos slack) { return slack < 0 ? std::nullopt : std::optional(slack); }

/// Returns the windows of all CPU parts. `by` determines when the last part of a job is assumed to become ready:
/// - first_split: at the deadline of the device part.
/// - last_split: at the deadline of the job.
/// - any other value: at the earliest instant, as if the job were alone on the device.
std::vector<StageBounds> windows_of(const StagedSet& set, PlacedBounds::By by) {
  using By = PlacedBounds::By;
  return windows_with(set, [&](const StagedTask& task, const StageBounds& own) {
    if (by == By::first_split) return task.deadline - own.last_window;
    return by == By::last_split ? task.deadline : own.ready + task.device;
  });
}

} // namespace

PlacedBounds::PlacedBounds(NamedSet named, By by)
    : named_(std::move(named)),
      by_(by),
      begun_(named_.set),
      windows_(windows_of(named_.set, by)),
      refused_(named_.obstacle || contains(begun_.tasks, named_.compute_core, &StagedTask::core) ||
               !std::ranges::all_of(windows_, &StageBounds::settled)) {
  for (std::size_t i = 0; i < windows_.size(); ++i)
    if (!begun_.tasks[i].uses_device())
      off_device_ = std::min(off_device_, begun_.tasks[i].deadline - windows_[i].done);
}

void PlacedBounds::set_parts(std::size_t task, Nanos before, Nanos device, Nanos after) {
  StagedTask& staged = named_.set.tasks[task];
  staged.before = before;
  staged.device = device;
  staged.after = after;
}

/// True if the lengths of CPU parts have changed since construction.
bool PlacedBounds::moved() const {
  return !std::ranges::equal(begun_.tasks, named_.set.tasks, [](const StagedTask& a, const StagedTask& b) {
    return a.before == b.before && a.after == b.after;
  });
}

std::optional<Nanos> PlacedBounds::most() {
  if (refused_ || off_device_ < 0) return std::nullopt;
  return by_ == By::priorities ? max_by_priorities() : max_by_split(unbounded);
}

std::optional<Nanos> PlacedBounds::glance(Nanos needed) {
  if (refused_) return std::nullopt;
  Nanos most = off_device_;
  for (const Instant& each : instants_)
    if (most >= needed) most = std::min(most, left_at(each));
  for (std::size_t k = 0; k < responses_.size() && most >= needed; ++k) {
    most = std::min(most, left_by(responses_[k], needed));
    if (most < needed) std::swap(responses_[k], responses_.front());
  }
  return unless_late(most);
}

bool PlacedBounds::surely_proved() {
  if (by_ == By::any_split) return false;
  if (!glance(0)) return false;
  return by_ == By::priorities ? most().has_value() : max_by_split(0).has_value();
}

// ---- by a split ----

std::optional<Nanos> PlacedBounds::max_by_split(Nanos enough) {
  const std::vector<StageBounds> windows = moved() ? windows_of(named_.set, by_) : windows_;
  Nanos most = unbounded;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (!windows[i].settled) return std::nullopt;
    if (const StagedTask& task = named_.set.tasks[i]; !task.uses_device())
      most = std::min(most, task.deadline - windows[i].done);
  }
  if (const std::vector<DemandTask> parts = device_parts(windows); !parts.empty()) {
    const DemandAnalysis demand = analyse_demand(parts, {.background = {named_.set.background}}, enough);
    if (demand.settled) learn_instant(parts, demand.tightest.instant);
    if (!demand.settled) return std::nullopt;
    // If no busy period was found, the slack is not an upper bound: the set with longer parts may have a busy period,
    // and its slack may be larger.
    if (by_ != By::any_split && !demand.proved()) return std::nullopt;
    if (demand.busy_known) most = std::min(most, demand.tightest.slack());
  }
  return unless_late(most);
}

/// Returns the device parts. The deadline of each part is what remains of the task's deadline after the windows of its
/// CPU parts (`windows`) and after `device_delay`.
std::vector<DemandTask> PlacedBounds::device_parts(std::span<const StageBounds> windows) const {
  std::vector<DemandTask> parts;
  parts.reserve(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const StagedTask& task = named_.set.tasks[i];
    const Nanos requested = windows[i].ready + named_.set.device_delay;
    if (task.uses_device())
      parts.push_back({.period = task.period,
                       .deadline = task.deadline - windows[i].last_window - requested,
                       .cost = task.device,
                       .jitter = requested});
  }
  return parts;
}

Nanos PlacedBounds::left_at(const Instant& instant) const {
  const StagedSet& set = named_.set;
  Wide first_jobs = set.background;
  Demand demand{.instant = instant.at, .demand = 0, .blocking = set.background, .blocker = {}};
  for (std::size_t i = 0; i < instant.jobs.size(); ++i) {
    const Nanos part = set.tasks[i].device;
    first_jobs += part;
    demand.demand += Wide{instant.jobs[i]} * part;
    if (instant.jobs[i] == 0) demand.blocking = std::max(demand.blocking, part);
  }
  // Every busy period is at least as long as one job of each task together. If busy_period() finds no bound, the
  // function returns `unbounded`: the set with longer parts may have a bound.
  if (demand.demand + demand.blocking <= first_jobs) return demand.slack();
  const Nanos busy = busy_period(device_parts(windows_), {.background = {set.background}});
  return busy < unbounded ? std::max(demand.slack(), instant.at - busy) : unbounded;
}

/// Returns when the last of `jobs` jobs of a task is due on the device. Uses the lengths and windows of the parts at
/// construction.
Nanos PlacedBounds::due(std::size_t task, Nanos jobs) const {
  const StagedTask& begun = begun_.tasks[task];
  const StageBounds& windows = windows_[task];
  const Nanos first = begun.deadline - windows.last_window - windows.ready - begun_.device_delay;
  return first + (jobs - 1) * begun.period;
}

/// Stores an instant for left_at(). `parts`: the device parts with their present deadlines. `at`: the tightest instant
/// for `parts`. With the lengths of parts at construction, device parts have longer deadlines. The stored instant is
/// the first instant by which the jobs that are now due by `at` are due with these longer deadlines.
void PlacedBounds::learn_instant(std::span<const DemandTask> parts, Nanos at) {
  const auto jobs_by = [](Nanos instant, Nanos first, Nanos period) {
    return first <= instant ? (instant - first) / period + 1 : 0;
  };
  Instant learnt{.at = 0, .jobs = std::vector<Nanos>(begun_.tasks.size())};
  auto part = parts.begin();
  for (std::size_t i = 0; i < begun_.tasks.size(); ++i) {
    if (!begun_.tasks[i].uses_device()) continue;
    if (const Nanos jobs = jobs_by(at, part->deadline, part->period); jobs > 0)
      learnt.at = std::max(learnt.at, due(i, jobs));
    ++part;
  }
  if (contains(instants_, learnt.at, &Instant::at)) return;
  for (std::size_t i = 0; i < begun_.tasks.size(); ++i)
    if (begun_.tasks[i].uses_device()) learnt.jobs[i] = jobs_by(learnt.at, due(i, 1), begun_.tasks[i].period);
  instants_.push_back(std::move(learnt));
}

// ---- by priorities ----

std::optional<Nanos> PlacedBounds::max_by_priorities() {
  const std::vector<StageBounds> bounds = static_priority_bounds(named_.set);
  if (bounds.empty()) return off_device_;
  const auto slack = [&](std::size_t i) { return named_.set.tasks[i].deadline - bounds[i].done; };
  std::size_t tightest = 0;
  bool proved = true;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (slack(i) < slack(tightest) || !bounds[i].settled) tightest = i;
    proved = proved && bounds[i].settled;
  }
  learn_response(tightest);
  return proved ? unless_late(slack(tightest)) : std::nullopt;
}

/// Returns an upper bound on the slack of one task. static_priority_bounds() computes two bounds on the end of a job,
/// and takes the smaller bound. This function also takes the smaller of the two bounds, but for the first job only, and
/// with the shortest windows. If the first of the two bounds leaves a slack of at least `needed`, returns `unbounded`.
Nanos PlacedBounds::left_by(Response& response, Nanos needed) const {
  const StagedSet& set = named_.set;
  const StagedTask& task = set.tasks[response.task];
  const StageBounds& windows = windows_[response.task];
  for (std::size_t j = 0; j < response.task; ++j) response.device[j].cost = set.tasks[j].device;
  Nanos blocking = set.background;
  for (std::size_t j = response.task + 1; j < set.tasks.size(); ++j) blocking = std::max(blocking, set.tasks[j].device);
  const Nanos start = first_start(0, response.device, blocking + set.device_delay, task.deadline).value;
  const Nanos separate = task.deadline - windows.ready - start - task.device - windows.last_window;
  if (separate >= needed) return unbounded;
  CorePart joined = both_parts(task);
  joined.work += start + task.device;
  joined.windows = 2;
  const FixedPoint joint = core_window(set, task, joined, response.core);
  return std::max(separate, task.deadline - set.release_jitter - joint.value);
}

void PlacedBounds::learn_response(std::size_t task) {
  if (!named_.set.tasks[task].uses_device() || contains(responses_, task, &Response::task)) return;
  Response& response =
      responses_.emplace_back(Response{.task = task, .core = loads_above(begun_, task, windows_), .device = {}});
  for (std::size_t j = 0; j < task; ++j) response.device.push_back({named_.set.tasks[j].period, 0, windows_[j].ready});
}

} // namespace rtexec::policies
