// Tests the TAP output of a bring-up with a parser written from the specification (testanything.org, version 13).
#include "rtexec/studies/bringup/tap_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <regex>
#include <sstream>

namespace rtexec::bringup {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Line {
  bool ok = false;
  std::size_t number = 0;
  std::string description, directive; // without backslashes; "SKIP why"
  std::vector<std::string> block;     // between "---" and "...", without their indentation
};
struct Parsed {
  std::size_t planned = 0;
  std::vector<Line> lines;
  std::vector<std::string> diagnostics;
  std::string bailed_out;
  std::vector<std::string> problems;
};

/// Splits at the first unescaped '#', which ends the description.
std::pair<std::string, std::string> split(const std::string& text) {
  std::string description;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) description += text[++at];
    else if (text[at] == '#') return {description, text.substr(at + 1)};
    else description += text[at];
  }
  return {description, {}};
}

Parsed parse(const std::string& text) {
  Parsed parsed;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  if (line != "TAP version 13") parsed.problems.push_back("version: " + line);
  std::smatch match;
  bool in_block = false;
  while (std::getline(lines, line)) {
    if (in_block) {
      if (line == "  ...") in_block = false;
      else if (line.starts_with("  ")) parsed.lines.back().block.push_back(line.substr(2));
      else parsed.problems.push_back("in a block: " + line);
    } else if (line == "  ---" && !parsed.lines.empty()) {
      in_block = true;
    } else if (std::regex_match(line, match, std::regex("1\\.\\.([0-9]+)"))) {
      parsed.planned = std::stoul(match[1]);
    } else if (std::regex_match(line, match, std::regex("(not )?ok ([0-9]+) - (.*)"))) {
      const auto [description, directive] = split(match[3]);
      parsed.lines.push_back({.ok = !match[1].matched,
                              .number = std::stoul(match[2]),
                              .description = description,
                              .directive = directive,
                              .block = {}});
    } else if (line.starts_with("# ")) {
      parsed.diagnostics.push_back(line.substr(2));
    } else if (line.starts_with("Bail out!")) {
      parsed.bailed_out = line.substr(9);
    } else {
      parsed.problems.push_back(line);
    }
  }
  if (in_block) parsed.problems.push_back("a block has no end");
  return parsed;
}

Entry entry(const std::string& name, Outcome outcome, const std::string& state, const std::string& advice = {},
            std::vector<Figure> figures = {}) {
  return {.name = name,
          .title = name,
          .answer = {.outcome = outcome, .state = state, .advice = advice, .figures = std::move(figures)},
          .took = {}};
}

Parsed written(const std::vector<Entry>& entries) {
  std::ostringstream out;
  TapWriter tap(out, entries.size());
  for (const Entry& each : entries) tap.result(each);
  return parse(out.str());
}

TEST(BringupTap, WritesOneLinePerItem) {
  const Parsed tap = written({entry("kernel/preemption", Outcome::passed, "PREEMPT_RT, Linux 6.1.0"),
                              entry("gpu/vmm", Outcome::skipped, "no GPU here"),
                              entry("clocks/locked", Outcome::failed, "move", "lock them")});
  EXPECT_THAT(tap.problems, IsEmpty());
  EXPECT_EQ(tap.planned, 3u);
  ASSERT_EQ(tap.lines.size(), 3u);
  EXPECT_TRUE(tap.lines[0].ok);
  EXPECT_EQ(tap.lines[0].description, "kernel/preemption: PREEMPT_RT, Linux 6.1.0");
  EXPECT_THAT(tap.lines[0].block, IsEmpty());
  EXPECT_TRUE(tap.lines[1].ok) << "what is skipped is ok, as TAP has it";
  EXPECT_EQ(tap.lines[1].description, "gpu/vmm ");
  EXPECT_EQ(tap.lines[1].directive, " SKIP no GPU here");
  EXPECT_FALSE(tap.lines[2].ok);
  EXPECT_THAT(tap.lines[2].block, ElementsAre("advice:", "  - \"lock them\""));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(tap.lines[i].number, i + 1);
}

TEST(BringupTap, WritesAdviceAndFiguresAsYaml) {
  const Parsed tap = written({entry("a/b", Outcome::failed, "late", "one: \"two\"\n  three\n",
                                    {{.name = "p99 of \"core\" 1", .value = 12.25, .unit = "us"},
                                     {.name = "rate", .value = 39340.4, .unit = "MB/s"},
                                     {.name = "ratio", .value = 0.5, .unit = ""}})});
  EXPECT_THAT(tap.problems, IsEmpty());
  ASSERT_EQ(tap.lines.size(), 1u);
  EXPECT_THAT(tap.lines[0].block, ElementsAre("advice:", R"(  - "one: \"two\"")", R"(  - "  three")",
                                              "figures:", R"(  "p99 of \"core\" 1": "12.25 us")",
                                              R"(  "rate": "39340 MB/s")", R"(  "ratio": "0.5")"));
}

/// Files of the machine, or of a board, may contain any text.
TEST(BringupTap, StaysValidForAnyText) {
  const std::vector<std::string> texts = {"# SKIP not at all",
                                          "a # TODO b \\# SKIP c",
                                          "ends with \\",
                                          "one\nnot ok 7 - two\nBail out! three\n1..9",
                                          "bell \a escape \033[2J return \r nul " + std::string(1, '\0') + " end",
                                          "no UTF-8: \xff\xfe",
                                          "  ---\n  ...\n",
                                          "",
                                          "#",
                                          std::string(100'000, '#')};
  for (const std::string& text : texts)
    for (const Outcome outcome : {Outcome::passed, Outcome::failed, Outcome::skipped}) {
      const Parsed tap = written({entry("x", outcome, text, text, {{.name = text, .value = 1, .unit = text}}),
                                  entry("y", Outcome::passed, "z")});
      EXPECT_THAT(tap.problems, IsEmpty()) << text.substr(0, 80);
      ASSERT_EQ(tap.lines.size(), 2u) << text.substr(0, 80);
      EXPECT_EQ(tap.planned, 2u);
      EXPECT_THAT(tap.bailed_out, IsEmpty());
      EXPECT_EQ(tap.lines[0].ok, outcome != Outcome::failed);
      EXPECT_EQ(tap.lines[0].directive.starts_with(" SKIP "), outcome == Outcome::skipped) << text.substr(0, 80);
      for (const std::string& line : tap.lines[0].block) {
        const auto quote = line.find('"');
        if (quote == std::string::npos) continue;
        const std::string scalar = line.substr(quote), colon = "\": \"";
        const auto between = scalar.rfind(colon);
        EXPECT_TRUE(nlohmann::json::accept(between == std::string::npos ? scalar : scalar.substr(0, between + 1)))
            << scalar.substr(0, 80);
      }
    }
}

TEST(BringupTap, WritesBailOutWhenInterrupted) {
  std::ostringstream out;
  TapWriter tap(out, 5);
  tap.result(entry("a/b", Outcome::passed, "fine"));
  tap.diagnostic("two\nlines");
  tap.bail_out("interrupted");
  const Parsed parsed = parse(out.str());
  EXPECT_THAT(parsed.problems, IsEmpty());
  EXPECT_EQ(parsed.bailed_out, " interrupted");
  EXPECT_THAT(parsed.diagnostics, ElementsAre("two lines"));
}

} // namespace
} // namespace rtexec::bringup
