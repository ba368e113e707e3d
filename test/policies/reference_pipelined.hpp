// A second implementation of the schedulability test of the rule `pipelined`, for device parts alone, straight from the
// formulas and for small numbers. Switches break it on purpose. Unbroken the search for misses must not refute it;
// broken it must.
#pragma once

#include <rtexec/choices.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace rtexec::test {

struct PipelinedFaults {
  bool staged_load = false; // the job staged when a busy period begins costs nothing
  bool running_job = false; // the job executing when a busy period begins costs nothing
  bool pairing = false;     // every job costs max(C, o), as if each executed during its own load
  bool delay = false;       // every load proceeds as if it had free frames
  bool bypass = false;      // a bypassing job costs only its execution
};

struct PipelinedTask {
  long long period = 1, deadline = 0;
  long long device = 0; // C
  long long load = 0;   // o
  unsigned chunks = 0;  // x
};

struct PipelinedSet {
  std::vector<PipelinedTask> tasks; // under static priority the most urgent first
  long long per_chunk = 1;          // alpha
  unsigned frames = 0;              // P
};

namespace pipelined {

using Time = long long;

inline Time over(Time a, Time b) { return std::max<Time>(a - b, 0); }
inline Time jobs_due(const PipelinedTask& task, Time length) {
  return length < task.deadline ? 0 : (length - task.deadline) / task.period + 1;
}

/// Returns how long k still executes after the frames that its job leaves free are full. It is 0 if k and any other
/// task fit into the frames together.
inline Time delay(const PipelinedSet& set, std::size_t k, const PipelinedFaults& faults) {
  const PipelinedTask& task = set.tasks[k];
  unsigned other = 0;
  for (std::size_t j = 0; j < set.tasks.size(); ++j)
    if (j != k) other = std::max(other, set.tasks[j].chunks);
  if (faults.delay || task.chunks == 0 || task.chunks + other <= set.frames) return 0;
  return over(task.device, set.per_chunk * (set.frames - task.chunks));
}

/// Returns the part of C_k that lambda does not cover.
inline Time exposed(const PipelinedSet& set, std::size_t k, Time lambda, const PipelinedFaults& faults) {
  return std::max(over(set.tasks[k].device, lambda), delay(set, k, faults));
}

inline std::vector<Time> split_points(const PipelinedSet& set, const PipelinedFaults& faults) {
  std::vector<Time> points{0};
  Time longest = 0;
  for (const PipelinedTask& task : set.tasks) longest = std::max(longest, task.device);
  for (std::size_t k = 0; k < set.tasks.size(); ++k) {
    points.push_back(set.tasks[k].device - delay(set, k, faults));
    if (set.tasks[k].load <= longest) points.push_back(set.tasks[k].load);
  }
  return points;
}

/// Returns e_i for `lambda`.
inline Time cost(const PipelinedSet& set, std::size_t i, Time lambda, const PipelinedFaults& faults) {
  const PipelinedTask& task = set.tasks[i];
  if (faults.pairing) return std::max(task.device, task.load);
  if (faults.bypass && task.chunks == 0) return task.device;
  return lambda + exposed(set, i, lambda, faults) + over(task.load, lambda);
}

/// Returns B: the largest blocking by a staged task for which `later` holds together with another executing task, or by
/// an executing task alone. A task for which alone `in` holds does not count as executing.
inline Time blocking(const PipelinedSet& set, Time lambda, const PipelinedFaults& faults, auto later, auto in) {
  int due = 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) due += in(i) ? 1 : 0;
  const auto executes = [&](std::size_t a) { return !faults.running_job && !(due == 1 && in(a)); };
  Time most = 0;
  for (std::size_t a = 0; a < set.tasks.size(); ++a)
    if (executes(a)) most = std::max(most, exposed(set, a, lambda, faults));
  for (std::size_t b = 0; b < set.tasks.size(); ++b) {
    if (!later(b)) continue;
    const Time staged = exposed(set, b, lambda, faults) + (faults.staged_load ? 0 : over(set.tasks[b].load, lambda));
    Time before = faults.running_job ? 0 : lambda;
    for (std::size_t a = 0; a < set.tasks.size(); ++a)
      if (a != b && executes(a)) before = std::max(before, lambda + exposed(set, a, lambda, faults));
    most = std::max(most, before + staged);
  }
  return most;
}

inline bool holds(const PipelinedSet& set, Time length, const std::vector<Time>& points,
                  const PipelinedFaults& faults) {
  Time alone = 0;
  Time blocker = 0;
  bool swaps = false;
  for (const PipelinedTask& task : set.tasks) {
    if (task.deadline > length) blocker = std::max(blocker, task.device);
    else swaps = swaps || task.chunks > 0;
    alone += jobs_due(task, length) * task.device;
  }
  if (!swaps) return alone + blocker <= length;
  return std::ranges::any_of(points, [&](Time lambda) {
    Time sum = blocking(
        set, lambda, faults, [&](std::size_t b) { return set.tasks[b].deadline > length; },
        [&](std::size_t i) { return set.tasks[i].deadline <= length; });
    Time last = 0;
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      const PipelinedTask& task = set.tasks[i];
      sum += jobs_due(task, length) * cost(set, i, lambda, faults);
      if (task.deadline <= length) last = std::max(last, task.device - exposed(set, i, lambda, faults));
    }
    return sum + last <= length;
  });
}

/// Returns a length above which the inequality holds by its slope, or nullopt if no lambda has one.
inline std::optional<Time> last_length(const PipelinedSet& set, const std::vector<Time>& points,
                                       const PipelinedFaults& faults) {
  std::optional<Time> least;
  Time deadline = 0;
  for (const PipelinedTask& task : set.tasks) deadline = std::max(deadline, task.deadline);
  for (const Time lambda : points) {
    double use = 0;
    const auto any = [](std::size_t) { return true; };
    auto work = static_cast<double>(blocking(set, lambda, faults, any, any) + lambda);
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      const PipelinedTask& task = set.tasks[i];
      const double share = static_cast<double>(cost(set, i, lambda, faults)) / static_cast<double>(task.period);
      use += share;
      work += share * static_cast<double>(task.period - task.deadline);
    }
    if (use > 0.999) continue;
    const Time length = std::max(deadline, static_cast<Time>(work / (1 - use)) + 2);
    least = std::min(least.value_or(length), length);
  }
  return least;
}

inline bool edf(const PipelinedSet& set, const PipelinedFaults& faults) {
  const std::vector<Time> points = split_points(set, faults);
  const auto last = last_length(set, points, faults);
  if (!last) return false;
  for (const PipelinedTask& task : set.tasks)
    for (Time length = task.deadline; length <= *last; length += task.period)
      if (!holds(set, length, points, faults)) return false;
  return true;
}

/// Returns R_i, at most D_i, or nullopt if this lambda gives no such bound.
inline std::optional<Time> response(const PipelinedSet& set, std::size_t i, Time lambda,
                                    const PipelinedFaults& faults) {
  const PipelinedTask& task = set.tasks[i];
  bool alone = true;
  for (std::size_t j = 0; j <= i; ++j) alone = alone && set.tasks[j].chunks == 0;
  const auto cost_of = [&](std::size_t j) { return alone ? set.tasks[j].device : cost(set, j, lambda, faults); };
  Time blocked = 0;
  if (alone) {
    for (std::size_t j = i + 1; j < set.tasks.size(); ++j) blocked = std::max(blocked, set.tasks[j].device);
    lambda = 0;
  } else {
    blocked = blocking(
        set, lambda, faults, [&](std::size_t b) { return b > i; }, [&](std::size_t) { return set.tasks.size() == 1; });
  }
  /// The cost of the job itself beyond that of the q jobs before it.
  const Time last = alone ? 0 : cost_of(i) - exposed(set, i, lambda, faults);
  Time most = 0;
  for (Time q = 0;; ++q) {
    Time start = blocked + q * cost_of(i) + last;
    for (Time before = -1; before != start;) {
      before = start;
      start = blocked + q * cost_of(i) + last;
      for (std::size_t j = 0; j < i; ++j) start += (before / set.tasks[j].period + 1) * cost_of(j);
      if (start > (q + 1) * task.period) return std::nullopt;
    }
    most = std::max(most, start + task.device - q * task.period);
    if (most > task.deadline) return std::nullopt;
    Time length = 1;
    for (Time before = 0; before != length;) {
      before = length;
      length = blocked + lambda;
      for (std::size_t j = 0; j <= i; ++j)
        length += (before + set.tasks[j].period - 1) / set.tasks[j].period * cost_of(j);
      if (length > 1'000'000'000) return std::nullopt;
    }
    if ((q + 1) * task.period >= length) return most;
  }
}

} // namespace pipelined

/// Returns response bounds, or nullopt if some deadline is missed.
[[nodiscard]] inline std::optional<std::vector<long long>> reference_pipelined(const PipelinedSet& set, Order order,
                                                                               const PipelinedFaults& faults = {}) {
  using namespace pipelined;
  for (const PipelinedTask& task : set.tasks)
    if (task.chunks > set.frames) return std::nullopt;
  std::vector<Time> bounds;
  if (order == Order::edf) {
    if (!edf(set, faults)) return std::nullopt;
    for (const PipelinedTask& task : set.tasks) bounds.push_back(task.deadline);
    return bounds;
  }
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    std::optional<Time> least;
    for (const Time lambda : split_points(set, faults))
      if (const auto found = response(set, i, lambda, faults)) least = std::min(least.value_or(*found), *found);
    if (!least) return std::nullopt;
    bounds.push_back(*least);
  }
  return bounds;
}

} // namespace rtexec::test
