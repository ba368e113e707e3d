#include "config/reader.hpp"
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

TEST(BoardFile, OfTheHostIsReadByName) {
  const std::string host = test::read_text(boards / "host.toml");
  const BuiltinBoard builtin[] = {{"other", "name = 3"}, {"host", host}};
  const auto board = read_board("host", builtin);
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->file, "host.toml");
  EXPECT_EQ(board->name, "host");
  EXPECT_EQ(board->device, DeviceKind::host);
  EXPECT_EQ(board->capacity, Bytes{2ULL << 30});
  EXPECT_EQ(board->chunk, Bytes{2u << 20});
  EXPECT_EQ(board->copy_engines, 2u);
  EXPECT_THAT(board->memory_policies, testing::ElementsAre(MemoryPolicy::device));
  EXPECT_FALSE(board->compute_core);
  EXPECT_EQ(board->context_switch, 10us);
  EXPECT_EQ(board->dispatch, 60us);
  EXPECT_EQ(board->release_latency, 100us);
}

TEST(BoardFile, OfAnNvidiaGpuLeavesTheCapacityToTheDevice) {
  const auto board = read_board((boards / "rtx.toml").string(), {});
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{0});
  EXPECT_EQ(board->ordinal, 0u);
  EXPECT_EQ(board->chunk, Bytes{2u << 20});
  EXPECT_EQ(board->copy_engines, 2u);
  const auto second = parse_board(test::read_text(boards / "rtx.toml") + "ordinal = 1\n", "b.toml");
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->ordinal, 1u);
}

TEST(BoardFile, OfTheH200GivesItsCapacity) {
  const auto board = read_board((boards / "h200.toml").string(), {});
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->device, DeviceKind::cuda);
  EXPECT_EQ(board->capacity, Bytes{139ULL << 30});
}

TEST(BoardFile, IsReadByPath) { EXPECT_TRUE(read_board((boards / "host.toml").string(), {})); }

TEST(BoardFile, ABuiltinOneIsValidatedToo) {
  const BuiltinBoard builtin[] = {{"broken", "name = 3"}};
  EXPECT_THAT(problem(read_board("broken", builtin)), HasSubstr("broken.toml:1:8: error: name = 3: not a string"));
}

TEST(BoardFile, ThatIsNowhereListsWhatIsThere) {
  const BuiltinBoard builtin[] = {{"tx2", ""}, {"host", ""}};
  EXPECT_EQ(problem(read_board("hots", builtin)),
            "board \"hots\": there is no such board; did you mean 'host'?; known: tx2 or host; a file of your own is named by its path (\"./board.toml\")");
  EXPECT_THAT(problem(read_board("host", {})), HasSubstr("there is no such board"));
  EXPECT_THAT(problem(read_board("./host.toml.none", {})), HasSubstr("cannot read it"));
}

TEST(BoardFile, HoldsItsOptionalCores) {
  const auto board = parse_board(test::read_text(boards / "host.toml") + "compute_core = 3\nservice_core = 0\n", "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->compute_core, 3u);
  EXPECT_EQ(board->service_core, 0u);
}

} // namespace
} // namespace rtexec
