// A second implementation of the schedulability tests of the serial rules, straight from the formulas and for small
// numbers. Switches break it on purpose. Unbroken it must agree with policies/; broken the search for misses must catch
// it.
#pragma once

#include "policies/device/device_set.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::test {

struct SerialFaults {
  bool blocking = false;       // nothing blocks
  bool running_job = false;    // a blocking job does not wait for the executing one
  bool uncharged = false;      // rt_swap: swap-outs for other tasks are not charged, as in the publication
  bool swap_out = false;       // jobs cost O_in + C
  bool one_chunk_less = false; // each swap moves one chunk less
  bool first_job = false;      // each task has one job only
  bool lead = false;           // static priority: a job is not overtaken before its swap-in begins
  bool deadlines = false;      // deadlines of later tasks are taken for periods
};

namespace serial {

using Time = policies::Nanos;
using policies::DeviceSet;
using policies::DeviceTask;
using policies::Volumes;

struct Costs {
  std::vector<Time> in, out; // O_in, O_out by task
  std::vector<Time> block;   // by task
  Time once = 0;             // once per interval
  [[nodiscard]] Time all(const DeviceSet& set, std::size_t i) const { return in[i] + out[i] + set.tasks[i].execution; }
};

inline Costs costs_of(const DeviceSet& set, const Volumes& volumes, const SerialFaults& faults) {
  Costs costs;
  const Time in = set.cost.in_per_chunk.count();
  const Time out = (set.copies_out(volumes) ? set.cost.out_per_chunk : set.cost.drop_per_chunk).count();
  Time swapping = 0, largest = 0;
  for (const Time x : volumes) {
    const Time moved = faults.one_chunk_less && x > 0 ? x - 1 : x;
    costs.in.push_back(x == 0 ? 0 : set.cost.in_fixed.count() + moved * in);
    costs.out.push_back(x == 0 || faults.swap_out ? 0 : 3 * set.cost.out_fixed.count() + moved * out);
    swapping += x > 0;
    largest = std::max(largest, x);
  }
  Time region = 0;
  for (std::size_t b = 0; b < volumes.size(); ++b) {
    Time beside = costs.in[b];
    for (std::size_t a = 0; a < volumes.size(); ++a)
      if (a != b && swapping > 0 && !faults.running_job) beside = std::max(beside, set.tasks[a].execution);
    region = std::max(region, beside + set.tasks[b].execution);
    costs.block.push_back(set.rule == policies::SwapRule::rt_swap || faults.blocking ? 0
                          : volumes[b] == 0                                          ? set.tasks[b].execution
                                            : std::max(costs.out[b], beside + set.tasks[b].execution));
  }
  if (set.rule != policies::SwapRule::rt_swap)
    costs.once = swapping > 0 ? (swapping + 1) * set.cost.out_fixed.count() : 0;
  else if (faults.uncharged) costs.once = std::max(region, *std::ranges::max_element(costs.out));
  else costs.once = region + (swapping > 0 ? largest * out + (2 * swapping + 1) * set.cost.out_fixed.count() : 0);
  if (faults.blocking) costs.once = 0;
  return costs;
}

inline bool baker(const DeviceSet& set, const Costs& costs) {
  for (const DeviceTask& k : set.tasks) {
    if (!k.real_time) continue;
    Time blocked = 0;
    double sum = 0;
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      const DeviceTask& task = set.tasks[i];
      if (!task.real_time || task.deadline > k.deadline) blocked = std::max(blocked, costs.block[i]);
      else sum += static_cast<double>(costs.all(set, i)) / static_cast<double>(task.deadline);
    }
    if (sum + static_cast<double>(blocked + costs.once) / static_cast<double>(k.deadline) > 1 + 1e-12) return false;
  }
  return true;
}

/// Returns the longest time in which jobs of the first `count` tasks are pending after a blocking, or nullopt if it is
/// too long.
inline std::optional<Time> busy_period(const DeviceSet& set, const Costs& costs, std::size_t count, Time blocked) {
  Time length = 1;
  for (Time before = 0; before != length;) {
    before = length;
    length = blocked;
    for (std::size_t j = 0; j < count; ++j)
      if (set.tasks[j].real_time)
        length += (before + set.tasks[j].period - 1) / set.tasks[j].period * costs.all(set, j);
    if (length > 1'000'000'000) return std::nullopt;
  }
  return length;
}

/// Returns the longest busy period, with the blocking by best-effort tasks and moving chunks.
inline std::optional<Time> longest_busy_period(const DeviceSet& set, const Costs& costs) {
  Time blocked = 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    if (!set.tasks[i].real_time) blocked = std::max(blocked, costs.block[i]);
  return busy_period(set, costs, set.tasks.size(), blocked + costs.once);
}

inline bool demand(const DeviceSet& set, const Costs& costs, const SerialFaults& faults) {
  double use = 0, work = static_cast<double>(costs.once);
  Time last = 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    work += static_cast<double>(costs.block[i]);
    if (!task.real_time) continue;
    const double share = static_cast<double>(costs.all(set, i)) / static_cast<double>(task.period);
    if (!faults.first_job) use += share;
    work += share * static_cast<double>(task.period);
    last = std::max(last, task.deadline);
  }
  if (use > 0.9999) return false;
  last = std::max(last, static_cast<Time>(work / (1 - use)) + 1);
  if (const auto busy = longest_busy_period(set, costs)) last = std::min(last, *busy - 1);
  for (const DeviceTask& k : set.tasks)
    for (Time length = k.deadline; k.real_time && length <= last; length += k.period) {
      Time blocked = 0, sum = costs.once;
      for (std::size_t i = 0; i < set.tasks.size(); ++i) {
        const DeviceTask& task = set.tasks[i];
        const Time due = faults.deadlines ? task.period : task.deadline;
        if (!task.real_time || task.deadline > length) blocked = std::max(blocked, costs.block[i]);
        else if (due <= length) sum += (faults.first_job ? 1 : (length - due) / task.period + 1) * costs.all(set, i);
      }
      if (sum + blocked > length) return false;
    }
  return true;
}

/// Returns R of task i, at most D, or nullopt if it is longer.
inline std::optional<Time> response(const DeviceSet& set, const Costs& costs, std::size_t i,
                                    const SerialFaults& faults) {
  const DeviceTask& task = set.tasks[i];
  Time blocked = 0;
  for (std::size_t j = i + 1; j < set.tasks.size(); ++j) blocked = std::max(blocked, costs.block[j]);
  blocked += costs.once;
  const Time lead = faults.lead ? 0 : costs.out[i];
  const auto higher = [&](Time window) {
    Time sum = 0;
    for (std::size_t j = 0; j < i; ++j)
      if (set.tasks[j].real_time) sum += (window / set.tasks[j].period + 1) * costs.all(set, j);
    return sum;
  };
  Time most = 0;
  for (Time q = 0;; ++q) {
    Time start = blocked + q * costs.all(set, i) + lead;
    for (Time before = -1; before != start;) {
      before = start;
      start = blocked + q * costs.all(set, i) + lead + higher(before);
      if (start > (q + 1) * task.period) return std::nullopt;
    }
    most = std::max(most, start - lead + costs.all(set, i) - q * task.period);
    if (most > task.deadline) return std::nullopt;
    if (faults.first_job) return most;
    const auto length = busy_period(set, costs, i + 1, blocked);
    if (!length) return std::nullopt;
    if ((q + 1) * task.period >= *length) return most;
  }
}

} // namespace serial

/// True if Baker's test holds, or with `by_demand` the demand test.
[[nodiscard]] inline bool reference_serial_edf(const policies::DeviceSet& set, const policies::Volumes& volumes,
                                               bool by_demand, const SerialFaults& faults = {}) {
  const serial::Costs costs = serial::costs_of(set, volumes, faults);
  return by_demand ? serial::demand(set, costs, faults) : serial::baker(set, costs);
}

/// Returns response bounds by task, 0 for best-effort tasks, or nullopt if some deadline is missed.
[[nodiscard]] inline std::optional<std::vector<policies::Nanos>> reference_serial_static(
    const policies::DeviceSet& set, const policies::Volumes& volumes, const SerialFaults& faults = {}) {
  const serial::Costs costs = serial::costs_of(set, volumes, faults);
  std::vector<policies::Nanos> bounds;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const auto found =
        set.tasks[i].real_time ? serial::response(set, costs, i, faults) : std::optional<serial::Time>(0);
    if (!found) return std::nullopt;
    bounds.push_back(*found);
  }
  return bounds;
}

} // namespace rtexec::test
