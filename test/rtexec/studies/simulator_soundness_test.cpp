// Attacks the admission tests. Random sets at the edge of acceptance run in the simulator under adversarial releases
// and execution times; no part of any job may end after its bound. Then the same search must refute deliberately
// broken tests, to show that it detects errors.
//
// RTEXEC_SOUNDNESS_SETS: sets per order and per broken test, instead of the few that a normal run can afford.
#include "policies/admission/admission.hpp"
#include "test/policies/reference_analysis.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/support/resolved.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace rtexec::simulator {
namespace {

using policies::StagedSet;
using policies::StagedTask;
using test::Faults;
using test::sets_to_try;

/// Makes a claim of tasks in order of priority. `background` becomes a best-effort task at the end.
Claim claim_of(const StagedSet& set, Order order) {
  Claim claim;
  claim.tasks.executive = {
      .order = order, .priorities = PriorityAssignment::explicit_priorities, .duration = {}, .profile = {}};
  claim.release_latency = Duration(set.release_jitter);
  const auto add = [&](const StagedTask& part, Criticality criticality) {
    Task& task = claim.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(claim.tasks.tasks.size());
    task.period = Duration(part.period);
    task.deadline = Duration(part.deadline);
    task.core = part.core;
    task.priority = 100 - static_cast<int>(claim.tasks.tasks.size());
    task.criticality = criticality;
    task.wcet = Wcet{Duration(part.before), Duration(part.device), Duration(part.after)};
  };
  for (const StagedTask& part : set.tasks) add(part, Criticality::real_time);
  if (set.background > 0)
    add({.period = 50, .deadline = 50, .before = 1, .device = set.background, .after = 1, .core = 0},
        Criticality::best_effort);

  Board board;
  board.capacity = board.chunk = Bytes{4096};
  board.memory_policies = {MemoryPolicy::device};
  board.release_latency = claim.release_latency;
  const std::vector<MemoryDemand> memory(claim.tasks.tasks.size());
  claim.plan = policies::make_plan(test::resolved(claim.tasks, board), memory).value();
  return claim;
}

/// The analysis under attack: which sets it accepts, and which bounds it claims.
struct Analysis {
  Order order = Order::edf;
  std::optional<Faults> faults; // nullopt: the analysis of policies/

  std::optional<std::vector<test::ReferenceBounds>> broken_bounds(const StagedSet& set, const Faults& with) const {
    return order == Order::edf ? test::reference_edf(set, {}, with) : test::reference_static(set, with);
  }

  bool accepts(const StagedSet& set) const {
    return faults ? broken_bounds(set, *faults).has_value() : claim_of(set, order).plan.proved;
  }

  /// True if the faults can change the result for this set.
  bool worth_attacking(const StagedSet& set) const {
    if (!faults) return true;
    const auto sound = broken_bounds(set, {});
    return !sound || *sound != broken_bounds(set, *faults);
  }

  Claim claim(const StagedSet& set) const {
    Claim claim = claim_of(set, order);
    if (!faults) return claim;
    const auto bounds = broken_bounds(set, *faults).value();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      PlannedTask& task = claim.plan.tasks[i];
      task.ready_by = Duration(bounds[i].ready);
      task.device_done_by = Duration(bounds[i].device_done);
      task.response_bound = Duration(bounds[i].done);
    }
    return claim;
  }
};

/// Draws device-bound sets with almost no CPU parts, sets with loaded cores, and sets in between.
StagedSet random_set(Random& random) {
  StagedSet set;
  if (chance(random, 30)) set.release_jitter = draw(random, 1, 10);
  const std::int64_t style = draw(random, 0, 2);
  // In percent of a period, for each part.
  const std::int64_t cpu_share = style == 0 ? 0 : style == 1 ? draw(random, 2, 12) : draw(random, 10, 30);
  const std::int64_t n = draw(random, 2, style == 2 ? 3 : 5);
  const std::int64_t cores = style == 2 ? 1 : draw(random, 1, 2);
  const std::int64_t longest = chance(random, 50) ? 120 : 400;
  if (chance(random, 30)) set.background = draw(random, 5, 30);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t period = draw(random, 40, longest);
    const auto part = [&] { return draw(random, 1, std::max<std::int64_t>(1, period * cpu_share / 100)); };
    set.tasks.push_back({.period = period,
                         .deadline = chance(random, 60) ? period : draw(random, period * 2 / 3, period),
                         .before = part(),
                         .device = chance(random, 15) ? 0 : draw(random, 1, period / n),
                         .after = part(),
                         .core = static_cast<unsigned>(draw(random, 0, cores - 1))});
  }
  if (chance(random, 70)) std::ranges::sort(set.tasks, {}, &StagedTask::deadline);
  return set;
}

/// Scales the device parts until the next step would be refused.
std::optional<StagedSet> at_the_edge(const StagedSet& original, const Analysis& analysis) {
  std::optional<StagedSet> best;
  std::int64_t low = 0;
  std::int64_t high = 256;
  while (high - low > 2) {
    const std::int64_t middle = (low + high) / 2;
    StagedSet set = original;
    for (StagedTask& task : set.tasks)
      if (task.uses_device()) task.device = std::max<std::int64_t>(1, task.device * middle / 64);
    const bool accepted = analysis.accepts(set);
    (accepted ? low : high) = middle;
    if (accepted) best = std::move(set);
  }
  return best;
}

struct Search {
  int sets = 0;
  int caught = 0;
  std::string first;
};

Search search(const Analysis& analysis, std::uint64_t seed, int sets, int attacks) {
  constexpr int steps = 60;
  Random random(seed);
  Search result;
  for (int attempt = 0; attempt < 100 * sets && result.sets < sets; ++attempt) {
    const auto set = at_the_edge(random_set(random), analysis);
    if (!set || !analysis.worth_attacking(*set)) continue;
    ++result.sets;
    const Claim claim = analysis.claim(*set);
    for (int i = 0; i < attacks; ++i) {
      const auto found = Adversary(claim, random).attack(steps);
      if (!found) continue;
      if (result.caught++ == 0) result.first = test::describe(claim, *found) + test::describe(claim);
      break;
    }
  }
  return result;
}

class Soundness : public testing::TestWithParam<Order> {};

TEST_P(Soundness, AcceptedSetsKeepEveryBound) {
  const Search found = search({GetParam(), {}}, 1, sets_to_try(300), 6);
  EXPECT_GE(found.sets, sets_to_try(300) / 2);
  EXPECT_EQ(found.caught, 0) << found.first;
}

INSTANTIATE_TEST_SUITE_P(BothOrders, Soundness, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

struct Broken {
  const char* name;
  Order order;
  Faults faults;
};

/// The errors that this search can detect. test/policies/exact_test.cpp detects the others (device jitter, one job
/// less).
class BrokenAnalysis : public testing::TestWithParam<Broken> {};

TEST_P(BrokenAnalysis, IsCaughtByAdversary) {
  const Broken& broken = GetParam();
  const Search found = search({broken.order, broken.faults}, 2, sets_to_try(80), 6);
  RecordProperty("sets", found.sets);
  RecordProperty("caught", found.caught);
  EXPECT_GT(found.caught, 0) << "in " << found.sets << " sets";
}

INSTANTIATE_TEST_SUITE_P(
    Deliberate, BrokenAnalysis,
    testing::Values(Broken{"static_device_blocking", Order::static_priority, {.device_blocking = true}},
                    Broken{"static_last_part_jitter", Order::static_priority, {.last_part_jitter = true}},
                    Broken{"static_first_job_only", Order::static_priority, {.first_job_only = true}},
                    Broken{"static_suspension", Order::static_priority, {.suspension = true}},
                    Broken{"static_off_device", Order::static_priority, {.off_device = true}},
                    Broken{"edf_off_device", Order::edf, {.off_device = true}},
                    Broken{"static_release_jitter", Order::static_priority, {.release_jitter = true}},
                    Broken{"edf_device_blocking", Order::edf, {.device_blocking = true}},
                    Broken{"edf_last_part_jitter", Order::edf, {.last_part_jitter = true}},
                    Broken{"edf_stage_deadline", Order::edf, {.stage_deadline = true}},
                    Broken{"edf_release_jitter", Order::edf, {.release_jitter = true}}),
    [](const auto& broken) { return std::string(broken.param.name); });

} // namespace
} // namespace rtexec::simulator
