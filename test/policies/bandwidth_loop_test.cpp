// Tests the closed loop against a small platform model: device executions get longer with the traffic that the limit
// lets through.
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;

constexpr Bandwidth mb(std::uint64_t count) { return {count * 1'000'000}; }
constexpr BandwidthLoop::Settings usual{
    .slowdown = 1.1, .start = mb(500), .floor = mb(10), .ceiling = mb(4000), .kinds = 2};

/// Models cores beside a device. An execution takes its undisturbed length, `sensitivity` more for each GB/s of the
/// cores' traffic, and noise.
struct Plant {
  struct Job {
    Duration undisturbed;
    double sensitivity;
  };
  std::vector<Job> jobs;
  double noise = 0; // standard deviation, relative
  double cores = 4;
  double demand = 4000e6; // of each core, in bytes per second
  std::mt19937_64 random{7};

  double stretched(std::size_t kind, Bandwidth limit) const {
    return 1 + jobs[kind].sensitivity * cores * std::min(static_cast<double>(limit.bytes_per_second), demand) / 1e9;
  }
  /// Returns the slowdown relative to the lowest limit, which is all that the loop can observe.
  double slowdown(std::size_t kind, Bandwidth limit) const {
    return stretched(kind, limit) / stretched(kind, usual.floor);
  }
  Duration execute(std::size_t kind, Bandwidth limit) {
    const double factor =
        stretched(kind, limit) * std::max(0.5, std::normal_distribution<double>(1, noise + 1e-12)(random));
    return Duration(static_cast<std::int64_t>(static_cast<double>(jobs[kind].undisturbed.count()) * factor));
  }
  /// Returns the limit under which a kind has exactly the wanted slowdown.
  double ideal(std::size_t kind, double wanted) const { return (wanted - 1) * 1e9 / (jobs[kind].sensitivity * cores); }
};

struct Outcome {
  double mean = 0; // slowdown, by the model
  // The fraction of executions slowed down by more than wanted, by the model.
  double above = 0;
  double worst = 0;
  std::size_t longest = 0; // longest run of such executions
  double limit = 0;        // mean
};

/// Drives the loop with jobs of all kinds in turn. Slowdowns are the model's own, without noise.
Outcome drive(BandwidthLoop& loop, Plant& plant, std::size_t executions, double wanted = usual.slowdown) {
  Outcome outcome;
  std::size_t run = 0;
  for (std::size_t n = 0; n < executions; ++n) {
    const std::size_t kind = n % plant.jobs.size();
    const double slowdown = plant.slowdown(kind, loop.limit());
    run = slowdown > wanted ? run + 1 : 0;
    outcome.longest = std::max(outcome.longest, run);
    outcome.above += slowdown > wanted;
    outcome.worst = std::max(outcome.worst, slowdown);
    outcome.mean += slowdown;
    outcome.limit += static_cast<double>(loop.limit().bytes_per_second);
    static_cast<void>(loop.executed(kind, plant.execute(kind, loop.limit())));
  }
  const auto count = static_cast<double>(executions);
  outcome.mean /= count;
  outcome.above /= count;
  outcome.limit /= count;
  return outcome;
}

Plant quiet_plant(double sensitivity = 0.1) { return {.jobs = {{20ms, sensitivity}}}; }
Plant noisy_plant(double sensitivity = 0.1) { return {.jobs = {{20ms, sensitivity}}, .noise = 0.01}; }

// ---- learning ----

TEST(BandwidthLoop, LearnsUndisturbedTimeUnderFloorThenAppliesStartLimit) {
  BandwidthLoop loop(usual);
  EXPECT_EQ(loop.limit(), usual.floor);
  for (unsigned n = 1; n < BandwidthLoop::learnt_from; ++n) {
    EXPECT_EQ(loop.executed(0, 20ms + n * 10us), usual.floor);
    EXPECT_EQ(loop.undisturbed(0), 0ns);
    EXPECT_TRUE(loop.learning());
  }
  EXPECT_EQ(loop.executed(0, 20ms), usual.start);
  EXPECT_EQ(loop.undisturbed(0), 20ms + 10us); // the second shortest execution
  EXPECT_FALSE(loop.learning());
}

TEST(BandwidthLoop, IgnoresSingleOutlierWhileLearning) {
  BandwidthLoop loop(usual);
  static_cast<void>(loop.executed(0, 1ns));
  for (unsigned n = 1; n < BandwidthLoop::learnt_from; ++n) static_cast<void>(loop.executed(0, n == 3 ? 900ms : 20ms));
  EXPECT_EQ(loop.undisturbed(0), 20ms);
}

TEST(BandwidthLoop, StartsWithoutWaitingForJobKindsThatNeverExecute) {
  BandwidthLoop::Settings settings = usual;
  settings.kinds = 100;
  BandwidthLoop loop(settings);
  for (unsigned n = 0; n < BandwidthLoop::learnt_from; ++n) static_cast<void>(loop.executed(42, 20ms));
  EXPECT_EQ(loop.limit(), usual.start);
}

TEST(BandwidthLoop, ReturnsToFloorToLearnNewJobKind) {
  BandwidthLoop loop(usual);
  for (int n = 0; n < 40; ++n) static_cast<void>(loop.executed(0, 20ms));
  const Bandwidth before = loop.limit();
  EXPECT_GT(before, usual.floor);
  EXPECT_EQ(loop.executed(1, 9ms), usual.floor);
  EXPECT_EQ(loop.executed(1, 8ms), usual.floor); // it may have begun before the change
  for (unsigned n = 1; n < BandwidthLoop::learnt_from; ++n) EXPECT_EQ(loop.executed(1, 5ms), usual.floor);
  EXPECT_EQ(loop.executed(1, 5ms), before);
  EXPECT_EQ(loop.undisturbed(1), 5ms);
}

TEST(BandwidthLoop, DoesNotStayAtFloorToLearnRareJobKind) {
  BandwidthLoop loop(usual);
  unsigned at_floor = 0;
  for (int n = 0; n < 5000; ++n) {
    at_floor += loop.limit() == usual.floor;
    static_cast<void>(n % 500 == 100 ? loop.executed(1, 5ms) : loop.executed(0, 20ms));
  }
  EXPECT_EQ(loop.undisturbed(1), 5ms);
  EXPECT_LE(at_floor, BandwidthLoop::learnt_from + BandwidthLoop::learning_window + 2);
}

TEST(BandwidthLoop, LearnsAnewWhenExecutionsBecomeShorter) {
  BandwidthLoop loop(usual);
  Plant plant = noisy_plant();
  drive(loop, plant, 500);
  for (const Duration shorter : {Duration(12ms), Duration(10'800us), Duration(5ms)}) {
    plant.jobs[0].undisturbed = shorter;
    drive(loop, plant, 400);
    EXPECT_NEAR(static_cast<double>(loop.undisturbed(0).count()), static_cast<double>(shorter.count()),
                0.03 * static_cast<double>(shorter.count()));
    EXPECT_LE(drive(loop, plant, 2000).mean, 1.1);
  }
}

TEST(BandwidthLoop, DoesNotLearnAnewForNoise) {
  BandwidthLoop::Settings settings = usual;
  settings.slowdown = 1.5;
  BandwidthLoop loop(settings);
  Plant plant{.jobs = {{20ms, 0}}, .noise = 0.04};
  drive(loop, plant, 400, settings.slowdown);
  int learning = 0;
  for (int n = 0; n < 20'000; ++n) {
    learning += loop.learning();
    static_cast<void>(loop.executed(0, plant.execute(0, loop.limit())));
  }
  EXPECT_LE(learning, 20'000 * 10 / 256);
  EXPECT_GT(static_cast<double>(loop.undisturbed(0).count()), 20e6 * 0.85);
}

TEST(BandwidthLoop, LearnsAnewWhenExecutionsBecomeLonger) {
  BandwidthLoop loop(usual);
  Plant plant = noisy_plant();
  drive(loop, plant, 500);
  plant.jobs[0].undisturbed = 30ms;
  drive(loop, plant, 300);
  EXPECT_NEAR(static_cast<double>(loop.undisturbed(0).count()), 30e6, 30e6 * 0.03);
  const Outcome outcome = drive(loop, plant, 1000);
  EXPECT_GT(outcome.limit, 0.5 * plant.ideal(0, 1.1)) << "not at the floor where there is room";
}

// ---- control ----

TEST(BandwidthLoop, ApproachesTargetSlowdownFromBelow) {
  for (const double sensitivity : {0.02, 0.05, 0.1, 0.3, 1.0}) {
    BandwidthLoop loop(usual);
    Plant plant = quiet_plant(sensitivity);
    drive(loop, plant, 400);
    const Outcome outcome = drive(loop, plant, 1000);
    EXPECT_LE(outcome.worst, 1.099) << sensitivity; // the loop leaves room for noise
    EXPECT_GT(outcome.mean, 1.08) << sensitivity;
  }
}

TEST(BandwidthLoop, KeepsTargetSlowdownUnderNoise) {
  Outcome worst{.limit = 1};
  for (const double noise : {0.002, 0.01, 0.03})
    for (const double sensitivity : {0.05, 0.1, 0.3}) {
      SCOPED_TRACE(testing::Message() << "noise " << noise << " sensitivity " << sensitivity);
      BandwidthLoop loop(usual);
      Plant plant = noisy_plant(sensitivity);
      plant.noise = noise;
      drive(loop, plant, 400);
      const Outcome outcome = drive(loop, plant, 20'000);
      EXPECT_LE(outcome.mean, 1.1);
      EXPECT_LE(outcome.above, 0.001);
      EXPECT_LE(outcome.longest, 1u);
      EXPECT_LE(outcome.worst, 1.11);
      EXPECT_GE(outcome.limit, 0.3 * plant.ideal(0, 1.1));
      worst = {std::max(worst.mean, outcome.mean), std::max(worst.above, outcome.above),
               std::max(worst.worst, outcome.worst), std::max(worst.longest, outcome.longest),
               std::min(worst.limit, outcome.limit / plant.ideal(0, 1.1))};
    }
  std::printf(
      "slowdown wanted 1.1; at worst: mean %.3f, largest %.3f, above %.2f %% of executions, %zu in a row, limit %.0f "
      "%% of the ideal\n",
      worst.mean, worst.worst, 100 * worst.above, worst.longest, 100 * worst.limit);
}

TEST(BandwidthLoop, LimitsForMostSensitiveJobKind) {
  for (const std::size_t sensitive : {0U, 1U}) {
    BandwidthLoop loop(usual);
    Plant plant{.jobs = {{20ms, 0.01}, {35ms, 0.01}}};
    plant.jobs[sensitive].sensitivity = 0.2;
    drive(loop, plant, 600);
    const Outcome outcome = drive(loop, plant, 1000);
    EXPECT_LE(outcome.worst, 1.1);
    EXPECT_GT(outcome.limit, 0.8 * plant.ideal(sensitive, 1.1));
    for (int n = 0; n < 2000; ++n) {
      const std::size_t kind = plant.random() % 2;
      EXPECT_LE(plant.slowdown(sensitive, loop.limit()), 1.1);
      static_cast<void>(loop.executed(kind, plant.execute(kind, loop.limit())));
    }
    plant.noise = 0.005;
    drive(loop, plant, 600);
    const Outcome noisy = drive(loop, plant, 2000);
    EXPECT_LE(noisy.worst, 1.13);
    EXPECT_GT(noisy.limit, 0.6 * plant.ideal(sensitive, 1.1));
  }
}

TEST(BandwidthLoop, RaisesLimitInSmallSteps) {
  BandwidthLoop loop(usual);
  for (int n = 0; n < 400; ++n) {
    const bool learning = loop.learning();
    const auto before = static_cast<double>(loop.limit().bytes_per_second);
    const auto after = static_cast<double>(loop.executed(0, 20ms).bytes_per_second);
    if (learning) continue;
    EXPECT_LE(after, before + std::min(before / 8, 3.99e9 / 32) + 1);
  }
  EXPECT_EQ(loop.limit(), usual.ceiling);
}

TEST(BandwidthLoop, RaisesLimitAfterMostSensitiveJobKindEnds) {
  BandwidthLoop loop(usual);
  Plant plant{.jobs = {{20ms, 0.01}, {35ms, 0.5}}};
  drive(loop, plant, 600);
  const Bandwidth before = loop.limit();
  plant.jobs.pop_back();
  drive(loop, plant, 600);
  EXPECT_GT(loop.limit().bytes_per_second, 4 * before.bytes_per_second);
}

TEST(BandwidthLoop, RespondsToStepInLoadWithinSixExecutions) {
  BandwidthLoop loop(usual);
  Plant plant = noisy_plant();
  drive(loop, plant, 500);
  plant.jobs[0].sensitivity *= 5; // other traffic appears: every byte slows down more
  const Outcome step = drive(loop, plant, 100);
  EXPECT_LE(step.longest, 6u);
  EXPECT_LE(drive(loop, plant, 1000).mean, 1.1);
  plant.jobs[0].sensitivity /= 5;
  drive(loop, plant, 200);
  EXPECT_GT(drive(loop, plant, 500).limit, 0.6 * plant.ideal(0, 1.1)) << "it does not come back";
}

TEST(BandwidthLoop, ReachesCeilingWhenNothingIsSlowedDown) {
  BandwidthLoop loop(usual);
  Plant plant = quiet_plant(0);
  drive(loop, plant, 400);
  EXPECT_EQ(loop.limit(), usual.ceiling);
}

TEST(BandwidthLoop, FallsToFloorWhenAnySlowdownExceedsTarget) {
  BandwidthLoop::Settings settings = usual;
  settings.slowdown = 1;
  BandwidthLoop loop(settings);
  Plant plant = noisy_plant();
  drive(loop, plant, 400, settings.slowdown);
  EXPECT_LE(drive(loop, plant, 400, settings.slowdown).limit, 3e7);
}

TEST(BandwidthLoop, KeepsTargetWhenLimitTakesEffectOneExecutionLate) {
  BandwidthLoop loop(usual); // the first execution still runs under the previous limit
  Plant plant = noisy_plant();
  Bandwidth before = loop.limit();
  double mean = 0, limit = 0;
  for (int n = 0; n < 10'000; ++n) {
    const Bandwidth now = loop.limit();
    mean += plant.slowdown(0, before) / 10'000;
    limit += static_cast<double>(before.bytes_per_second) / 10'000;
    static_cast<void>(loop.executed(0, plant.execute(0, before)));
    before = now;
  }
  EXPECT_LE(mean, 1.1);
  EXPECT_GE(limit, 0.3 * plant.ideal(0, 1.1));
}

// ---- rules ----

TEST(BandwidthLoop, StaysBetweenFloorAndCeilingForRandomInput) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t floor = random() >> (random() % 64), width = random() >> (1 + random() % 63);
    const BandwidthLoop::Settings settings{.slowdown = 1 + static_cast<double>(random() % 100) / 50,
                                           .start = {random()},
                                           .floor = {floor},
                                           .ceiling = {floor > UINT64_MAX - width ? UINT64_MAX : floor + width},
                                           .kinds = 1 + random() % 4};
    BandwidthLoop loop(settings), again(settings);
    for (int n = 0; n < 500; ++n) {
      const std::size_t kind = random() % (settings.kinds + 1); // sometimes a kind that does not exist
      const Duration execution(static_cast<std::int64_t>(random() >> (random() % 64)));
      const Bandwidth limit = loop.executed(kind, execution);
      EXPECT_EQ(limit, again.executed(kind, execution));
      EXPECT_GE(limit, std::max(settings.floor, Bandwidth{1}));
      EXPECT_LE(limit, std::max(settings.ceiling, Bandwidth{1}));
    }
  }
}

TEST(BandwidthLoop, NeverAllocates) {
  BandwidthLoop loop(usual);
  const std::uint64_t before = rtexec::test::allocations();
  for (int n = 0; n < 500; ++n)
    static_cast<void>(loop.executed(static_cast<std::size_t>(n / 100 % 2), Duration(20'000'000 + n % 7 * 400'000)));
  EXPECT_EQ(rtexec::test::allocations(), before);
}

} // namespace
} // namespace rtexec::policies
