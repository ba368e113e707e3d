// Tests exports of an analysis: JSON, CSV, SVG and Perfetto. test/system/report_perfetto.sh tests the latter with the
// official descriptors.
#include "test/support/test_files.hpp"
#include "test/traces/report_example.hpp"
#include "traces/analysis/loading.hpp"
#include "traces/report/csv.hpp"
#include "traces/report/analysis_json.hpp"
#include "traces/report/export_names.hpp"
#include "traces/report/perfetto.hpp"
#include "traces/report/gantt_svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace rtexec::traces::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// ---- JSON ----

TEST(ReportJson, WritesTimesRelativeToTheFirstInstant) {
  const Example e = example(100);
  const json j = to_json(e.analysis);
  EXPECT_EQ(j["origin_ns"], e.analysis.from.time_since_epoch().count());
  EXPECT_EQ(j["duration_ns"], 10'100'000'000);
  EXPECT_EQ(j["misses"][0]["nominal_ns"], 3'900'000'000);
  EXPECT_EQ(j["run"]["start_ns"], 0);
}

TEST(ReportJson, WritesStatisticsHistogramAndPwcetOfStages) {
  const Example e = example(1000);
  const json j = to_json(e.analysis);
  ASSERT_EQ(j["tasks"].size(), 3u);
  const json& device = j["tasks"][0]["stages"][1];
  const StageAnalysis& stage = e.analysis.tasks[0].stages[1];
  EXPECT_EQ(device["name"], "device");
  EXPECT_EQ(device["max_ns"], stage.times.max.count());
  EXPECT_EQ(device["max_job"], stage.times.max_job);
  EXPECT_EQ(device["configured_ns"], 34'000'000);
  EXPECT_EQ(device["high_water"].size(), stage.times.high_water.size());
  EXPECT_EQ(std::accumulate(device["histogram"].begin(), device["histogram"].end(), 0u,
                            [](unsigned sum, const json& c) { return sum + c["count"].get<unsigned>(); }),
            1000u);
  EXPECT_EQ(device["pwcet"]["pot"]["quantiles"].size(), 3u);
  EXPECT_EQ(device["pwcet"]["refused"], nullptr);
  EXPECT_EQ(j["tasks"][0]["breakdown"][0]["cause"], "release-latency");
}

TEST(ReportJson, SharesOfMissNameTheJobsThatCausedThem) {
  const json miss = to_json(example(100).analysis)["misses"][1];
  EXPECT_EQ(miss["task"], "front");
  EXPECT_EQ(miss["outcome"], "late");
  EXPECT_EQ(miss["shares"][1]["culprit"], json({{"task", "rear"}, {"job", 39}}));
  EXPECT_EQ(miss["shares"][0]["cause"], "swap-in");
  EXPECT_THAT(miss["blame"].get<std::string>(), StartsWith("job 79 of front"));
  std::int64_t sum = 0;
  for (const json& part : miss["by_cause"]) sum += part["time_ns"].get<std::int64_t>();
  EXPECT_EQ(sum, miss["response_ns"].get<std::int64_t>());
}

TEST(ReportJson, CountsDroppedReleasesByReason) {
  const json tasks = to_json(example(100).analysis)["tasks"];
  EXPECT_EQ(tasks[0]["skipped"], 3);
  EXPECT_EQ(tasks[0]["skipped_by"], json({{"overrun", 2}, {"wcet-exceeded", 1}, {"stale", 0}}));
  EXPECT_EQ(tasks[1]["skipped_by"], json({{"overrun", 1}, {"wcet-exceeded", 0}, {"stale", 0}}));
}

TEST(ReportJson, WritesLoadingTimesAndStreamOverlap) {
  const json loading = to_json(example(100).analysis)["tasks"][0]["loading"];
  EXPECT_EQ(loading["loaded"], json({{"begin_ns", -9'000'000}, {"end_ns", -2'000'000}}));
  EXPECT_EQ(loading["prefetched_ns"], 2'000'000);
  EXPECT_EQ(loading["made_ns"], 4'000'000);
  EXPECT_EQ(loading["overlapped_ns"], 1'000'000);
  const json& buffer = loading["buffers"][0];
  EXPECT_EQ(buffer["by"], "device");
  EXPECT_EQ(buffer["tiles"][1]["bytes"], 1 << 20);
  EXPECT_EQ(buffer["tiles"][1]["prefetched"], json({{"begin_ns", -7'000'000}, {"end_ns", -6'000'000}}));
  EXPECT_EQ(to_json(example(100).analysis)["tasks"][1]["loading"]["loaded"], nullptr);
}

TEST(ReportJson, PiecesOfReactionSumToItsLength) {
  const json chain = to_json(example(100).analysis)["chains"][0];
  EXPECT_EQ(chain["tasks"][1], json({{"task", "rear"}, {"waits_ns", 20'000'000}, {"takes_ns", 95'000'000}}));
  EXPECT_EQ(chain["reaction"]["bound_ns"], 310'000'000);
  EXPECT_EQ(chain["reaction"]["limit_ns"], 500'000'000);
  EXPECT_EQ(chain["age"]["limit_ns"], nullptr);
  std::int64_t sum = 0;
  for (const json& step : chain["worst"]["steps"])
    for (const char* piece : {"until_release_ns", "until_read_ns", "core_ns", "device_ns", "waited_ns", "held_ns"})
      sum += step[piece].get<std::int64_t>();
  EXPECT_EQ(sum, chain["worst"]["reaction_ns"]);
  EXPECT_EQ(chain["worst"]["steps"][1]["shares"][1]["culprit"], json({{"task", "front"}, {"job", 1}}));
}

TEST(ReportJson, WritesNullForAbsentValues) {
  Analysis a;
  a.tasks.emplace_back();
  a.tasks[0].stages.push_back({.name = "response", .times = {}, .configured = {}, .pwcet = {}, .factors = {}});
  const json j = to_json(a);
  EXPECT_EQ(j["swap"], nullptr);
  EXPECT_EQ(j["run"]["swap"], nullptr);
  EXPECT_EQ(j["replay"]["difference"], nullptr);
  EXPECT_EQ(j["tasks"][0]["worst"], nullptr);
  EXPECT_EQ(j["tasks"][0]["invalid"], nullptr);
  EXPECT_EQ(j["tasks"][0]["stages"][0]["configured_ns"], nullptr);
  EXPECT_EQ(j["tasks"][0]["stages"][0]["max_at_ns"], nullptr);
  EXPECT_EQ(j["tasks"][0]["stages"][0]["pwcet"]["bound"], nullptr);
  EXPECT_TRUE(j["misses"].is_array() && j["breaches"].is_array() && j["notes"].is_array());
}

TEST(ReportJson, ReplacesInvalidUtf8) {
  Analysis a;
  a.folder = "a\xff\xc0z";
  EXPECT_EQ(json::parse(json_text(to_json(a)))["folder"], "a\uFFFD\uFFFDz");
}

TEST(ReportJson, NamesUnknownTaskByItsIndex) {
  Analysis a;
  a.missed_jobs.emplace_back().job = {7, 3};
  EXPECT_EQ(to_json(a)["misses"][0]["task"], "task 7");
}

// ---- CSV ----

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  // Without the carriage return.
  for (std::string line; std::getline(in, line);) result.push_back(line.substr(0, line.size() - 1));
  return result;
}

TEST(ReportCsv, WritesRowPerJobWhosePartsSumToItsResponse) {
  const Example e = example(40);
  RunSetup setup = e.analysis.setup;
  for (const TaskAnalysis& task : e.analysis.tasks) setup.tasks.push_back(task.setup);
  std::ostringstream out;
  const Instant start = std::exchange(setup.start, {});
  JobsCsv csv(out, setup);
  setup.start = start; // written with the first release
  for (const JobBreakdown& job : e.jobs) csv.add(job);
  const auto rows = lines(out.str());
  ASSERT_EQ(rows.size(), e.jobs.size() + 1);
  EXPECT_EQ(rows[0],
            "task,job,nominal_ns,response_ns,deadline_ns,outcome,release_latency_ns,queueing_ns,blocking_execution_ns,"
            "blocking_copy_ns,copy_engine_ns,"
            "swap_out_ns,swap_in_ns,execution_ns,throttled_ns,overhead_ns");
  EXPECT_THAT(rows[2], StartsWith("rear,0,50000000,"));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    std::vector<std::string> cells;
    std::istringstream in(rows[i]);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 6 + causes);
    long sum = 0;
    for (std::size_t c = 6; c < cells.size(); ++c) sum += std::stol(cells[c]);
    EXPECT_EQ(sum, std::stol(cells[3]));
  }
  EXPECT_THAT(rows.back(), HasSubstr(",late,"));
}

TEST(ReportCsv, SummaryHasARowPerStage) {
  Analysis a = example(1000).analysis;
  a.tasks[0].setup.name = "a \"b\", c";
  std::ostringstream out;
  summary_csv(a, out);
  const auto rows = lines(out.str());
  ASSERT_EQ(rows.size(), 9u);
  EXPECT_THAT(rows[2], StartsWith("\"a \"\"b\"\", c\",device,1000,1000,25,1000,"));
  EXPECT_THAT(rows[2], HasSubstr(",34000000,1e-09,"));
  EXPECT_THAT(rows[6], testing::EndsWith(",34000000,,,,,500 samples: at least 1000 are needed,"));
}

// ---- SVG ----

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(ReportSvg, DrawsEveryBarAndMarkWithItsTooltip) {
  const Example e = example(40);
  const std::string picture = svg(e.gantt);
  // The curve of memory has a title too.
  EXPECT_EQ(occurrences(picture, "<title>"), e.gantt.bars.size() + e.gantt.marks.size() + 1);
  EXPECT_THAT(picture, HasSubstr("DEADLINE MISSED: front, job 39: 4"));
  EXPECT_THAT(picture, HasSubstr("front, job 0: swap-out of rear's chunk: "));
  EXPECT_THAT(picture, HasSubstr("memory bandwidth used up: throttled"));
  EXPECT_THAT(picture, HasSubstr("0 ns to 4.10 s of the whole run"));
  EXPECT_THAT(picture, HasSubstr("logger &lt;b&gt;&amp;&quot;"));
  EXPECT_THAT(picture, Not(HasSubstr("<b>")));
}

TEST(ReportSvg, ScalesToTheWidthOfItsContainer) {
  EXPECT_THAT(svg(example(5).gantt), testing::ContainsRegex(" viewBox=\"0 0 [0-9.]+ [0-9.]+\" style=\"max-width:100%"));
}

TEST(ReportSvg, ShowsOnlyTheRequestedTimeRange) {
  const Example e = example(40);
  Gantt g = e.gantt;
  g.from += 1s;
  g.to = g.from + 100ms;
  const std::string picture = svg(g);
  EXPECT_THAT(picture, HasSubstr("front, job 10: on the device"));
  EXPECT_THAT(picture, Not(HasSubstr("front, job 12:")));
}

/// Returns the horizontal position at which each text begins or ends.
std::vector<double> places(const std::string& picture, const std::regex& text) {
  std::vector<double> found;
  for (std::sregex_iterator at(picture.begin(), picture.end(), text), end; at != end; ++at)
    found.push_back(std::stod((*at)[1]));
  return found;
}

TEST(ReportSvg, HasRoomForLongNames) {
  constexpr double letter = 5; // minimum width of a letter in the names below
  Gantt g = example(5).gantt;
  const std::string name(40, 'n'), endless(500, 'x');
  g.tasks = {name, name + "2", endless};
  for (std::size_t i = 0; i < 3; ++i) g.lanes[i].name = g.tasks[i];
  const std::string picture = svg(g);
  const auto ends = places(picture, std::regex("<text x=\"([0-9.]+)\"[^>]*end\">nnn"));
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_GT(ends[0], letter * 40);
  const auto legend = places(picture, std::regex("<text x=\"([0-9.]+)\" y=\"[0-9.]+\" >(nnn|xxx)"));
  ASSERT_EQ(legend.size(), 3u);
  EXPECT_GT(legend[1] - legend[0], letter * 40);
  EXPECT_THAT(picture, testing::ContainsRegex(">xxx[x]*[.][.][.]<"));
}

TEST(ReportSvg, DrawsNoBarsForEmptyOrInvalidCharts) {
  EXPECT_THAT(svg(Gantt{}), StartsWith("<svg"));
  Gantt broken; // refers to lanes and tasks that do not exist
  broken.to = broken.from + 1s;
  broken.bars.push_back(
      {.kind = GanttBar::Kind::device, .lane = 9, .job = {4, 0}, .owner = 4, .begin = broken.from, .end = broken.to});
  broken.marks.push_back({GanttMark::Kind::miss, {4, 0}, broken.from});
  EXPECT_THAT(svg(broken), Not(HasSubstr("<rect x")));
  broken.to = Instant::max() - 1ns; // any length has tick marks
  EXPECT_LT(occurrences(svg(broken), "class=\"l\""), 30u);
}

// ---- Perfetto ----

void write_perfetto(const Gantt& gantt, std::ostream& out) {
  PerfettoWriter writer(out, gantt);
  for (const GanttBar& bar : gantt.bars) writer.add(bar);
  for (const GanttMark& mark : gantt.marks) writer.add(mark);
  for (const GanttStep& step : gantt.memory) writer.add(step);
}

TEST(ReportPerfetto, WritesEachBarAtOnceWithoutBuffering) {
  Example e = example(10);
  e.gantt.memory_capacity = 0;
  std::ostringstream out;
  PerfettoWriter writer(out, e.gantt);
  auto size = out.tellp();
  for (const GanttBar& bar : e.gantt.bars) {
    writer.add(bar);
    EXPECT_GT(out.tellp(), size);
    size = out.tellp();
  }
  writer.add(e.gantt.memory[0]); // the set-up said that nothing is swapped
  EXPECT_EQ(out.tellp(), size);
}

/// Returns a chart with loading. Its bars belong to tasks, the device, and copies in.
Gantt example_with_loading() {
  const Example e = example(200);
  RunSetup setup = e.analysis.setup;
  setup.tasks = {e.analysis.tasks[0].setup};
  class Bars final : public AnalysisObserver {
   public:
    void bar(const GanttBar& bar) override { all.push_back(bar); }
    std::vector<GanttBar> all;
  } loading;
  show_loading(setup, e.gantt.lanes, loading);
  EXPECT_EQ(loading.all.size(), 6u);
  Gantt gantt = e.gantt;
  gantt.bars.insert(gantt.bars.begin(), loading.all.begin(), loading.all.end());
  return gantt;
}

/// Writes the trace, and a description of its contents, into the folder RTEXEC_REPORT_FOLDER for the test with the
/// official descriptors.
TEST(ReportPerfetto, WritesTraceFileForTheExternalDecoder) {
  const rtexec::test::ScratchFolder own;
  const char* given = std::getenv("RTEXEC_REPORT_FOLDER");
  const std::filesystem::path folder = given ? given : own.path();
  const Gantt g = example_with_loading();
  std::ostringstream out;
  write_perfetto(g, out);
  json expected = {
      {"lanes", json::array()}, {"bars", json::array()}, {"marks", json::array()}, {"memory", json::array()}};
  for (const GanttLane& lane : g.lanes) expected["lanes"].push_back(lane.name);
  for (const GanttBar& bar : g.bars)
    expected["bars"].push_back({g.lanes[bar.lane].name + (bar.kind == GanttBar::Kind::throttled ? ", throttled" : ""),
                                label(g.tasks, bar), bar.begin.time_since_epoch().count(),
                                bar.end.time_since_epoch().count()});
  for (const GanttMark& mark : g.marks)
    expected["marks"].push_back({g.tasks[mark.job.task], label(g.tasks, mark), mark.at.time_since_epoch().count()});
  for (const GanttStep& step : g.memory) expected["memory"].push_back({step.at.time_since_epoch().count(), step.bytes});
  rtexec::test::write_text(folder / "run.perfetto-trace", out.str());
  rtexec::test::write_text(folder / "expected.json", expected.dump());
}

} // namespace
} // namespace rtexec::traces::test
