#include "config/names.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/policies/swap_history.hpp"
#include "test/support/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace rtexec::policies {
namespace {

using namespace policies::test;
using Kind = Event::Kind;

// ---- random histories ----

class SwapSchedulerPerPolicy : public testing::TestWithParam<SwapPolicy> {
 protected:
  /// Feeds `events` random events to a random plan, then only ends until every job has left.
  void live_through(std::uint64_t seed, int events) {
    Random random(seed);
    const Plan plan = random_plan(GetParam(), random);
    Watched device(plan);
    Environment environment(plan, device.book, random);
    for (int i = 0; i < events; ++i) ASSERT_NO_FATAL_FAILURE(device.feed(environment.any())) << "event " << i;

    std::size_t chunks = plan.swap->frames, most = plan.swap->frames;
    for (const PlannedTask& task : plan.tasks) chunks += task.swap_slots.size();
    // Each job executes once, and each of its chunks is loaded once and saved once for another's.
    most += plan.tasks.size() + 2 * chunks;
    while (const auto event = environment.end()) {
      ASSERT_NO_FATAL_FAILURE(device.feed(*event)) << "at the end";
      ASSERT_GT(most--, 0u) << "it never ends";
    }
    EXPECT_TRUE(device.book.idle());
    add(device.book.counts());
    refused_ += device.refused;
  }

  void add(const Book::Counts& counts) {
    seen_.starts += counts.starts;
    seen_.ins += counts.ins;
    seen_.outs += counts.outs;
    seen_.both_ways += counts.both_ways;
    seen_.drops += counts.drops;
    seen_.fails += counts.fails;
    seen_.bypasses += counts.bypasses;
    seen_.outs_for_others += counts.outs_for_others;
    seen_.waiting_victims += counts.waiting_victims;
    seen_.held_back += counts.held_back;
  }

  Book::Counts seen_;
  std::uint64_t refused_ = 0;
};

INSTANTIATE_TEST_SUITE_P(SwapScheduler, SwapSchedulerPerPolicy,
                         testing::Values(SwapPolicy::pipelined, SwapPolicy::serial, SwapPolicy::rt_swap,
                                         SwapPolicy::mo_vmm, SwapPolicy::min, SwapPolicy::pageable, SwapPolicy::lru,
                                         SwapPolicy::none),
                         [](const auto& each) {
                           std::string name(spelling(each.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(SwapSchedulerPerPolicy, KeepsRulesUnderAMillionRandomEvents) {
  int left = rtexec::test::rounds(1'000'000);
  for (std::uint64_t seed = static_cast<std::uint64_t>(GetParam()); left > 0; seed += 8) {
    const int events = 100 << seed % 6;
    ASSERT_NO_FATAL_FAILURE(live_through(seed, events)) << "seed " << seed;
    left -= events;
  }
  // Checks that each kind of event happened often enough.
  const bool pipelined = GetParam() == SwapPolicy::pipelined || GetParam() == SwapPolicy::none;
  const bool serial = GetParam() == SwapPolicy::serial;
  const bool rt_swap = !pipelined && !serial && GetParam() != SwapPolicy::lru;
  EXPECT_GE(std::min({seen_.starts, seen_.ins, seen_.outs, refused_}), 1000u);
  EXPECT_GE(std::min(seen_.drops, seen_.fails), 100u);
  EXPECT_GE(std::min(seen_.both_ways, seen_.bypasses), pipelined ? 100u : 0u);
  EXPECT_GE(seen_.outs_for_others, rt_swap ? 100u : 0u);
  EXPECT_GE(seen_.waiting_victims, rt_swap || serial ? 100u : 0u);
  EXPECT_GE(seen_.held_back, serial ? 100u : 0u);
}

// ---- by hand ----

constexpr SwapPolicy rt_swap = SwapPolicy::rt_swap;
constexpr SwapPolicy pipelined = SwapPolicy::pipelined;

TEST(SwapScheduler, StartsWithChunksOfFirstTasksResident) {
  const DeviceScheduler scheduler(plan_of(pipelined, 3, {{2}, {0}, {2}, {1}}));
  using Residence = DeviceScheduler::Residence;
  const auto& slots = scheduler.state().slots;
  EXPECT_EQ(slots[0][0].residence, Residence::resident);
  EXPECT_EQ(slots[0][1].residence, Residence::resident);
  EXPECT_EQ(slots[2][0].residence, Residence::resident);
  EXPECT_EQ(slots[2][1].residence, Residence::missing);
  EXPECT_EQ(slots[3][0].residence, Residence::missing);
  EXPECT_TRUE(scheduler.state().free.empty());
}

/// The paper's Fig. 5(b): between its swap-in and its execution a job is not overtaken. Swapping for the next one
/// overlaps an execution.
TEST(SwapScheduler, RtSwapLetsNoJobOvertakeAfterSwapIn) {
  DeviceScheduler scheduler(plan_of(rt_swap, 1, {{0}, {1}, {1}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 900)), (List{copy_out({2, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({1, 0, 0})), (List{copy_in({2, 0}, {2, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 500)), List{});
  EXPECT_EQ(feed(scheduler, request(1, 0, 600)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({2, 0, 0})), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), (List{start(0, 0), copy_out({1, 0}, {2, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({2, 0, 0})), (List{copy_in({1, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(1, 0)});
}

TEST(SwapScheduler, PipelinedLetsResidentJobBypassDuringSwapIn) {
  DeviceScheduler scheduler(plan_of(pipelined, 1, {{0}, {1}, {1}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 900)), (List{copy_out({2, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({1, 0, 0})), (List{copy_in({2, 0}, {2, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 500)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 600)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({2, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), (List{copy_out({1, 0}, {2, 0, 0})}));
}

/// The paper's Fig. 6(b): a swap-in waits until its job heads the queue, so a job without a swap-in is blocked only
/// once. Fig. 6(c): then it is not overtaken.
TEST(SwapScheduler, RtSwapLoadsOnlyTheHeadOfTheQueue) {
  DeviceScheduler scheduler(plan_of(rt_swap, 1, {{0}, {0}, {1}, {1}, {0}}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 100)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 200)), List{});
  EXPECT_EQ(feed(scheduler, request(3, 0, 300)), (List{copy_out({3, 0}, {2, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({2, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, request(4, 0, 50)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(4, 0)});
  EXPECT_EQ(feed(scheduler, completion(4, 0)), (List{start(1, 0), copy_in({3, 0}, {3, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(4, 1, 60)), List{});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({3, 0, 0})), List{start(3, 0)});
  EXPECT_EQ(feed(scheduler, completion(3, 0)), List{start(4, 1)});
}

/// The hole in RT-Swap's rule: chunks are saved for a job far from the head. A more urgent job that comes then waits
/// for all of them, with the device idle.
TEST(SwapScheduler, RtSwapSavesChunksForJobThatIsNotHeadOfQueue) {
  DeviceScheduler scheduler(plan_of(rt_swap, 2, {{2}, {1}, {0}, {0}, {2}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 200)), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, request(3, 0, 210)), List{});
  EXPECT_EQ(feed(scheduler, request(4, 0, 9000)), (List{copy_out({4, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_out({4, 0}, {0, 1, 1})}));
  EXPECT_EQ(feed(scheduler, completion(2, 0)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), (List{copy_in({1, 0}, {1, 0, 1})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 1})), List{start(1, 0)});
}

TEST(SwapScheduler, SerialSavesChunksOnlyForHeadOfQueue) {
  DeviceScheduler scheduler(plan_of(SwapPolicy::serial, 2, {{2}, {1}, {0}, {0}, {2}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 200)), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, request(3, 0, 210)), List{});
  EXPECT_EQ(feed(scheduler, request(4, 0, 9000)), List{});
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), (List{copy_out({1, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in({1, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, completion(2, 0)), List{}); // task 1's job is staged: no job overtakes it
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), List{start(1, 0)});
  // It heads the queue.
  EXPECT_EQ(feed(scheduler, completion(1, 0)), (List{start(3, 0), copy_out({4, 0}, {1, 0, 0})}));
}

TEST(SwapScheduler, PipelinedMovesNothingWhileResidentJobIsStaged) {
  DeviceScheduler scheduler(plan_of(pipelined, 2, {{2}, {1}, {0}, {0}, {2}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 200)), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, request(3, 0, 210)), List{});
  EXPECT_EQ(feed(scheduler, request(4, 0, 9000)), List{});
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), (List{start(3, 0), copy_out({1, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in({1, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, completion(3, 0)), (List{start(1, 0), copy_out({4, 0}, {0, 1, 1})}));
}

TEST(SwapScheduler, PipelinedMovesBothWaysAtOnceWithTwoEngines) {
  DeviceScheduler scheduler(plan_of(pipelined, 4, {{4}, {4}}));
  const JobId job{1, 0};
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)),
            (List{copy_out(job, {0, 0, 0}), copy_out(job, {0, 1, 1}), copy_out(job, {0, 2, 2})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in(job, {1, 0, 0}), copy_out(job, {0, 3, 3})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), (List{copy_in(job, {1, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 2, 2})), (List{copy_in(job, {1, 2, 2})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 3, 3})), List{}); // three are in flight
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), (List{copy_in(job, {1, 3, 3})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 1, 1})), List{});
  EXPECT_EQ(feed(scheduler, copied_in({1, 2, 2})), List{});
  EXPECT_EQ(feed(scheduler, copied_in({1, 3, 3})), List{start(1, 0)});
}

TEST(SwapScheduler, PipelinedMovesOneChunkAtATimeWithOneEngine) {
  DeviceScheduler scheduler(plan_of(pipelined, 2, {{2}, {2}}, 1));
  const JobId job{1, 0};
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), (List{copy_out(job, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in(job, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), (List{copy_out(job, {0, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), (List{copy_in(job, {1, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 1, 1})), List{start(1, 0)});
}

TEST(SwapScheduler, NeverEvictsChunksOfExecutingJob) {
  for (const SwapPolicy policy : {pipelined, rt_swap}) {
    DeviceScheduler scheduler(plan_of(policy, 1, {{1}, {1}}));
    EXPECT_EQ(feed(scheduler, request(0, 0, 100)), List{start(0, 0)});
    EXPECT_EQ(feed(scheduler, request(1, 0, 50)), List{});
    EXPECT_EQ(feed(scheduler, completion(0, 0)), (List{copy_out({1, 0}, {0, 0, 0})}));
  }
}

/// Task 2's job is more urgent than the staged one, but task 0's heads the queue.
TEST(SwapScheduler, LetsOnlyHeadOfQueueBypassStagedJob) {
  DeviceScheduler scheduler(plan_of(pipelined, 1, {{1}, {1}, {0}}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 500)), (List{copy_out({1, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, request(2, 0, 200)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in({1, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), List{start(1, 0)});
}

/// Executes tasks 0, 1 and 2 in this order. Task 1's next job comes last.
void execute_three(DeviceScheduler& scheduler) {
  for (const auto& [task, deadline] : {std::pair(0u, 5000), {1u, 9000}, {2u, 7000}}) {
    EXPECT_EQ(feed(scheduler, request(task, 0, deadline)), List{start(task, 0)});
    EXPECT_EQ(feed(scheduler, completion(task, 0)), List{});
  }
}

TEST(SwapScheduler, EvictsTaskReleasedLatestThatDoesNotWait) {
  for (const SwapPolicy policy : {pipelined, rt_swap}) {
    DeviceScheduler scheduler(plan_of(policy, 3, {{1}, {1}, {1}, {1}, {0}}));
    execute_three(scheduler);
    DeviceScheduler another = scheduler;
    EXPECT_EQ(feed(scheduler, request(3, 0, 9999)), (List{copy_out({3, 0}, {1, 0, 1})}));

    EXPECT_EQ(feed(another, request(4, 0, 9000)), List{start(4, 0)});
    EXPECT_EQ(feed(another, request(3, 0, 9500)), (List{copy_out({3, 0}, {1, 0, 1})}));
    EXPECT_EQ(feed(another, request(2, 1, 9800)), List{});
    EXPECT_EQ(feed(another, copied_out({1, 0, 1}, true)), List{fail(3, 0)});
    EXPECT_EQ(feed(another, request(1, 1, 9900)), List{});
    EXPECT_EQ(feed(another, request(3, 1, 9600)), policy == rt_swap ? (List{copy_out({3, 1}, {0, 0, 0})}) : List{});
  }
}

TEST(SwapScheduler, LruEvictsLeastRecentlyUsedAndNeverDuringExecution) {
  DeviceScheduler scheduler(plan_of(SwapPolicy::lru, 3, {{1}, {1}, {1}, {2}, {0}}));
  execute_three(scheduler);
  EXPECT_EQ(feed(scheduler, request(4, 0, 9000)), List{start(4, 0)});
  EXPECT_EQ(feed(scheduler, request(3, 0, 9999)), List{});
  EXPECT_EQ(feed(scheduler, completion(4, 0)), (List{copy_out({3, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_in({3, 0}, {3, 0, 0})}));
  EXPECT_EQ(feed(scheduler, request(4, 1, 1000)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({3, 0, 0})), (List{copy_out({3, 0}, {1, 0, 1})}));
  EXPECT_EQ(feed(scheduler, copied_out({1, 0, 1})), (List{copy_in({3, 0}, {3, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_in({3, 1, 1})), List{start(3, 0)});
}

TEST(SwapScheduler, FailsJobOfFailedTransferAndKeepsDataOfOthers) {
  DeviceScheduler scheduler(plan_of(pipelined, 3, {{3}, {3}}));
  feed(scheduler, request(1, 0, 100));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0}, true)), List{}); // other transfers are in flight for it
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 2, 2})), List{fail(1, 0)});
  const auto& victim = scheduler.state().slots[0];
  EXPECT_EQ(victim[0].residence, DeviceScheduler::Residence::resident);
  EXPECT_EQ(victim[0].frame, 0u);
  const JobId next{1, 1};
  EXPECT_EQ(feed(scheduler, request(1, 1, 200)),
            (List{copy_in(next, {1, 0, 2}), copy_in(next, {1, 1, 1}), copy_out(next, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 2}, true)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({1, 1, 1})), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), List{fail(1, 1)});
  EXPECT_EQ(scheduler.state().free.size(), 2u);
  EXPECT_EQ(scheduler.state().slots[1][1].residence, DeviceScheduler::Residence::resident);
}

TEST(SwapScheduler, DropsWithdrawnStagedJobAfterItsTransfers) {
  DeviceScheduler scheduler(plan_of(pipelined, 3, {{3}, {3}}));
  feed(scheduler, request(1, 0, 100));
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{});
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{refuse(1, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 1, 200)), List{refuse(1, 1)});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 2, 2})), List{drop(1, 0)});
}

/// Returns a scheduler that executes task 0. Task 2's job is staged and ready, and a chunk is saved for task 3's job.
DeviceScheduler saving_beside_a_ready_job() {
  DeviceScheduler scheduler(plan_of(rt_swap, 2, {{0}, {2}, {1}, {1}}));
  feed(scheduler, request(0, 0, 100));
  EXPECT_EQ(feed(scheduler, request(2, 0, 200)), (List{copy_out({2, 0}, {1, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_out({1, 0, 0})), (List{copy_in({2, 0}, {2, 0, 0})}));
  EXPECT_EQ(feed(scheduler, copied_in({2, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, request(3, 0, 300)), (List{copy_out({3, 0}, {1, 1, 1})}));
  return scheduler;
}

TEST(SwapScheduler, DropsWithdrawnReadyJobDuringTransfersForOthers) {
  auto scheduler = saving_beside_a_ready_job();
  EXPECT_EQ(feed(scheduler, withdrawal(2, 0)), List{drop(2, 0)});
  EXPECT_EQ(feed(scheduler, copied_out({1, 1, 1})), (List{copy_in({3, 0}, {3, 0, 1})}));
}

TEST(SwapScheduler, FailedSwapOutDoesNotAffectOtherReadyJob) {
  auto scheduler = saving_beside_a_ready_job();
  EXPECT_EQ(feed(scheduler, copied_out({1, 1, 1}, true)), List{fail(3, 0)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(2, 0)});
}

/// An operation is not preempted, even if no job needs it any more.
TEST(SwapScheduler, RtSwapCompletesSwapOutOfWithdrawnJob) {
  DeviceScheduler scheduler(plan_of(rt_swap, 2, {{2}, {2}}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), (List{copy_out({1, 0}, {0, 0, 0})}));
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{drop(1, 0)});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), (List{copy_out({1, 0}, {0, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{});
}

// ---- in time ----

/// Executes jobs and moves chunks on a virtual clock, each for its maximum time.
class VirtualDevice {
 public:
  VirtualDevice(const Plan& plan, std::vector<Duration> executions, Duration chunk)
      : scheduler_(plan), executions_(std::move(executions)), chunk_(chunk) {}

  void release(std::uint32_t task, Instant when, Duration deadline) {
    agenda_.emplace(when, Event{Kind::job_requested, {task, 0}, when, when + deadline});
  }

  /// Returns when each task's job ends.
  std::map<std::uint32_t, Instant> run() {
    while (!agenda_.empty()) {
      const auto [now, event] = *agenda_.begin();
      agenda_.erase(agenda_.begin());
      if (event.kind == Kind::execution_done) ends_[event.job.task] = now;
      for (const Action& action : feed(scheduler_, event)) carry_out(action, now);
    }
    return ends_;
  }

 private:
  void carry_out(const Action& action, Instant now) {
    const auto [task, number] = action.job;
    switch (action.kind) {
    case Action::Kind::start_execution: agenda_.emplace(now + executions_[task], completion(task, number)); return;
    case Action::Kind::copy_in:
      loads_until_ = std::max(loads_until_, now) + chunk_;
      agenda_.emplace(loads_until_, copied_in(action.transfer));
      return;
    case Action::Kind::copy_out:
      saves_until_ = std::max(saves_until_, now) + chunk_;
      agenda_.emplace(saves_until_, copied_out(action.transfer));
      return;
    default: ADD_FAILURE() << "nothing is wrong, withdrawn or broken here";
    }
  }

  DeviceScheduler scheduler_;
  std::vector<Duration> executions_;
  Duration chunk_;
  std::multimap<Instant, Event> agenda_;
  std::map<std::uint32_t, Instant> ends_;
  Instant loads_until_{}, saves_until_{};
};

/// The counter-example to RT-Swap's Eq. (2). Task 0 is L2, whose chunks are on the device; 1 is c, 2 to 9 are m1 to m8,
/// 10 is L1, 11 is L3. Returns the lateness of each job, negative if it is early.
std::map<std::uint32_t, Duration> lateness_in_the_hole(SwapPolicy policy, unsigned copy_engines) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  std::vector<SwappingTask> tasks{{10}, {1}};
  std::vector<Duration> executions{milliseconds(10), milliseconds(1), microseconds(500)};
  std::vector<Duration> deadlines{milliseconds(100'000), microseconds(99'990), microseconds(139'990)};
  tasks.resize(10);
  executions.resize(12, milliseconds(10));
  deadlines.resize(10, milliseconds(140));
  tasks.insert(tasks.end(), 2, {10});
  deadlines.resize(12, milliseconds(100'000));

  VirtualDevice device(plan_of(policy, 10, tasks, copy_engines), executions, milliseconds(3));
  const Instant zero = at(0) + milliseconds(1000);
  std::map<std::uint32_t, Instant> releases{
      {10, zero - microseconds(30'001)}, {11, zero + microseconds(39'990)}, {1, zero + milliseconds(40)}};
  for (std::uint32_t task = 2; task < 10; ++task) releases[task] = zero;
  for (const auto& [task, when] : releases) device.release(task, when, deadlines[task]);
  std::map<std::uint32_t, Duration> lateness;
  for (const auto& [task, end] : device.run()) lateness[task] = end - (releases[task] + deadlines[task]);
  EXPECT_EQ(lateness.size(), releases.size());
  return lateness;
}

TEST(SwapScheduler, RtSwapMissesDeadlineInCounterexample) {
  for (const unsigned copy_engines : {1u, 2u})
    for (const auto& [task, late] : lateness_in_the_hole(rt_swap, copy_engines)) {
      if (task == 9) {
        EXPECT_EQ(late, std::chrono::microseconds(3'999));
      } else {
        EXPECT_LE(late, Duration(0)) << task;
      }
    }
}

TEST(SwapScheduler, PipelinedAndSerialMeetDeadlinesInCounterexample) {
  for (const SwapPolicy policy : {pipelined, SwapPolicy::serial})
    for (const unsigned copy_engines : {1u, 2u})
      for (const auto& [task, late] : lateness_in_the_hole(policy, copy_engines)) EXPECT_LE(late, Duration(0)) << task;
}

} // namespace
} // namespace rtexec::policies
