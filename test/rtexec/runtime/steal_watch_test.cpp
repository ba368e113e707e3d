// Tests what the watch observes of stolen time, from an assembled tree, and how it explains parts above their WCETs.
#include "rtexec/runtime/executive/steal_watch.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using executive::Job;
using executive::StealWatch;
using executive::TaskStatistics;
using testing::IsEmpty;
using testing::SizeIs;

struct StealWatchTest : testing::Test {
  /// Sets the stolen time, in steps of 10 ms.
  void stolen_so_far(unsigned of_core_1, unsigned of_core_2) {
    write_text(root / "/proc/stat", "cpu 0\ncpu1 0 0 0 0 0 0 0 " + std::to_string(of_core_1) +
                                        " 0 0\ncpu2 0 0 0 0 0 0 0 " + std::to_string(of_core_2) + " 0 0\n");
  }
  void begin() {
    stolen_so_far(50, 60);
    watch.watch({1, 2}, 2, root.path());
    watch.add(statistics, 1);
  }
  void exceed(Part part, Instant begin) { statistics.exceeded(Job{}, part, begin, 2ms, 1ms); }
  PartCounts above_wcet_stolen() const { return statistics.report().above_wcet_stolen; }

  ScratchFolder root;
  Task task = synthetic("task", 10ms, {.before = 1ms, .device = 1ms, .after = 1ms});
  PlannedTask plan;
  hal::Signal noticed;
  TaskStatistics statistics{task, plan, noticed};
  StealWatch watch;
};

TEST_F(StealWatchTest, ReportsTimeStolenSinceItBegan) {
  begin();
  watch.look();
  EXPECT_THAT(watch.seen(), IsEmpty());
  stolen_so_far(50, 62);
  watch.look();
  stolen_so_far(50, 63);
  watch.look();
  const auto seen = watch.seen();
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].core, 2u);
  EXPECT_EQ(seen[0].time, 30ms);
}

TEST_F(StealWatchTest, AttributesExcessToStolenTimeOfItsCoreOnly) {
  begin();
  exceed(Part::before, hal::now());
  exceed(Part::device, hal::now());
  exceed(Part::after, hal::now());
  stolen_so_far(50, 61); // the compute core's
  watch.look();
  EXPECT_EQ(above_wcet_stolen().device, 1u);
  EXPECT_EQ(above_wcet_stolen().all(), 1u);
  exceed(Part::before, hal::now());
  exceed(Part::device, hal::now());
  stolen_so_far(51, 61);
  watch.look();
  EXPECT_EQ(above_wcet_stolen().before, 1u);
  EXPECT_EQ(above_wcet_stolen().all(), 2u);
  EXPECT_EQ(statistics.report().above_wcet.all(), 5u);
}

TEST_F(StealWatchTest, DoesNotAttributeTimeStolenBeforePartBegan) {
  begin();
  const Instant before_the_theft = hal::now();
  stolen_so_far(51, 60);
  watch.look();
  exceed(Part::before, hal::now());
  watch.look();
  EXPECT_EQ(above_wcet_stolen().all(), 0u);
  exceed(Part::before, before_the_theft); // a long part, explained by a later check
  watch.look();
  EXPECT_EQ(above_wcet_stolen().before, 1u);
}

TEST_F(StealWatchTest, ReportsNothingWhenKernelExposesNoStolenTime) {
  watch.look(); // before there is anything to watch
  watch.watch({1, 2}, 2, root.path());
  watch.add(statistics, 1);
  exceed(Part::before, hal::now());
  watch.look();
  EXPECT_THAT(watch.seen(), IsEmpty());
  EXPECT_EQ(above_wcet_stolen().all(), 0u);
}

TEST_F(StealWatchTest, CountsAllExcessesBeyondItsCapacity) {
  begin();
  for (int i = 0; i < 1000; ++i) exceed(Part::before, hal::now());
  stolen_so_far(51, 60);
  watch.look();
  EXPECT_EQ(statistics.report().above_wcet.before, 1000u);
  EXPECT_EQ(above_wcet_stolen().before, 64u);
}

TEST(StolenTimeReport, IsWrittenToJson) {
  Report report;
  report.stolen = {{.core = 3, .time = 20ms}};
  TaskReport& task = report.tasks.emplace_back();
  task.above_wcet_stolen.device = 2;
  const auto json = to_json(report);
  EXPECT_EQ(json["stolen"][0]["core"], 3);
  EXPECT_EQ(json["stolen"][0]["time_ns"], 20'000'000);
  EXPECT_EQ(json["tasks"][0]["above_wcet_stolen"]["device"], 2);
}

} // namespace
} // namespace rtexec
