// Tests what the watch observes of clocks, from an assembled tree and from a device that reports its own.
#include "rtexec/runtime/watches/clock_watch.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "traces/analysis/analyzer.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Frequency megahertz(std::uint64_t count) { return {count * 1'000'000}; }

struct ClockWatchTest : testing::Test {
  void core_runs_at(unsigned core, const std::string& kilohertz) {
    write_text(root / ("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq"), kilohertz);
  }
  ScratchFolder root;
  std::shared_ptr<DeviceState> state = std::make_shared<DeviceState>();
  DeviceDouble device{state, Bytes{1 << 20}, Bytes{4096}};
  executive::ClockWatch watch;
};

TEST_F(ClockWatchTest, RecordsLowestAndHighestRateOfEachClock) {
  core_runs_at(1, "2400000");
  core_runs_at(2, "1800000");
  state->clocks = hal::DeviceClocks{.cores = megahertz(1980), .memory = megahertz(2600), .most = {}, .limits = 0};
  watch.watch({1, 2, 3}, 1, device, root.path());
  watch.look();
  core_runs_at(1, "1200000");
  state->clocks->cores = megahertz(900);
  state->clocks->limits = hal::DeviceClocks::power;
  watch.look();
  state->clocks = {}; // unknown this time
  watch.look();
  const auto seen = watch.seen();
  ASSERT_THAT(seen, SizeIs(4)) << "core 3 tells nothing";
  EXPECT_EQ(seen[0].of, "core 1");
  EXPECT_EQ(seen[0].lowest, megahertz(1200));
  EXPECT_EQ(seen[0].highest, megahertz(2400));
  EXPECT_FALSE(seen[0].steady());
  EXPECT_TRUE(seen[1].steady());
  EXPECT_EQ(seen[2].of, "device");
  EXPECT_EQ(seen[2].lowest, megahertz(900));
  EXPECT_THAT(seen[2].limits, ElementsAre("power"));
  EXPECT_EQ(seen[3].of, "device memory");
  EXPECT_TRUE(seen[3].steady());
}

TEST_F(ClockWatchTest, ReportsNoClocksWhenMachineExposesNone) {
  watch.look(); // before there is anything to watch
  watch.watch({0, 1}, 1, device, root.path());
  watch.look();
  EXPECT_THAT(watch.seen(), IsEmpty());
}

/// A board whose GPU, memory, thermal zone and over-current alarm are files.
struct BoardWatchTest : ClockWatchTest {
  BoardWatchTest() {
    is("/gpu", "1300500000");
    is("/memory", "1866000000");
    is("/zone", "60000");
    is("/limit", "95500");
    is("/events", "7");
    core_runs_at(1, "2035200");
    const hal::BoardFile core{
        .file = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", .times = {}, .factor = 1000};
    const hal::BoardFile gpu{.file = "/gpu", .times = {}};
    hardware.clocks = {clock("core 1", ClockKind::cpu, core), clock("GPU", ClockKind::gpu, gpu),
                       clock("memory", ClockKind::memory, {.file = "/memory", .times = {}})};
    hardware.sensors = {{.name = "zone",
                         .kind = SensorKind::temperature,
                         .value = {.file = "/zone", .times = {}},
                         .limit = hal::BoardFile{.file = "/limit", .times = {}}},
                        {.name = "over-current 1",
                         .kind = SensorKind::over_current,
                         .value = {.file = "/events", .times = {}},
                         .limit = {}}};
    locked = {{"core 1", core, 2'035'200'000}, {"GPU", gpu, 1'300'500'000}};
    watch.watch({1}, 1, device, root.path());
    watch.watch_board(hardware, locked, hal::Machine(root.path()));
  }
  static hal::FoundClock clock(std::string name, ClockKind kind, hal::BoardFile rate) {
    return {.name = std::move(name),
            .kind = kind,
            .rate = std::move(rate),
            .lowest = {},
            .highest = {},
            .set = {},
            .lock = {},
            .possible = {},
            .cap = {}};
  }
  void is(const std::string& file, const std::string& text) const { write_text(root / file, text + "\n"); }
  [[nodiscard]] std::vector<std::string> limits_of_board() const {
    for (const ClockReport& each : watch.seen())
      if (each.of == "board") return each.limits;
    return {};
  }
  hal::FoundHardware hardware;
  std::vector<hal::LockedClock> locked;
};

TEST_F(BoardWatchTest, ReportsNoLimitsWhenClocksAndSensorsStayNormal) {
  watch.look();
  is("/zone", "95499");
  core_runs_at(1, "2000000"); // as precisely as the kernel can measure it
  watch.look();
  EXPECT_THAT(limits_of_board(), IsEmpty());
  EXPECT_EQ(watch.invalid(), "");
}

TEST_F(BoardWatchTest, ReportsLockedClockThatChangedAndInvalidatesTimes) {
  watch.look();
  core_runs_at(1, "1200000");
  watch.look();
  core_runs_at(1, "2035200");
  watch.look();
  EXPECT_THAT(limits_of_board(), ElementsAre("a locked clock that moved"));
  EXPECT_EQ(watch.invalid(), "execution times of this run are not valid as WCETs: there was a locked clock that moved");
}

TEST_F(BoardWatchTest, ReportsThermalThrottlingAndOverCurrent) {
  is("/zone", "95500");
  watch.look();
  is("/zone", ""); // it is suspended
  is("/events", "8");
  watch.look();
  EXPECT_THAT(limits_of_board(), ElementsAre("an over-current event", "a part so hot that it is throttled"));
}

TEST(ClockReport, IsSteadyWithinTwoPercentUnlessLimited) {
  EXPECT_TRUE((ClockReport{"core 0", megahertz(2393), megahertz(2401), {}}.steady()));
  EXPECT_FALSE((ClockReport{"core 0", megahertz(2300), megahertz(2401), {}}.steady()));
  EXPECT_FALSE((ClockReport{"device", megahertz(1980), megahertz(1980), {"temperature"}}.steady()));
}

TEST_F(ClockWatchTest, RunRecordsDeviceClocksInReportAndTrace) {
  state->clocks = hal::DeviceClocks{.cores = megahertz(1410), .memory = megahertz(2600), .most = {}, .limits = 2};
  auto session = traces::Session::start(root / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  executive::Setup setup;
  setup.force = true;
  setup.open_device = opener(state);
  setup.workloads["task"] = std::make_unique<WorkloadDouble>(state, std::make_shared<WorkloadState>());
  auto run = executive::create(set_of({synthetic("task", 10ms, {.before = {}, .device = 1ms, .after = {}})}, 300ms),
                               std::move(setup));
  ASSERT_TRUE(run) << problem(run);
  ASSERT_TRUE(run->start());
  run->wait();
  const Report report = run->stop();
  const auto reported = std::ranges::find(report.clocks, "device", &ClockReport::of);
  ASSERT_NE(reported, report.clocks.end());
  EXPECT_EQ(reported->highest, megahertz(1410));
  ASSERT_TRUE(session->stop());

  traces::RunSetup recorded;
  traces::Analyzer analyzer(recorded);
  const auto read = traces::read_records(session->folder(), recorded, analyzer);
  ASSERT_TRUE(read) << problem(read);
  const traces::Analysis analysis = analyzer.finish(*read);
  const auto clock = std::ranges::find(analysis.clocks, "device", &traces::ClockAnalysis::of);
  ASSERT_NE(clock, analysis.clocks.end());
  EXPECT_EQ(clock->lowest, megahertz(1410));
  EXPECT_THAT(clock->limits, ElementsAre("temperature"));
  const auto& part = analysis.tasks.at(0).stages.at(1);
  const auto by_clock = std::ranges::find(part.factors, traces::Factor::clock, &traces::FactorAnalysis::factor);
  ASSERT_NE(by_clock, part.factors.end());
  ASSERT_THAT(by_clock->groups, SizeIs(1));
  EXPECT_EQ(by_clock->groups[0].name, "1.40 GHz, memory 2.60 GHz");
  EXPECT_EQ(by_clock->groups[0].count, part.times.count) << "it is known before the first job";
}

} // namespace
} // namespace rtexec
