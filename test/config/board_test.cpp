#include "config/reader.hpp"
#include "test/config/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::filesystem::path boards = test::folder() / "../../boards";

std::string problem(const Result<Board>& result) { return result ? "none" : result.error().what; }

TEST(BoardFile, OfTheHostIsReadByName) {
  const std::filesystem::path folders[] = {"/nonexistent", boards};
  const auto board = read_board("host", folders);
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->file, boards / "host.toml");
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

TEST(BoardFile, IsReadByPathWithoutFolders) { EXPECT_TRUE(read_board((boards / "host.toml").string(), {})); }

TEST(BoardFile, OfTheFirstFolderWins) {
  const test::TemporaryFolder folder;
  test::put(folder.path() / "host.toml", "name = 3");
  const std::filesystem::path folders[] = {folder.path(), boards};
  EXPECT_THAT(problem(read_board("host", folders)), HasSubstr("host.toml:1:8: error: name = 3: not a string"));
}

TEST(BoardFile, ThatIsNowhereListsWhatIsThere) {
  const test::TemporaryFolder folder;
  test::put(folder.path() / "tx2.toml", "");
  test::put(folder.path() / "README.md", "");
  const std::filesystem::path folders[] = {folder.path(), "/nonexistent", boards};
  EXPECT_EQ(problem(read_board("hots", folders)), "board \"hots\": no such board in: " + folder.path().string() + ", /nonexistent, " +
                                                      boards.string() + "; did you mean 'host'?; found there: tx2 or host");
  EXPECT_EQ(problem(read_board("host", {})), "board \"host\": no such board in: no folder; no boards are there");
  EXPECT_THAT(problem(read_board("./host.toml.none", {})), HasSubstr("cannot read it"));
}

TEST(BoardFile, HoldsItsOptionalCores) {
  const auto board = parse_board(test::content(boards / "host.toml") + "compute_core = 3\nservice_core = 0\n", "b.toml");
  ASSERT_TRUE(board) << board.error().what;
  EXPECT_EQ(board->compute_core, 3u);
  EXPECT_EQ(board->service_core, 0u);
}

} // namespace
} // namespace rtexec
