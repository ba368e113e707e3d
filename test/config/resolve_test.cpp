// Tests how open settings of a task set are resolved once for its board and machine.
#include "config/resolve.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace rtexec {
namespace {

MachineFacts machine_of(unsigned cores) {
  MachineFacts machine;
  machine.cores.resize(cores);
  std::iota(machine.cores.begin(), machine.cores.end(), 2u);
  return machine;
}

TEST(Resolve, AssignsLastCoresToDeviceThreads) {
  const auto cores = [](unsigned count) {
    const ResolvedSet set = resolve({}, {}, machine_of(count));
    return std::vector{set.compute_core, set.service_core};
  };
  EXPECT_EQ(cores(1), (std::vector{2u, 2u}));
  EXPECT_EQ(cores(2), (std::vector{3u, 2u}));
  EXPECT_EQ(cores(3), (std::vector{4u, 2u}));
  EXPECT_EQ(cores(4), (std::vector{5u, 4u}));
  EXPECT_EQ(cores(8), (std::vector{9u, 8u}));
}

TEST(Resolve, KeepsCoresOfBoard) {
  Board board;
  board.compute_core = 0;
  EXPECT_EQ(resolve({}, board, machine_of(4)).compute_core, 0u);
  EXPECT_EQ(resolve({}, board, machine_of(4)).service_core, 4u);
  board.service_core = 17;
  EXPECT_EQ(resolve({}, board, machine_of(4)).service_core, 17u);
}

TEST(Resolve, PrefersChunkOfTaskSetToBoardUnlessPolicyFixesIt) {
  Board board;
  board.chunk = Bytes{32 << 20};
  TaskSet tasks;
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).chunk, Bytes{32 << 20});
  tasks.device.chunk = Bytes{64 << 20};
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).chunk, Bytes{64 << 20});
  for (const SwapPolicy small : {SwapPolicy::min, SwapPolicy::mo_vmm}) {
    tasks.swap.policy = small;
    EXPECT_EQ(resolve(tasks, board, machine_of(1)).chunk, Bytes{2 << 20});
  }
}

TEST(Resolve, UsesFileStoreByDefaultOnUnifiedMemory) {
  Board board;
  TaskSet tasks;
  tasks.file = "car.toml";
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).store, "");
  board.unified_memory = true;
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).store, "car.swap");
  tasks.swap.store = SwapStore{};
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).store, "");
  tasks.swap.store = SwapStore{"elsewhere"};
  EXPECT_EQ(resolve(tasks, board, machine_of(1)).store, "elsewhere");
}

TEST(Resolve, ChoosesThreadPolicyThatMachineAllows) {
  MachineFacts machine = machine_of(1);
  TaskSet tasks;
  const auto threads = [&] { return resolve(tasks, {}, machine).tasks.executive.threads; };
  EXPECT_EQ(threads(), ThreadPolicy::fifo);
  machine.no_fifo = "RLIMIT_RTPRIO is 0";
  EXPECT_EQ(threads(), ThreadPolicy::deadline);
  machine.no_deadline = "not permitted";
  EXPECT_EQ(threads(), ThreadPolicy::fifo); // it is refused later, or accepted as degraded
  tasks.executive.threads = ThreadPolicy::deadline;
  EXPECT_EQ(threads(), ThreadPolicy::deadline);
}

} // namespace
} // namespace rtexec
