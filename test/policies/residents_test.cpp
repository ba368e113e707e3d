// Tests which task memory is on the device at the start, from the tasks' setting through the plan to the scheduler's
// first state.
#include "policies/admission/admission.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::task_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Bytes chunk{4096};

/// Three tasks that swap four chunks each and share six frames.
class InitialResidency : public testing::Test {
 protected:
  Result<Plan> plan(std::vector<std::optional<Bytes>> resident) {
    TaskSet set;
    set.swap.policy = SwapPolicy::rt_swap;
    set.device.capacity = chunk * 6;
    Board board = board_of();
    board.swap_costs = {{.store = StoreKind::pinned,
                         .chunk = chunk,
                         .in_per_chunk = 10ns,
                         .out_per_chunk = 10ns,
                         .drop_per_chunk = 10ns}};
    for (std::size_t i = 0; i < resident.size(); ++i) {
      Task& task = set.tasks.emplace_back(task_of(std::string(1, static_cast<char>('a' + i)), 10ms, {.device = 1us}));
      task.swap_volume = chunk * 4;
      task.resident = resident[i];
    }
    return make_plan(test::resolved(set, board), std::vector<MemoryDemand>(resident.size(), {.state = chunk * 4}));
  }

  std::string problem(std::vector<std::optional<Bytes>> resident) {
    const auto made = plan(std::move(resident));
    if (made) return "none";
    EXPECT_EQ(made.error().code, Errc::bad_input);
    return made.error().what;
  }

  /// Returns the number of chunks of each task that are on the device at the start.
  std::vector<unsigned> at_start(std::vector<std::optional<Bytes>> resident) {
    const DeviceScheduler scheduler(plan(std::move(resident)).value());
    const auto& state = scheduler.state();
    std::vector<unsigned> counts;
    std::set<std::uint32_t> frames(state.free.begin(), state.free.end());
    for (const auto& slots : state.slots) {
      counts.push_back(0);
      for (const auto& slot : slots)
        if (slot.residence == DeviceScheduler::Residence::resident) ++counts.back(), frames.insert(slot.frame);
    }
    EXPECT_EQ(frames.size(), 6u) << "each frame is free or holds one chunk";
    return counts;
  }
};

TEST_F(InitialResidency, GivesFramesToFirstTasksByDefault) {
  EXPECT_THAT(at_start({{}, {}, {}}), ElementsAre(4, 2, 0));
}

TEST_F(InitialResidency, GivesRequestedChunksFirstAndRestInTaskOrder) {
  EXPECT_THAT(at_start({chunk * 0, chunk * 1, chunk * 4}), ElementsAre(0, 1, 4));
  EXPECT_THAT(at_start({{}, {}, chunk * 4}), ElementsAre(2, 0, 4));
  EXPECT_THAT(at_start({chunk * 0, {}, {}}), ElementsAre(0, 4, 2));
  EXPECT_THAT(at_start({{}, chunk * 3, {}}), ElementsAre(3, 3, 0));
}

TEST_F(InitialResidency, RejectsPartialChunksAndMoreThanVolumeOrFrames) {
  EXPECT_EQ(problem({chunk * 4, chunk * 2, {}}), "none");
  EXPECT_THAT(problem({Bytes{1000}, {}, {}}),
              HasSubstr("task 'a': resident = \"1kB\": not a multiple of the chunk, 4KiB"));
  EXPECT_THAT(problem({{}, chunk * 5, {}}),
              HasSubstr("task 'b': resident = \"20KiB\": more than is swapped of this task, 16KiB"));
  EXPECT_THAT(problem({chunk * 4, chunk * 2, chunk * 1}),
              HasSubstr("28KiB in total, but the frames that they share hold 24KiB"));
}

TEST_F(InitialResidency, RejectsRequestOfTaskThatIsNotSwapped) {
  TaskSet set = test::set_of({task_of("a", 10ms, {.device = 1us})});
  set.tasks[0].resident = chunk;
  const auto made = make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>{{.state = chunk}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("more than is swapped of this task, 0B"));
  set.tasks[0].resident = Bytes{0};
  EXPECT_TRUE(make_plan(test::resolved(set, board_of()), std::vector<MemoryDemand>{{.state = chunk}}));
}

} // namespace
} // namespace rtexec::policies
