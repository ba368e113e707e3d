#include "test/soundness/preemptions.hpp"

#include "policies/device/segment_search.hpp"
#include "policies/device/volume_search.hpp"
#include "test/policies/reference_segmented.hpp"
#include "test/soundness/edge.hpp"
#include "test/soundness/random_sets.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace rtexec::soundness {
namespace {

using policies::DeviceTask;
using policies::Layers;
using policies::Nanos;
using policies::Preemption;
using simulator::chance;
using simulator::draw;
using test::SegmentedFaults;

struct JitteredSet : policies::LayeredSet {
  Nanos jitter = 0; // of requests, relative to the releases
};

/// Bounds by task. Those of best-effort tasks mean nothing.
using Bounds = std::vector<Nanos>;
/// A function that returns the bounds, or nullopt if the set is not accepted.
using Judge = std::function<std::optional<Bounds>(const JitteredSet&, const Preemption&)>;

struct Accepted {
  JitteredSet set;
  Preemption preemption;
  Bounds bounds;
};

// ---- sets ----

void put_background_last(const JitteredSet& set, std::vector<unsigned>& classes) {
  unsigned last = 1;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (set.device.tasks[i].real_time) last = std::max(last, classes[i]);
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (!set.device.tasks[i].real_time) classes[i] = last;
}

/// Draws classes. In most sets, more urgent classes have shorter periods.
std::vector<unsigned> random_classes(Random& random, JitteredSet& set) {
  std::vector<DeviceTask>& tasks = set.device.tasks;
  const auto levels = static_cast<unsigned>(draw(random, 1, 3));
  std::vector<unsigned> classes;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    classes.push_back(static_cast<unsigned>(draw(random, chance(random, 50) ? 0 : 1, levels)));
  if (chance(random, 70)) {
    std::ranges::sort(classes);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].period *= 1 + 2 * classes[i];
      tasks[i].deadline *= 1 + 2 * classes[i];
    }
  }
  put_background_last(set, classes);
  return classes;
}

/// Draws swap volumes for tasks with levels. Top-class tasks swap nothing.
void swap_levels(Random& random, JitteredSet& set, Preemption& preemption) {
  std::uint32_t all = 0, largest = 0;
  for (std::size_t i = 0; i < preemption.classes.size(); ++i) {
    DeviceTask& task = set.device.tasks[i];
    if (preemption.classes[i] == 0) task.most = task.constants = 0;
    task.least = task.most;
    all += task.most;
    largest = std::max(largest, task.most);
  }
  const auto most = static_cast<std::int64_t>(all - largest);
  set.device.overflow = static_cast<std::uint32_t>(most == 0 ? 0 : chance(random, 40) ? most : draw(random, 1, most));
  preemption.volumes = policies::max_of(set.device);
}

JitteredSet random_set(Random& random, const Way& way) {
  JitteredSet set{{.device = random_device(random, way),
                   .tasks = {},
                   .launch_ahead = chance(random, 50) ? 0 : static_cast<unsigned>(draw(random, 1, 3))}};
  const Nanos overhead = chance(random, 50) ? 0 : draw(random, 1, 3);
  for (const DeviceTask& task : set.device.tasks)
    set.tasks.emplace_back().layers = random_layers(random, task.execution, overhead);
  if (chance(random, 30))
    set.jitter = draw(random, 1, 2 * std::ranges::max(set.device.tasks, {}, &DeviceTask::execution).execution);
  return set;
}

Preemption random_division(Random& random, JitteredSet& set) {
  Preemption preemption{.classes = random_classes(random, set), .volumes = {}, .cuts = {}};
  for (const policies::LayeredTask& task : set.tasks) {
    policies::Segmentation& cut = preemption.cuts.emplace_back();
    const int often = chance(random, 60) ? 100 : 50;
    for (std::uint32_t layer = 0; layer + 1 < task.layers.times.size(); ++layer)
      if (chance(random, often)) cut.cuts.push_back(layer);
  }
  swap_levels(random, set, preemption);
  return preemption;
}

JitteredSet scaled(JitteredSet set, std::int64_t by) {
  for (DeviceTask& task : set.device.tasks) scale(task, by);
  return set;
}

/// Finds the smallest accepted scale. Then finds the smallest one for some tasks, or classes, alone.
std::optional<Accepted> accepted_at_the_edge(Random& random, const JitteredSet& original, const Preemption& preemption,
                                             const Judge& judge) {
  const auto judged = [&](JitteredSet set) -> std::optional<Accepted> {
    auto bounds = judge(set, preemption);
    return bounds ? std::optional(Accepted{std::move(set), preemption, std::move(*bounds)}) : std::nullopt;
  };
  auto found =
      at_the_edge<Accepted>(shortest, 8 * longest, [&](std::int64_t by) { return judged(scaled(original, by)); });
  for (std::int64_t tries = found ? draw(random, 0, 4) : 0; tries > 0; --tries) {
    const JitteredSet before = found->set;
    const auto chosen = static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(before.tasks.size()) - 1));
    const bool whole_class = chance(random, 50);
    auto closer = at_the_edge<Accepted>(shortest, whole, [&](std::int64_t by) {
      JitteredSet set = before;
      for (std::size_t i = 0; i < set.tasks.size(); ++i)
        if (i == chosen || (whole_class && preemption.classes[i] == preemption.classes[chosen]))
          scale(set.device.tasks[i], by);
      return judged(std::move(set));
    });
    if (closer) found = std::move(closer);
  }
  return found;
}

/// Searches with times that are long compared with the step of the search for cuts.
std::optional<Accepted> found_by_search(Random& random, JitteredSet set, Order order, const Judge& judge) {
  constexpr Nanos times = 1000;
  set.jitter *= times;
  SwapCost& cost = set.device.cost;
  for (Duration* each :
       {&cost.in_per_chunk, &cost.out_per_chunk, &cost.drop_per_chunk, &cost.in_fixed, &cost.out_fixed})
    *each *= times;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    DeviceTask& task = set.device.tasks[i];
    for (Nanos* each : {&task.period, &task.deadline, &task.execution}) *each *= times;
    Layers& layers = set.tasks[i].layers;
    for (Nanos& each : layers.times) each *= times;
    for (Nanos& each : layers.overheads) each *= times;
  }
  const auto found = at_the_edge<policies::PreemptionVerdict>(shortest, longest, [&](std::int64_t by) {
    JitteredSet asked = scaled(set, by);
    asked.device = charged(std::move(asked.device));
    auto verdict = policies::search_preemption(asked, order);
    return verdict && verdict->proved ? std::move(verdict) : std::nullopt;
  });
  if (!found) return std::nullopt;
  Preemption preemption = found->preemption;
  put_background_last(set, preemption.classes);
  return accepted_at_the_edge(random, set, preemption, judge);
}

Claim claim_of(const Accepted& accepted, const Way& way) {
  const auto& [set, preemption, bounds] = accepted;
  Claim claim = soundness::claim_of(set.device, {preemption.volumes, bounds}, way);
  claim.release_latency = Duration(set.jitter);
  claim.plan.launch_ahead = set.launch_ahead;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    PlannedTask& task = claim.plan.tasks[i];
    task.device_class = preemption.classes[i];
    task.cuts = preemption.cuts[i].cuts;
    task.segments = static_cast<std::uint32_t>(task.cuts.size() + 1);
    task.wcet.device = Duration(0);
    for (const Nanos segment : policies::segments_of(set.tasks[i].layers, task.cuts)) {
      task.segment_wcets.emplace_back(segment);
      task.wcet.device += Duration(segment);
    }
    claim.tasks.tasks[i].wcet = task.wcet;
  }
  return claim;
}

// ---- claimed bounds ----

std::optional<Bounds> by_tests(JitteredSet set, const Preemption& preemption, Order order) {
  set.device = charged(std::move(set.device));
  if (!policies::fits(set.device, preemption.volumes)) return std::nullopt;
  policies::TestedSet tested = policies::tested(set, preemption);
  if (tested.index.empty()) return std::nullopt;
  for (policies::SegmentedTask& task : tested.set.tasks) {
    if (task.part.deadline <= set.jitter) return std::nullopt;
    task.part.deadline -= set.jitter;
    task.part.jitter = set.jitter;
  }
  const policies::SegmentedAnalysis analysis(tested.set);
  Bounds bounds(set.tasks.size());
  if (order == Order::edf) {
    const policies::DemandAnalysis demand = analysis.demand();
    if (!demand.proved()) return std::nullopt;
    for (std::size_t k = 0; k < tested.index.size(); ++k)
      bounds[tested.index[k]] = set.jitter + tested.set.tasks[k].part.deadline - demand.slack[k];
    return bounds;
  }
  for (std::size_t k = 0; k < tested.index.size(); ++k) {
    const policies::DeviceResponse response = analysis.response(k);
    if (!response.settled || response.from_release > set.jitter + tested.set.tasks[k].part.deadline)
      return std::nullopt;
    bounds[tested.index[k]] = response.from_release;
  }
  return bounds;
}

/// Returns the bounds of the second implementation, which knows real-time tasks only.
std::optional<Bounds> by_formula(JitteredSet set, const Preemption& preemption, Order order,
                                 const SegmentedFaults& faults) {
  set.device = charged(std::move(set.device));
  const SwapCost& cost = set.device.cost;
  const bool copied = set.device.copies_out(preemption.volumes);
  test::CutSet cut{
      .tasks = {},
      .order = order,
      .frames = std::accumulate(preemption.volumes.begin(), preemption.volumes.end(), 0U) - set.device.overflow,
      .copy_engines = set.device.copy_engines,
      .in = cost.in_per_chunk.count(),
      .out = (copied ? cost.out_per_chunk : cost.drop_per_chunk).count(),
      .in_fixed = cost.in_fixed.count(),
      .out_fixed = cost.out_fixed.count(),
      .launch_ahead = set.launch_ahead};
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.device.tasks[i];
    if (!task.real_time || task.deadline <= set.jitter) return std::nullopt;
    const auto segments = policies::segments_of(set.tasks[i].layers, preemption.cuts[i].cuts);
    cut.tasks.push_back({.period = task.period,
                         .deadline = task.deadline - set.jitter,
                         .jitter = set.jitter,
                         .device_class = preemption.classes[i],
                         .chunks = preemption.volumes[i],
                         .segments = {segments.begin(), segments.end()}});
  }
  const auto bounds = test::reference_segmented(cut, faults);
  return bounds ? std::optional(Bounds(bounds->begin(), bounds->end())) : std::nullopt;
}

Way way_of(const std::string& name, Order order, unsigned copy_engines) {
  return {name, SwapPolicy::pipelined, policies::DeviceTest::pipelined, order, copy_engines};
}

Subject divided_test(Order order, unsigned copy_engines) {
  const Way way =
      way_of(std::string("segmented ") + (order == Order::edf ? "edf " : "static ") + std::to_string(copy_engines),
             order, copy_engines);
  return {way.name, 4, [way](Random& random) -> std::optional<Claim> {
            const Judge judge = [&](const JitteredSet& set, const Preemption& preemption) {
              return by_tests(set, preemption, way.order);
            };
            JitteredSet set = random_set(random, way);
            const bool searched = chance(random, 15);
            const auto found = searched ? found_by_search(random, std::move(set), way.order, judge)
                                        : accepted_at_the_edge(random, set, random_division(random, set), judge);
            return found ? std::optional(claim_of(*found, way)) : std::nullopt;
          }};
}

Subject broken_division(const std::string& error, Order order, unsigned copy_engines, const SegmentedFaults& faults) {
  const Way way = way_of(std::string("segmented ") + (order == Order::edf ? "edf " : "static ") +
                             std::to_string(copy_engines) + ": " + error,
                         order, copy_engines);
  return {way.name, 1, [way, faults](Random& random) -> std::optional<Claim> {
            JitteredSet set = random_set(random, way);
            const Preemption preemption = random_division(random, set);
            const auto found =
                accepted_at_the_edge(random, set, preemption, [&](const JitteredSet& tried, const Preemption& with) {
                  return by_formula(tried, with, way.order, faults);
                });
            if (!found || by_formula(found->set, preemption, way.order, {})) return std::nullopt;
            return claim_of(*found, way);
          }};
}

} // namespace

std::vector<Subject> divided_tests() {
  std::vector<Subject> subjects;
  for (const Order order : {Order::edf, Order::static_priority})
    for (const unsigned copy_engines : {1U, 2U}) subjects.push_back(divided_test(order, copy_engines));
  return subjects;
}

std::vector<Subject> broken_divided_tests() {
  constexpr Order edf = Order::edf, fixed = Order::static_priority;
  return {
      broken_division("top-class jobs wait for no level", edf, 1, {.top_class_below = true}),
      broken_division("top-class jobs wait for none due later", edf, 2, {.top_class_later = true}),
      broken_division("launch-ahead is free", edf, 1, {.launch_ahead = true}),
      broken_division("levels wait for no segment below", edf, 2, {.level_below = true}),
      broken_division("top-class jobs that are due", edf, 1, {.above_due = true}),
      broken_division("top-class jobs are free", fixed, 1, {.top_class_above = true}),
      broken_division("loads above are free", edf, 2, {.load_above = true}),
      broken_division("restores are free", edf, 1, {.restore = true}),
      broken_division("room for every load", edf, 1, {.delay = true}),
      broken_division("staged load free", edf, 1, {.staged_load = true}),
      broken_division("begun job free", edf, 2, {.running_job = true}),
      broken_division("max(C, o) each", edf, 2, {.pairing = true}),
      broken_division("a bypass costs C", fixed, 2, {.bypass = true}),
      broken_division("jobs of one instant", fixed, 1, {.closed = true}),
      broken_division("committed with the last segment", fixed, 1, {.committed_tail = true}),
      broken_division("levels wait for no chunk below", fixed, 1, {.flight_below = true}),
      broken_division("jobs above ask when released", edf, 1, {.above_jitter = true}),
  };
}

} // namespace rtexec::soundness
