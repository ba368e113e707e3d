// Tests how a WCET is derived from measured executions: the margin above the longest, the claim for it, and that claims
// hold. For 500 profiles of each process run pwcet-bench --claims.
#include "test/support/sanitized.hpp"
#include "test/traces/pwcet_samples.hpp"
#include "traces/wcet/growth.hpp"
#include "traces/wcet/part_wcet.hpp"
#include "traces/wcet/sample_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace rtexec::traces::test {
namespace {

using rtexec::test::sanitized;

SampleSeries series(const std::vector<double>& samples, std::uint64_t block = 1) {
  return {samples.size() + 1, block, samples};
}

double of_longest_of(double jobs) { return -std::expm1(std::log(0.05) / jobs); }

TEST(Growth, EstimatesAtLeastMeanTimesLn2ForExponentialTimes) {
  Random random(1);
  constexpr int repetitions = 200;
  double sum = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto x = samples(4096, random, [](Random& r) { return pareto(uniform(r), 0); });
    const Growth found = growth(x);
    EXPECT_EQ(found.longest, *std::ranges::max_element(x));
    EXPECT_EQ(found.halvings, max_halvings);
    sum += found.per_doubling;
  }
  // The result is the largest of three estimates. That from the longest execution alone depends on chance.
  EXPECT_GT(sum / repetitions, 5 * std::numbers::ln2);
  EXPECT_LT(sum / repetitions, 5 * std::numbers::ln2 * 1.6);
}

TEST(Growth, DoesNotExtrapolateBeyondObservedHalvings) {
  std::vector<double> x(16 * min_piece);
  std::iota(x.begin(), x.end(), 1.0);
  const Growth found = growth(x);
  EXPECT_EQ(found.halvings, 4);
  EXPECT_GT(found.per_doubling, 0);
  EXPECT_EQ(found.after(4), found.after(100));
  EXPECT_LT(found.after(3), found.after(4));
  EXPECT_EQ(found.after(-1), 16 * min_piece);
}

TEST(Growth, AssumesNoGrowthFromFewSamples) {
  std::vector<double> x;
  for (std::size_t i = 1; i < 2 * min_piece; ++i) {
    x.push_back(static_cast<double>(i));
    EXPECT_EQ(growth(x).halvings, 0);
    EXPECT_EQ(growth(x).after(6), x.back());
  }
}

TEST(PartWcet, AppliesOnlyTheMarginWhenSamplesAreConstant) {
  for (const std::size_t n : {1U, 7U, 100U, 5000U}) {
    const PartWcet found = part_wcet(series(std::vector<double>(n, 200)), {.exceedance = 1e-6, .margin = 1.25});
    EXPECT_EQ(found.value, 250) << n;
    EXPECT_EQ(found.longest, 200) << n;
    EXPECT_EQ(found.method, WcetMethod::growth) << n;
    EXPECT_DOUBLE_EQ(found.exceedance, n < 1000 ? 0 : of_longest_of(static_cast<double>(n))) << n;
  }
  EXPECT_EQ(part_wcet(series(std::vector<double>(100, 0)), {}).value, 0);
}

TEST(PartWcet, AddsRangeOfSamplesToLongestUpToHalfOfIt) {
  std::vector<double> x(2000, 150);
  for (std::size_t i = 0; i < x.size(); i += 8) x[i] = i % 16 == 0 ? 100 : 200;
  const PartWcet found = part_wcet(series(x), {.margin = 1.25});
  EXPECT_EQ(found.method, WcetMethod::growth);
  EXPECT_EQ(found.value, 300);
  for (double& value : x) value += 400;
  EXPECT_EQ(part_wcet(series(x), {.margin = 1.05}).value, 700);
  for (double& value : x) value -= 480;
  EXPECT_EQ(part_wcet(series(x), {.margin = 1.25}).value, 1.5 * 120) << "by half the longest at most";
}

TEST(PartWcet, LimitsAllowanceForSingleOutlierToHalfOfIt) {
  Random random(7);
  auto x = samples(2000, random, [](Random& r) { return normal(r, 100, 5); });
  x[1500] = 400;
  ASSERT_GT(growth(x).after(6), 800);
  EXPECT_EQ(part_wcet(series(x), {}).value, 600);
  EXPECT_EQ(part_wcet(series(x), {.margin = 2}).value, 800) << "a margin that is asked for is given";
}

TEST(PartWcet, ScalesWithTheUnitOfTime) {
  for (const auto& process : processes()) {
    Random random(3);
    auto x = process.make(3000, random);
    const PartWcet one = part_wcet(series(x), {});
    for (double& value : x) value *= 1000;
    const PartWcet other = part_wcet(series(x), {});
    EXPECT_NEAR(other.value, 1000 * one.value, one.value) << process.name;
    EXPECT_EQ(other.method, one.method) << process.name;
  }
}

TEST(PartWcet, ClaimsExceedancePerJobWhenGivenBlockMaxima) {
  Random random(5);
  const auto jobs = samples(64 * 512, random, [](Random& r) { return normal(r, 100, 5); });
  std::vector<double> maxima;
  for (std::size_t i = 0; i < jobs.size(); i += 512) maxima.push_back(*std::max_element(&jobs[i], &jobs[i] + 512));
  const PartWcet found = part_wcet(series(maxima, 512), {});
  EXPECT_NEAR(found.exceedance, of_longest_of(64 * 512), 2 * of_longest_of(64 * 512));
  EXPECT_GE(found.value, 1.1 * found.longest);
}

TEST(PartWcet, ClaimsNoExceedanceProbabilityForDriftingSamples) {
  Random random(2);
  auto x = samples(2000, random, [](Random& r) { return normal(r, 100, 5); });
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.01 * static_cast<double>(i);
  EXPECT_EQ(part_wcet(series(x), {}).exceedance, 0);
}

TEST(PartWcet, CountsFewerIndependentSamplesWhenCorrelated) {
  Random random(4);
  const auto x = autoregressive(20'000, random, 0.9, [](double z) { return 100 + 5 * z; });
  EXPECT_NEAR(independent_samples(x), 20'000 * (1 - 0.9) / (1 + 0.9), 300);
  const auto y = samples(20'000, random, [](Random& r) { return normal(r); });
  EXPECT_GT(independent_samples(y), 18'000);
}

TEST(SampleSeries, AppendsAnotherSeriesInBlocksOfEqualSize) {
  SampleSeries early(16), late(16);
  for (int i = 0; i < 20; ++i) early.add(Duration(i)); // blocks of 2
  for (int i = 100; i < 105; ++i) late.add(Duration(i));
  early.append(late);
  EXPECT_EQ(early.block(), 2u);
  EXPECT_THAT(early.samples(), testing::ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 101, 103));
  early.append(early);
  EXPECT_EQ(early.block(), 4u);
  EXPECT_THAT(early.samples(), testing::ElementsAre(3, 7, 11, 15, 19, 103, 3, 7, 11, 15, 19, 103));
  SampleSeries none(16);
  none.append(late);
  EXPECT_THAT(none.samples(), testing::ElementsAre(100, 101, 102, 103, 104));
}

TEST(PartWcet, ProfileAccumulatesExecutionsOfAllMeasurements) {
  Random random(6);
  ProfileEntry entry;
  double longest = 0;
  for (int night = 1; night <= 4; ++night) {
    SampleSeries executions;
    for (int i = 0; i < 3000; ++i) executions.add(Duration(static_cast<Duration::rep>(1000 * normal(random, 100, 5))));
    longest = std::max(longest, *std::ranges::max_element(executions.samples()));
    add_executions(entry, Part::device, executions, Duration(static_cast<Duration::rep>(longest)), {.margin = 1.05});
    EXPECT_EQ(entry.observed.device.count(), longest);
    EXPECT_GE(entry.wcet.device.count(), 1.05 * longest);
    EXPECT_LE(entry.device.longest.size(), 128u);
    EXPECT_GE(entry.device.longest.size() * entry.device.block, 2900u * static_cast<unsigned>(night));
    if (entry.device.method == WcetMethod::growth) {
      EXPECT_LT(entry.device.exceedance, 2 * of_longest_of(3000.0 * night));
    }
  }
  EXPECT_TRUE(entry.before.longest.empty());
  EXPECT_EQ(entry.wcet.before, Duration(0));
}

TEST(PartWcet, ProfileWcetStaysWhenSameExecutionsAreAdded) {
  ProfileEntry entry;
  SampleSeries executions; // each block of the kept ones has both values
  for (int i = 0; i < 4000; ++i) executions.add(Duration(i % 2 == 0 ? 100 : 130));
  for (int night = 1; night <= 3; ++night) {
    add_executions(entry, Part::device, executions, Duration(130), {.margin = 1.1});
    EXPECT_EQ(entry.wcet.device, Duration(160)) << "as far above the longest as the shortest is below it, " << night;
  }
}

TEST(PartWcet, ProfileCoversExecutionsThatFillNoBlock) {
  ProfileEntry entry;
  SampleSeries many, few;
  for (int i = 0; i < 1024; ++i) many.add(Duration(100));
  add_executions(entry, Part::after, many, Duration(100), {});
  few.add(Duration(500));
  add_executions(entry, Part::after, few, Duration(500), {.margin = 1.2});
  EXPECT_EQ(entry.observed.after, Duration(500));
  EXPECT_EQ(entry.wcet.after, Duration(600));
  add_executions(entry, Part::after, SampleSeries(), Duration(700), {.margin = 1.2});
  EXPECT_EQ(entry.wcet.after, Duration(840)) << "not even the first one";
}

TEST(PartWcet, IsAtLeastSumOfLayersWithoutTailModel) {
  ProfileEntry entry;
  entry.layers = {.pieces = 3, .sum = Duration(150)};
  SampleSeries executions;
  for (int i = 0; i < 2000; ++i) executions.add(Duration(100));
  for (const Part part : {Part::before, Part::device, Part::after}) {
    add_executions(entry, part, executions, Duration(100), {.margin = 1.2});
    EXPECT_EQ(entry.wcet.of(part), Duration(part == Part::device ? 150 : 120));
    EXPECT_EQ(entry.basis(part).method, part == Part::device ? WcetMethod::layers : WcetMethod::growth);
    EXPECT_DOUBLE_EQ(entry.basis(part).exceedance, of_longest_of(2000)) << "what holds of less holds of more";
  }
  add_executions(entry, Part::device, executions, Duration(100), {.margin = 1.6});
  EXPECT_EQ(entry.wcet.device, Duration(160));
  EXPECT_EQ(entry.device.method, WcetMethod::growth);
}

TEST(PartWcet, IgnoresSumOfLayersWhenTailModelApplies) {
  Random random(1);
  SampleSeries executions(1 << 16);
  for (int i = 0; i < 40'000; ++i) executions.add(Duration(static_cast<Duration::rep>(1000 * normal(random, 100, 1))));
  ProfileEntry entry;
  add_executions(entry, Part::device, executions, Duration(1), {.margin = 1});
  ASSERT_EQ(entry.device.method, WcetMethod::tail_model);
  ProfileEntry layered;
  layered.layers = {.pieces = 3, .sum = entry.wcet.device * 2};
  add_executions(layered, Part::device, executions, Duration(1), {.margin = 1});
  EXPECT_EQ(layered.device.method, WcetMethod::tail_model);
  EXPECT_EQ(layered.wcet.device, entry.wcet.device);
}

/// Adds 2000 executions, one of which is the longest.
void add_varied(ProfileEntry& entry, Part part, Duration usual, Duration longest) {
  SampleSeries executions;
  for (int i = 0; i < 2000; ++i) executions.add(i == 700 ? longest : usual);
  add_executions(entry, part, executions, longest, {.margin = 1.2});
}

TEST(PartWcet, CpuPartsAllowForInterruptionsSeenInShortOnes) {
  using namespace std::chrono_literals;
  std::vector<ProfileEntry> entries(3);
  const auto& add = add_varied;
  add(entries[0], Part::before, 2ms, 6ms); // long: its variation is its own
  add(entries[0], Part::after, 60us, 130us);
  add(entries[1], Part::before, 120us, 130us);
  add(entries[1], Part::device, 50us, 50us);
  add(entries[1], Part::after, 20us, 22us);
  const auto wcets = [](const ProfileEntry& entry) {
    return std::array{entry.wcet.before, entry.wcet.device, entry.wcet.after};
  };
  const std::vector<ProfileEntry> alone = entries;
  const Duration longest = alone[0].wcet.after - 60us;
  ASSERT_GE(longest, 96us);
  allow_interruptions(entries);
  const std::array expected{120us + longest, alone[1].wcet.device, 20us + longest};
  EXPECT_EQ(wcets(entries[0]), wcets(alone[0]));
  EXPECT_EQ(wcets(entries[1]), expected);
  EXPECT_EQ(wcets(entries[2]), wcets(alone[2])) << "has no CPU parts";
  allow_interruptions(entries);
  EXPECT_EQ(wcets(entries[1]), expected) << "once and for all";
}

TEST(PartWcet, DevicePartsAllowForInterruptionsSeenInShortOnes) {
  using namespace std::chrono_literals;
  std::vector<ProfileEntry> entries(3);
  add_varied(entries[0], Part::device, 40us, 90us);
  add_varied(entries[1], Part::device, 150us, 160us);
  add_varied(entries[1], Part::before, 20us, 22us);
  add_varied(entries[2], Part::device, 2ms, 6ms); // long: its variation is its own
  const std::vector<ProfileEntry> alone = entries;
  const Duration longest = alone[0].wcet.device - 40us;
  ASSERT_GE(longest, 50us);
  allow_interruptions(entries);
  EXPECT_EQ(entries[0].wcet.device, alone[0].wcet.device);
  EXPECT_EQ(entries[1].wcet.device, 150us + longest);
  EXPECT_EQ(entries[1].wcet.before, alone[1].wcet.before) << "no part of the device";
  EXPECT_EQ(entries[2].wcet.device, alone[2].wcet.device);
}

TEST(PartWcet, ChecksWcetOfFirstHalfAgainstSecondHalf) {
  const auto holds = [](const std::vector<double>& times, double margin) -> bool {
    const std::array part{MeasuredPart{.part = Part::device, .executions = series(times)}};
    return first_halves_hold(part, {.margin = margin}).front();
  };
  std::vector<double> times(64, 100.0);
  EXPECT_TRUE(holds(times, 1.1));
  times.back() = 125;
  EXPECT_FALSE(holds(times, 1.2));
  EXPECT_TRUE(holds(times, 1.3));
  std::ranges::reverse(times);
  EXPECT_TRUE(holds(times, 1.2));
  EXPECT_FALSE(holds(std::vector<double>(15, 100.0), 1.1)) << "too few";
}

TEST(PartWcet, CheckOfHalvesAllowsInterruptionsSeenByOtherCpuParts) {
  std::vector<double> times(64, 10'000.0);
  std::vector<MeasuredPart> parts(2, {.part = Part::after, .executions = series(times)});
  times.back() = 60'000;
  parts.push_back({.part = Part::before, .executions = series(times)});
  EXPECT_THAT(first_halves_hold(parts, {}), testing::ElementsAre(true, true, false));
  std::ranges::reverse(times);
  parts.front().executions = series(times);
  EXPECT_THAT(first_halves_hold(parts, {}), testing::ElementsAre(true, true, true));
  parts.back().part = Part::device;
  EXPECT_THAT(first_halves_hold(parts, {}), testing::ElementsAre(true, true, false)) << "not met by a device part";
}

TEST(PartWcet, ProfileReportsWhetherFirstHalfHoldsForSecond) {
  const auto holds = [](int longer) -> bool {
    SampleSeries executions;
    for (int i = 0; i < 4000; ++i) executions.add(Duration(i < longer ? 100 : 150));
    ProfileEntry entry;
    add_executions(entry, Part::device, executions, Duration(150), {});
    const auto parts = measured_parts(entry);
    EXPECT_THAT(parts, testing::SizeIs(1)) << "those that it has";
    return first_halves_hold(parts, {}).front();
  };
  EXPECT_TRUE(holds(1900));
  EXPECT_FALSE(holds(2100));
}

TEST(PartWcet, IsExceededNoMoreOftenThanClaimed) {
  const int repetitions = sanitized ? 2 : 20;
  int profiles = 0, kept = 0;
  for (const auto& process : processes())
    for (const std::size_t jobs : {1000U, 5000U}) {
      Random random(jobs);
      for (int i = 0; i < repetitions; ++i, ++profiles) {
        const PartWcet wcet = part_wcet(series(process.make(jobs, random)), {});
        EXPECT_GE(wcet.value, 1.1 * wcet.longest) << process.name;
        kept += wcet.exceedance == 0 || process.exceeds(wcet.value) <= wcet.exceedance ? 1 : 0;
      }
    }
  EXPECT_GE(kept, 0.95 * profiles);
}

} // namespace
} // namespace rtexec::traces::test
