// Tests the page: one file without external references, whose data are the analysis and cannot break out of their
// element. This program also writes pages for test/system/report_page.sh, which tests them in a browser.
#include "test/support/test_files.hpp"
#include "test/traces/report_example.hpp"
#include "traces/report/html.hpp"
#include "traces/report/analysis_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

namespace rtexec::traces::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string page(const Analysis& analysis, const std::vector<Gantt>& windows) {
  std::ostringstream out;
  write_html(analysis, windows, out);
  return out.str();
}

json data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const auto begin = page.find(open) + open.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(ReportHtml, HoldsTheWholeAnalysis) {
  const Example e = example(100);
  const json data = data_of(page(e.analysis, {e.gantt}));
  EXPECT_EQ(data["analysis"], to_json(e.analysis));
  EXPECT_EQ(data["windows"][0]["bars"]["begin"].size(), e.gantt.bars.size());
  EXPECT_EQ(data["windows"][0]["marks"]["at"].size(), e.gantt.marks.size());
  EXPECT_EQ(data["windows"][0]["memory"]["bytes"].size(), e.gantt.memory.size());
}

TEST(ReportHtml, DeltaEncodedBarsDecodeToTheOriginalOnes) {
  const Example e = example(10);
  const json bars = data_of(page(e.analysis, {e.gantt}))["windows"][0]["bars"];
  Instant at = e.gantt.from;
  std::vector<std::pair<Instant, Duration>> told, made;
  for (std::size_t i = 0; i < bars["begin"].size(); ++i) {
    at += Duration(bars["begin"][i].get<std::int64_t>());
    told.emplace_back(at, Duration(bars["length"][i].get<std::int64_t>()));
  }
  for (const GanttBar& bar : e.gantt.bars) made.emplace_back(bar.begin, bar.end - bar.begin);
  EXPECT_THAT(told, testing::UnorderedElementsAreArray(made));
}

TEST(ReportHtml, EscapesMarkupInRecordedTexts) {
  Example e = example(5);
  const std::string nasty = "</script><script>alert(1)</script><!-- <script \xff \"'&";
  e.analysis.folder = e.analysis.tasks[0].setup.name = nasty;
  e.analysis.notes = {nasty};
  e.gantt.tasks[0] = e.gantt.title = e.gantt.lanes[0].name = nasty;
  const std::string html = page(e.analysis, {e.gantt});
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_of(html)["windows"].size(), 1u);
}

TEST(ReportHtml, ReferencesNoExternalResources) {
  const std::string html = page(example(5).analysis, {});
  EXPECT_FALSE(
      std::regex_search(html, std::regex(R"re((src|href)\s*=\s*(?!["']?data:)|url\(\s*(?!["']?#)|)re"
                                         R"re(@import|https?://(?!www\.w3\.org/2000/svg)|fetch\(|XMLHttpRequest)re")));
  for (const char* mark : {"@STYLE@", "@DATA@", "@SCRIPT@"}) EXPECT_THAT(html, Not(HasSubstr(mark)));
}

TEST(ReportHtml, IsIdenticalForTheSameAnalysis) {
  EXPECT_EQ(page(example(50).analysis, {example(50).gantt}), page(example(50).analysis, {example(50).gantt}));
}

TEST(ReportHtml, StaysBelowFiveMebibytesWith95000Bars) {
  const Example e = example(11'000);
  EXPECT_GT(e.gantt.bars.size(), 95'000u);
  EXPECT_LT(page(e.analysis, {e.gantt}).size(), 5u << 20);
}

Analysis with_trouble() {
  Analysis a = example(200).analysis;
  a.breaches.clear();
  a.missed_jobs.clear();
  a.misses = 0;
  a.ended = false;
  a.lost_events = 12;
  a.setup.swap.reset();
  a.swap.reset();
  a.tasks[0].missed = 0;
  a.tasks[1].invalid = "12 events of core 2 were lost between 1.2 s and 1.3 s";
  a.notes = {"the recording ends in the middle of the run"};
  a.setup.degraded = {"threads: SCHED_FIFO was refused"};
  a.replay = {};
  a.replay.not_replayed = "decisions were lost";
  return a;
}

/// Returns a forced run: no bound was proved, no part exceeded its WCET, and jobs were late.
Analysis forced() {
  Analysis a = example(200).analysis;
  a.setup.proved = false;
  a.setup.tests[0].proved = false;
  for (TaskAnalysis& task : a.tasks) {
    task.setup.promised = false;
    task.setup.response_bound.reset();
    if (!task.stages.empty()) task.stages.back().configured.reset();
  }
  a.breaches.clear();
  return a;
}

/// Returns a run without a miss. All jobs of rear took the same time, and the first one of front took longest.
Analysis kept() {
  Analysis a = example(30).analysis;
  a.stolen.clear();
  for (TaskAnalysis& task : a.tasks) task.skipped = 0, task.skipped_by = {};
  for (StageAnalysis& stage : a.tasks[0].stages) stage.times.high_water = {{1, stage.times.max}};
  for (StageAnalysis& stage : a.tasks[1].stages) {
    Distribution& t = stage.times;
    t.max = t.mean = t.p50 = t.p90 = t.p99 = t.p999 = t.p9999 = t.min;
    t.high_water = {{1, t.min}};
    t.classes = {{t.min, t.count}};
  }
  return a;
}

/// Returns a run of thirty tasks, which all missed deadlines and exceeded their WCETs.
Analysis of_thirty_tasks() {
  Analysis a = example(400).analysis;
  const TaskAnalysis task = a.tasks[0];
  const std::vector<JobBreakdown> misses = std::move(a.missed_jobs);
  a.missed_jobs.clear();
  a.tasks.clear();
  a.breaches.clear();
  for (std::uint32_t i = 0; i < 30; ++i) {
    TaskAnalysis& each = a.tasks.emplace_back(task);
    each.setup.name = "camera_" + std::to_string(i);
    for (const StageAnalysis& stage : each.stages)
      a.breaches.push_back({each.setup.name, stage.name, stage.times.min, stage.times.max, 7, "", ""});
    for (JobBreakdown miss : misses) {
      miss.job.task = i;
      a.missed_jobs.push_back(miss);
    }
  }
  a.misses = a.missed_jobs.size();
  return a;
}

/// Writes pages into the folder RTEXEC_REPORT_FOLDER for the test in a browser.
TEST(ReportHtml, WritesPagesForTheBrowserTest) {
  const rtexec::test::ScratchFolder own;
  const char* given = std::getenv("RTEXEC_REPORT_FOLDER");
  const std::filesystem::path folder = given ? given : own.path();
  const auto write = [&](const char* name, const Analysis& analysis, const std::vector<Gantt>& windows) {
    rtexec::test::write_text(folder / name, page(analysis, windows));
  };
  const Example e = example(2000);
  const Instant start = e.gantt.from;
  Gantt first = part_of(e.gantt, start, start + 2s), late = part_of(e.gantt, start + 3500ms, start + 4500ms);
  first.title = "the first two seconds";
  late.title = "around the first miss";
  write("page.html", e.analysis, {first, late, part_of(e.gantt, start, start + 20s)});
  const Example many = example(12'000);
  write("many.html", many.analysis, {many.gantt});
  write("trouble.html", with_trouble(), {});
  write("forced.html", forced(), {late});
  write("kept.html", kept(), {first});
  const Analysis thirty = of_thirty_tasks();
  Gantt wide = late;
  wide.tasks.clear();
  wide.lanes.erase(wide.lanes.begin(), wide.lanes.begin() + 3);
  for (std::uint32_t i = 0; i < 30; ++i) {
    wide.tasks.push_back(thirty.tasks[i].setup.name);
    wide.lanes.push_back({GanttLane::Kind::task, i, wide.tasks.back()});
  }
  std::ranges::rotate(wide.lanes, wide.lanes.end() - 30);
  for (GanttBar& bar : wide.bars)
    if (bar.lane >= 3) bar.lane += 27;
  write("thirty.html", thirty, {wide});
  write("empty.html", Analysis{}, {Gantt{}});
}

} // namespace
} // namespace rtexec::traces::test
