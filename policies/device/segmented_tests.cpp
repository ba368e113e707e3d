#include "policies/device/segmented_tests.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rtexec::policies {
namespace {

constexpr unsigned top_class = 0;

} // namespace

SegmentedAnalysis::SegmentedAnalysis(SegmentedSet set) : set_(std::move(set)) {
  for (const SegmentedTask& task : set_.tasks) last_ = std::max(last_, task.device_class);
  const auto loaded = [](const auto& part) { return part.load > 0; };
  below_.resize(last_ + 1);
  for (unsigned each = 0; each < last_; ++each) {
    Below& below = below_[each];
    below.run = set_.background_run;
    below.flight = loaded(set_.background) ? set_.flight : 0;
    for (const SegmentedTask& task : set_.tasks) {
      if (task.device_class <= each) continue;
      below.run = std::max(below.run, task.run);
      if (loaded(task.part)) below.flight = set_.flight;
    }
  }
}

Nanos SegmentedAnalysis::hold(std::size_t task, unsigned device_class) const {
  const auto& [part, own_class, run, last, restore] = set_.tasks[task];
  if (own_class == top_class) return part.cost;
  const Below& below = below_[own_class];
  return bounded(Wide{part.cost} + part.load + below.run + below.flight + Wide{restore} * (device_class - own_class));
}

Surroundings SegmentedAnalysis::surroundings(unsigned device_class) const {
  Surroundings others{.below = below_[device_class]};
  if (device_class == last_) others.background = set_.background;
  for (std::size_t i = 0; i < set_.tasks.size(); ++i)
    if (const SegmentedTask& task = set_.tasks[i]; task.device_class < device_class)
      others.above.push_back({task.part.period, hold(i, device_class), task.part.jitter});
  return others;
}

// ---- earliest deadline first ----

DemandAnalysis SegmentedAnalysis::demand() const {
  DemandAnalysis result{.settled = true, .tightest = {}, .busy_known = true, .slack = {}};
  result.slack.resize(set_.tasks.size());
  bool first = true;
  for (unsigned each = 0; each <= last_; ++each) {
    std::vector<DemandTask> parts;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      if (set_.tasks[i].device_class != each) continue;
      parts.push_back(set_.tasks[i].part);
      if (each == top_class) parts.back().blocking = set_.tasks[i].run;
      index.push_back(i);
    }
    if (parts.empty()) continue;
    DemandAnalysis found = analyse_demand(parts, surroundings(each));
    for (std::size_t k = 0; k < index.size(); ++k) result.slack[index[k]] = found.slack[k];
    result.settled = result.settled && found.settled;
    result.busy_known = result.busy_known && found.busy_known;
    if (!std::exchange(first, false) && found.tightest.slack() >= result.tightest.slack()) continue;
    result.tightest = found.tightest;
    if (found.tightest.blocker) result.tightest.blocker = index[*found.tightest.blocker];
  }
  return result;
}

// ---- static priority ----

DeviceResponse SegmentedAnalysis::response(std::size_t task) const {
  return set_.tasks[task].device_class == top_class ? top_class_response(task) : level_response(task);
}

DeviceResponse SegmentedAnalysis::top_class_response(std::size_t task) const {
  const SegmentedTask& own = set_.tasks[task];
  std::vector<Load> higher;
  Nanos blocking = below_[top_class].run;
  for (std::size_t j = 0; j < set_.tasks.size(); ++j) {
    const SegmentedTask& other = set_.tasks[j];
    if (other.device_class != top_class || j == task) continue;
    if (j < task) higher.push_back({other.part.period, other.part.cost, other.part.jitter});
    else blocking = std::max(blocking, other.run);
  }
  return device_response({own.part.period, own.part.cost, own.part.jitter},
                         {.lead = own.part.cost - own.last, .rest = own.last}, higher, blocking,
                         own.part.jitter + own.part.deadline);
}

/// Returns the response of a task that is in a level (a class other than the top class). If neither this task nor a
/// more urgent task of its level loads chunks, loads of this level do not affect the response.
DeviceResponse SegmentedAnalysis::level_response(std::size_t task) const {
  const SegmentedTask& own = set_.tasks[task];
  const Surroundings others = surroundings(own.device_class);
  std::vector<DevicePart> parts;
  std::vector<Load> higher;
  std::size_t place = 0; // the index of the task in its level
  Nanos longest_below = std::max(others.background.execution, others.below.run);
  bool loads = false;
  for (std::size_t j = 0; j < set_.tasks.size(); ++j) {
    const SegmentedTask& other = set_.tasks[j];
    if (other.device_class != own.device_class) continue;
    if (j == task) place = parts.size();
    parts.push_back({other.part.cost, other.part.load, other.part.delay});
    if (j <= task) loads = loads || other.part.load > 0;
    if (j < task) higher.push_back({other.part.period, other.part.cost, other.part.jitter});
    if (j > task) longest_below = std::max(longest_below, other.part.cost);
  }
  const Nanos body = own.part.cost - own.last;
  const Nanos limit = own.part.jitter + own.part.deadline;
  if (!loads)
    return device_response({own.part.period, own.part.cost, own.part.jitter},
                           {.lead = 0, .rest = own.last, .body = body}, higher, longest_below, limit, others.above);

  std::optional<DeviceResponse> best;
  for (const Overlap& overlap : overlaps(std::move(parts), others.background, others.below)) {
    const Overlap::Charge& charge = overlap.tasks[place];
    Nanos blocking = overlap.background;
    for (std::size_t j = place + 1; j < overlap.tasks.size(); ++j)
      blocking = std::max(blocking, overlap.tasks[j].blocking);
    for (std::size_t j = 0; j < place; ++j) higher[j].cost = overlap.tasks[j].cost;
    const DeviceResponse found =
        device_response({own.part.period, charge.cost, own.part.jitter},
                        {.lead = charge.lead, .rest = own.last, .body = body}, higher, blocking, limit, others.above);
    best = best ? better(*best, found, limit) : found;
  }
  return *best;
}

} // namespace rtexec::policies
