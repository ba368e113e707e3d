#include "config/builtin_boards.hpp"
#include "test/config/support.hpp"
#include "test/support/files.hpp"
#include "test/support/result.hpp"

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

TEST(BoardFile, OfTheHostIsReadByName) {
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
  EXPECT_EQ(board->hold_up, 0us) << "its machine does not stop, where nothing is said of it";
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

TEST(BoardFile, OfAnNvidiaGpuLeavesTheCapacityToTheDevice) {
  const auto board = read_board((boards / "rtx.toml").string());
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{0});
  EXPECT_EQ(board->ordinal, 0u);
  EXPECT_EQ(board->chunk, Bytes{2u << 20});
  EXPECT_EQ(board->copy_engines, 2u);
  EXPECT_TRUE(board->swap_costs.empty()) << "of what machine?";
  const auto second = parse_board(test::read_text(boards / "rtx.toml") + "ordinal = 1\n", "b.toml");
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->ordinal, 1u);
}

TEST(BoardFile, OfTheH200GivesItsCapacity) {
  const auto board = read_board((boards / "h200.toml").string());
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{139ULL << 30});
  ASSERT_EQ(board->swap_costs.size(), 9u);
  for (const SwapCost& cost : board->swap_costs)
    EXPECT_GT(cost.in_per_chunk.count(), static_cast<double>(cost.chunk.count) / 50.8) << "ns at GB/s";
}

TEST(BoardFile, IsReadByPath) { EXPECT_TRUE(read_board((boards / "host.toml").string())); }

TEST(BoardFile, ABuiltinOneIsValidatedToo) {
  const config::BuiltinBoard builtin[] = {{"broken", "name = 3"}};
  EXPECT_THAT(problem(config::read_board("broken", builtin)),
              HasSubstr("broken.toml:1:8: error: name = 3: not a string"));
}

TEST(BoardFile, ThatIsNowhereListsWhatIsThere) {
  const config::BuiltinBoard builtin[] = {{"tx2", ""}, {"host", ""}};
  EXPECT_EQ(problem(config::read_board("hots", builtin)),
            "board \"hots\": there is no such board; did you mean 'host'?; known: tx2 or host; a file of your own is "
            "named by its path (\"./board.toml\")");
  EXPECT_THAT(problem(config::read_board("host", {})), HasSubstr("there is no such board"));
  EXPECT_THAT(problem(read_board("./host.toml.none")), HasSubstr("cannot read it"));
}

TEST(BoardFile, HoldsWhatSwappingCosts) {
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

TEST(BoardFile, HoldsItsOptionalCores) {
  const auto board =
      parse_board("compute_core = 3\nservice_core = 0\n" + test::read_text(boards / "host.toml"), "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->compute_core, 3u);
  EXPECT_EQ(board->service_core, 0u);
}

} // namespace
} // namespace rtexec
