// Tests the kernel command line that boards require.
#include "hal/board/board_findings.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::hal {
namespace {

TEST(KernelCommandLine, IsolatesAllCoresExceptSystemCore) {
  EXPECT_EQ(kernel_command_line(*read_board("tx2")),
            "isolcpus=1-5 nohz_full=1-5 rcu_nocbs=1-5 irqaffinity=0 "
            "console=ttyS0,115200 skew_tick=1");
  for (const char* name : {"tx2", "xavier", "orin", "thor"}) {
    const Board board = *read_board(name);
    std::size_t cores = 0;
    for (const CoreKind& kind : board.core_kinds) cores += kind.cores.size();
    EXPECT_EQ(board.boot.isolated_cores.size(), cores - 1) << name;
    EXPECT_THAT(kernel_command_line(board), testing::HasSubstr(" irqaffinity=0 ")) << name;
  }
}

TEST(KernelCommandLine, RoutesInterruptsToNonIsolatedCores) {
  Board board;
  board.core_kinds = {CoreKind{.name = "a", .cores = {0, 3, 4, 5}}, CoreKind{.name = "b", .cores = {1, 2}}};
  board.boot = {.isolated_cores = {1, 2, 5}, .command_line = {}};
  EXPECT_EQ(kernel_command_line(board), "isolcpus=1-2,5 nohz_full=1-2,5 rcu_nocbs=1-2,5 irqaffinity=0,3-4");
}

TEST(KernelCommandLine, OmitsIsolationIfBoardIsolatesNoCores) {
  EXPECT_EQ(kernel_command_line(*read_board("host")), "");
  Board board;
  board.boot.command_line = "quiet";
  EXPECT_EQ(kernel_command_line(board), "quiet");
}

} // namespace
} // namespace rtexec::hal
