#include "config/board_writer.hpp"
#include "config/names.hpp"
#include <rtexec/board.hpp>
#include "test/config/config_files.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path boards = test::folder() / "../../boards";

SwapCost cost_of(Bytes chunk) {
  return {.chunk = chunk,
          .in_per_chunk = 1234567ns,
          .out_per_chunk = 2us,
          .drop_per_chunk = 3ns,
          .in_fixed = 0ns,
          .out_fixed = 5ms,
          .residual = 6us};
}

const std::vector<SwapCost> two_costs = {cost_of(Bytes{2u << 20}), cost_of(Bytes{64u << 20})};

/// Returns the other facts of a board, without `swap_costs` and `chunk`.
std::string other_facts(const Board& board) {
  std::ostringstream facts;
  facts << board.name << '|' << board.description << '|' << spelling(board.device) << '|' << to_string(board.capacity)
        << '|' << board.ordinal << '|' << board.copy_engines << '|' << board.unified_memory << '|'
        << board.memory_policies.size() << '|' << board.compute_core.value_or(9999) << '|'
        << board.service_core.value_or(9999) << '|' << to_string(board.context_switch) << '|'
        << to_string(board.dispatch) << '|' << to_string(board.release_latency) << '|'
        << to_string(board.platform_stall);
  return facts.str();
}

std::string costs_of(const Board& board) {
  std::ostringstream costs;
  for (const SwapCost& c : board.swap_costs)
    costs << spelling(c.store) << ' ' << to_string(c.chunk) << ' ' << c.in_per_chunk.count() << ' '
          << c.out_per_chunk.count() << ' ' << c.drop_per_chunk.count() << ' ' << c.in_fixed.count() << ' '
          << c.out_fixed.count() << ' ' << c.residual.count() << '\n';
  return costs.str();
}

std::string costs_of(const std::vector<SwapCost>& costs) {
  Board board;
  board.swap_costs = costs;
  return costs_of(board);
}

Board parsed(const std::string& text) {
  const auto board = parse_board(text, "b.toml");
  if (!board) throw std::runtime_error(board.error().what + "\n" + text);
  return *board;
}

/// Checks that the result reads back as `before` except for the requested changes.
void expect_only_that_changed(const std::string& before, std::optional<Bytes> chunk,
                              const std::vector<SwapCost>& costs) {
  const auto after = with_swap_costs(before, chunk, costs);
  ASSERT_TRUE(after) << after.error().what << '\n' << before;
  const Board old_board = parsed(before);
  const Board new_board = parsed(*after);
  EXPECT_EQ(other_facts(new_board), other_facts(old_board)) << *after;
  EXPECT_EQ(new_board.chunk, chunk.value_or(old_board.chunk)) << *after;
  EXPECT_EQ(costs_of(new_board), costs_of(costs)) << *after;
  EXPECT_EQ(problem(with_swap_costs(*after, chunk, costs)), "none");
  EXPECT_EQ(with_swap_costs(*after, chunk, costs).value_or(""), *after) << "a second time changes nothing";
}

class BuiltinBoardText : public testing::TestWithParam<const char*> {};

TEST_P(BuiltinBoardText, WritingCostsChangesNothingElse) {
  const std::string text = test::read_text(boards / GetParam());
  expect_only_that_changed(text, Bytes{4u << 20}, two_costs);
  expect_only_that_changed(text, std::nullopt, two_costs);
  expect_only_that_changed(text, std::nullopt, {});
}

TEST_P(BuiltinBoardText, RewritingSameCostsKeepsText) {
  const std::string text = test::read_text(boards / GetParam());
  const std::vector<SwapCost> own = parsed(text).swap_costs;
  const std::string rewritten = with_swap_costs(text, std::nullopt, own).value();
  EXPECT_EQ(costs_of(parsed(rewritten)), costs_of(own));
  std::string without_residuals = rewritten;
  for (std::size_t at; (at = without_residuals.find("residual = \"0ns\"\n")) != std::string::npos;)
    without_residuals.erase(at, 17);
  EXPECT_EQ(without_residuals, text);
}

INSTANTIATE_TEST_SUITE_P(Of, BuiltinBoardText,
                         testing::Values("host.toml", "h200.toml", "rtx.toml", "tx2.toml", "xavier.toml", "orin.toml",
                                         "thor.toml"),
                         [](const auto& board) {
                           return std::string(board.param, std::string_view(board.param).find('.'));
                         });

/// A valid board without costs.
const std::string facts =
    "name = 'b'\n"
    "capacity = '64MiB'\n"
    "memory_policies = ['D']\n"
    "context_switch = '1us'\n"
    "dispatch = '1us'\n"
    "release_latency = '1us'\n";

const std::string old_table =
    "chunk = '8MiB'\nin_per_chunk = '1us'\nout_per_chunk = '1us'\ndrop_per_chunk = '1us'\nin_fixed = '1us'\nout_fixed "
    "= '1us'\n";

const std::string new_table =
    "[[swap_cost]]\nstore = \"pinned\"\nchunk = \"2MiB\"\nin_per_chunk = \"1234567ns\"\nout_per_chunk = "
    "\"2us\"\ndrop_per_chunk = \"3ns\"\nin_fixed = \"0ns\"\n"
    "out_fixed = \"5ms\"\nresidual = \"6us\"\n";

std::string written(const std::string& text) {
  return with_swap_costs(text, Bytes{4u << 20}, std::vector{cost_of(Bytes{2u << 20})}).value();
}

TEST(BoardWriter, AppendsSwapCostTables) {
  EXPECT_EQ(written(facts + "chunk = '2MiB' # of the driver\n"),
            facts + "chunk = \"4MiB\" # of the driver\n\n" + new_table);
  EXPECT_EQ(written("chunk=\"\"\"2MiB\"\"\"#\n" + facts + "# end"),
            "chunk=\"4MiB\"#\n" + facts + "# end\n\n" + new_table);
}

TEST(BoardWriter, KeepsCommentsAroundReplacedTables) {
  const std::string other_table = "residual = '1us'\nchunk = '4MiB'\n" + old_table.substr(old_table.find('\n') + 1);
  EXPECT_EQ(
      written("chunk = '2MiB'\n" + facts + "# above\n\n  [[ 'swap_cost' ]] # gone\n # within\n" + old_table +
              "\n# between\n\n[[swap_cost]]\n" + other_table + "\n# below [[swap_cost]]\n\n"),
      "chunk = \"4MiB\"\n" + facts + "# above\n\n # within\n# between\n" + new_table + "\n# below [[swap_cost]]\n\n");
}

TEST(BoardWriter, ReplacesAListOfInlineTables) {
  const std::string cost =
      "{chunk = '8MiB', in_per_chunk = '1us', out_per_chunk = '1us', drop_per_chunk = '1us', in_fixed = '1us', "
      "out_fixed = '1us'}";
  EXPECT_EQ(written("chunk = '2MiB'\nswap_cost = [\n  " + cost + ", # ]\n]\n" + facts),
            "chunk = \"4MiB\"\n" + facts + "\n" + new_table);
}

TEST(BoardWriter, LeavesOtherTablesAlone) {
  const std::string other =
      "\n# of another\n\n[ other ]\nchunk = '2MiB'\nswap_cost = [{}]\n[other.swap_cost]\nchunk = '2MiB'\n[[others]]\n";
  const auto replaced = [](const std::string& text) {
    return config::replace_swap_costs(text, Bytes{4u << 20}, std::vector{cost_of(Bytes{2u << 20})});
  };
  EXPECT_EQ(replaced("chunk = '2MiB'\n[[swap_cost]]\n" + old_table + other), "chunk = \"4MiB\"\n" + new_table + other);
  EXPECT_EQ(replaced("[[swap_cost]]\n" + old_table + other + "# last\n[[swap_cost]]\n" + old_table + other),
            other + "# last\n" + new_table + other);
  EXPECT_EQ(replaced("\xEF\xBB\xBF"
                     "[other]\nchunk = '2MiB'\n"),
            "\xEF\xBB\xBF"
            "[other]\nchunk = '2MiB'\n\n" +
                new_table);
  EXPECT_EQ(replaced(other), other + "\n" + new_table);
}

TEST(BoardWriter, IgnoresKeysInStringsAndComments) {
  const std::string text =
      "# [[swap_cost]]\n"
      "# chunk = \"2MiB\"\n"
      "description = \"\"\"\\\n"
      "[[swap_cost]]\\\n"
      "\\u0022 # \\\\\"\"\\\n"
      "chunk = '1MiB'\"\"\"\"\"\n"
      "\"chunk\" = '''2MiB''' # chunk = 'x' \"\n";
  EXPECT_EQ(written(text + facts),
            text.substr(0, text.find("'''")) + "\"4MiB\" # chunk = 'x' \"\n" + facts + "\n" + new_table);
}

TEST(BoardWriter, HandlesEscapedQuotes) {
  for (const std::string description : {R"("\"[")", R"("a\\")", R"("\\\"#[")", R"("""\"""[""")"}) {
    const std::string text = "description = " + description + "\n" + facts;
    EXPECT_EQ(written(text + "chunk = '2MiB'\n"), text + "chunk = \"4MiB\"\n\n" + new_table);
  }
}

TEST(BoardWriter, KeepsWindowsLineEnds) {
  const auto windows = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, 1, '\r');
    return text;
  };
  EXPECT_EQ(written(windows("\xEF\xBB\xBF"
                            "chunk = '2MiB'\n" +
                            facts + "[[swap_cost]]\n" + old_table + "# end\n")),
            windows("\xEF\xBB\xBF"
                    "chunk = \"4MiB\"\n" +
                    facts + new_table + "# end\n"));
}

TEST(BoardWriter, RefusesResultThatIsNoValidBoard) {
  EXPECT_THAT(problem(with_swap_costs("name = 3", {}, {})), HasSubstr("board:1:8: error: name = 3: not a string"));
  const std::string text = "chunk = '2MiB'\n" + facts;
  const std::vector<SwapCost> twice(2, cost_of(Bytes{4096}));
  EXPECT_THAT(problem(with_swap_costs(text, {}, twice)),
              HasSubstr("swap_cost 2: chunk = \"4KiB\": already used by swap_cost 1"));
  std::vector<SwapCost> of_two_stores = twice;
  of_two_stores.back().store = StoreKind::file;
  EXPECT_EQ(problem(with_swap_costs(text, {}, of_two_stores)), "none");
  EXPECT_THAT(problem(with_swap_costs(text, Bytes{3u << 20}, {})),
              testing::AllOf(HasSubstr("the measured values make an invalid board file"),
                             HasSubstr("capacity = \"64MiB\": not a multiple of 3MiB")));
}

/// Returns the board's rows as "STORE CHUNK FIXED" in the order of the file. `in_fixed` holds a number that identifies
/// the row.
std::vector<std::string> rows_of(const Board& board) {
  std::vector<std::string> rows;
  for (const SwapCost& cost : board.swap_costs)
    rows.push_back(std::string(spelling(cost.store)) + ' ' + to_string(cost.chunk) + ' ' + to_string(cost.in_fixed));
  return rows;
}

SwapCost row(StoreKind store, std::uint64_t mebibytes, int fixed) {
  SwapCost cost = cost_of(Bytes{mebibytes << 20});
  cost.store = store;
  cost.in_fixed = Duration(fixed);
  return cost;
}

/// Calibrates a board of 64 MiB that has `chunk` MiB and `rows`. The calibration chooses `chosen` MiB of `measured`.
Board calibrated(std::uint64_t chunk, const std::vector<SwapCost>& rows, std::uint64_t chosen,
                 const std::vector<SwapCost>& measured) {
  const std::string text = with_swap_costs("chunk = '" + std::to_string(chunk) + "MiB'\n" + facts, {}, rows).value();
  return parsed(with_measured_costs(text, Bytes{chosen << 20}, measured).value());
}

TEST(MeasuredCosts, ReplaceOnlyRowsOfTheirStoreAndChunk) {
  using enum StoreKind;
  const Board one_size = calibrated(2, {row(pinned, 2, 1), row(pinned, 8, 2)}, 4, {row(pinned, 4, 3)});
  EXPECT_THAT(rows_of(one_size), ElementsAre("pinned 2MiB 1ns", "pinned 4MiB 3ns", "pinned 8MiB 2ns"));
  const Board two_sizes =
      calibrated(2, {row(pinned, 2, 1), row(pinned, 8, 2)}, 4, {row(pinned, 4, 3), row(pinned, 8, 4)});
  EXPECT_THAT(rows_of(two_sizes), ElementsAre("pinned 2MiB 1ns", "pinned 4MiB 3ns", "pinned 8MiB 4ns"));
  const Board two_stores = calibrated(2, {row(pinned, 2, 1), row(file, 2, 2)}, 2, {row(pinned, 2, 3)});
  EXPECT_THAT(rows_of(two_stores), ElementsAre("pinned 2MiB 3ns", "file 2MiB 2ns"));
}

TEST(MeasuredCosts, AreSortedByStoreAndChunk) {
  using enum StoreKind;
  const Board board =
      calibrated(2, {row(file, 8, 1), row(file, 2, 2), row(pinned, 16, 3)}, 8, {row(pinned, 8, 4), row(pinned, 2, 5)});
  EXPECT_THAT(rows_of(board),
              ElementsAre("pinned 2MiB 5ns", "pinned 8MiB 4ns", "pinned 16MiB 3ns", "file 2MiB 2ns", "file 8MiB 1ns"));
}

TEST(MeasuredCosts, KeepLastMeasurementOfEachSize) {
  using enum StoreKind;
  EXPECT_THAT(rows_of(calibrated(2, {}, 2, {row(pinned, 2, 1), row(pinned, 2, 2)})), ElementsAre("pinned 2MiB 2ns"));
}

TEST(MeasuredCosts, SetTheChunkOfABoardWithoutOtherStores) {
  using enum StoreKind;
  EXPECT_EQ(calibrated(2, {}, 4, {row(file, 4, 1)}).chunk, Bytes{4 << 20});
  EXPECT_EQ(calibrated(2, {row(pinned, 2, 1)}, 4, {row(pinned, 2, 2), row(pinned, 4, 3)}).chunk, Bytes{4 << 20});
}

TEST(MeasuredCosts, ChangeChunkOnlyIfTheirStoreLacksItsRow) {
  using enum StoreKind;
  EXPECT_EQ(calibrated(2, {row(pinned, 2, 1)}, 4, {row(file, 4, 2)}).chunk, Bytes{4 << 20})
      << "a plan with 2MiB would have no costs of a file";
  EXPECT_EQ(calibrated(2, {row(pinned, 2, 1)}, 4, {row(file, 2, 2), row(file, 4, 3)}).chunk, Bytes{2 << 20})
      << "the first store's choice stays";
  EXPECT_EQ(calibrated(2, {row(pinned, 2, 1), row(file, 2, 2)}, 4, {row(file, 4, 3)}).chunk, Bytes{2 << 20})
      << "its row was there before";
}

TEST(MeasuredCosts, KeepChunkIfCapacityIsNoMultipleOfNewOne) {
  using enum StoreKind;
  const Board board = calibrated(2, {}, 3, {row(pinned, 3, 1)});
  EXPECT_EQ(board.chunk, Bytes{2 << 20});
  EXPECT_THAT(rows_of(board), ElementsAre("pinned 3MiB 1ns"));
}

TEST(MeasuredCosts, KeepOtherLinesUnchanged) {
  const std::string text = "chunk = '2MiB' # mine\n" + facts + "compute_core = 1 # the fast one\n";
  const std::string once = with_measured_costs(text, Bytes{2u << 20}, std::vector{cost_of(Bytes{2u << 20})}).value();
  EXPECT_EQ(once, "chunk = \"2MiB\" # mine\n" + facts + "compute_core = 1 # the fast one\n\n" + new_table);
  EXPECT_EQ(with_measured_costs(once, Bytes{2u << 20}, std::vector{cost_of(Bytes{2u << 20})}).value(), once);
  EXPECT_EQ(with_measured_costs(text, Bytes{2u << 20}, {}).value(), text);
  EXPECT_THAT(problem(with_measured_costs("name = 3", Bytes{2u << 20}, two_costs)),
              HasSubstr("board:1:8: error: name = 3: not a string"));
}

/// Random board files: statements in any order and spelling, with anything between them.
class RandomText {
 public:
  explicit RandomText(unsigned seed) : random_(seed) {}

  std::string board() {
    std::vector<std::string> statements = {
        "name = " + quoted("b"),
        "'capacity' = " + quoted("64MiB"),
        any({"chunk", "\"chunk\"", "'chunk'", "\"\\u0063hunk\""}) + any({"=", " = ", "\t=  "}) + quoted("2MiB"),
        "memory_policies = [" + any({"", "\n# ]]\n", "\n\t"}) + "'D', # [[swap_cost]]\n 'H' ]",
        "description = " +
            any({quoted("[[swap_cost]]"), quoted("# chunk = 1"), R"("a\"# [[")", R"("a\"[[")", R"("a\\")", R"('a\')",
                 R"("""a\"""b["""")", R"('''''a""''''')", "\"\"\"\\\n[[swap_cost]]\\\nchunk = '2MiB'\"\"\"\""}),
        "context_switch = " + quoted("1us"),
        "dispatch = " + quoted("2us"),
        "release_latency = " + quoted("3us"),
        "platform_stall = " + quoted("4us"),
    };
    std::ranges::shuffle(statements, random_);
    std::string text = any({"", "", "\xEF\xBB\xBF"});
    for (const std::string& statement : statements) text += line(statement);
    for (int i = static_cast<int>(random_() % 4); i > 0; --i) text += table(i);
    if (random_() % 4 == 0) text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }

 private:
  std::string any(std::vector<std::string> choices) { return choices[random_() % choices.size()]; }
  std::string quoted(const std::string& text) {
    const std::string quotes = any({"'", "\"", "'''", "\"\"\""});
    return quotes + text + quotes;
  }
  std::string line(const std::string& statement) {
    return any({"", "", "\n", " \n", "# chunk = '1MiB' [[swap_cost]]\n", "#\"\"\"\n", "\t# '''\n"}) + any({"", "  "}) +
           statement + any({"", " # end ''' \"\"\"", "#["}) + any({"\n", "\n", "\r\n"});
  }
  std::string table(int i) {
    std::vector<std::string> keys = {"chunk = " + quoted(std::to_string(i) + "MiB")};
    for (const char* key : {"in_per_chunk", "out_per_chunk", "drop_per_chunk", "in_fixed", "out_fixed"})
      keys.push_back(key + (" = " + quoted("7us")));
    std::ranges::shuffle(keys, random_);
    std::string text = line(any({"[[swap_cost]]", "[[ swap_cost ]]", "[['swap_cost']]", "[[\"swap\\u005fcost\"]]"}));
    for (const std::string& key : keys) text += line(key);
    return text;
  }

  std::mt19937 random_;
};

/// Returns the comments on lines of their own. No string in these texts has a line that looks like a comment.
std::vector<std::string> comment_lines(const std::string& text) {
  std::vector<std::string> comments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t first = line.find_first_not_of(" \t"); first != std::string::npos && line[first] == '#')
      comments.push_back(line);
  return comments;
}

TEST(BoardWriter, ChangesOnlyCostsAndChunkInRandomFiles) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::string text = RandomText(seed).board();
    expect_only_that_changed(text, seed % 3 == 0 ? std::nullopt : std::optional(Bytes{4u << 20}),
                             seed % 4 == 0 ? std::vector<SwapCost>{} : two_costs);
    EXPECT_EQ(comment_lines(with_swap_costs(text, Bytes{4u << 20}, two_costs).value()), comment_lines(text)) << text;
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ":\n" << text;
  }
}

// ---- [memory] ----

const std::string chunked = "chunk = '2MiB'\n" + facts;
constexpr MemoryFacts measured_memory{.core_bandwidth = Bandwidth{4'012'000'000},
                                      .saturation = Bandwidth{14'400'000'000}};
const std::string core_line = "core_bandwidth = \"4012MB/s\"", saturation_line = "saturation = \"14.4GB/s\"";

/// Adds the memory facts, and checks that a second time changes nothing.
std::string with_measured_memory(const std::string& text, const MemoryFacts& memory = measured_memory) {
  const std::string once = with_memory(text, memory).value();
  EXPECT_EQ(with_memory(once, memory).value(), once);
  EXPECT_EQ(parsed(once).memory.saturation, memory.saturation) << once;
  EXPECT_EQ(parsed(once).memory.core_bandwidth, memory.core_bandwidth) << once;
  return once;
}

TEST(MemoryFactsOfABoard, AreAppendedToFileWithoutThem) {
  EXPECT_EQ(with_measured_memory(chunked + "# end"),
            chunked + "# end\n\n[memory]\n" + core_line + "\n" + saturation_line + "\n");
}

TEST(MemoryFactsOfABoard, ReplaceValuesAndKeepCommentsAndOtherTables) {
  const std::string after = "\n# of swapping\n[[swap_cost]]\n" + old_table;
  EXPECT_EQ(with_measured_memory(chunked +
                                 "# measured in March\n[ 'memory' ] # shared\nsaturation = '1GB/s' # all\n # "
                                 "within\ncore_bandwidth='2GB/s'\n" +
                                 after),
            chunked + "# measured in March\n[ 'memory' ] # shared\n" + saturation_line +
                " # all\n # within\ncore_bandwidth=\"4012MB/s\"\n" + after);
}

TEST(MemoryFactsOfABoard, AreAddedToExistingMemoryTable) {
  EXPECT_EQ(with_measured_memory(chunked + "[memory]\nsaturation = '1GB/s'\n\n[[counter]]\nevent = 'r3'\n"),
            chunked + "[memory]\n" + saturation_line + "\n" + core_line + "\n\n[[counter]]\nevent = 'r3'\n");
  EXPECT_EQ(with_measured_memory(chunked + "[memory]"),
            chunked + "[memory]\n" + core_line + "\n" + saturation_line + "\n");
}

TEST(MemoryFactsOfABoard, ReplaceInlineTableAndDottedKeys) {
  const std::string table = "\n[memory]\n" + core_line + "\n" + saturation_line + "\n";
  EXPECT_EQ(with_measured_memory("memory = { saturation = '1GB/s' }\n" + chunked), chunked + table);
  EXPECT_EQ(with_measured_memory("memory.saturation = '1GB/s'\nmemory.core_bandwidth = '1GB/s'\n" + chunked),
            chunked + table);
}

TEST(MemoryFactsOfABoard, UnknownFactsChangeNothing) {
  EXPECT_EQ(with_memory(chunked, {}).value(), chunked);
  const std::string there = chunked + "[memory]\ncore_bandwidth = '2GB/s'\n";
  EXPECT_EQ(with_memory(there, {.core_bandwidth = {}, .saturation = Bandwidth{14'400'000'000}}).value(),
            there + saturation_line + "\n");
  EXPECT_THAT(problem(with_memory("name = 3", measured_memory)), HasSubstr("board:1:8: error: name = 3: not a string"));
}

TEST(MemoryFactsOfABoard, KeepWindowsLineEnds) {
  const std::string text = "chunk = '2MiB'\r\n" + facts;
  EXPECT_EQ(with_measured_memory(text), text + "\r\n[memory]\r\n" + core_line + "\r\n" + saturation_line + "\r\n");
}

TEST(MemoryFactsOfABoard, ChangeNothingElseInBuiltinBoards) {
  for (const char* name : {"host.toml", "h200.toml", "rtx.toml", "tx2.toml"}) {
    const std::string text = test::read_text(boards / name);
    const Board before = parsed(text), after = parsed(with_measured_memory(text));
    EXPECT_EQ(other_facts(after), other_facts(before));
    EXPECT_EQ(costs_of(after), costs_of(before));
    EXPECT_EQ(after.counters.size(), before.counters.size());
  }
}

MemoryCosts unified_costs() {
  MemoryCosts costs;
  costs.copy_start = 12us;
  costs.copied_in = 0.25;
  costs.mapped = 0.0123;
  costs.device_flush = 7us;
  costs.memory_access = 12;
  costs.mean_error = 4.5;
  return costs;
}

TEST(BoardWriter, WritesCutAsTopLevelKey) {
  const std::string h200 = test::read_text(boards / "h200.toml");
  const auto text = with_cut(h200, 41us);
  ASSERT_EQ(problem(text), "none");
  EXPECT_EQ(parse_board(*text, "b.toml")->cut, 41us);
  EXPECT_EQ(std::ranges::count(*text, '\n'), std::ranges::count(h200, '\n')) << "in place";
  EXPECT_EQ(*with_cut(*text, *parse_board(h200, "b.toml")->cut), h200);

  const std::string host = test::read_text(boards / "host.toml");
  ASSERT_FALSE(parse_board(host, "b.toml")->cut);
  const auto added = with_cut(host, 7us);
  ASSERT_EQ(problem(added), "none");
  EXPECT_EQ(parse_board(*added, "b.toml")->cut, 7us);
  std::string without = *added;
  const std::string line = "cut = \"7us\"\n";
  ASSERT_NE(without.find(line), std::string::npos);
  EXPECT_EQ(without.erase(without.find(line), line.size()), host);
}

TEST(BoardWriter, WritesMemoryCostsIntoTheirTable) {
  const std::string board = test::read_text(boards / "tx2.toml");
  const auto text = with_memory_costs(board, unified_costs());
  ASSERT_EQ(problem(text), "none");
  EXPECT_TRUE(text->starts_with(board));
  EXPECT_EQ(parse_board(*text, "b.toml")->memory_costs, unified_costs());

  MemoryCosts again = unified_costs();
  again.copied_in = 0; // 0 is a result too
  again.mapped = 1;
  const auto second = with_memory_costs(*text + "\n[memory.more]\n", again);
  EXPECT_TRUE(test::fails(second, Errc::bad_input, "more"));
  const auto rewritten = with_memory_costs(*text, again);
  ASSERT_EQ(problem(rewritten), "none");
  EXPECT_EQ(parse_board(*rewritten, "b.toml")->memory_costs, again);
  EXPECT_EQ(std::ranges::count(*rewritten, '\n'), std::ranges::count(*text, '\n')) << "in place";
}

TEST(BoardWriter, KeepsCommentsAndOtherKeysOfMemoryCosts) {
  const std::string board = test::read_text(boards / "h200.toml") +
                            "\n[memory_costs]\n# by hand\nmapped = 3 # of another kind\nlinked= 1.5# per byte\n";
  MemoryCosts costs;
  costs.unified = false;
  costs.linked = 0.02;
  costs.prefetch_start = 8us;
  costs.linked_start = 2us;
  costs.linked_access = 1.5;
  const auto text = with_memory_costs(board, costs);
  ASSERT_EQ(problem(text), "none");
  EXPECT_THAT(*text, HasSubstr("# by hand\nmapped = 3 # of another kind\nlinked= 0.02# per byte\n"));
  const MemoryCosts read = parse_board(*text, "b.toml")->memory_costs;
  EXPECT_FALSE(read.unified);
  EXPECT_EQ(read.prefetch_start, 8us);
  EXPECT_EQ(read.linked, 0.02);
  EXPECT_EQ(read.linked_start, 2us);
  EXPECT_EQ(read.linked_access, 1.5);
}

} // namespace
} // namespace rtexec
