// Tests tables and text that fit the columns of a terminal.
#include "rtexec/cli/text/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace rtexec::report {
namespace {

using testing::ElementsAre;

TEST(Columns, CountsTerminalCellsOfUnicodeText) {
  EXPECT_EQ(columns(""), 0u);
  EXPECT_EQ(columns("front"), 5u);
  EXPECT_EQ(columns("Kühlung"), 7u);
  EXPECT_EQ(columns("u\u0308"), 1u) << "a mark above the letter before";
  EXPECT_EQ(columns("カメラ"), 6u) << "twice as wide as a letter";
  EXPECT_EQ(columns("😀"), 2u);
  EXPECT_EQ(columns("\xff\xc3"), 2u) << "no UTF-8";
  EXPECT_EQ(columns("\xc0\x9b\xed\xa0\x80"), 5u) << "longer than it need be, and a surrogate: no UTF-8";
}

TEST(Columns, CutsBetweenCharacters) {
  EXPECT_EQ(cut("front", 5), "front");
  EXPECT_EQ(cut("front-left", 8), "front...");
  EXPECT_EQ(cut("front-left", 3), "fro");
  EXPECT_EQ(cut("カメラ-front", 8), "カメ...");
  EXPECT_EQ(cut("カメラ", 3), "カ");
}

TEST(Columns, WrapsAtWords) {
  EXPECT_THAT(wrapped("", 10), ElementsAre(""));
  EXPECT_THAT(wrapped("order edf; core 1 computes", 26), ElementsAre("order edf; core 1 computes"));
  EXPECT_THAT(wrapped("order edf; core 1 computes", 12), ElementsAre("order edf;", "core 1", "computes"));
  EXPECT_THAT(wrapped("a/path/that/is/long b", 10), ElementsAre("a/path/...", "b"));
  EXPECT_THAT(wrapped("a/path/that/is/long b", 10, "", LongWord::whole), ElementsAre("a/path/that/is/long", "b"));
  EXPECT_THAT(wrapped("  - order edf; core 1", 12, "    "), ElementsAre("  - order", "    edf;", "    core 1"));
}

std::string printed(const Table& table, Room room, bool colours = false) {
  std::ostringstream out;
  use_colours(out, colours);
  table.print(out, room);
  return out.str();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) result.push_back(line);
  return result;
}

Table tasks(int count) {
  Table table({"task", "missed", "response", "deadline", "released"});
  for (int i = 0; i < count; ++i) table.add({"task-number-" + std::to_string(i), "0", "12.34 ms", "20 ms", "1000"});
  return table;
}

TEST(Table, NeverExceedsAvailableWidth) {
  Table table = tasks(3);
  table.add({"カメラカメラカメラカメラ", "1000", "1.2 s", "20 ms", "7"}, Tone::bad);
  for (std::size_t room = 12; room < 80; ++room) {
    const auto all = lines(printed(table, {.columns = room}));
    ASSERT_EQ(all.size(), 5u);
    for (const std::string& line : all) {
      EXPECT_LE(columns(line), room);
      EXPECT_EQ(columns(line), columns(all.front())) << "one below the other";
    }
  }
}

TEST(Table, OmitsColumnsFromTheRightWhenNarrow) {
  EXPECT_THAT(lines(printed(tasks(1), {})), ElementsAre("  task           missed  response  deadline  released",
                                                        "  task-number-0       0  12.34 ms     20 ms      1000"));
  EXPECT_THAT(lines(printed(tasks(1), {.columns = 52})), ElementsAre("  task           missed  response  deadline",
                                                                     "  task-number-0       0  12.34 ms     20 ms"));
  EXPECT_THAT(lines(printed(tasks(1), {.columns = 40})),
              ElementsAre("  task        missed  response  deadline", "  task-nu...       0  12.34 ms     20 ms"));
  EXPECT_THAT(lines(printed(tasks(1), {.columns = 20})), ElementsAre("  task      missed", //
                                                                     "  task-...       0"));
}

std::string whole(const Table& table, std::size_t room) {
  std::ostringstream out;
  limit_columns(out, room);
  table.print(out);
  return out.str();
}

TEST(Table, ContinuesBelowWhenStreamIsTooNarrow) {
  EXPECT_EQ(whole(tasks(2), 62), whole(tasks(2), 0)) << "0: no limit";
  EXPECT_THAT(lines(whole(tasks(2), 50)), ElementsAre("  task           missed  response  deadline", //
                                                      "  task-number-0       0  12.34 ms     20 ms",
                                                      "  task-number-1       0  12.34 ms     20 ms", //
                                                      "  task           released",                   //
                                                      "  task-number-0      1000",                   //
                                                      "  task-number-1      1000"));
  EXPECT_THAT(lines(whole(tasks(1), 1)), testing::SizeIs(8)) << "one column beside the names at least";
  Table explained({"task", "missed", "why"}, {0, 2});
  explained.add({"front", "1", "another task was in the way for long"});
  EXPECT_EQ(whole(explained, 20), whole(explained, 0)) << "texts wrap by themselves";
}

TEST(Table, RepeatsAllNameColumnsInContinuation) {
  Table table({"chain", "", "min", "max"}, {0, 1});
  table.add({"react", "age", "1 ms", "2 ms"});
  EXPECT_THAT(lines(whole(table, 20)),
              ElementsAre("  chain        min", "  react  age  1 ms", "  chain        max", "  react  age  2 ms"));
}

TEST(Table, CountsRowsThatDoNotFit) {
  EXPECT_EQ(lines(printed(tasks(9), {.lines = 10})).size(), 10u);
  const auto all = lines(printed(tasks(9), {.lines = 4}));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[2], testing::HasSubstr("task-number-1"));
  EXPECT_EQ(all[3], "  ... and 7 more");
  EXPECT_EQ(lines(printed(tasks(9), {.lines = 1})).size(), 1u);
  EXPECT_EQ(printed(tasks(9), {.lines = 0}), "");
}

TEST(Table, ShowsBadRowsFirstWhenNotAllFit) {
  Table table = tasks(9);
  table.add({"late", "1", "30 ms", "20 ms", "1000"}, Tone::bad);
  EXPECT_THAT(lines(printed(table, {}))[1], testing::HasSubstr("task-number-0"));
  const auto all = lines(printed(table, {.lines = 4}));
  EXPECT_THAT(all[1], testing::StartsWith("  late"));
  EXPECT_THAT(all[2], testing::HasSubstr("task-number-0"));
  EXPECT_EQ(all[3], "  ... and 8 more");
}

TEST(Table, UsesColoursOnlyWhenStreamDoes) {
  Table table({"task", "missed"});
  table.add({"front", "0"});
  table.add({"rear", "1"}, Tone::bad);
  EXPECT_EQ(printed(table, {}), "  task   missed\n  front       0\n  rear        1\n");
  EXPECT_EQ(printed(table, {}, true),
            "\033[1m  task   missed\033[0m\n  front       0\n\033[31m  rear        1\033[0m\n");
}

TEST(Table, AlignsTextsLeftAndNumbersRight) {
  Table table({"model", "size", "", "what it is"}, {0, 3});
  table.add({"a", "1024", "x", "small"});
  table.add({"long name", "8", "yes", "a network of many layers"});
  std::ostringstream out;
  table.print(out, "");
  EXPECT_EQ(out.str(),
            "model      size       what it is\n"
            "a          1024    x  small\n"
            "long name     8  yes  a network of many layers\n");
}

TEST(Table, TreatsOnlyFirstColumnAsTextByDefault) {
  Table table({"task", "max"});
  table.add({"a", "10 ms"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "  task    max\n  a     10 ms\n");
}

} // namespace
} // namespace rtexec::report
