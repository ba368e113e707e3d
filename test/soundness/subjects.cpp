#include "test/soundness/subjects.hpp"

#include "policies/admission.hpp"
#include "policies/volume_search.hpp"
#include "test/policies/reference_analysis.hpp"
#include "test/policies/reference_pipelined.hpp"
#include "test/policies/reference_serial.hpp"
#include "test/soundness/random_sets.hpp"
#include "test/support/resolved.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtexec::soundness {
namespace {

using policies::DeviceSet;
using policies::DeviceTask;
using policies::DeviceTest;
using policies::DeviceVerdict;
using policies::Nanos;
using policies::Volumes;
using simulator::chance;
using simulator::draw;
using test::PipelinedFaults;
using test::SerialFaults;

/// The smallest scale, in sixteenths, at which something is accepted; few steps.
template <class Accepted, class Try>
std::optional<Accepted> at_the_edge(std::int64_t least, std::int64_t most, Try accepted_at) {
  std::optional<Accepted> best;
  while (most - least > 1) {
    const std::int64_t middle = (least + most) / 2;
    if (auto accepted = accepted_at(middle)) {
      best = std::move(accepted);
      most = middle;
    } else {
      least = middle;
    }
  }
  return best;
}

constexpr std::int64_t shortest = 8, longest = 160, whole = 64;

// ---- the device alone ----

struct Promise {
  Volumes volumes;
  std::vector<Nanos> bounds; // by task; empty: the deadlines
};
using Judge = std::function<std::optional<Promise>(const DeviceSet&)>;

bool exchanges(const DeviceSet& set, const Volumes& volumes) {
  return set.overflow > 0 && std::ranges::count_if(volumes, [](std::uint32_t each) { return each > 0; }) > 1;
}

Claim claim_of(const DeviceSet& set, const Promise& promise, const Way& way) {
  Claim claim;
  claim.plan.order = claim.tasks.executive.order = way.order;
  if (exchanges(set, promise.volumes))
    claim.plan.swap =
        SwapPlan{.policy = way.policy,
                 .frames = std::accumulate(promise.volumes.begin(), promise.volumes.end(), 0U) - set.overflow,
                 .copy_engines = set.copy_engines,
                 .cost = set.cost,
                 .store = {}};
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& of = set.tasks[i];
    Task& task = claim.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = Duration(of.period);
    task.deadline = Duration(of.deadline);
    task.core = static_cast<unsigned>(i);
    task.wcet = Wcet{Duration(0), Duration(of.execution), Duration(0)};
    task.criticality = of.real_time ? Criticality::real_time : Criticality::best_effort;
    PlannedTask& planned = claim.plan.tasks.emplace_back();
    planned.name = task.name;
    planned.wcet = *task.wcet;
    planned.period = task.period;
    planned.core_rank = static_cast<unsigned>(i);
    planned.device_rank = way.order == Order::static_priority ? planned.core_rank : of.real_time ? 0 : 1;
    planned.ready_by = planned.device_done_by = planned.done_by = task.deadline;
    if (of.real_time) planned.response_bound = promise.bounds.empty() ? task.deadline : Duration(promise.bounds[i]);
    for (std::uint32_t slot = 0; claim.plan.swap && slot < promise.volumes[i]; ++slot)
      planned.swap_slots.push_back({.slot = slot, .copied_out = slot >= of.constants});
  }
  return claim;
}

DeviceSet scaled(const DeviceSet& original, std::int64_t scale) {
  DeviceSet set = original;
  for (DeviceTask& task : set.tasks) {
    task.period = std::max<Nanos>(1, task.period * scale / whole);
    task.deadline = std::clamp<Nanos>(task.deadline * scale / whole, 1, task.period);
  }
  return set;
}

std::optional<Claim> device_claim(const Way& way, const Judge& judge, const Judge& unbroken,
                                  const DeviceSet& original) {
  using Found = std::pair<DeviceSet, Promise>;
  const auto found = at_the_edge<Found>(shortest, longest, [&](std::int64_t scale) -> std::optional<Found> {
    DeviceSet set = scaled(original, scale);
    auto promise = judge(set);
    if (!promise) return std::nullopt;
    return Found{std::move(set), std::move(*promise)};
  });
  if (!found || (unbroken && unbroken(found->first))) return std::nullopt;
  return claim_of(found->first, found->second, way);
}

bool all_given(const DeviceSet& set) {
  return std::ranges::all_of(set.tasks, [](const DeviceTask& task) { return task.least == task.most; });
}

std::optional<Promise> by_test(const DeviceSet& set, const Way& way) {
  const DeviceVerdict verdict = all_given(set) ? policies::test_device(set, way.test, way.order, policies::most_of(set))
                                               : policies::test_device(set, way.test, way.order);
  if (!verdict.proved) return std::nullopt;
  return Promise{verdict.volumes, verdict.responses};
}

Subject device_subject(const Way& way, unsigned weight) {
  return {way.name, weight, [way](Random& random) {
            return device_claim(
                way, [&](const DeviceSet& set) { return by_test(set, way); }, {}, random_device(random, way));
          }};
}

// ---- deliberate errors ----

std::optional<Promise> by_serial_formula(const DeviceSet& set, const Way& way, const SerialFaults& faults) {
  const Volumes volumes = policies::most_of(set);
  if (way.order == Order::edf) {
    if (!test::reference_serial_edf(set, volumes, way.test == DeviceTest::demand, faults)) return std::nullopt;
    return Promise{volumes, {}};
  }
  const auto bounds = test::reference_serial_static(set, volumes, faults);
  if (!bounds) return std::nullopt;
  return Promise{volumes, {bounds->begin(), bounds->end()}};
}

std::optional<Promise> by_pipelined_formula(const DeviceSet& set, const Way& way, const PipelinedFaults& faults) {
  const Volumes volumes = policies::most_of(set);
  const auto in = set.cost.in_per_chunk.count();
  const auto out = (set.copies_out(volumes) ? set.cost.out_per_chunk : set.cost.drop_per_chunk).count();
  const auto others = std::ranges::count_if(volumes, [](std::uint32_t each) { return each > 0; }) - 1;
  test::PipelinedSet reference;
  reference.frames = std::accumulate(volumes.begin(), volumes.end(), 0U) - set.overflow;
  reference.per_chunk = set.copy_engines > 1 ? std::max(in, out) : in + out;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    if (!task.real_time) return std::nullopt;
    const auto once = set.cost.in_fixed.count() + std::min<Nanos>(volumes[i], others) * set.cost.out_fixed.count() +
                      (set.copy_engines > 1 ? std::min(in, out) : 0);
    reference.tasks.push_back({.period = task.period,
                               .deadline = task.deadline,
                               .device = task.execution,
                               .load = volumes[i] == 0 ? 0 : once + reference.per_chunk * volumes[i],
                               .chunks = volumes[i]});
  }
  const auto bounds = test::reference_pipelined(reference, way.order, faults);
  if (!bounds) return std::nullopt;
  return Promise{volumes, {bounds->begin(), bounds->end()}};
}

Subject broken_device(const std::string& name, const Way& way,
                      std::function<std::optional<Promise>(const DeviceSet&, bool broken)> judge) {
  return {name, 1, [way, judge](Random& random) {
            const auto given = [&](const DeviceSet& set, bool broken) {
              return all_given(set) && policies::fits(set, policies::most_of(set)) ? judge(set, broken) : std::nullopt;
            };
            const bool of_rt_swap = way.policy == SwapPolicy::rt_swap;
            return device_claim(
                way, [&](const DeviceSet& set) { return given(set, true); },
                [&](const DeviceSet& set) { return given(set, false); },
                of_rt_swap ? random_hole(random, way) : random_device(random, way));
          }};
}

Subject broken_serial(const std::string& name, SwapPolicy policy, DeviceTest test, const SerialFaults& faults) {
  const Way way{name, policy, test, test == DeviceTest::rta ? Order::static_priority : Order::edf};
  return broken_device(name, way, [way, faults](const DeviceSet& set, bool broken) {
    return by_serial_formula(set, way, broken ? faults : SerialFaults{});
  });
}

Subject broken_pipelined(const std::string& name, Order order, unsigned engines, const PipelinedFaults& faults) {
  const Way way{name, SwapPolicy::pipelined, DeviceTest::pipelined, order, engines};
  return broken_device(name, way, [way, faults](const DeviceSet& set, bool broken) {
    return by_pipelined_formula(set, way, broken ? faults : PipelinedFaults{});
  });
}

Subject theorem1() {
  const Way way{"theorem1", SwapPolicy::rt_swap, DeviceTest::theorem1, Order::edf};
  const auto covered = [](const DeviceTask& task) { return task.real_time && task.deadline == task.period; };
  return broken_device(way.name, way, [way, covered](const DeviceSet& set, bool broken) {
    return std::ranges::all_of(set.tasks, covered)
               ? by_test(set, {way.name, way.policy, broken ? DeviceTest::theorem1 : DeviceTest::demand, way.order})
               : std::nullopt;
  });
}

// ---- end to end ----

struct EndToEnd {
  SwapPolicy policy{};
  Order order{};
  bool swaps = true;
};

std::optional<Claim> planned(const WholeSet& set) {
  Claim claim{.tasks = set.tasks, .plan = {}, .release_latency = set.board.release_latency};
  auto plan = policies::make_plan(test::resolved(claim.tasks, set.board), set.memory);
  if (!plan || !plan->proved) return std::nullopt;
  claim.plan = std::move(*plan);
  return claim;
}

std::optional<Claim> whole_claim(Random& random, const EndToEnd& kind) {
  const WholeSet original = random_whole(random, kind.policy, kind.order, kind.swaps);
  return at_the_edge<Claim>(shortest, longest, [&](std::int64_t scale) {
    WholeSet set = original;
    for (Task& task : set.tasks.tasks) {
      task.period = std::max(Duration(1), task.period * scale / whole);
      task.deadline = std::clamp(task.deadline * scale / whole, Duration(1), task.period);
    }
    return planned(set);
  });
}

/// The end-to-end analyses written down a second time, with an error; nothing is swapped.
Subject broken_stages(const std::string& name, Order order, const test::Faults& faults) {
  return {name, 1, [order, faults](Random& random) -> std::optional<Claim> {
            WholeSet original = random_whole(random, SwapPolicy::none, order, false);
            const auto judged = [&](const Claim& claim, const test::Faults& with) {
              policies::StagedSet set;
              set.release_jitter = claim.release_latency.count();
              for (const Task& task : claim.tasks.tasks) {
                policies::StagedTask& part = set.tasks.emplace_back();
                part.period = task.period.count();
                part.deadline = task.deadline.count();
                part.before = std::max<Nanos>(1, task.wcet->before.count());
                part.device = task.wcet->device.count();
                part.after = std::max<Nanos>(1, task.wcet->after.count());
                part.core = *task.core;
              }
              return order == Order::edf ? test::reference_edf(set, {}, with) : test::reference_static(set, with);
            };
            for (Task& task : original.tasks.tasks) task.criticality = Criticality::real_time;
            auto found = at_the_edge<Claim>(shortest, longest, [&](std::int64_t scale) -> std::optional<Claim> {
              Claim claim{.tasks = original.tasks, .plan = {}, .release_latency = original.board.release_latency};
              for (Task& task : claim.tasks.tasks) {
                task.period = std::max(Duration(1), task.period * scale / whole);
                task.deadline = std::clamp(task.deadline * scale / whole, Duration(1), task.period);
              }
              const auto bounds = judged(claim, faults);
              if (!bounds) return std::nullopt;
              auto plan = policies::make_plan(test::resolved(claim.tasks, original.board), original.memory);
              if (!plan) return std::nullopt;
              claim.plan = std::move(*plan);
              for (std::size_t i = 0; i < bounds->size(); ++i) {
                PlannedTask& task = claim.plan.tasks[i];
                task.ready_by = Duration((*bounds)[i].ready);
                task.device_done_by = Duration((*bounds)[i].device_done);
                task.response_bound = Duration((*bounds)[i].done);
              }
              return claim;
            });
            if (found && judged(*found, {})) return std::nullopt;
            return found;
          }};
}

} // namespace

std::vector<Way> device_ways() {
  std::vector<Way> ways;
  for (const auto& [policy, name] :
       {std::pair(SwapPolicy::serial, std::string("serial")), std::pair(SwapPolicy::rt_swap, std::string("rt-swap"))})
    for (const DeviceTest test : {DeviceTest::baker, DeviceTest::demand, DeviceTest::rta})
      ways.push_back({std::string(to_string(test)) + " " + name, policy, test,
                      test == DeviceTest::rta ? Order::static_priority : Order::edf});
  for (const Order order : {Order::edf, Order::static_priority})
    for (const unsigned engines : {1U, 2U})
      ways.push_back({std::string("pipelined ") + (order == Order::edf ? "edf " : "static ") + std::to_string(engines),
                      SwapPolicy::pipelined, DeviceTest::pipelined, order, engines});
  return ways;
}

std::vector<Subject> sound_tests() {
  std::vector<Subject> subjects;
  for (const Way& way : device_ways())
    subjects.push_back(
        device_subject(way, way.test == DeviceTest::pipelined || way.policy == SwapPolicy::serial ? 4 : 3));
  constexpr std::pair<SwapPolicy, const char*> policies[] = {{SwapPolicy::none, "all fits"},
                                                             {SwapPolicy::pipelined, "pipelined"},
                                                             {SwapPolicy::serial, "serial"},
                                                             {SwapPolicy::rt_swap, "rt-swap"},
                                                             {SwapPolicy::lru, "lru"}};
  for (const auto& [policy, name] : policies)
    for (const Order order : {Order::edf, Order::static_priority}) {
      const EndToEnd kind{policy, order, policy != SwapPolicy::none};
      subjects.push_back({std::string("end-to-end ") + (order == Order::edf ? "edf " : "static ") + name, 1,
                          [kind](Random& random) { return whole_claim(random, kind); }});
    }
  return subjects;
}

std::vector<Subject> broken_tests() {
  constexpr Order edf = Order::edf, fixed = Order::static_priority;
  return {
      theorem1(),
      broken_serial("rt-swap: chunks that leave for others not charged", SwapPolicy::rt_swap, DeviceTest::baker,
                    {.uncharged = true}),
      broken_serial("serial demand: no blocking", SwapPolicy::serial, DeviceTest::demand, {.blocking = true}),
      broken_serial("serial demand: running job free", SwapPolicy::serial, DeviceTest::demand, {.running_job = true}),
      broken_serial("serial demand: swap-outs free", SwapPolicy::serial, DeviceTest::demand, {.swap_out = true}),
      broken_serial("serial demand: one chunk less", SwapPolicy::serial, DeviceTest::demand, {.one_chunk_less = true}),
      broken_serial("serial demand: only first jobs", SwapPolicy::serial, DeviceTest::demand, {.first_job = true}),
      broken_serial("serial demand: D taken for T", SwapPolicy::serial, DeviceTest::demand, {.deadlines = true}),
      broken_serial("serial rta: no blocking", SwapPolicy::serial, DeviceTest::rta, {.blocking = true}),
      broken_serial("serial rta: only first jobs", SwapPolicy::serial, DeviceTest::rta, {.first_job = true}),
      broken_serial("serial rta: never overtaken", SwapPolicy::serial, DeviceTest::rta, {.lead = true}),
      broken_pipelined("pipelined edf 1: staged load free", edf, 1, {.staged_load = true}),
      broken_pipelined("pipelined static 2: staged load free", fixed, 2, {.staged_load = true}),
      broken_pipelined("pipelined edf 2: running job free", edf, 2, {.running_job = true}),
      broken_pipelined("pipelined edf 2: max(C, o) each", edf, 2, {.pairing = true}),
      broken_pipelined("pipelined edf 1: (M) left out", edf, 1, {.load_room = true}),
      broken_pipelined("pipelined static 1: bypass costs C", fixed, 1, {.bypass = true}),
      broken_stages("end-to-end static: no device blocking", fixed, {.device_blocking = true}),
      broken_stages("end-to-end static: last part's jitter", fixed, {.last_part_jitter = true}),
      broken_stages("end-to-end static: suspension", fixed, {.suspension = true}),
      broken_stages("end-to-end edf: deadlines from request", edf, {.stage_deadline = true}),
      broken_stages("end-to-end edf: release jitter", edf, {.release_jitter = true}),
  };
}

} // namespace rtexec::soundness
