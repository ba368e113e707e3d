// Tests the analysis of loading before the first release: the overlap of prefetching with computing initial contents,
// for invented intervals; their bars; and the result for a damaged recording.
#include "traces/analysis/loading.hpp"

#include "test/traces/recording_script.hpp"
#include "traces/reading/setup_decoder.hpp"
#include "traces/report/export_names.hpp"
#include "traces/report/perfetto.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns a tile; times are in microseconds.
TileSetup tile(std::int64_t prefetch_begin, std::int64_t prefetch_end, std::int64_t make_begin, std::int64_t make_end) {
  return {{1 << 20}, {us(prefetch_begin), us(prefetch_end)}, {us(make_begin), us(make_end)}};
}

/// Returns two tiles on the GPU, the second one prefetched while the first is computed, and a buffer that the host
/// computed.
TaskSetup two_buffers() {
  TaskSetup setup = task("sum", 100us, 0);
  setup.loaded = TimeInterval{us(10), us(90)};
  setup.contents = {
      {.size = {2 << 20}, .made = {us(11), us(60)}, .tiles = {tile(12, 20, 20, 35), tile(20, 30, 35, 50)}},
      {.size = {1000}, .made = {us(70), us(75)}, .on_host = true}};
  return setup;
}

class Bars final : public AnalysisObserver {
 public:
  void setup(const RunSetup& setup) override { lanes_ = lanes_of(setup); }
  void bar(const GanttBar& bar) override {
    const auto time = [](Instant at) { return std::to_string(at.time_since_epoch() / 1us); };
    all.push_back(lanes_[bar.lane].name + ": " + label(std::vector<std::string>{"sum"}, bar) + " " + time(bar.begin) +
                  "-" + time(bar.end));
  }
  std::vector<std::string> all;

 private:
  std::vector<GanttLane> lanes_;
};

TEST(Loading, SumsPrefetchAndComputeTimesAndTheirOverlap) {
  const ContentsAnalysis sum = contents_of(two_buffers());
  EXPECT_EQ(sum.buffers, 2U);
  EXPECT_EQ(sum.tiles, 2U);
  EXPECT_EQ(sum.size, Bytes{(2 << 20) + 1000});
  EXPECT_EQ(sum.took, 54us);
  EXPECT_EQ(sum.prefetched, 18us);
  EXPECT_EQ(sum.made, 30us);
  EXPECT_EQ(sum.overlapped, 10us);
  EXPECT_EQ(contents_of(task("other", 100us, 0)).buffers, 0U);
}

/// Compares with a count of the microseconds in which both streams work.
TEST(Loading, OverlapIsTheTimeInWhichBothStreamsWork) {
  std::mt19937 random(5);
  const auto step = [&] { return static_cast<std::int64_t>(random() % 9); };
  for (int round = 0; round < 200; ++round) {
    ContentsSetup contents;
    std::vector<char> prefetching(1000), making(1000);
    std::int64_t prefetch = 0, make = 0;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t begin = prefetch + step(), end = begin + step(), from = std::max(make, end) + step() / 2,
                         to = from + step();
      contents.tiles.push_back(tile(begin, end, from, to));
      for (std::int64_t t = begin; t < end; ++t) prefetching[static_cast<std::size_t>(t)] = 1;
      for (std::int64_t t = from; t < to; ++t) making[static_cast<std::size_t>(t)] = 1;
      prefetch = end;
      make = to;
    }
    std::int64_t both = 0;
    for (std::size_t t = 0; t < prefetching.size(); ++t) both += prefetching[t] != 0 && making[t] != 0;
    TaskSetup of = task("sum", 100us, 0);
    of.contents = {contents};
    EXPECT_EQ(contents_of(of).overlapped, std::chrono::microseconds(both));
  }
}

TEST(Loading, ShowsBarsOfPrefetchAndComputeStreams) {
  Script script({two_buffers()});
  script.run({0, 0}, 100, 2, 3, 1);
  Bars bars;
  const Analysis analysis = script.analyze({&bars});
  EXPECT_EQ(analysis.tasks[0].contents.overlapped, 10us);
  EXPECT_EQ(analysis.from, us(100)) << "figures begin with the first release";
  bars.all.resize(7);
  EXPECT_THAT(bars.all,
              ElementsAre("copy in: sum, buffer 0, tile 0: prefetch 12-20", "device: sum, buffer 0, tile 0: make 20-35",
                          "copy in: sum, buffer 0, tile 1: prefetch 20-30", "device: sum, buffer 0, tile 1: make 35-50",
                          "sum: sum, buffer 0: first contents 11-60", "sum: sum, buffer 1: first contents 70-75",
                          "sum: sum: loaded 10-90"));
}

TEST(Loading, OmitsPrefetchLaneWhenNothingIsPrefetched) {
  TaskSetup setup = two_buffers();
  for (TileSetup& each : setup.contents[0].tiles) each.prefetched = {each.made.begin, each.made.begin};
  Bars bars;
  (void)Script({setup}).analyze({&bars});
  EXPECT_THAT(bars.all, testing::Not(testing::Contains(HasSubstr("prefetch"))));
  RunSetup run;
  run.tasks = {setup};
  EXPECT_EQ(lanes_of(run).back().kind, GanttLane::Kind::device);
}

TEST(Loading, WritesItsBarsToThePerfettoTrace) {
  RunSetup run;
  run.tasks = {two_buffers()};
  std::ostringstream out;
  PerfettoWriter writer(out, empty_gantt(run));
  class ToPerfetto final : public AnalysisObserver {
   public:
    explicit ToPerfetto(PerfettoWriter& writer) : writer_(writer) {}
    void bar(const GanttBar& bar) override { writer_.add(bar); }

   private:
    PerfettoWriter& writer_;
  } observer(writer);
  show_loading(run, lanes_of(run), observer);
  for (const char* part : {"sum: loaded", "sum, buffer 1: first contents", "sum, buffer 0, tile 1: prefetch",
                           "sum, buffer 0, tile 1: make", "copy in", "tile", "buffer"})
    EXPECT_THAT(out.str(), HasSubstr(part));
}

// ---- damaged recordings ----

TEST(Loading, IgnoresEventsWithImpossibleTimesOrIndices) {
  RunSetup run;
  SetupDecoder decoder(run);
  decoder.take(event::task_load{.task = 0, .begin = us(5), .end = us(4)});
  decoder.take(event::task_load{.task = 1, .begin = Instant::min(), .end = Instant::max()});
  decoder.take(event::first_contents{
      .task = 0, .buffer = 0, .bytes = {1}, .tiles = 1, .begin = us(0), .end = us(0) + std::chrono::hours(2)});
  decoder.take(
      event::first_contents{.task = 0, .buffer = UINT32_MAX, .bytes = {1}, .tiles = 1, .begin = us(0), .end = us(1)});
  decoder.take(
      event::first_contents{.task = UINT32_MAX, .buffer = 0, .bytes = {1}, .tiles = 1, .begin = us(0), .end = us(1)});
  for (const TaskSetup& each : run.tasks) {
    EXPECT_FALSE(each.loaded);
    EXPECT_THAT(each.contents, IsEmpty());
  }
}

TEST(Loading, AcceptsOnlyConsecutiveTilesUpToALimit) {
  RunSetup run;
  SetupDecoder decoder(run);
  const auto take = [&](const TileSetup& each) {
    decoder.take(event::first_contents_tile{.task = 0,
                                            .buffer = 0,
                                            .tile = 0,
                                            .bytes = each.size,
                                            .prefetch_begin = each.prefetched.begin,
                                            .prefetch_end = each.prefetched.end,
                                            .make_begin = each.made.begin,
                                            .make_end = each.made.end});
  };
  take(tile(10, 20, 20, 30));
  take(tile(15, 25, 30, 40));
  take(tile(20, 30, 25, 40));
  take(tile(40, 30, 40, 50));
  ASSERT_EQ(run.tasks.size(), 1U);
  EXPECT_EQ(run.tasks[0].contents[0].tiles.size(), 1U);
  for (int i = 2; i < 1000; ++i) take(tile(10 * i, 10 * i + 5, 10 * i + 5, 10 * i + 9));
  EXPECT_EQ(run.tasks[0].contents[0].tiles.size(), 256U);
}

} // namespace
} // namespace rtexec::traces
