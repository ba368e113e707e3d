// Tests the calibration of memory bandwidth with a simulated memory and simulated counters.
#include "rtexec/studies/calibration/bandwidth_calibration.hpp"
#include "test/rtexec/studies/study_doubles.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::MB;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

const auto always = [] { return true; };

/// Counts `share` of the lines of 64 bytes moved on its core.
class PartialCounter final : public hal::BandwidthCounter {
 public:
  PartialCounter(const test::SharedMemory& memory, unsigned core, double share)
      : memory_(memory), core_(core), share_(share) {}
  Status arm(std::uint64_t, std::uint64_t) noexcept override { return {}; }
  Expected<hal::TrafficCount, Errc> count() noexcept override {
    if (share_ < 0) return Unexpected(Errc::io_error);
    return hal::TrafficCount{
        .reads = static_cast<std::uint64_t>(static_cast<double>(memory_.moved_on(core_).count) * share_ / 64),
        .writes = 0};
  }
  Waited wait(Instant) noexcept override { return {Wake::time}; }
  void hold(Instant, bool (*)(void*) noexcept, void*) noexcept override {}
  std::string description() const override { return "partial"; }
  std::uint64_t lost_overflows() const noexcept override { return 0; }

 private:
  const test::SharedMemory& memory_;
  unsigned core_;
  double share_;
};

struct Bench {
  test::SharedMemory memory;
  CalibratedCores cores;

  explicit Bench(std::vector<unsigned> numbers) {
    cores.cores = std::move(numbers);
    cores.length = 1s;
    cores.corun = memory.corun();
    cores.now = [this] { return memory.now(); };
    cores.rest = [this](Duration length) { memory.advance(length); };
  }
  void count(std::vector<double> shares) {
    for (const unsigned core : cores.cores) {
      hal::CounterChoice choice;
      choice.cores = {core};
      choice.settings.core = core;
      cores.counters.push_back(choice);
    }
    cores.open_counter =
        [this, shares](const hal::CounterSettings& settings) -> Result<std::unique_ptr<hal::BandwidthCounter>> {
      return std::make_unique<PartialCounter>(memory, settings.core, shares.at(settings.core));
    };
  }
};

TEST(BandwidthCalibration, MeasuresBandwidthOfCoresAloneAndTogether) {
  Bench bench({0, 1, 2, 3});
  std::size_t told = 0;
  const auto calibration = calibrate_bandwidth(bench.cores, [&] { return ++told > 0; });
  ASSERT_TRUE(calibration) << calibration.error().what;
  EXPECT_EQ(told, count_measurements(bench.cores));
  ASSERT_EQ(calibration->alone.size(), 4u);
  for (unsigned core = 0; core < 4; ++core) {
    EXPECT_EQ(calibration->alone[core].core, core);
    EXPECT_EQ(calibration->alone[core].reported, MB(4000));
    EXPECT_FALSE(calibration->alone[core].counted);
    EXPECT_FALSE(calibration->alone[core].accuracy());
  }
  EXPECT_THAT(calibration->together, ElementsAre(MB(4000), MB(8000), MB(9000), MB(9000)));
  EXPECT_EQ(calibration->facts().core_bandwidth, MB(4000));
  EXPECT_EQ(calibration->facts().saturation, MB(9000));
  EXPECT_EQ(bench.memory.running(), 0u);
}

TEST(BandwidthCalibration, ReportsAccuracyOfCountersAgainstGenerators) {
  Bench bench({0, 1});
  bench.count({1.0, 0.877});
  const auto calibration = calibrate_bandwidth(bench.cores, always);
  ASSERT_TRUE(calibration) << calibration.error().what;
  ASSERT_TRUE(calibration->alone[1].counted);
  EXPECT_THAT(calibration->alone[0].accuracy(), Optional(DoubleNear(100, 1e-3)));
  EXPECT_THAT(calibration->alone[1].accuracy(), Optional(DoubleNear(87.7, 1e-3)));
  EXPECT_EQ(calibration->alone[0].counted->lines, 4'000'000'000u / 64) << "of a second";
}

TEST(BandwidthCalibration, UsesFastestCoreAsSaturationWhenAboveAllTogether) {
  const BandwidthCalibration calibration{.alone = {{.core = 0, .reported = MB(5000), .counted = {}},
                                                   {.core = 1, .reported = {5'123'456'789}, .counted = {}}},
                                         .together = {MB(4990), MB(5001)}};
  EXPECT_EQ(calibration.facts().core_bandwidth, MB(5123));
  EXPECT_EQ(calibration.facts().saturation, MB(5123));
}

TEST(BandwidthCalibration, UsesFasterOfTwoSingleCoreMeasurements) {
  const BandwidthCalibration calibration{
      .alone = {{.core = 0, .reported = MB(6784), .counted = {}}, {.core = 1, .reported = MB(6457), .counted = {}}},
      .together = {{7'289'900'000}, MB(7100)}};
  EXPECT_EQ(calibration.facts().core_bandwidth, MB(7289)) << "admission supposes that no core is faster";
}

TEST(BandwidthCalibration, RepeatsMeasurementOfBusyCore) {
  Bench bench({0, 1});
  bench.memory.busy = {1};
  bench.cores.rest = [&](Duration length) {
    if (bench.memory.log.size() > 4) bench.memory.busy.clear(); // each core was measured once
    bench.memory.advance(length);
  };
  const auto calibration = calibrate_bandwidth(bench.cores, always);
  ASSERT_TRUE(calibration) << calibration.error().what;
  EXPECT_EQ(calibration->alone[1].reported, MB(4000));
}

TEST(BandwidthCalibration, RefusesBusyCoreRatherThanReportingItSlow) {
  Bench alone({0, 1});
  alone.memory.busy = {1};
  EXPECT_TRUE(fails(calibrate_bandwidth(alone.cores, always), Errc::refused,
                    "core 1: a traffic generator moved less than 1MB/s in 1s, 3 times"));
  EXPECT_EQ(alone.memory.running(), 0u);
  Bench together({0, 1});
  const auto both_begin = [&] {
    if (together.memory.running() == 2) together.memory.busy = {0};
  };
  together.cores.rest = [&](Duration length) {
    both_begin();
    together.memory.advance(length);
  };
  EXPECT_TRUE(
      fails(calibrate_bandwidth(together.cores, always), Errc::refused, "core 0: a traffic generator moved less"));
}

TEST(BandwidthCalibration, StopsWithinMeasurementWhenCancelled) {
  for (const auto stopped_after : {30s, 90s, 150s, 210s}) { // each core alone for a minute; then both
    Bench bench({0, 1});
    bench.cores.length = 60s;
    const Instant begin = bench.memory.now();
    bench.cores.going_on = [&] { return bench.memory.now() - begin < stopped_after; };
    EXPECT_TRUE(fails(calibrate_bandwidth(bench.cores, always), Errc::cancelled, "cancelled"));
    EXPECT_LE(bench.memory.now() - begin, stopped_after + 100ms);
    EXPECT_EQ(bench.memory.running(), 0u);
  }
}

TEST(BandwidthCalibration, ReportsCauseOfFailure) {
  Bench generators({0, 1});
  generators.memory.broken = 1;
  EXPECT_TRUE(fails(calibrate_bandwidth(generators.cores, always), Errc::refused, "core 1: no generator"));
  Bench counters({0, 1});
  counters.count({1.0, -1.0});
  EXPECT_TRUE(fails(calibrate_bandwidth(counters.cores, always), Errc::io_error, "core 1: its counter cannot be read"));
  Bench stopped({0, 1});
  EXPECT_TRUE(fails(calibrate_bandwidth(stopped.cores, [] { return false; }), Errc::cancelled, "cancelled"));
}

constexpr MemoryFacts tx2{.core_bandwidth = MB(11'300), .saturation = MB(14'400)};

TEST(BudgetProposal, DividesBandwidthLeftByDevice) {
  const BudgetProposal proposal = propose_budgets(tx2, 6, MB(10'000));
  EXPECT_EQ(proposal.each, MB(2400));
  EXPECT_EQ(proposal.best_effort, MB(880));
  EXPECT_THAT(proposal.reason, HasSubstr("the 5 cores that do not feed it"));
}

TEST(BudgetProposal, GivesRestToSingleOtherCore) {
  EXPECT_THAT(propose_budgets(tx2, 2, MB(10'000)).reason, HasSubstr("the core that does not feed it gets the rest"));
}

TEST(BudgetProposal, DefaultsTo100MegabytesPerSecondWithoutDemand) {
  const BudgetProposal proposal = propose_budgets(tx2, 6, {});
  EXPECT_EQ(proposal.best_effort, MB(100));
  EXPECT_THAT(proposal.reason, HasSubstr("--demand"));
}

TEST(BudgetProposal, IsAbsentWhenNothingIsLeft) {
  EXPECT_FALSE(propose_budgets(tx2, 6, MB(14'400)).best_effort);
  EXPECT_FALSE(propose_budgets(tx2, 6, MB(14'397)).best_effort) << "less than 1 MB/s each";
  EXPECT_THAT(propose_budgets(tx2, 6, MB(20'000)).reason, HasSubstr("no bandwidth remains"));
  EXPECT_EQ(propose_budgets(tx2, 1, MB(14'000)).best_effort, MB(400)) << "one core: as if there were another";
}

} // namespace
} // namespace rtexec::study
