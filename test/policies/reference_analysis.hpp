// A second implementation of the end-to-end analysis, straight from the formulas, for small numbers. Switches break it
// on purpose. Unbroken it must agree with policies/; broken the search for misses must catch it.
#pragma once

#include "policies/bounds/end_to_end.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace rtexec::test {

struct Faults {
  bool device_blocking = false;  // lower priorities do not block the device
  bool device_jitter = false;    // device parts are requested at their nominal release
  bool last_part_jitter = false; // last parts become ready at their nominal release
  bool one_job_less = false;     // a window of the device holds ceil instead of floor + 1 jobs
  bool first_job_only = false;   // no push-through by the task's own previous job
  bool suspension = false;       // the joint window leaves out the time on the device
  bool stage_deadline = false;   // EDF: the device part gets the whole deadline
  bool release_jitter = false;   // timers are exact
  bool off_device = false;       // tasks that do not use the device contribute only their first parts
};

/// Bounds on the ends of the three parts, after the nominal release.
struct ReferenceBounds {
  long long ready = 0, device_done = 0, done = 0;
  friend bool operator==(const ReferenceBounds&, const ReferenceBounds&) = default;
};

namespace reference {

using policies::StagedSet;
using policies::StagedTask;
using Time = long long;

inline constexpr Time none = -1;

inline Time ceiling(Time a, Time b) { return (a + b - 1) / b; }

/// Returns the least w with w = own + interference on the core, or `none` if it exceeds the deadline. `third` holds
/// when the last parts of the tasks above become ready.
inline Time window(const StagedSet& set, std::size_t i, Time own, const std::vector<Time>& third,
                   const Faults& faults) {
  Time w = own;
  for (;;) {
    Time sum = own;
    for (std::size_t j = 0; j < i; ++j) {
      const StagedTask& other = set.tasks[j];
      if (other.core != set.tasks[i].core) continue;
      const Time released = ceiling(w + (faults.release_jitter ? 0 : set.release_jitter), other.period);
      sum += released * other.before;
      if (other.device == 0) sum += faults.off_device ? 0 : released * other.after;
      else sum += ceiling(w + (faults.last_part_jitter ? 0 : third[j]), other.period) * other.after;
    }
    if (sum > set.tasks[i].deadline) return none;
    if (sum == w) return w;
    w = sum;
  }
}

struct DeviceEnd {
  Time after_release = 0, after_request = 0;
};

inline std::optional<DeviceEnd> device_end(const StagedSet& set, std::size_t i, const std::vector<Time>& ready,
                                           const Faults& faults) {
  const StagedTask& task = set.tasks[i];
  Time blocking = set.background;
  for (std::size_t j = i + 1; j < set.tasks.size(); ++j) blocking = std::max<Time>(blocking, set.tasks[j].device);
  if (faults.device_blocking) blocking = 0;
  const auto jitter = [&](std::size_t j) { return faults.device_jitter ? 0 : ready[j]; };

  DeviceEnd end{0, 0};
  for (Time job = 0;; ++job) {
    Time start = blocking + job * task.device;
    for (Time before = none; before != start;) {
      before = start;
      start = blocking + job * task.device;
      for (std::size_t j = 0; j < i; ++j) {
        const StagedTask& other = set.tasks[j];
        start += (faults.one_job_less ? std::max<Time>(ceiling(before + jitter(j), other.period), 1)
                                      : (before + jitter(j)) / other.period + 1) *
                 other.device;
      }
      if (start > 4 * task.period) return std::nullopt;
    }
    const Time early = start + task.device - job * task.period;
    end.after_release = std::max(end.after_release, ready[i] + early);
    end.after_request = std::max(end.after_request, job == 0 ? early : ready[i] + early);
    if (end.after_release > task.deadline) return std::nullopt;
    // The busy period ends when all its work is done before the next job of the task can be requested.
    Time length = 0;
    for (Time before = none; before != length;) {
      before = length;
      length = blocking + (job + 1) * task.device;
      for (std::size_t j = 0; j < i; ++j)
        length += std::max<Time>(ceiling(before + jitter(j), set.tasks[j].period), 1) * set.tasks[j].device;
      if (length > 1'000'000) return std::nullopt;
    }
    if (faults.first_job_only || length <= (job + 1) * task.period - ready[i]) return end;
  }
}

inline Time slope_bound(const std::vector<Time>& deadlines, const StagedSet& set) {
  double utilisation = 0;
  double work = static_cast<double>(set.background);
  Time last = 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const auto share = static_cast<double>(set.tasks[i].device) / static_cast<double>(set.tasks[i].period);
    utilisation += share;
    work += share * static_cast<double>(set.tasks[i].period - deadlines[i]);
    last = std::max(last, deadlines[i]);
  }
  return utilisation > 0.999 ? none : std::max(last, static_cast<Time>(work / (1 - utilisation)) + 2);
}

inline bool demand_holds(const StagedSet& set, const std::vector<Time>& deadlines, const Faults& faults) {
  const Time top = slope_bound(deadlines, set);
  if (top == none) return false;
  for (std::size_t k = 0; k < deadlines.size(); ++k)
    for (Time t = deadlines[k]; t <= top && set.tasks[k].device > 0; t += set.tasks[k].period) {
      Time sum = 0;
      Time blocking = faults.device_blocking ? 0 : set.background;
      for (std::size_t i = 0; i < deadlines.size(); ++i) {
        if (deadlines[i] <= t) sum += ((t - deadlines[i]) / set.tasks[i].period + 1) * set.tasks[i].device;
        else if (!faults.device_blocking) blocking = std::max<Time>(blocking, set.tasks[i].device);
      }
      if (sum + blocking > t) return false;
    }
  return true;
}

} // namespace reference

/// Returns the bounds under static priority, or nullopt if some deadline is missed.
[[nodiscard]] inline std::optional<std::vector<ReferenceBounds>> reference_static(const policies::StagedSet& set,
                                                                                  const Faults& faults = {}) {
  using namespace reference;
  std::vector<ReferenceBounds> bounds;
  std::vector<Time> first;
  std::vector<Time> third;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    const Time jitter = faults.release_jitter ? 0 : set.release_jitter;
    const Time w1 = window(set, i, task.before, third, faults);
    if (w1 == none) return std::nullopt;
    first.push_back(jitter + w1);
    if (task.device == 0) {
      const Time both = window(set, i, task.before + task.after, third, faults);
      if (both == none || jitter + both > task.deadline) return std::nullopt;
      third.push_back(none);
      bounds.push_back({first[i], first[i], jitter + both});
      continue;
    }
    const auto device = device_end(set, i, first, faults);
    if (!device) return std::nullopt;
    const Time w3 = window(set, i, task.after, third, faults);
    const Time joint =
        window(set, i, task.before + task.after + (faults.suspension ? 0 : device->after_request), third, faults);
    Time done = w3 == none ? none : device->after_release + w3;
    if (joint != none && (done == none || jitter + joint < done)) done = jitter + joint;
    if (done == none || done > task.deadline) return std::nullopt;
    third.push_back(device->after_release);
    bounds.push_back({first[i], device->after_release, done});
  }
  return bounds;
}

/// Returns the bounds under EDF. Task i's device part must end by device_done[i], or, if that is 0, as late as its last
/// part allows.
[[nodiscard]] inline std::optional<std::vector<ReferenceBounds>> reference_edf(const policies::StagedSet& set,
                                                                               std::vector<long long> device_done,
                                                                               const Faults& faults = {}) {
  using namespace reference;
  std::vector<ReferenceBounds> bounds;
  std::vector<Time> deadlines;
  device_done.resize(set.tasks.size());
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    const Time w1 = window(set, i, task.before, device_done, faults);
    const Time w3 = window(set, i, task.after, device_done, faults);
    if (w1 == none || w3 == none) return std::nullopt;
    if (task.device == 0) {
      const Time jitter = faults.release_jitter ? 0 : set.release_jitter;
      const Time both = window(set, i, task.before + task.after, device_done, faults);
      if (both == none || jitter + both > task.deadline) return std::nullopt;
      deadlines.push_back(task.deadline); // no job is due then
      bounds.push_back({jitter + w1, jitter + w1, jitter + both});
      continue;
    }
    if (device_done[i] == 0) device_done[i] = task.deadline - w3;
    const Time ready = (faults.release_jitter ? 0 : set.release_jitter) + w1;
    deadlines.push_back(faults.stage_deadline ? device_done[i] : device_done[i] - ready);
    if (deadlines[i] < task.device || device_done[i] + w3 > task.deadline) return std::nullopt;
    bounds.push_back({ready, device_done[i], device_done[i] + w3});
  }
  if (!demand_holds(set, deadlines, faults)) return std::nullopt;
  return bounds;
}

} // namespace rtexec::test
