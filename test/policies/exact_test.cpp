// Tests the device tests against the exact worst case of tiny sets.
#include <rtexec/choices.hpp>
#include "policies/device/device_demand.hpp"
#include "policies/device/device_response.hpp"
#include "policies/bounds/end_to_end.hpp"
#include "test/policies/exhaustive.hpp"
#include "test/policies/reference_analysis.hpp"
#include "test/support/rounds.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using test::TinyTask;

int draw(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// Non-preemptive static priority on the device alone: the response bounds are the exact worst cases. A set is refused
/// only if some schedule has a job that outlasts its period.
TEST(DeviceAnalysis, StaticPriorityBoundsEqualExactWorstResponses) {
  std::mt19937 random(11);
  int accepted = 0;
  int refused = 0;
  for (int set = 0; set < 800; ++set) {
    std::vector<TinyTask> tiny;
    std::vector<Load> loads;
    const int n = draw(random, 1, 3);
    for (int i = 0; i < n; ++i) {
      const int period = draw(random, 2, 12);
      const int cost = draw(random, 1, std::max(1, period / 2));
      tiny.push_back({.period = period, .before = 0, .device = cost, .after = 0, .device_rank = i});
      loads.push_back({period, cost, 0});
    }
    std::vector<int> bounds;
    bool proved = true;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      Nanos blocking = 0;
      for (std::size_t j = i + 1; j < loads.size(); ++j) blocking = std::max(blocking, loads[j].cost);
      const std::span higher(loads.data(), i);
      const DeviceResponse response = device_response(loads[i], higher, blocking, loads[i].period);
      proved = proved && response.settled && response.from_release <= loads[i].period;
      bounds.push_back(static_cast<int>(response.from_release));
    }
    const std::vector<int> worst = test::worst_responses(tiny);
    if (proved) {
      ASSERT_EQ(bounds, worst);
    } else {
      Utilisation utilisation;
      for (const Load& load : loads) utilisation.add(load.cost, load.period);
      bool outlasted = false;
      for (std::size_t i = 0; i < worst.size(); ++i) outlasted = outlasted || worst[i] > tiny[i].period;
      ASSERT_TRUE(outlasted || !utilisation.below_one());
    }
    (proved ? accepted : refused)++;
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 200);
}

/// The example by which Davis et al. refuted the older analysis: the second job of the lowest task has a longer
/// response than its first.
TEST(DeviceAnalysis, CoversLaterJobsOfBusyPeriod) {
  const std::vector<Load> higher{{5, 2, 0}, {7, 2, 0}};
  const DeviceResponse response = device_response({7, 2, 0}, higher, 0, 7);
  const int first_job = 6;
  EXPECT_GT(response.from_release, first_job);
  EXPECT_EQ(test::worst_responses({{.period = 5, .device = 2, .device_rank = 0},
                                   {.period = 7, .device = 2, .device_rank = 1},
                                   {.period = 7, .device = 2, .device_rank = 2}})[2],
            response.from_release);
}

/// Non-preemptive EDF on the device alone: a set is accepted exactly if no schedule misses a deadline, and no job ends
/// after its bound.
TEST(DeviceAnalysis, DemandTestAcceptsExactlySetsThatNeverMiss) {
  std::mt19937 random(12);
  int accepted = 0;
  int refused = 0;
  for (int set = 0; set < rtexec::test::rounds(500); ++set) {
    std::vector<TinyTask> tiny;
    std::vector<DemandTask> tasks;
    const int n = draw(random, 1, 3);
    Utilisation utilisation;
    for (int i = 0; i < n; ++i) {
      const int period = draw(random, 2, 12);
      const int cost = draw(random, 1, std::max(1, period / n));
      const int deadline = draw(random, cost, period);
      tiny.push_back(
          {.period = period, .before = 0, .device = cost, .after = 0, .device_rank = 0, .device_done_by = deadline});
      tasks.push_back({period, deadline, cost});
      utilisation.add(cost, period);
    }
    const int background = draw(random, 0, 2) == 0 ? draw(random, 1, 3) : 0;
    if (background > 0)
      tiny.push_back(
          {.period = 12, .before = 0, .device = background, .after = 0, .device_rank = 1, .device_done_by = 12});
    if (!utilisation.below_one()) continue;
    const DemandAnalysis analysis = analyse_demand(tasks, {{background}});
    ASSERT_TRUE(analysis.settled);
    const std::vector<int> worst = test::worst_responses(tiny);
    bool missed = false;
    for (std::size_t i = 0; i < tasks.size(); ++i) missed = missed || worst[i] > tasks[i].deadline;
    ASSERT_EQ(analysis.proved(), !missed)
        << "slack " << analysis.tightest.slack() << " at " << analysis.tightest.instant;
    for (std::size_t i = 0; analysis.proved() && i < tasks.size(); ++i)
      ASSERT_LE(worst[i], tasks[i].deadline - analysis.slack[i]);
    (missed ? refused : accepted)++;
  }
  EXPECT_GT(accepted, rtexec::test::rounds(80));
  EXPECT_GT(refused, rtexec::test::rounds(80));
}

/// The device is never free before the last instant that the test can examine, and its demand is too large after it.
TEST(DeviceAnalysis, RejectsSetWhoseBusyPeriodExceedsSearchLimit) {
  const std::vector<DemandTask> tasks = {{24190129165580455, 24190129165580455, 12820768457757641},
                                         {18757939826436558, 18563453429462680, 4672602810765346},
                                         {25920046421406137, 25920046421406137, 5725738254488418}};
  const Nanos background = 2700936898394732;
  const Nanos late = 266091420821385005;
  Wide demand = background;
  for (const DemandTask& task : tasks) demand += ((late - task.deadline) / task.period + 1) * task.cost;
  ASSERT_GT(late, unbounded);
  ASSERT_GT(demand, late);
  EXPECT_FALSE(analyse_demand(tasks, {{background}}).proved());
}

/// Returns the longest time in which the device is never free, by trying all lengths.
Nanos busy_period(const std::vector<DemandTask>& tasks, Nanos background) {
  for (Nanos length = 1;; ++length) {
    Nanos work = background;
    for (const DemandTask& task : tasks) work += (length + task.period - 1) / task.period * task.cost;
    if (work <= length) return length;
  }
}

/// Compares the slack that the walk finds with that over all instants.
TEST(DeviceAnalysis, SlackIsSmallestOverAllInstants) {
  std::mt19937 random(13);
  int settled = 0;
  for (int set = 0; set < rtexec::test::rounds(1000); ++set) {
    std::vector<DemandTask> tasks;
    Utilisation utilisation;
    const int n = draw(random, 1, 6);
    for (int i = 0; i < n; ++i) {
      const int period = draw(random, 3, 40);
      const int cost = draw(random, 1, std::max(1, period / n));
      tasks.push_back({period, draw(random, std::max(1, period / 2), period), cost});
      utilisation.add(cost, period);
    }
    const Nanos background = draw(random, 0, 5);
    const DemandAnalysis analysis = analyse_demand(tasks, {{background}});
    ASSERT_EQ(analysis.settled, utilisation.below_one());
    if (!analysis.settled ||
        std::ranges::any_of(tasks, [](const DemandTask& task) { return task.cost > task.deadline; }))
      continue;
    ++settled;
    const Nanos enough = draw(random, -20, 20);
    const DemandAnalysis rough = analyse_demand(tasks, {{background}}, enough);
    ASSERT_EQ(rough.settled, analysis.settled);
    ASSERT_EQ(std::min(rough.tightest.slack(), enough), std::min(analysis.tightest.slack(), enough));
    const Nanos busy = busy_period(tasks, background);
    std::vector<Nanos> slack(tasks.size(), unbounded);
    Nanos least = unbounded;
    for (Nanos t = 1; t < 20'000; ++t) {
      const Nanos here = std::max(demand_at(tasks, {{background}}, t).slack(), t - busy);
      for (std::size_t i = 0; i < tasks.size(); ++i)
        if (t >= tasks[i].deadline) slack[i] = std::min(slack[i], here);
      if (std::ranges::any_of(tasks, [&](const DemandTask& task) { return task.deadline <= t; }))
        least = std::min(least, here);
    }
    ASSERT_EQ(analysis.tightest.slack(), least);
    ASSERT_EQ(analysis.slack, slack);
  }
  EXPECT_GT(settled, rtexec::test::rounds(200));
}

/// A set of tasks with three parts each, on one or two cores and the device, in order of priority.
struct TinySet {
  StagedSet staged;
  std::vector<TinyTask> tasks;
};

TinySet random_staged(std::mt19937& random, Order order, int longest_first_part) {
  TinySet set;
  const int n = draw(random, 2, 3);
  for (int i = 0; i < n; ++i) {
    const int period = draw(random, 5, n == 2 ? 18 : 13);
    const TinyTask task{.period = period,
                        .before = draw(random, 1, longest_first_part),
                        .device = draw(random, 0, 9) < 2 ? 0 : draw(random, 1, 3),
                        .after = draw(random, 1, 2),
                        .device_rank = order == Order::edf ? 0 : i,
                        .device_done_by = 0,
                        .core = draw(random, 0, 1)};
    set.tasks.push_back(task);
    set.staged.tasks.push_back(
        {period, period, task.before, task.device, task.after, static_cast<unsigned>(task.core)});
  }
  if (draw(random, 0, 2) == 0) {
    set.staged.background = draw(random, 1, 3);
    set.tasks.push_back(
        {.period = 8, .before = 0, .device = static_cast<int>(set.staged.background), .after = 0, .device_rank = 9});
  }
  return set;
}

class EndToEndBounds : public testing::TestWithParam<Order> {};

TEST_P(EndToEndBounds, CoverEveryScheduleOfTinySets) {
  std::mt19937 random(14);
  int proved = 0;
  int exact = 0;
  for (int attempt = 0; attempt < 4000 && proved < 100; ++attempt) {
    TinySet set = random_staged(random, GetParam(), 1);
    std::vector<StageBounds> bounds;
    if (GetParam() == Order::edf) {
      const EdfBounds found = edf_bounds(set.staged);
      if (!found.proved()) continue;
      bounds = found.tasks;
    } else {
      bounds = static_priority_bounds(set.staged);
      if (bounds.size() < set.staged.tasks.size() || !bounds.back().settled ||
          bounds.back().done > set.staged.tasks.back().deadline)
        continue;
    }
    ++proved;
    for (std::size_t i = 0; i < bounds.size(); ++i)
      set.tasks[i].device_done_by = static_cast<int>(bounds[i].device_done);
    const std::vector<int> worst = test::worst_responses(set.tasks);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      ASSERT_LE(worst[i], bounds[i].done) << "task " << i << " in attempt " << attempt;
      exact += worst[i] == bounds[i].done;
    }
  }
  EXPECT_GE(proved, 100);
  EXPECT_GT(exact, 30) << "hardly any bound is ever reached";
}

INSTANTIATE_TEST_SUITE_P(BothOrders, EndToEndBounds, testing::Values(Order::edf, Order::static_priority));

/// A deliberately broken analysis claims bounds that some schedule exceeds, as EndToEndBounds must notice.
struct Broken {
  const char* name;
  Order order;
  test::Faults faults;
};

class BrokenEndToEndAnalysis : public testing::TestWithParam<Broken> {};

TEST_P(BrokenEndToEndAnalysis, IsRefutedByExhaustiveSchedules) {
  const auto& [name, order, faults] = GetParam();
  std::mt19937 random(16);
  int attacked = 0;
  int caught = 0;
  for (int attempt = 0; attempt < 1'000'000 && caught == 0; ++attempt) {
    TinySet set = random_staged(random, order, 4);
    const auto analyse = [&](const test::Faults& with) {
      return order == Order::edf ? test::reference_edf(set.staged, {}, with) : test::reference_static(set.staged, with);
    };
    const auto bounds = analyse(faults);
    if (!bounds || analyse({}) == bounds) continue;
    ++attacked;
    for (std::size_t i = 0; i < bounds->size(); ++i)
      set.tasks[i].device_done_by = static_cast<int>((*bounds)[i].device_done);
    const std::vector<int> worst = test::worst_responses(set.tasks);
    for (std::size_t i = 0; i < bounds->size(); ++i)
      if (worst[i] > (*bounds)[i].done) caught = 1;
  }
  EXPECT_EQ(caught, 1) << name << " in " << attacked << " sets";
}

INSTANTIATE_TEST_SUITE_P(
    Deliberate, BrokenEndToEndAnalysis,
    testing::Values(Broken{"static_device_blocking", Order::static_priority, {.device_blocking = true}},
                    Broken{"static_device_jitter", Order::static_priority, {.device_jitter = true}},
                    Broken{"static_last_part_jitter", Order::static_priority, {.last_part_jitter = true}},
                    Broken{"static_one_job_less", Order::static_priority, {.one_job_less = true}},
                    Broken{"static_suspension", Order::static_priority, {.suspension = true}},
                    Broken{"static_off_device", Order::static_priority, {.off_device = true}},
                    Broken{"edf_off_device", Order::edf, {.off_device = true}},
                    Broken{"edf_device_blocking", Order::edf, {.device_blocking = true}},
                    Broken{"edf_stage_deadline", Order::edf, {.stage_deadline = true}}),
    [](const auto& broken) { return std::string(broken.param.name); });

} // namespace
} // namespace rtexec::policies
