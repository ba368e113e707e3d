// Tests overheads and footprints of memory policies by hand, and fits of invented costs.
#include "policies/memory/memory_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr MemoryPolicy three[] = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

/// Returns costs of a unified memory. The device's cache writes back 400 bytes in the time of a flush.
MemoryCosts unified() {
  MemoryCosts costs;
  costs.copy_start = 100ns;
  costs.copied_in = 0.5;
  costs.copied_out = 0.25;
  costs.host_touched = 1.5;
  costs.mapped = 0.125;
  costs.host_flush = 300ns;
  costs.device_flush = 200ns;
  costs.written_back = 0.5;
  costs.memory_access = 9;
  costs.cache_access = 4;
  return costs;
}

MemoryCosts linked() {
  MemoryCosts costs;
  costs.unified = false;
  costs.copy_start = 100ns;
  costs.copied_in = 0.5;
  costs.copied_out = 0.25;
  costs.faulted = 4;
  costs.prefetch_start = 50ns;
  costs.prefetched = 1;
  costs.returned = 3;
  costs.linked_start = 30ns;
  costs.linked = 2;
  costs.linked_access = 4;
  return costs;
}

MemoryTraffic traffic() {
  return {.in = Bytes{1000},
          .out = Bytes{400},
          .copies = 3,
          .kernels = {{.touched = Bytes{1000}, .written = Bytes{100}, .launches = 2, .dirty = 1},
                      {.touched = Bytes{800}, .written = Bytes{600}, .launches = 5, .dirty = 0}},
          .cache_accesses = 1000,
          .hit_rate = 0.75,
          .exchanged = Bytes{1400},
          .device_only = Bytes{600}};
}

TEST(MemoryModel, ComputesCopiesByEquation2) {
  MemoryTraffic task = traffic();
  EXPECT_EQ(memory_overhead(MemoryPolicy::device, unified(), task), (MemoryOverhead{.copies = 300ns + 500ns + 100ns}));
  task.fresh = true;
  EXPECT_EQ(memory_overhead(MemoryPolicy::device, unified(), task).all(), 900ns + 600ns);
}

TEST(MemoryModel, ComputesManagedOverheadByEquations3To5) {
  const MemoryOverhead found = memory_overhead(MemoryPolicy::managed, unified(), traffic());
  EXPECT_EQ(found, (MemoryOverhead{.mapping = 125ns, .host_flush = 300ns, .device_flush = 2 * 50ns + 5 * 200ns}));
  EXPECT_EQ(found.all(), 1525ns);
  EXPECT_EQ(found.alone(), 1400ns);
}

TEST(MemoryModel, ComputesHostOverheadByEquations6To8) {
  MemoryTraffic task = traffic();
  EXPECT_EQ(memory_overhead(MemoryPolicy::host, unified(), task),
            (MemoryOverhead{.mapping = 250ns + 500ns, .uncached = 3750ns}));
  task.hidden = true;
  EXPECT_EQ(memory_overhead(MemoryPolicy::host, unified(), task).uncached, 0ns);
  MemoryCosts swapped = unified();
  std::swap(swapped.memory_access, swapped.cache_access);
  EXPECT_EQ(memory_overhead(MemoryPolicy::host, swapped, traffic()).uncached, 0ns) << "a penalty is no gain";
}

TEST(MemoryModel, ComputesOverheadOfDeviceBehindALink) {
  MemoryTraffic task = traffic();
  EXPECT_EQ(memory_overhead(MemoryPolicy::device, linked(), task).all(), 900ns);
  EXPECT_EQ(memory_overhead(MemoryPolicy::managed, linked(), task),
            (MemoryOverhead{.copies = 1600ns, .mapping = 4000ns}));
  EXPECT_EQ(memory_overhead(MemoryPolicy::host, linked(), task),
            (MemoryOverhead{.uncached = 2 * (30ns + 2000ns) + 5 * (30ns + 1600ns) + 3000ns}));
  task.prefetch = true;
  EXPECT_EQ(memory_overhead(MemoryPolicy::managed, linked(), task),
            (MemoryOverhead{.copies = 1200ns, .mapping = 1000ns + 3 * 50ns}));
}

TEST(MemoryModel, RoundsUpAndStaysInRange) {
  MemoryCosts costs;
  costs.copied_in = 1e-9;
  EXPECT_EQ(memory_overhead(MemoryPolicy::device, costs, {.in = Bytes{1}, .kernels = {}}).all(), 1ns);
  costs.copied_in = 1e9;
  EXPECT_GT(memory_overhead(MemoryPolicy::device, costs, {.in = Bytes{~std::uint64_t{0}}, .kernels = {}}).all(), 0ns);
}

TEST(MemoryModel, CountsExchangedDataTwiceUnderDevicePolicy) {
  EXPECT_EQ(memory_footprint(MemoryPolicy::device, traffic()).device, Bytes{2000});
  EXPECT_EQ(memory_footprint(MemoryPolicy::device, traffic()).host, Bytes{1400});
  EXPECT_EQ(memory_footprint(MemoryPolicy::managed, traffic()).all(), Bytes{2000});
  EXPECT_EQ(memory_footprint(MemoryPolicy::host, traffic()).host, Bytes{1400});
  EXPECT_EQ(memory_footprint(MemoryPolicy::host, traffic()).all(), Bytes{2000});
}

// ---- the fit ----

/// Draws a task of any size. Its launches write less or more than a cache of the device holds.
MemoryTraffic random_traffic(std::mt19937_64& random) {
  const auto size = [&] { return Bytes{std::uint64_t{1} << std::uniform_int_distribution<int>(8, 24)(random)}; };
  const auto count = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(1, most)(random); };
  MemoryTraffic task{.in = size(), .out = size(), .copies = count(64), .kernels = {}};
  task.fresh = count(2) == 1;
  task.prefetch = count(2) == 1;
  for (std::uint64_t i = count(3); i > 0; --i) {
    const std::uint64_t launches = count(40);
    task.kernels.push_back(
        {.touched = size(), .written = size(), .launches = launches, .dirty = std::min(launches, count(40))});
  }
  task.cache_accesses = count(1 << 24);
  task.hit_rate = static_cast<double>(count(100)) / 100;
  return task;
}

/// Returns measurements of each policy on `tasks` random tasks, with errors of up to `noise` of the time.
std::vector<MemoryMeasurement> measured(const MemoryCosts& costs, int tasks, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<MemoryMeasurement> list;
  for (int i = 0; i < tasks; ++i) {
    const MemoryTraffic task = random_traffic(random);
    for (const MemoryPolicy policy : three) {
      const Duration execution(std::uniform_int_distribution<int>(0, 1'000'000)(random));
      const double factor = 1 + std::uniform_real_distribution<double>(-noise, noise)(random);
      const auto time = static_cast<double>((execution + memory_overhead(policy, costs, task).all()).count());
      list.push_back({policy, task, execution, Duration(static_cast<std::int64_t>(time * factor) + 1)});
    }
  }
  return list;
}

MemoryCosts nothing_known(const MemoryCosts& of) {
  MemoryCosts costs;
  costs.unified = of.unified;
  costs.cache_access = of.cache_access;
  return costs;
}

MemoryCosts slow_unified() {
  MemoryCosts costs = unified();
  costs.copy_start = 12us;
  costs.host_flush = 80us;
  costs.device_flush = 40us;
  return costs;
}

MemoryCosts slow_linked() {
  MemoryCosts costs = linked();
  costs.copy_start = 9us;
  costs.prefetch_start = 20us;
  costs.linked_start = 3us;
  costs.host_touched = 0.75;
  return costs;
}

void expect_near(const MemoryCosts& found, const MemoryCosts& right, double part) {
  const auto near = [&](double a, double b) { EXPECT_NEAR(a, b, part * b + 1e-9); };
  const auto near_time = [&](Duration a, Duration b) {
    near(static_cast<double>(a.count()), static_cast<double>(b.count()));
  };
  near_time(found.copy_start, right.copy_start);
  near(found.copied_in, right.copied_in);
  near(found.copied_out, right.copied_out);
  near(found.host_touched, right.host_touched);
  near(found.mapped, right.mapped);
  near_time(found.host_flush, right.host_flush);
  near_time(found.device_flush, right.device_flush);
  near(found.written_back, right.written_back);
  near(found.memory_access, right.memory_access);
  near(found.faulted, right.faulted);
  near_time(found.prefetch_start, right.prefetch_start);
  near(found.prefetched, right.prefetched);
  near(found.returned, right.returned);
  near_time(found.linked_start, right.linked_start);
  near(found.linked, right.linked);
  near(found.linked_access, right.linked_access);
}

TEST(MemoryFit, RecoversCostsFromMeasurements) {
  for (const MemoryCosts& right : {slow_unified(), slow_linked()}) {
    MemoryCosts known = nothing_known(right);
    if (!right.unified) known.memory_access = known.cache_access = 0;
    MemoryCosts aim = right;
    if (!right.unified) aim.memory_access = aim.cache_access = 0;
    const auto found = fit(known, measured(right, 60, 0, 1));
    ASSERT_TRUE(found);
    expect_near(found->costs, aim, 0.01);
    EXPECT_LT(found->error.worst, 0.5);
    EXPECT_LT(found->held_out.worst, 0.5);
  }
}

TEST(MemoryFit, FitOfCostsAloneMatchesFullFit) {
  const auto list = measured(slow_linked(), 20, 0.1, 5);
  const MemoryCosts known = nothing_known(slow_linked());
  const auto alone = fit_costs(known, list);
  ASSERT_TRUE(alone);
  EXPECT_EQ(*alone, fit(known, list)->costs);
  EXPECT_EQ(*fit_costs(slow_linked(), {}), slow_linked());
  EXPECT_FALSE(fit_costs(known, std::vector{MemoryMeasurement{.policy = MemoryPolicy::device, .traffic = {}}}));
}

TEST(MemoryFit, ReportsHeldOutErrorThatReflectsNoise) {
  for (const MemoryCosts& right : {slow_unified(), slow_linked()})
    for (std::uint64_t seed = 2; seed < 12; ++seed) {
      SCOPED_TRACE(seed);
      const auto found = fit(nothing_known(right), measured(right, 40, 0.1, seed));
      ASSERT_TRUE(found);
      EXPECT_GT(found->held_out.mean, 3);
      EXPECT_LT(found->held_out.mean, 9);
      EXPECT_GE(found->held_out.worst, found->held_out.mean);
      EXPECT_LT(found->held_out.worst, 40);
      // Tasks of another seed serve as the held-out set.
      double sum = 0;
      const auto others = measured(right, 200, 0, seed + 100);
      for (const MemoryMeasurement& other : others) {
        const Duration estimate = other.execution + memory_overhead(other.policy, found->costs, other.traffic).all();
        sum += 100 * std::abs(static_cast<double>((estimate - other.measured).count())) /
               static_cast<double>(other.measured.count());
      }
      EXPECT_LT(sum / static_cast<double>(others.size()), found->held_out.mean);
    }
}

TEST(MemoryFit, ToleratesFewOutliers) {
  auto measurements = measured(slow_unified(), 60, 0.02, 3);
  for (std::size_t i = 7; i < measurements.size(); i += 30) measurements[i].measured *= 8;
  const auto found = fit(nothing_known(unified()), measurements);
  ASSERT_TRUE(found);
  EXPECT_GT(found->error.worst, 50) << "it is told all the same";
  const auto others = measured(slow_unified(), 100, 0, 4);
  double sum = 0;
  for (const MemoryMeasurement& other : others)
    sum += std::abs(static_cast<double>(
               (other.execution + memory_overhead(other.policy, found->costs, other.traffic).all() - other.measured)
                   .count())) /
           static_cast<double>(other.measured.count());
  EXPECT_LT(sum / static_cast<double>(others.size()), 0.03);
}

TEST(MemoryFit, KeepsCostsThatNoMeasurementDependsOn) {
  auto measurements = measured(slow_unified(), 20, 0.01, 5);
  std::erase_if(measurements, [](const auto& each) { return each.policy != MemoryPolicy::device; });
  MemoryCosts before = slow_unified();
  before.copied_in = before.copied_out = 77;
  const auto found = fit(before, measurements);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->costs.copied_in, 0.5, 0.1);
  EXPECT_DOUBLE_EQ(found->costs.mapped, 0.125);
  EXPECT_EQ(found->costs.host_flush, 80us);
  EXPECT_EQ(found->costs.device_flush, 40us);
  EXPECT_DOUBLE_EQ(found->costs.memory_access, 9);
}

TEST(MemoryFit, NeverFitsNegativeCosts) {
  // Copies that take less time the more they move, as noise may suggest.
  std::vector<MemoryMeasurement> measurements;
  for (std::uint64_t i = 1; i < 9; ++i)
    measurements.push_back({MemoryPolicy::device,
                            {.in = Bytes{i * 1000}, .copies = 1, .kernels = {}},
                            0ns,
                            Duration(10'000 - static_cast<std::int64_t>(i))});
  const auto found = fit({}, measurements);
  ASSERT_TRUE(found);
  EXPECT_GE(found->costs.copied_in, 0);
  EXPECT_NEAR(static_cast<double>(found->costs.copy_start.count()), 9995, 10);
}

/// Additions of two arrays on an H200, in milliseconds measured there.
TEST(MemoryFit, PredictsH200MeasurementsWithinTwentyPercent) {
  struct Sum {
    std::uint64_t size; // of an array, in MB
    double device, managed, host;
  };
  std::vector<MemoryMeasurement> measurements;
  for (const Sum& sum : {Sum{16, 0.94, 13.6, 0.69}, Sum{64, 3.71, 46.0, 2.72}, Sum{256, 14.7, 185, 10.8}}) {
    const std::uint64_t size = sum.size * 1'000'000;
    const MemoryTraffic task{.in = {2 * size},
                             .out = {size},
                             .copies = 3,
                             .kernels = {{.touched = {3 * size}, .written = {size}, .launches = 1, .dirty = 1}}};
    const double milliseconds[] = {sum.device, sum.managed, sum.host};
    for (std::size_t i = 0; i < 3; ++i)
      measurements.push_back({three[i], task, 0ns, Duration(std::llround(milliseconds[i] * 1e6))});
  }
  const auto found = fit({.unified = false}, measurements);
  ASSERT_TRUE(found);
  std::cout << "held out: " << found->held_out.mean << " % in the mean, " << found->held_out.worst << " % at worst\n";
  EXPECT_LT(found->held_out.mean, 5);
  EXPECT_LT(found->held_out.worst, 20);
}

TEST(MemoryFit, RejectsUnusableMeasurements) {
  auto measurements = measured(unified(), 1, 0, 1);
  EXPECT_THAT(fit({}, measurements).error().what, HasSubstr("1 kinds of traffic"));
  EXPECT_THAT(fit({}, {}).error().what, HasSubstr("0 kinds of traffic"));
  measurements = measured(unified(), 3, 0, 1);
  measurements[4].measured = 0ns;
  EXPECT_EQ(fit({}, measurements).error().code, Errc::bad_input);
  measurements[4].measured = 1ns;
  measurements[4].policy = MemoryPolicy::automatic;
  EXPECT_EQ(fit({}, measurements).error().code, Errc::bad_input);
}

} // namespace
} // namespace rtexec::policies
