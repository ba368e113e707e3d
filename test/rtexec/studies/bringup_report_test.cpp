// Tests how items are run, the report in JSON and back, the comparison of two reports, and the page.
#include "rtexec/studies/bringup/report_comparison.hpp"
#include "rtexec/studies/bringup/bringup_page.hpp"
#include "rtexec/studies/bringup/bringup_report.hpp"
#include "config/base/must.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <set>
#include <sstream>

namespace rtexec::bringup {
namespace {

using test::ScratchFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Answer answer(Outcome outcome, std::vector<Figure> figures = {}) {
  return {.outcome = outcome,
          .state = "state",
          .advice = outcome == Outcome::failed ? "advice" : "",
          .figures = std::move(figures)};
}
Figure lower(double value) { return {.name = "latency", .value = value, .unit = "us"}; }
Figure higher(double value) { return {.name = "rate", .value = value, .unit = "MB/s", .more_is_better = true}; }

Report report_of(std::vector<std::pair<std::string, Answer>> answers) {
  Report report{.board = "tx2", .machine = "m", .version = "1", .time = "t", .complete = true, .entries = {}};
  for (auto& [name, answer] : answers)
    report.entries.push_back({.name = name, .title = "of " + name, .answer = std::move(answer), .took = Duration(7)});
  return report;
}

Subject subject() { return {.board = read_board("host").value(), .machine = hal::Machine(), .folder = {}}; }

TEST(BringupItems, HaveUniqueNamesInContiguousGroups) {
  std::set<std::string> names, closed;
  std::string group;
  for (const Item& item : items()) {
    const std::string name = item.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(std::ranges::count(name, '/'), 1) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-/"), name.npos) << name;
    EXPECT_THAT(std::string(item.title), Not(IsEmpty()));
    if (const std::string own = name.substr(0, name.find('/')); own != group) {
      EXPECT_TRUE(closed.insert(own).second) << own;
      group = own;
    }
  }
}

TEST(BringupItems, AreRunInOrderAndReportedAtOnce) {
  const Item asked[] = {{"a/one", "first", [](const Subject&) { return answer(Outcome::passed); }, {}},
                        {"a/two", "second", [](const Subject&) { return answer(Outcome::failed); }, {}}};
  std::vector<std::string> told;
  const Report report = bring_up(subject(), asked,
                                 {.begins = [&](const Item& item) { told.push_back(std::string("asks ") + item.name); },
                                  .answered = [&](const Entry& entry) { told.push_back("told " + entry.name); }});
  EXPECT_THAT(told, ElementsAre("asks a/one", "told a/one", "asks a/two", "told a/two"));
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.board, "host");
  EXPECT_EQ(report.count(Outcome::passed), 1u);
  EXPECT_EQ(report.count(Outcome::failed), 1u);
  EXPECT_EQ(report.count(Outcome::skipped), 0u);
}

TEST(BringupItems, FailWhenTheyThrow) {
  const Item asked[] = {{"a/one",
                         "",
                         [](const Subject&) -> Answer {
                           throw Failed{{Errc::refused, "no\nbuy one\nor two"}};
                         },
                         {}},
                        {"a/two", "", [](const Subject&) -> Answer { throw std::runtime_error("broken"); }, {}},
                        {"a/three", "", [](const Subject&) { return answer(Outcome::passed); }, {}}};
  const Report report = bring_up(subject(), asked, {.begins = [](const Item&) {}, .answered = [](const Entry&) {}});
  ASSERT_EQ(report.entries.size(), 3u);
  EXPECT_EQ(report.entries[0].answer.outcome, Outcome::failed);
  EXPECT_EQ(report.entries[0].answer.state, "failed to run: no");
  EXPECT_EQ(report.entries[0].answer.advice, "buy one\nor two");
  EXPECT_EQ(report.entries[1].answer.state, "failed to run: broken");
  EXPECT_THAT(report.entries[1].answer.advice, Not(IsEmpty()));
  EXPECT_EQ(report.entries[2].answer.outcome, Outcome::passed);
}

TEST(BringupItems, DeviceItemsAreSkippedWhenAStandInReplacesDevice) {
  const Item asked[] = {{"a/one", "", [](const Subject&) { return answer(Outcome::passed); }, {}, true},
                        {"a/two", "", [](const Subject&) { return answer(Outcome::passed); }, {}}};
  Subject stand_in = subject();
  for (const bool stands_in : {false, true}) {
    stand_in.device_stands_in = stands_in;
    const Report report = bring_up(stand_in, asked, {.begins = [](const Item&) {}, .answered = [](const Entry&) {}});
    EXPECT_EQ(report.entries[0].answer.outcome, stands_in ? Outcome::skipped : Outcome::passed);
    EXPECT_EQ(report.entries[1].answer.outcome, Outcome::passed);
  }
}

TEST(BringupItems, InterruptedItemHasNoAnswer) {
  static bool enough = false;
  enough = false;
  const Item asked[] = {{"a/one", "", [](const Subject&) { return answer(Outcome::passed); }, {}},
                        {"a/two", "", [](const Subject&) { return enough = true, answer(Outcome::failed); }, {}},
                        {"a/three", "", [](const Subject&) { return answer(Outcome::passed); }, {}}};
  Subject interrupted = subject();
  interrupted.going_on = [] { return !enough; };
  const Report report = bring_up(interrupted, asked, {.begins = [](const Item&) {}, .answered = [](const Entry&) {}});
  EXPECT_FALSE(report.complete);
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries.front().name, "a/one");
}

TEST(BringupReport, IsReadBackFromItsJson) {
  const ScratchFolder folder;
  Report report = report_of({{"a/b", answer(Outcome::failed, {lower(12.5), higher(3)})},
                             {"c/d", answer(Outcome::skipped)},
                             {"e/f", answer(Outcome::passed, {lower(std::numeric_limits<double>::quiet_NaN())})}});
  report.emulated = true;
  test::write_text(folder / "r.json", to_json(report).dump());
  const auto back = read_report(folder / "r.json");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(to_json(*back).dump(), to_json(report).dump());
  EXPECT_EQ(back->entries[0].answer.figures[1].more_is_better, true);
  EXPECT_EQ(back->entries[0].took, Duration(7));
}

TEST(BringupReport, InvalidFilesAreRefused) {
  const ScratchFolder folder;
  const std::string right = to_json(report_of({{"a/b", answer(Outcome::passed, {lower(1)})}})).dump();
  std::vector<std::string> texts = {"", "{}", "[]", "3", "{\"items\": 3}", right.substr(0, right.size() / 2), "\xff"};
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"passed\",\"state\"", "\"fine\",\"state\""},
                                 {"\"value\":1.0", "\"value\":\"1\""},
                                 {"\"figures\":[", "\"figure\":["},
                                 {"\"name\":\"a/b\"", "\"name\":7"}}) {
    std::string wrong = right;
    ASSERT_NE(wrong.find(from), wrong.npos) << from << right;
    texts.push_back(wrong.replace(wrong.find(from), from.size(), to));
  }
  for (const std::string& text : texts) {
    test::write_text(folder / "r.json", text);
    EXPECT_TRUE(test::fails(read_report(folder / "r.json"), Errc::bad_input, "r.json")) << text;
  }
  EXPECT_FALSE(read_report(folder / "none.json"));
}

TEST(BringupComparison, IsEmptyForIdenticalReports) {
  const Report report = report_of({{"a/b", answer(Outcome::failed, {lower(12.5)})}, {"c/d", answer(Outcome::passed)}});
  const Comparison comparison = compare(report, report);
  EXPECT_THAT(comparison.changes, IsEmpty());
  EXPECT_FALSE(comparison.lost());
  EXPECT_FALSE(comparison.other_board);
}

TEST(BringupComparison, ReportsLossOnlyWhenPassedItemFails) {
  constexpr Outcome all[] = {Outcome::passed, Outcome::failed, Outcome::skipped};
  for (const Outcome before : all)
    for (const Outcome now : all) {
      const Comparison comparison = compare(report_of({{"a/b", answer(before)}}), report_of({{"a/b", answer(now)}}));
      EXPECT_EQ(comparison.changes.size(), before == now ? 0u : 1u);
      EXPECT_EQ(comparison.lost(), before == Outcome::passed && now == Outcome::failed);
    }
}

TEST(BringupComparison, ReportsFiguresWorseByMoreThanATenth) {
  const auto worse = [](Figure before, Figure now) {
    const auto comparison = compare(report_of({{"a/b", answer(Outcome::passed, {std::move(before)})}}),
                                    report_of({{"a/b", answer(Outcome::passed, {std::move(now)})}}));
    return comparison.changes.empty() ? 0.0 : comparison.changes.front().worse.front().worse;
  };
  EXPECT_EQ(worse(lower(100), lower(110)), 0);
  EXPECT_NEAR(worse(lower(100), lower(111)), 0.11, 1e-9);
  EXPECT_EQ(worse(lower(100), lower(50)), 0) << "it is better";
  EXPECT_EQ(worse(higher(100), higher(91)), 0);
  EXPECT_NEAR(worse(higher(100), higher(80)), 0.2, 1e-9);
  EXPECT_EQ(worse(higher(100), higher(200)), 0) << "it is better";
  EXPECT_EQ(worse(lower(0), lower(3)), 1);
  EXPECT_EQ(worse(lower(0), lower(0)), 0);
  EXPECT_EQ(worse(lower(100), higher(900)), 0) << "another figure";
  EXPECT_EQ(worse(lower(100), lower(std::numeric_limits<double>::quiet_NaN())), 0);
}

TEST(BringupComparison, CoversOnlyItemsOfBothReports) {
  Report earlier = report_of({{"a/b", answer(Outcome::passed)}, {"gone/x", answer(Outcome::passed)}});
  earlier.board = "xavier";
  const Comparison comparison =
      compare(earlier, report_of({{"new/x", answer(Outcome::failed)}, {"a/b", answer(Outcome::failed, {lower(1)})}}));
  ASSERT_EQ(comparison.changes.size(), 1u);
  EXPECT_EQ(comparison.changes.front().item, "a/b");
  EXPECT_TRUE(comparison.other_board);
  EXPECT_THAT(comparison.earlier, HasSubstr("xavier"));
}

TEST(BringupComparison, ReportsDifferingVersions) {
  Report earlier = report_of({});
  EXPECT_THAT(compare(earlier, report_of({})).earlier, Not(HasSubstr("rtexec")));
  earlier.version = "0.0.7";
  const Report now = report_of({});
  const Comparison comparison = compare(earlier, now);
  EXPECT_THAT(comparison.earlier, testing::EndsWith(", by rtexec 0.0.7 (now " + now.version + ")"));
  EXPECT_THAT(to_json(comparison).at("earlier").get<std::string>(), HasSubstr("0.0.7"));
}

TEST(BringupComparison, DescribesChangeInOneLine) {
  const Change change{.item = "a/b",
                      .before = Outcome::passed,
                      .now = Outcome::failed,
                      .worse = {{.before = lower(12), .now = lower(31), .worse = 1.583}}};
  EXPECT_EQ(text_of(change), "passed before, fails now; latency was 12 us, is 31 us (158 % worse)");
  EXPECT_EQ(text_of(Change{.item = "a/b", .before = Outcome::failed, .now = Outcome::skipped, .worse = {}}),
            "failed before, is skipped now");
}

TEST(BringupPage, ShowsEveryItemAndEscapesMarkup) {
  Report report = report_of({{"a/b", answer(Outcome::failed, {lower(12.5)})}, {"c/d", answer(Outcome::skipped)}});
  report.entries[0].answer.state = "<script>alert(1)</script> & \"x\"";
  report.entries[0].answer.advice = "first\nsecond <b>";
  report.board = "<tx2>";
  std::ostringstream out;
  write_page(report, nullptr, out);
  const std::string page = out.str();
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &amp; \"x\""));
  EXPECT_THAT(page, HasSubstr("<p>first</p><p>second &lt;b&gt;</p>"));
  EXPECT_THAT(page, HasSubstr("latency: 12.5 us"));
  EXPECT_THAT(page, HasSubstr("0 passed, 1 failed, 1 skipped"));
  EXPECT_THAT(page, Not(HasSubstr("http"))) << "it needs no network";
  EXPECT_THAT(page, Not(HasSubstr("Since the earlier report")));
}

TEST(BringupPage, ShowsChangesSinceEarlierReport) {
  const Report now = report_of({{"a/b", answer(Outcome::failed)}, {"c/d", answer(Outcome::passed)}});
  const Comparison comparison =
      compare(report_of({{"a/b", answer(Outcome::passed)}, {"c/d", answer(Outcome::passed)}}), now);
  std::ostringstream out;
  write_page(now, &comparison, out);
  EXPECT_THAT(out.str(), HasSubstr("Since the earlier report"));
  EXPECT_THAT(out.str(), HasSubstr("passed before, fails now"));
}

} // namespace
} // namespace rtexec::bringup
