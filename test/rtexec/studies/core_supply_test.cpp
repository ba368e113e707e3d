// Tests the simulator's cores under reservations and under bandwidth budgets: by hand, and against a second
// implementation of the kernel's rule.
#include "rtexec/studies/simulator/core_supply.hpp"
#include "rtexec/studies/simulator/simulator.hpp"
#include "test/policies/constant_bandwidth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace rtexec::simulator {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;

/// Tasks that do not use the device, all on one core, the most urgent first.
struct Set {
  TaskSet tasks;
  Plan plan;
  void add(Duration before, Duration period, Duration offset = Duration(0)) {
    Task& task = tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(tasks.tasks.size());
    task.period = task.deadline = period;
    task.offset = offset;
    task.core = 0;
    task.wcet = Wcet{.before = before};
    PlannedTask planned;
    planned.wcet = *task.wcet;
    planned.core_rank = static_cast<unsigned>(plan.tasks.size());
    plan.tasks.push_back(planned);
  }
  void reserve(CpuReservation before) {
    plan.tasks.back().before_reservation = before;
    plan.tasks.back().after_reservation = before;
  }
};

Options until(Duration horizon) {
  Options options;
  options.horizon = horizon;
  return options;
}

/// Returns when first parts ended, in order of time.
std::vector<std::pair<std::uint32_t, Duration>> ends_of(const Set& set, Options options) {
  std::vector<std::pair<std::uint32_t, Duration>> ends;
  options.observe = [&](const Step& step) {
    if (step.kind == Step::Kind::hand_on) ends.emplace_back(step.job.task, step.now - Instant{});
  };
  (void)simulate(set.tasks, set.plan, options);
  return ends;
}

std::vector<Duration> times_of(const Set& set, const Options& options) {
  std::vector<Duration> times;
  for (const auto& [task, end] : ends_of(set, options)) times.push_back(end);
  return times;
}

// ---- reservations ----

TEST(ReservedCore, RunsEarliestDeadlineFirstRegardlessOfPriority) {
  Set set;
  set.add(Duration(20), Duration(1000));
  set.reserve({.runtime = Duration(20), .window = Duration(200)});
  set.add(Duration(10), Duration(1000));
  set.reserve({.runtime = Duration(10), .window = Duration(100)});
  EXPECT_THAT(ends_of(set, until(Duration(900))),
              ElementsAre(std::pair(1U, Duration(10)), std::pair(0U, Duration(30))));
}

TEST(ReservedCore, OtherReservationsDelayBudgetToItsDeadline) {
  Set set;
  set.add(Duration(10), Duration(1000));
  set.reserve({.runtime = Duration(10), .window = Duration(100)});
  Options options = until(Duration(900));
  options.interference = {{.core = 0, .reservation = {.runtime = Duration(90), .window = Duration(100)}}};
  EXPECT_THAT(times_of(set, options), ElementsAre(Duration(100)));
  options.interference[0].core = 1;
  EXPECT_THAT(times_of(set, options), ElementsAre(Duration(10)));
}

TEST(ReservedCore, ThrottlesPartThatExceedsItsRuntimeUntilDeadline) {
  Set set;
  set.add(Duration(15), Duration(1000));
  set.reserve({.runtime = Duration(10), .window = Duration(100)});
  EXPECT_THAT(times_of(set, until(Duration(900))), ElementsAre(Duration(105)));
}

/// By then its runtime is used up, and no work remains.
TEST(ReservedCore, PartThatEndsAsPlatformStallBeginsHasEnded) {
  Set set;
  set.add(Duration(20), Duration(1000));
  set.reserve({.runtime = Duration(20), .window = Duration(200)});
  Options options = until(Duration(900));
  options.stop = [stop =
                      std::optional(MachineStop{.begin = Instant{Duration(20)}, .length = Duration(3), .cores = {}})](
                     Instant) mutable { return std::exchange(stop, std::nullopt); };
  EXPECT_THAT(times_of(set, options), ElementsAre(Duration(20)));
}

TEST(ReservedCore, GivesRemainingTimeToBestEffortParts) {
  Set set;
  set.add(Duration(15), Duration(1000));
  set.add(Duration(10), Duration(1000), Duration(5));
  set.reserve({.runtime = Duration(10), .window = Duration(100)});
  EXPECT_THAT(ends_of(set, until(Duration(900))),
              ElementsAre(std::pair(1U, Duration(15)), std::pair(0U, Duration(25))));
}

/// Draws work that fits and work that does not, at any instants.
TEST(ReservedCore, MatchesReferenceConstantBandwidthServer) {
  std::mt19937 random(1);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution(from, to)(random); };
  std::size_t compared = 0;
  for (int round = 0; round < 2000; ++round) {
    Set set;
    policies::test::ConstantBandwidthCore oracle;
    const int tasks = pick(1, 4);
    for (int i = 0; i < tasks; ++i) {
      const int window = pick(20, 200), runtime = pick(1, window / tasks);
      set.add(Duration(pick(1, runtime + 2)), Duration(pick(window, 3 * window)), Duration(pick(0, 200)));
      set.tasks.tasks.back().on_overrun = OnOverrun::skip;
      set.reserve({.runtime = Duration(runtime), .window = Duration(window)});
      oracle.add(runtime, window);
    }
    std::vector<std::pair<Duration, std::uint32_t>> arrivals;
    std::vector<std::vector<Duration>> ends(set.tasks.tasks.size());
    Options options = until(Duration(3000));
    options.observe = [&](const Step& step) {
      if (step.kind == Step::Kind::release) arrivals.emplace_back(step.now - Instant{}, step.job.task);
      if (step.kind == Step::Kind::hand_on) ends[step.job.task].push_back(step.now - Instant{});
    };
    (void)simulate(set.tasks, set.plan, options);
    for (const auto& [when, task] : arrivals)
      oracle.arrive(task, when.count(), set.plan.tasks[task].wcet.before.count());
    oracle.finish();
    std::vector<std::vector<Duration>> expected(ends.size());
    for (const auto& end : oracle.ends)
      if (Duration(end.end) <= options.horizon) expected[end.server].push_back(Duration(end.end));
    ASSERT_EQ(ends, expected) << "round " << round;
    compared += arrivals.size();
  }
  EXPECT_GT(compared, 20'000U);
}

// ---- bandwidth budgets ----

/// A part of 30 us that moves 10 lines in the first 10 us of each 100 us.
class RegulatedCoreSimulation : public testing::Test {
 protected:
  RegulatedCoreSimulation() {
    set.add(microseconds(30), microseconds(5000), microseconds(10));
    regulation.period = microseconds(100);
    regulation.budget = 10;
    regulation.line = microseconds(1);
    regulation.latency = [this] { return latency; };
    regulation.burst = [this](std::uint32_t, bool last) { return last ? Burst{} : burst; };
  }
  Duration end() {
    Options options = until(microseconds(4000));
    options.regulated = {regulation};
    return times_of(set, options).at(0);
  }
  Set set;
  CoreRegulation regulation;
  Burst burst{.begin = Duration(0), .length = microseconds(30)};
  Duration latency{0};
};

TEST_F(RegulatedCoreSimulation, ThrottlesPartOnceItsBudgetIsUsed) {
  EXPECT_EQ(end(), microseconds(210));
  burst.begin = microseconds(20);
  burst.length = microseconds(10);
  EXPECT_EQ(end(), microseconds(40));
  burst = {};
  EXPECT_EQ(end(), microseconds(40));
}

TEST_F(RegulatedCoreSimulation, GreedyTrafficUsesBudgetBeforePart) {
  regulation.greedy = true;
  EXPECT_EQ(end(), microseconds(310));
  regulation.first_period = Instant{microseconds(5)};
  EXPECT_EQ(end(), microseconds(310)); // 5 lines from 10 us on, 25 more from 105, 205 and 305
}

TEST_F(RegulatedCoreSimulation, TicksTakeTimeFromPart) {
  regulation.tick = microseconds(5);
  EXPECT_EQ(end(), microseconds(215));
}

TEST_F(RegulatedCoreSimulation, OvershootIsCarriedOrForgiven) {
  latency = microseconds(4);
  regulation.overshoot = Overshoot::forgive; // 14 lines, and 14 from 104, and 2 from 204
  EXPECT_EQ(end(), microseconds(206));
  regulation.overshoot = Overshoot::carry; // 14 lines, and 6 + 4 from 104, and 6 from 204
  EXPECT_EQ(end(), microseconds(210));
}

TEST_F(RegulatedCoreSimulation, LineInFlightCountsInPeriodInWhichItEnds) {
  latency = Duration(4500); // 14.5 lines, and 5.5 + 4.5 from 104.5, and 5.5 from 204.5
  EXPECT_EQ(end(), microseconds(210));
}

TEST_F(RegulatedCoreSimulation, OtherCoresAreNotThrottled) {
  regulation.core = 1;
  EXPECT_EQ(end(), microseconds(40));
}

} // namespace
} // namespace rtexec::simulator
