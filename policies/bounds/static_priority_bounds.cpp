#include "policies/bounds/core_windows.hpp"
#include "policies/bounds/end_to_end.hpp"

namespace rtexec::policies {
namespace {

/// Returns the longest device part of less urgent tasks. One such job may be executing when a busy period of `task`
/// begins.
Nanos blocking_below(const StagedSet& set, std::size_t task) {
  Nanos longest = set.background;
  for (std::size_t j = task + 1; j < set.tasks.size(); ++j) longest = std::max(longest, set.tasks[j].blocks());
  return longest;
}

/// Returns the longest blocking by less urgent tasks if the chunks of one job are loaded while another job executes.
Nanos blocking_below(const Overlap& overlap, std::size_t task) {
  Nanos longest = overlap.background;
  for (std::size_t j = task + 1; j < overlap.tasks.size(); ++j) longest = std::max(longest, overlap.tasks[j].blocking);
  return longest;
}

/// Returns the entries of `overlaps` to examine. Each entry has the charges of all tasks for one value of lambda, the
/// time in which an execution and a load overlap (overlap.hpp). If the set has many tasks, returns only the entry with
/// the smallest share of the device, otherwise all entries.
std::span<const Overlap> promising(const StagedSet& set, std::span<const Overlap> overlaps, std::size_t last) {
  constexpr std::size_t many = 64;
  if (set.tasks.size() <= many) return overlaps;
  const auto share = [&](const Overlap& overlap) {
    double sum = 0;
    for (std::size_t j = 0; j <= last; ++j)
      sum += static_cast<double>(overlap.tasks[j].cost) / static_cast<double>(set.tasks[j].period);
    return sum;
  };
  const auto best = std::ranges::min_element(overlaps, {}, share);
  return overlaps.subspan(static_cast<std::size_t>(best - overlaps.begin()), 1);
}

StageBounds bounds_of(const StagedSet& set, std::span<const Overlap> overlaps, std::size_t i,
                      std::span<const StageBounds> above) {
  const StagedTask& task = set.tasks[i];
  const std::vector<Load> loads = loads_above(set, i, above);
  if (!task.uses_device()) return bounds_off_device(set, task, loads);
  StageBounds bounds;

  const FixedPoint first = core_window(set, task, {task.before, task.lines_before}, loads);
  bounds.ready = set.release_jitter + first.value;
  bounds.device_done = bounds.ready + task.on_device();
  bounds.last_window = task.after;
  bounds.done = bounds.device_done + task.after;
  if (!first.settled) return bounds;

  const DeviceResponse device = static_priority_device(set, overlaps, i, above, bounds.ready);
  bounds.device_done = device.from_release;
  bounds.done = bounds.device_done + task.after;
  if (!device.settled) return bounds;

  // There are two bounds on the end of the job. For the first bound, the last part has a window of its own. For the
  // second bound, one window spans all parts of the job and counts the device response as work.
  const FixedPoint last = core_window(set, task, {task.after, task.lines_after}, loads);
  CorePart joined = both_parts(task);
  joined.work += device.from_request;
  joined.windows = 2;
  const FixedPoint whole = core_window(set, task, joined, loads);
  bounds.last_window = last.value;
  bounds.settled = last.settled || whole.settled;
  const Nanos separate = bounds.device_done + last.value;
  const Nanos joint = set.release_jitter + whole.value;
  bounds.done = last.settled && whole.settled ? std::min(separate, joint) : last.settled ? separate : joint;
  return bounds;
}

/// Returns the response of task `i` if jobs are preempted on the device. A task of lower priority may be in a more
/// urgent device class (preemption class) and so delay task `i`. The response of such a task is not known here. Such a
/// task is assumed to request the device as late as its deadline allows. This assumption holds if the whole set is
/// proved.
DeviceResponse response_in_classes(const StagedSet& set, std::size_t i, std::span<const StageBounds> above,
                                   Nanos ready) {
  std::vector<DemandTask> parts;
  std::size_t place = 0;
  for (std::size_t j = 0; j < set.tasks.size(); ++j) {
    const StagedTask& task = set.tasks[j];
    if (!task.uses_device()) continue;
    if (j == i) place = parts.size();
    const Nanos latest = std::max(task.deadline - task.on_device() - task.after, Nanos{0});
    const Nanos jitter = j < i ? above[j].ready : j == i ? ready : latest;
    // The compute engine may pause once while the task waits.
    const Nanos standstill = j == i ? set.device_delay : 0;
    parts.push_back({.period = task.period,
                     .deadline = task.deadline - jitter,
                     .cost = task.device + standstill,
                     .load = task.load,
                     .delay = task.delay,
                     .jitter = jitter});
  }
  return SegmentedAnalysis(set.in_classes(parts)).response(place);
}

} // namespace

DeviceResponse static_priority_device(const StagedSet& set, std::span<const Overlap> overlaps, std::size_t i,
                                      std::span<const StageBounds> above, Nanos ready) {
  if (set.preempts) return response_in_classes(set, i, above, ready);
  const StagedTask& task = set.tasks[i];
  std::vector<Load> higher;
  for (std::size_t j = 0; j < i; ++j) higher.push_back({set.tasks[j].period, set.tasks[j].device, above[j].ready});
  if (!set.loads(i + 1))
    return device_response({task.period, task.device, ready}, {task.lead, task.device - task.lead}, higher,
                           blocking_below(set, i) + set.device_delay, task.deadline);

  std::optional<DeviceResponse> best;
  for (const Overlap& overlap : promising(set, overlaps, i)) {
    const Overlap::Charge& charge = overlap.tasks[i];
    for (std::size_t j = 0; j < i; ++j) higher[j].cost = overlap.tasks[j].cost;
    const DeviceResponse found = device_response({task.period, charge.cost, ready}, {charge.lead, task.device}, higher,
                                                 blocking_below(overlap, i) + set.device_delay, task.deadline);
    best = best ? better(*best, found, task.deadline) : found;
  }
  return *best;
}

std::vector<FixedPoint> core_responses(const StagedSet& set) {
  std::vector<FixedPoint> responses;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    std::vector<Load> loads = threads_on(set, task.core);
    for (std::size_t j = 0; j < i; ++j) {
      const StagedTask& other = set.tasks[j];
      if (other.core != task.core) continue;
      loads.push_back(load_of_both(set, other));
      if (other.looks.cost > 0) loads.push_back(other.looks);
    }
    FixedPoint response = core_window(set, task, both_parts(task), loads);
    response.value += set.release_jitter;
    response.settled = response.settled && response.value <= task.deadline;
    responses.push_back(response);
  }
  return responses;
}

StageBounds static_priority_bound(const StagedSet& set, std::size_t i, std::vector<StageBounds>& above) {
  const std::vector<Overlap> overlaps = set.overlapped();
  std::vector<StageBounds> earliest;
  for (std::size_t j = 0; j < i; ++j) {
    const StagedTask& task = set.tasks[j];
    const Nanos ready = std::min(set.release_jitter + task.before, task.deadline - task.on_device());
    earliest.push_back({.ready = ready, .device_done = std::min(ready + task.on_device(), task.deadline - task.after)});
  }
  const StageBounds least = bounds_of(set, overlaps, i, earliest);
  if (!least.settled || least.done > set.tasks[i].deadline) return least;
  for (std::size_t j = above.size(); j < i; ++j) {
    StageBounds bounds = bounds_of(set, overlaps, j, above);
    const Nanos deadline = set.tasks[j].deadline;
    if (!bounds.settled || bounds.done > deadline)
      bounds = {.ready = std::min(bounds.ready, deadline - set.tasks[j].on_device()),
                .device_done = deadline - set.tasks[j].after,
                .last_window = bounds.last_window,
                .done = deadline,
                .settled = true};
    above.push_back(bounds);
  }
  return bounds_of(set, overlaps, i, std::span(above).first(i));
}

std::vector<StageBounds> static_priority_bounds(const StagedSet& set) {
  const std::vector<Overlap> overlaps = set.overlapped();
  std::vector<StageBounds> bounds;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    bounds.push_back(bounds_of(set, overlaps, i, bounds));
    if (!bounds.back().settled || bounds.back().done > set.tasks[i].deadline) break;
  }
  return bounds;
}

} // namespace rtexec::policies
