#include "config/builtin_boards.hpp"
#include "test/config/config_files.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::HasSubstr;

const std::filesystem::path boards = test::folder() / "../../boards";

std::vector<Bytes> chunks_of(const Board& board) {
  std::vector<Bytes> chunks;
  for (const SwapCost& cost : board.swap_costs) chunks.push_back(cost.chunk);
  return chunks;
}

TEST(BoardFile, ReadsBuiltinHostByName) {
  const std::string host = test::read_text(boards / "host.toml");
  const config::BuiltinBoard builtin[] = {{"other", "name = 3"}, {"host", host}};
  const auto board = config::read_board("host", builtin);
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->file, "host.toml");
  EXPECT_EQ(board->name, "host");
  EXPECT_EQ(board->device, DeviceKind::host);
  EXPECT_EQ(board->capacity, Bytes{2ULL << 30});
  EXPECT_EQ(board->chunk, Bytes{2u << 20});
  EXPECT_EQ(board->copy_engines, 2u);
  EXPECT_THAT(board->memory_policies,
              testing::ElementsAre(MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host));
  EXPECT_FALSE(board->compute_core);
  EXPECT_EQ(board->context_switch, 10us);
  EXPECT_EQ(board->dispatch, 60us);
  EXPECT_EQ(board->release_latency, 100us);
  EXPECT_EQ(board->platform_stall, 0us) << "its machine does not stop, where nothing is said of it";
  EXPECT_FALSE(board->unified_memory);
  EXPECT_TRUE(board->memory_costs.known()) << "which it emulates";
  EXPECT_TRUE(board->memory_costs.unified) << "a host device has one memory";
  EXPECT_THAT(chunks_of(*board),
              testing::ElementsAre(Bytes{2u << 20}, Bytes{4u << 20}, Bytes{8u << 20}, Bytes{16u << 20}));
  const SwapCost& cost = board->swap_costs.front();
  EXPECT_EQ(cost.in_per_chunk, 1500us);
  EXPECT_EQ(cost.out_per_chunk, 1500us);
  EXPECT_EQ(cost.drop_per_chunk, 200us);
  EXPECT_EQ(cost.in_fixed, 300us);
  EXPECT_EQ(cost.out_fixed, 300us);
  EXPECT_EQ(cost.residual, 0us);
}

TEST(BoardFile, GpuBoardLeavesCapacityToDevice) {
  const auto board = read_board((boards / "rtx.toml").string());
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{0});
  EXPECT_EQ(board->ordinal, 0u);
  EXPECT_EQ(board->chunk, Bytes{2u << 20});
  EXPECT_EQ(board->copy_engines, 2u);
  EXPECT_TRUE(board->swap_costs.empty()) << "of what machine?";
  const auto second = parse_board("ordinal = 1\n" + test::read_text(boards / "rtx.toml"), "b.toml");
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->ordinal, 1u);
}

TEST(BoardFile, H200BoardGivesCapacity) {
  const auto board = read_board((boards / "h200.toml").string());
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{139ULL << 30});
  ASSERT_EQ(board->swap_costs.size(), 9u);
  for (const SwapCost& cost : board->swap_costs)
    EXPECT_GT(cost.in_per_chunk.count(), static_cast<double>(cost.chunk.count) / 50.8) << "ns at GB/s";
}

class EveryBoard : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, EveryBoard, testing::Values("h200", "host", "orin", "rtx", "thor", "tx2", "xavier"),
                         [](const auto& board) { return std::string(board.param); });

TEST_P(EveryBoard, IsBuiltIntoLibrary) {
  const auto board = read_board(GetParam());
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->name, GetParam());
  EXPECT_THAT(board_names(), testing::Contains(GetParam()));
  EXPECT_FALSE(board->clocks.empty());
}

TEST(BoardFile, Tx2BoardHasTwoKindsOfCores) {
  const auto board = read_board("tx2");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_THAT(board->identity.compatible, testing::ElementsAre("nvidia,p2771-0000", "nvidia,quill"));
  EXPECT_EQ(board->build.machine, "aarch64");
  EXPECT_EQ(board->build.cpu, "cortex-a57");
  EXPECT_EQ(board->build.gpu_architecture, "62");
  EXPECT_THAT(board->boot.isolated_cores, testing::ElementsAre(1, 2, 3, 4, 5));
  ASSERT_EQ(board->core_kinds.size(), 2u);
  EXPECT_EQ(board->core_kinds[1].implementer, 0x4eu);
  EXPECT_EQ(board->core_kinds[1].part, 3u);
  EXPECT_THAT(board->core_kinds[1].cores, testing::ElementsAre(1, 2));
  EXPECT_EQ(counter_of(2, *board, "").event, "denver15_uncore_pmu/0xd17");
  EXPECT_EQ(counter_of(2, *board, "").opened_on, 1u) << "a Denver core";
  EXPECT_EQ(counter_of(2, *board, "page-faults").opened_on, std::nullopt);
  EXPECT_EQ(counter_of(3, *board, "").opened_on, std::nullopt);
}

TEST(BoardFile, XavierBoardHasCounterUnitPerCluster) {
  const auto board = read_board("xavier");
  ASSERT_TRUE(board) << board.error().what;
  for (unsigned core = 0; core < 8; ++core) {
    const CounterFacts counter = counter_of(core, *board, "");
    EXPECT_EQ(counter.event, "carmel_pmu/event=0x17,unit=" + std::to_string(core / 2));
    EXPECT_EQ(counter.opened_on, 0u);
    EXPECT_EQ(board->core_kinds[core / 2].cluster, core / 2);
    EXPECT_THAT(board->core_kinds[core / 2].cores, testing::Contains(core));
  }
}

TEST(BoardFile, ParsesSensorPathWithUnitAndConditions) {
  const auto board =
      parse_board(test::read_text(boards / "rtx.toml") +
                      "[[sensor]]\nname = 'GPU'\nkind = 'power'\nvalue = ['/sys/a*/in#_input times curr#_input in mW "
                      "where in#_label = VDD GPU where name = ina3221', '/sys/b']\n",
                  "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  const SensorFacts& sensor = board->sensors.back();
  EXPECT_EQ(sensor.kind, SensorKind::power);
  EXPECT_THAT(sensor.value, testing::ElementsAre(BoardPath{.file = "/sys/a*/in#_input",
                                                           .times = "curr#_input",
                                                           .unit = "mW",
                                                           .where = {{"in#_label", "VDD GPU"}, {"name", "ina3221"}}},
                                                 BoardPath{.file = "/sys/b", .times = {}, .unit = {}, .where = {}}));
  EXPECT_TRUE(sensor.limit.empty());
}

TEST(BoardFile, RejectsMalformedPaths) {
  for (const char* path : {"sys/a", "/sys/a b", "/sys/a in Hz", "/sys/a where", "/sys/a where b",
                           "/sys/a where b =", "/sys/a times", "/sys/a times /b", "/sys/a times b times c",
                           "/sys/a where b = c in kHz x", "/sys/../a", "/sys/a/", "/sys/a*", "/", ""}) {
    const bool text_of_condition = std::string_view(path).contains("= c in");
    const auto board = parse_board(
        test::read_text(boards / "rtx.toml") + "[[sensor]]\nname = 's'\nkind = 'load'\nvalue = ['" + path + "']\n",
        "b.toml");
    EXPECT_EQ(board.has_value(), text_of_condition) << path;
  }
}

TEST(BoardFile, RejectsIncompleteOrAmbiguousClockLock) {
  const auto problem_of = [](const std::string& keys) {
    return problem(parse_board(
        test::read_text(boards / "rtx.toml") + "[[clock]]\nname = 'c'\nkind = 'gpu'\nrate = ['/r']\n" + keys,
        "b.toml"));
  };
  EXPECT_EQ(problem_of(""), "none") << "it is only read";
  EXPECT_EQ(problem_of("lowest = ['/l']\nhighest = ['/h']\n"), "none");
  EXPECT_EQ(problem_of("set = ['/s']\nlock = ['/l']\npossible = ['/p']\ncap = ['/c']\n"), "none");
  EXPECT_THAT(problem_of("lowest = ['/l']\n"), HasSubstr("is missing; give both or neither"));
  EXPECT_THAT(problem_of("set = ['/s']\npossible = ['/p']\n"), HasSubstr("is missing; give both or neither"));
  EXPECT_THAT(problem_of("set = ['/s']\nlock = ['/l']\n"), HasSubstr("needs possible"));
  EXPECT_THAT(problem_of("cap = ['/c']\n"), HasSubstr("of a clock with set only"));
  EXPECT_THAT(problem_of("lowest = ['/l']\nhighest = ['/h']\nset = ['/s']\nlock = ['/l']\npossible = ['/p']\n"),
              HasSubstr("only one way to lock it"));
}

TEST(BoardFile, RejectsCoreInTwoKinds) {
  const std::string kind = "[[core_kind]]\nname = 'k'\nimplementer = 1\npart = 2\ncluster = 0\ncores = ";
  const std::string rtx = test::read_text(boards / "rtx.toml");
  EXPECT_EQ(problem(parse_board(rtx + kind + "[0, 1]\n" + kind + "[2]\n", "b.toml")), "none");
  EXPECT_THAT(problem(parse_board(rtx + kind + "[0, 1]\n" + kind + "[1]\n", "b.toml")),
              HasSubstr("1 is of core_kind 1 already"));
}

TEST(BoardFile, IsReadByPath) { EXPECT_TRUE(read_board((boards / "host.toml").string())); }

TEST(BoardFile, BuiltinBoardIsValidated) {
  const config::BuiltinBoard builtin[] = {{"broken", "name = 3"}};
  EXPECT_THAT(problem(config::read_board("broken", builtin)),
              HasSubstr("broken.toml:1:8: error: name = 3: not a string"));
}

TEST(BoardFile, UnknownNameListsKnownBoards) {
  const config::BuiltinBoard builtin[] = {{"tx2", ""}, {"host", ""}};
  EXPECT_EQ(problem(config::read_board("hots", builtin)),
            "board \"hots\": no board has this name; did you mean 'host'?; known: tx2 or host; name your own file by "
            "its path (\"./board.toml\")");
  EXPECT_THAT(problem(config::read_board("host", {})), HasSubstr("no board has this name"));
  EXPECT_THAT(problem(read_board("./host.toml.none")), HasSubstr("cannot read it"));
}

TEST(BoardFile, ReadsSwapCosts) {
  const std::string costs =
      "[[swap_cost]]\nchunk = '64MiB'\nin_per_chunk = '5.66ms'\nout_per_chunk = '5.24ms'\ndrop_per_chunk = '1us'\n"
      "in_fixed = '2us'\nout_fixed = '3us'\nresidual = '4us'\n";
  const auto board = parse_board("unified_memory = true\n" + test::read_text(boards / "rtx.toml") + costs, "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_TRUE(board->unified_memory);
  ASSERT_EQ(board->swap_costs.size(), 1u);
  const SwapCost& cost = board->swap_costs.front();
  EXPECT_EQ(cost.chunk, Bytes{64u << 20});
  EXPECT_EQ(cost.in_per_chunk, 5660us);
  EXPECT_EQ(cost.out_per_chunk, 5240us);
  EXPECT_EQ(cost.drop_per_chunk, 1us);
  EXPECT_EQ(cost.in_fixed, 2us);
  EXPECT_EQ(cost.out_fixed, 3us);
  EXPECT_EQ(cost.residual, 4us);
}

TEST(BoardFile, ReadsOptionalCores) {
  const auto board =
      parse_board("compute_core = 3\nservice_core = 0\n" + test::read_text(boards / "host.toml"), "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->compute_core, 3u);
  EXPECT_EQ(board->service_core, 0u);
}

/// Returns the text of a minimal board with these lines added.
std::string minimal_board(const std::string& lines) {
  return "name = \"mine\"\ndevice = \"host\"\ncapacity = \"4MiB\"\nchunk = \"1MiB\"\nmemory_policies = [\"D\"]\n"
         "context_switch = \"5us\"\ndispatch = \"5us\"\nrelease_latency = \"5us\"\n" +
         lines;
}

TEST(BoardFile, ReadsOldNameOfKeyWithWarning) {
  const auto board = parse_board(minimal_board("hold_up = \"2ms\"\n"), "mine.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->platform_stall, std::chrono::milliseconds(2));
  EXPECT_THAT(board->warnings, testing::ElementsAre("mine.toml:9:1: warning: hold_up: its name is now platform_stall; "
                                                    "the next release refuses the old name"));
}

TEST(BoardFile, RefusesOldAndNewNameOfOneKey) {
  const auto board = parse_board(minimal_board("hold_up = \"2ms\"\nplatform_stall = \"2ms\"\n"), "mine.toml");
  ASSERT_FALSE(board);
  EXPECT_EQ(board.error().what,
            "mine.toml:9:1: error: hold_up: it is the old name of platform_stall, which is given too: "
            "remove it");
}

} // namespace
} // namespace rtexec
