// Tests the simulator with tasks that swap: transfers in virtual time, their costs and failures, and the scheduler's
// rules as they show there.
#include "rtexec/studies/simulator/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace rtexec::simulator {
namespace {

using namespace std::chrono_literals;
using policies::Action;
using policies::JobId;
using testing::ElementsAre;

constexpr Instant never = Instant::max();

struct Scene {
  TaskSet tasks;
  Plan plan;
};

struct SwapTask {
  Duration period{0};
  Duration device{0};
  unsigned chunks = 0;
  bool copied_out = true;
  OnOverrun on_overrun = OnOverrun::skip;
};

/// Makes tasks t0, t1, ... in order of priority, with device parts only. Deadlines equal periods.
Scene scene_of(Order order, SwapPlan swap, const std::vector<SwapTask>& tasks) {
  Scene scene;
  scene.plan.order = order;
  scene.plan.swap = std::move(swap);
  for (unsigned i = 0; i < tasks.size(); ++i) {
    const auto& [period, device, chunks, copied_out, on_overrun] = tasks[i];
    Task& task = scene.tasks.tasks.emplace_back();
    PlannedTask& planned = scene.plan.tasks.emplace_back();
    planned.name = task.name = "t" + std::to_string(i);
    planned.period = task.period = task.deadline = period;
    task.on_overrun = on_overrun;
    planned.wcet.device = device;
    planned.core_rank = i;
    planned.device_rank = order == Order::edf ? 0 : i;
    planned.device_done_by = planned.done_by = period;
    for (unsigned slot = 0; slot < chunks; ++slot)
      planned.swap_slots.push_back({.slot = slot, .copied_out = copied_out});
  }
  return scene;
}

SwapPlan swap_of(SwapPolicy policy, unsigned copy_engines, std::uint32_t frames, SwapCost cost) {
  return {.policy = policy, .frames = frames, .copy_engines = copy_engines, .cost = cost, .store = {}};
}

SwapCost cost_of(int in, int out) {
  return {.in_per_chunk = Duration(in), .out_per_chunk = Duration(out), .drop_per_chunk = Duration(1)};
}

/// Releases one job of each task, at the given instants.
Options once_at(std::vector<Instant> releases, Duration horizon) {
  Options options;
  options.horizon = horizon;
  options.release = [releases](std::uint32_t task, Instant earliest) {
    return earliest <= releases[task] ? releases[task] : never;
  };
  return options;
}

Instant at(int time) { return Instant{Duration(time)}; }

/// Returns a line like "12 in t0[1] begin" or "12 t0 start" for each transfer and execution.
std::vector<std::string> log_of(const Scene& scene, Options options) {
  std::vector<std::string> log;
  options.observe = [&](const Step& step) {
    const std::string now = std::to_string(step.now.time_since_epoch().count()) + " ";
    const auto& transfer = step.action.transfer;
    const bool in = step.action.kind == Action::Kind::copy_in;
    const std::string moved =
        now + (in ? "in" : "out") + " t" + std::to_string(transfer.task) + "[" + std::to_string(transfer.slot) + "]";
    const std::string job = now + "t" + std::to_string(step.job.task);
    switch (step.kind) {
    case Step::Kind::transfer_begin: return log.push_back(moved + " begin");
    case Step::Kind::transfer_end: return log.push_back(moved + " end");
    case Step::Kind::execution_start: return log.push_back(job + " start");
    case Step::Kind::execution_end: return log.push_back(job + " end");
    case Step::Kind::fail: return log.push_back(job + " fail");
    default: return;
    }
  };
  static_cast<void>(simulate(scene.tasks, scene.plan, options));
  return log;
}

// Two tasks of two chunks share two frames, which first hold t0's chunks. Only t1 has a job.

TEST(SwapSimulation, TwoCopyEnginesWorkConcurrently) {
  const Scene scene =
      scene_of(Order::edf, swap_of(SwapPolicy::pipelined, 2, 2, cost_of(3, 2)), {{100ns, 5ns, 2}, {100ns, 5ns, 2}});
  EXPECT_THAT(log_of(scene, once_at({never, at(10)}, 90ns)),
              ElementsAre("10 out t0[0] begin", "12 out t0[0] end", "12 out t0[1] begin", "12 in t1[0] begin",
                          "14 out t0[1] end", "15 in t1[0] end", "15 in t1[1] begin", "18 in t1[1] end", "18 t1 start",
                          "23 t1 end"));
}

TEST(SwapSimulation, OneCopyEngineServesBothDirections) {
  const Scene scene =
      scene_of(Order::edf, swap_of(SwapPolicy::pipelined, 1, 2, cost_of(3, 2)), {{100ns, 5ns, 2}, {100ns, 5ns, 2}});
  EXPECT_THAT(log_of(scene, once_at({never, at(10)}, 90ns)),
              ElementsAre("10 out t0[0] begin", "12 out t0[0] end", "12 in t1[0] begin", "15 in t1[0] end",
                          "15 out t0[1] begin", "17 out t0[1] end", "17 in t1[1] begin", "20 in t1[1] end",
                          "20 t1 start", "25 t1 end"));
}

TEST(SwapSimulation, RtSwapCopiesInOneDirectionAtATime) {
  const Scene scene =
      scene_of(Order::edf, swap_of(SwapPolicy::rt_swap, 2, 2, cost_of(3, 2)), {{100ns, 5ns, 2}, {100ns, 5ns, 2}});
  EXPECT_THAT(log_of(scene, once_at({never, at(10)}, 90ns)),
              ElementsAre("10 out t0[0] begin", "12 out t0[0] end", "12 out t0[1] begin", "14 out t0[1] end",
                          "14 in t1[0] begin", "17 in t1[0] end", "17 in t1[1] begin", "20 in t1[1] end", "20 t1 start",
                          "25 t1 end"));
}

TEST(SwapSimulation, NextJobIsLoadedDuringExecution) {
  const SwapPlan swap = swap_of(SwapPolicy::pipelined, 2, 4, cost_of(3, 2));
  const Scene scene = scene_of(Order::edf, swap, {{100ns, 20ns, 2}, {100ns, 5ns, 2}, {200ns, 5ns, 2}});
  EXPECT_THAT(log_of(scene, once_at({at(0), never, at(1)}, 90ns)),
              ElementsAre("0 t0 start", "1 out t1[0] begin", "3 out t1[0] end", "3 out t1[1] begin", "3 in t2[0] begin",
                          "5 out t1[1] end", "6 in t2[0] end", "6 in t2[1] begin", "9 in t2[1] end", "20 t0 end",
                          "20 t2 start", "25 t2 end"));
}

TEST(SwapSimulation, ConstantChunksAreDroppedNotCopiedOut) {
  const Scene scene = scene_of(Order::edf, swap_of(SwapPolicy::pipelined, 1, 1, cost_of(3, 20)),
                               {{100ns, 5ns, 1, false}, {100ns, 5ns, 1}});
  EXPECT_THAT(log_of(scene, once_at({never, at(10)}, 90ns)),
              ElementsAre("10 out t0[0] begin", "11 out t0[0] end", "11 in t1[0] begin", "14 in t1[0] end",
                          "14 t1 start", "19 t1 end"));
  const Outcome outcome = simulate(scene.tasks, scene.plan, once_at({at(50), at(10)}, 90ns));
  EXPECT_THAT((std::vector{outcome.tasks[0].chunks_in, outcome.tasks[0].chunks_out, outcome.tasks[0].chunks_dropped}),
              ElementsAre(1u, 0u, 1u));
  EXPECT_THAT((std::vector{outcome.tasks[1].chunks_in, outcome.tasks[1].chunks_out, outcome.tasks[1].chunks_dropped}),
              ElementsAre(1u, 1u, 0u));
}

TEST(SwapSimulation, FixedCostsArePaidOncePerLoadAndPerVictim) {
  SwapCost cost = cost_of(3, 2);
  cost.in_fixed = 100ns;
  cost.out_fixed = 10ns;
  const Scene scene =
      scene_of(Order::edf, swap_of(SwapPolicy::rt_swap, 1, 3, cost), {{1us, 5ns, 2}, {1us, 5ns, 1}, {1us, 5ns, 3}});
  const std::vector<std::string> log = log_of(scene, once_at({at(600), at(500), at(0)}, 900ns));
  EXPECT_THAT((std::vector(log.begin(), log.begin() + 14)),
              ElementsAre("0 out t0[0] begin", "12 out t0[0] end", "12 out t0[1] begin", "14 out t0[1] end",
                          "14 out t1[0] begin", "26 out t1[0] end", "26 in t2[0] begin", "129 in t2[0] end",
                          "129 in t2[1] begin", "132 in t2[1] end", "132 in t2[2] begin", "135 in t2[2] end",
                          "135 t2 start", "140 t2 end"));
  // The next jobs pay the fixed costs again.
  EXPECT_THAT((std::vector(log.begin() + 14, log.end())),
              ElementsAre("500 out t2[0] begin", "512 out t2[0] end", "512 in t1[0] begin", "615 in t1[0] end",
                          "615 t1 start", "615 out t2[1] begin", "620 t1 end", "627 out t2[1] end",
                          "627 out t2[2] begin", "629 out t2[2] end", "629 in t0[0] begin", "732 in t0[0] end",
                          "732 in t0[1] begin", "735 in t0[1] end", "735 t0 start", "740 t0 end"));
}

TEST(SwapSimulation, TransfersTakeTheTimeOfTheCallback) {
  SwapCost cost = cost_of(3, 2);
  cost.in_fixed = 5ns;
  const Scene scene =
      scene_of(Order::edf, swap_of(SwapPolicy::pipelined, 1, 1, cost), {{100ns, 5ns, 1}, {100ns, 5ns, 1}});
  Options options = once_at({never, at(10)}, 90ns);
  options.transfer = [](const Action& action, Duration planned) {
    return action.kind == Action::Kind::copy_in ? planned * 2 : Duration{0};
  };
  EXPECT_THAT(log_of(scene, options), ElementsAre("10 out t0[0] begin", "10 out t0[0] end", "10 in t1[0] begin",
                                                  "26 in t1[0] end", "26 t1 start", "31 t1 end"));
}

TEST(SwapSimulation, LoadThatEndsWithExecutionCountsForNextChoice) {
  const SwapPlan swap = swap_of(SwapPolicy::pipelined, 2, 2, cost_of(3, 2));
  const Scene scene = scene_of(Order::edf, swap, {{100ns, 10ns, 1}, {100ns, 5ns, 1}, {90ns, 5ns, 1}});
  // t2's chunk is requested at 5 and arrives at 10, when t0 ends.
  EXPECT_THAT(log_of(scene, once_at({at(0), never, at(5)}, 90ns)),
              ElementsAre("0 t0 start", "5 out t1[0] begin", "7 out t1[0] end", "7 in t2[0] begin", "10 in t2[0] end",
                          "10 t0 end", "10 t2 start", "15 t2 end"));
}

TEST(SwapSimulation, FailedTransferFailsOnlyItsJob) {
  for (const auto failing : {Action::Kind::copy_in, Action::Kind::copy_out})
    for (const auto policy : {SwapPolicy::pipelined, SwapPolicy::rt_swap, SwapPolicy::lru}) {
      const Scene scene = scene_of(Order::edf, swap_of(policy, 1, 1, cost_of(3, 2)), {{100ns, 5ns, 1}, {50ns, 5ns, 1}});
      Options options;
      options.horizon = 99ns;
      options.transfer_fails = [&](const Action& action) {
        return action.kind == failing && action.job == JobId{1, 0};
      };
      const Outcome outcome = simulate(scene.tasks, scene.plan, options);
      EXPECT_EQ(outcome.tasks[0].completed, 1u);
      EXPECT_EQ(outcome.tasks[0].failed, 0u);
      EXPECT_EQ(outcome.tasks[0].missed, 0u);
      EXPECT_EQ(outcome.tasks[1].released, 2u);
      EXPECT_EQ(outcome.tasks[1].completed, 1u);
      EXPECT_EQ(outcome.tasks[1].failed, 1u);
      EXPECT_EQ(outcome.tasks[1].missed, 1u);
      EXPECT_EQ(outcome.tasks[1].chunks_in, 1u); // by its second job
    }
}

// ---- a second record of the memory, from observed steps ----

class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan) {
    std::uint32_t left = plan.swap->frames;
    for (const PlannedTask& task : plan.tasks) {
      auto& slots = slots_.emplace_back(task.swap_slots.size());
      for (std::size_t i = 0; i < slots.size() && left > 0; ++i, --left) slots[i].place = Residence::resident;
    }
  }

  void take(const Step& step) {
    const bool in = step.action.kind == Action::Kind::copy_in;
    if (step.kind == Step::Kind::execution_start) {
      ASSERT_FALSE(running_);
      for (const Slot& slot : slots_[step.job.task])
        ASSERT_EQ(slot.place, Residence::resident) << "executes with a chunk missing";
      running_ = step.job.task;
    } else if (step.kind == Step::Kind::execution_end) {
      running_.reset();
    } else if (step.kind == Step::Kind::transfer_begin) {
      ASSERT_EQ(++under_way_[in && plan_.swap->copy_engines == 2], 1) << "a copy engine with two transfers";
      begin(step.action, in);
    } else if (step.kind == Step::Kind::transfer_end) {
      --under_way_[in && plan_.swap->copy_engines == 2];
      Slot& slot = slots_[step.action.transfer.task][step.action.transfer.slot];
      slot.place = in != step.failed ? Residence::resident : Residence::missing;
    }
  }

 private:
  enum class Residence { missing, moving, resident };
  struct Slot {
    Residence place = Residence::missing;
    std::optional<std::uint32_t> frame; // once it is known
  };

  void begin(const Action& action, bool in) {
    const auto& [task, index, frame] = action.transfer;
    Slot& slot = slots_[task][index];
    ASSERT_EQ(slot.place, in ? Residence::missing : Residence::resident);
    if (in) {
      ASSERT_EQ(task, action.job.task) << "loaded for another task's job";
      ASSERT_LT(frames_in_use(), plan_.swap->frames);
      for (const auto& slots : slots_)
        for (const Slot& other : slots)
          ASSERT_TRUE(other.place == Residence::missing || other.frame != frame) << "two owners of a frame";
    } else {
      ASSERT_NE(task, action.job.task);
      ASSERT_NE(running_, task) << "taken from a job that executes";
      ASSERT_EQ(slot.frame.value_or(frame), frame);
    }
    slot = {Residence::moving, frame};
  }

  std::uint32_t frames_in_use() const {
    std::uint32_t count = 0;
    for (const auto& slots : slots_)
      for (const Slot& slot : slots) count += slot.place != Residence::missing;
    return count;
  }

  const Plan& plan_;
  std::vector<std::vector<Slot>> slots_;
  std::optional<std::uint32_t> running_;
  int under_way_[2] = {};
};

class SwapPolicySimulation : public testing::TestWithParam<SwapPolicy> {};

/// For any tasks, times, withdrawn jobs and failing transfers, the memory stays consistent, every job has its end, and
/// a repeated run gives the same result.
TEST_P(SwapPolicySimulation, KeepsMemoryAndCountersConsistent) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::uint64_t failed = 0, aborted = 0, moved = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<SwapTask> tasks;
    unsigned largest = 0, sum = 0;
    for (int i = draw(2, 6); i > 0; --i) {
      const auto chunks = static_cast<unsigned>(draw(0, 6));
      tasks.push_back({Duration(draw(20, 120)), Duration(draw(1, 20)), chunks, draw(0, 1) == 0,
                       static_cast<OnOverrun>(draw(0, 3))});
      largest = std::max(largest, tasks.back().chunks);
      sum += tasks.back().chunks;
    }
    SwapCost cost = cost_of(draw(1, 4), draw(1, 4));
    cost.in_fixed = Duration(draw(0, 3));
    cost.out_fixed = Duration(draw(0, 3));
    const auto frames =
        static_cast<std::uint32_t>(draw(static_cast<int>(largest), static_cast<int>(std::max(largest, sum))));
    const SwapPlan swap = swap_of(GetParam(), static_cast<unsigned>(draw(1, 2)), frames, cost);
    const Scene scene = scene_of(draw(0, 1) == 0 ? Order::edf : Order::static_priority, swap, tasks);
    const int fails = draw(0, 1) * draw(0, 40);
    const auto seed = random();

    const auto simulated = [&](std::vector<std::string>* log) {
      std::mt19937 choices(seed);
      const auto percent = [&choices] { return static_cast<int>(choices() % 101); };
      Memory memory(scene.plan);
      Options options;
      options.horizon = 1ms;
      options.execution = [&](JobId job, Part part) {
        return part == Part::device ? tasks[job.task].device * percent() / 50 : Duration(choices() % 3);
      };
      options.release = [&](std::uint32_t, Instant earliest) {
        return earliest > at(2000) ? never : earliest + Duration(choices() % 20);
      };
      options.transfer = [&](const Action&, Duration planned) { return planned * percent() / 50; };
      options.transfer_fails = [&](const Action&) { return percent() < fails; };
      options.observe = [&](const Step& step) {
        memory.take(step);
        if (log)
          log->push_back(std::to_string(step.now.time_since_epoch().count()) + " " +
                         std::to_string(static_cast<int>(step.kind)) + " " + std::to_string(step.job.task) + " " +
                         std::to_string(step.action.transfer.frame));
      };
      return simulate(scene.tasks, scene.plan, options);
    };
    std::vector<std::string> first, second;
    const Outcome outcome = simulated(&first);
    simulated(&second);
    ASSERT_EQ(first, second);
    ASSERT_FALSE(HasFatalFailure());
    for (const TaskStatistics& task : outcome.tasks) {
      ASSERT_GT(task.released, 0u);
      ASSERT_EQ(task.released, task.completed + task.aborted + task.failed) << "a job without an end";
      ASSERT_GE(task.missed, task.aborted + task.failed);
      ASSERT_LE(task.missed, task.released);
      failed += task.failed;
      aborted += task.aborted;
      moved += task.chunks_in + task.chunks_out + task.chunks_dropped;
    }
  }
  EXPECT_GT(failed, 100u); // the test must have seen enough cases
  EXPECT_GT(aborted, 100u);
  EXPECT_GT(moved, 10'000u);
}

INSTANTIATE_TEST_SUITE_P(SwapSimulation, SwapPolicySimulation,
                         testing::Values(SwapPolicy::pipelined, SwapPolicy::rt_swap, SwapPolicy::lru),
                         [](const auto& policy) {
                           return policy.param == SwapPolicy::pipelined ? "pipelined"
                                  : policy.param == SwapPolicy::rt_swap ? "rt_swap"
                                                                        : "lru";
                         });

// ---- the hole in RT-Swap's analysis ----

/// RT-Swap's Eq. (3) accepts this set: B / min T + sum (O_out + O_in + C) / T = 0.976. But only swap-ins are reserved
/// for the most urgent job: a swap-out for a job of low priority may begin inside a busy period, and delays the job
/// that needs the memory next. Tasks in order of period: c; m1 .. m8; L1 .. L3.
class SimulatedRtSwapCounterexample : public testing::TestWithParam<Order> {
 protected:
  enum : std::uint32_t { c = 0, m1 = 1, m8 = 8, L1 = 9, L2 = 10, L3 = 11 };
  static constexpr Instant start{1s}; // the instant 0 of the counter-example
  static constexpr Duration one_way = 3ms;

  static Scene scene(SwapPolicy policy, unsigned copy_engines) {
    const SwapCost cost{.in_per_chunk = one_way, .out_per_chunk = one_way};
    std::vector<SwapTask> tasks{{99'990us, 1ms, 1}, {139'990us, 500us, 0}};
    tasks.insert(tasks.end(), 7, {140ms, 10ms, 0});
    tasks.insert(tasks.end(), 3, {100s, 10ms, 10});
    return scene_of(GetParam(), swap_of(policy, copy_engines, 31 - 21, cost), tasks);
  }

  /// Returns the releases. L2's job, long before, leaves its chunks in all frames. L1 begins to take them 30 ms before
  /// its load begins at start + `load`.
  static std::vector<Instant> releases(Duration load, Duration l3, Duration of_c) {
    std::vector<Instant> all(12, start);
    all[L2] = Instant{};
    all[L1] = start + load - 30ms;
    all[L3] = start + l3;
    all[c] = start + of_c;
    return all;
  }
};

TEST_P(SimulatedRtSwapCounterexample, RtSwapMissesDeadline) {
  const Outcome outcome = [&] {
    const Scene set = scene(SwapPolicy::rt_swap, 2);
    return simulate(set.tasks, set.plan, once_at(releases(-1us, 39'990us, 40'001us), 2s));
  }();
  EXPECT_EQ(outcome.tasks[m8].response_max, 143'999us);
  EXPECT_EQ(outcome.tasks[m8].missed, 1u);
  EXPECT_EQ(outcome.missed(), 1u);
}

/// The miss is caused by the swap-out for L3 that begins when L1 ends: without it no job misses.
TEST_P(SimulatedRtSwapCounterexample, RtSwapMeetsDeadlineWithoutTheExtraSwapOut) {
  const Scene set = scene(SwapPolicy::rt_swap, 2);
  const Outcome outcome = simulate(set.tasks, set.plan, once_at(releases(-1us, 200ms, 40'001us), 2s));
  EXPECT_EQ(outcome.tasks[m8].completed, 1u);
  EXPECT_EQ(outcome.missed(), 0u);
}

TEST_P(SimulatedRtSwapCounterexample, PipelinedMeetsDeadline) {
  for (const unsigned copy_engines : {1u, 2u}) {
    const Scene set = scene(SwapPolicy::pipelined, copy_engines);
    const Outcome outcome = simulate(set.tasks, set.plan, once_at(releases(-1us, 39'990us, 40'001us), 2s));
    EXPECT_EQ(outcome.missed(), 0u) << copy_engines << " copy engines";
    for (const TaskStatistics& task : outcome.tasks) EXPECT_EQ(task.completed, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(BothOrders, SimulatedRtSwapCounterexample, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

} // namespace
} // namespace rtexec::simulator
