// Tests admission of sets that swap: charges and bounds computed by hand, the counter-example to RT-Swap's test, and
// the formulas of the pipelined rule against their second implementation.
#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/device/overlap.hpp"
#include "policies/bounds/sentences.hpp"
#include "policies/device/swap_bounds.hpp"
#include "test/policies/reference_pipelined.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::task_of;
using test::test_named;
using test::times_of;
using testing::HasSubstr;
using Reference = rtexec::test::PipelinedSet;
using Faults = rtexec::test::PipelinedFaults;

constexpr Bytes chunk{4096};
constexpr Nanos ms = 1'000'000;
constexpr SwapCost cost{.chunk = chunk,
                        .in_per_chunk = 6ms,
                        .out_per_chunk = 5ms,
                        .drop_per_chunk = 1ms,
                        .in_fixed = 2ms,
                        .out_fixed = 3ms};

Task device_only(std::string name, Duration period, Duration wcet, unsigned core = 0) {
  return task_of(std::move(name), period, {0ns, wcet, 0ns}, core);
}

Board board_of(unsigned copy_engines = 1, SwapCost swap_cost = cost) {
  Board board = test::board_of();
  board.copy_engines = copy_engines;
  board.swap_costs = {swap_cost};
  board.compute_core = 9;
  board.service_core = 8;
  return board;
}

// ---- charges for given volumes ----

struct Assigned {
  TaskSet tasks;
  Plan plan;
};

/// Returns two tasks with four chunks of state each, in seven frames.
Assigned assigned(SwapPolicy policy, unsigned copy_engines = 1) {
  Assigned pair;
  pair.tasks = test::set_of({device_only("quick", 100ms, 10ms), device_only("slow", 400ms, 40ms, 1)});
  pair.plan.tasks.resize(2);
  pair.plan.chunk = chunk;
  pair.plan.swap = SwapPlan{.policy = policy, .frames = 7, .copy_engines = copy_engines, .cost = cost, .store = {}};
  for (std::size_t i = 0; i < 2; ++i) {
    pair.plan.tasks[i].name = pair.tasks.tasks[i].name;
    pair.plan.tasks[i].core = *pair.tasks.tasks[i].core;
    pair.plan.tasks[i].swap_slots.resize(4);
  }
  return pair;
}

NamedSet charged(const Assigned& pair, const Board& board = board_of()) {
  return charged_set(pair.plan, test::resolved(pair.tasks, board), std::vector<std::size_t>{0, 1}, Lateness::any);
}

TEST(SwapCharges, ChargeCopiesInTurnWithOneCopyEngine) {
  const NamedSet named = charged(assigned(SwapPolicy::pipelined));
  EXPECT_EQ(named.set.tasks[0].device, 10 * ms);
  EXPECT_EQ(named.set.tasks[0].load, (2 + 3 + 4 * (6 + 5)) * ms);
}
TEST(SwapCharges, ChargeConcurrentCopiesWithTwoCopyEngines) {
  EXPECT_EQ(charged(assigned(SwapPolicy::pipelined, 2)).set.tasks[0].load, (2 + 3 + 5 + 4 * 6) * ms);
}
TEST(SwapCharges, ChargeDropsWhenNoStateMustBeSaved) {
  Assigned pair = assigned(SwapPolicy::pipelined);
  for (PlannedTask& task : pair.plan.tasks)
    for (SwapSlot& slot : task.swap_slots) slot.copied_out = false;
  EXPECT_EQ(charged(pair).set.tasks[0].load, (2 + 3 + 4 * (6 + 1)) * ms);
  for (PlannedTask& task : pair.plan.tasks) {
    task.swap_slots[3].copied_out = true;
    EXPECT_EQ(charged(pair).set.tasks[0].load, (2 + 3 + 4 * (6 + 5)) * ms);
    task.swap_slots[3].copied_out = false;
  }
}
TEST(SwapCharges, ChargeSerialSwapsAndTheirBlockingUnderRtSwap) {
  Assigned pair = assigned(SwapPolicy::rt_swap, 2);
  const NamedSet named = charged(pair);
  const Nanos out = 4 * 5 + 3 * 3;
  const Nanos in = 4 * 6 + 2;
  EXPECT_EQ(named.set.tasks[0].device, (out + in + 10) * ms);
  EXPECT_EQ(named.set.tasks[0].lead, out * ms);
  EXPECT_EQ(named.set.tasks[0].load, 0);
  // max(O_in + C, C_1 + C_2) + max O_out, with five operations.
  EXPECT_EQ(named.set.background, (in + 40 + 4 * 5 + 5 * 3) * ms);
  pair.tasks.tasks[0].wcet->device = 39ms;
  EXPECT_EQ(charged(pair).set.background, (39 + 40 + 4 * 5 + 5 * 3) * ms);
}
TEST(SwapCharges, ChargeAllTransfersSeriallyUnderLru) {
  const NamedSet named = charged(assigned(SwapPolicy::lru, 2));
  EXPECT_EQ(named.set.tasks[1].device, (2 + 3 + 4 * (6 + 5) + 40) * ms);
  EXPECT_EQ(named.set.background, 0);
}
TEST(SwapCharges, AddDispatchTimeToLoads) {
  Board board = board_of();
  board.dispatch = 100us;
  const NamedSet named = charged(assigned(SwapPolicy::pipelined), board);
  EXPECT_EQ(named.set.tasks[0].load, 49 * ms + 100'000);
  EXPECT_EQ(named.set.tasks[0].device, 10 * ms + 200'000);
}
TEST(SwapCharges, AddDispatchTimeWhenCopiesCostNothing) {
  Board board = board_of();
  board.dispatch = 100us;
  for (const SwapPolicy policy : {SwapPolicy::pipelined, SwapPolicy::serial, SwapPolicy::lru}) {
    Assigned pair = assigned(policy);
    pair.plan.swap->cost = {};
    EXPECT_GE(charged(pair, board).set.tasks[0].on_device(), 10 * ms + 3 * 100'000)
        << "two for the execution, one for what moves";
  }
}
TEST(SwapCharges, ChargeNoLoadToTaskWithoutSwapSlots) {
  for (const SwapPolicy policy : {SwapPolicy::pipelined, SwapPolicy::rt_swap, SwapPolicy::lru}) {
    Assigned pair = assigned(policy);
    pair.plan.tasks[0].swap_slots.clear();
    const NamedSet named = charged(pair);
    EXPECT_EQ(named.set.tasks[0].on_device(), 10 * ms);
    EXPECT_GT(named.set.tasks[1].on_device(), 40 * ms);
  }
}
TEST(SwapCharges, IncludeLoadsOfBestEffortTasksInBlocking) {
  Assigned pair = assigned(SwapPolicy::pipelined);
  pair.tasks.tasks[1].criticality = Criticality::best_effort;
  const NamedSet named = charged(pair);
  EXPECT_EQ(named.set.background, 40 * ms);
  EXPECT_EQ(named.set.background_load, 49 * ms);
}

TEST(SwapCharges, DelayLoadsWhenNoFramesAreFreeDuringAJob) {
  Assigned pair = assigned(SwapPolicy::pipelined); // three frames beyond a job's own: 33 ms
  const auto delay_of = [&](std::size_t task) { return charged(pair).set.tasks[task].delay; };
  pair.tasks.tasks[1].wcet->device = 33ms;
  EXPECT_EQ(delay_of(1), 0);
  pair.tasks.tasks[1].wcet->device += 2ms;
  EXPECT_EQ(delay_of(0), 0);
  EXPECT_EQ(delay_of(1), 2 * ms);
  EXPECT_EQ(charged(pair).load_delay.task, "slow");
  EXPECT_EQ(charged(pair).load_delay.time, 2 * ms);
  pair.plan.swap->frames = 8; // both fit
  EXPECT_EQ(delay_of(1), 0);
  EXPECT_EQ(charged(pair).load_delay.time, 0);
  pair.plan.swap->frames = 7;
  pair.tasks.tasks[1].criticality = Criticality::best_effort;
  EXPECT_EQ(charged(pair).set.background_delay, 2 * ms);
  pair.plan.swap->policy = SwapPolicy::rt_swap; // nothing is loaded during an execution
  EXPECT_EQ(charged(pair).set.background_delay, 0);
}

// The compute engine is more urgent than the copy engines: it starves them if it computes or spins on their core.
TEST(SwapCharges, RejectCopyEnginesOnCoreOfBusyComputeEngine) {
  Assigned pair = assigned(SwapPolicy::pipelined);
  pair.plan.swap->frames = 8;
  Board board = board_of();
  board.service_core = board.compute_core;
  const auto obstacle = charged(pair, board).obstacle;
  ASSERT_TRUE(obstacle);
  EXPECT_THAT(told(*obstacle, charged(pair, board)).explanation, HasSubstr("service_core"));
  board.device = DeviceKind::cuda; // its thread sleeps while the device computes,
  EXPECT_FALSE(charged(pair, board).obstacle);
  Assigned spinning = pair;
  spinning.tasks.device.completion = Completion::spin; // or spins
  EXPECT_TRUE(charged(spinning, board).obstacle);
}

TEST(Overlaps, CountBlockingByBestEffortLoadWithoutExecution) {
  for (const Overlap& overlap : overlaps({{10, 4}, {6, 4}}, {.execution = 0, .load = 50}))
    EXPECT_GE(overlap.background, 50) << overlap.tasks[0].cost;
}

// ---- cores ----

TEST(SwapCharges, ChargeChunkDecisionsToServiceCore) {
  Board board = board_of();
  board.context_switch = 10us;
  const Nanos event = 25'000;
  const NamedSet named = charged(assigned(SwapPolicy::pipelined), board);
  ASSERT_EQ(named.set.service.size(), 2u);
  EXPECT_EQ(named.set.service[0].core, 8u);
  EXPECT_EQ(named.set.service[0].load.period, 100 * ms);
  EXPECT_EQ(named.set.service[0].load.jitter, 100 * ms);
  EXPECT_EQ(named.set.service[0].load.cost, (2 + 4 * 2) * event) << "the job's request and its end, and its chunks";

  const NamedSet exchanged = charged(assigned(SwapPolicy::rt_swap), board);
  ASSERT_EQ(exchanged.set.service.size(), 3u);
  EXPECT_EQ(exchanged.set.service[2].load.cost, 4 * 2 * event); // once
}

TEST(SwapCharges, ExtendLoadsByCpuPartsOnServiceCore) {
  Assigned set = assigned(SwapPolicy::pipelined);
  Board board = board_of();
  const auto load = [&] { return charged(set, board).set.tasks.front().load; };
  const Nanos apart = load();
  set.tasks.tasks[1].wcet->before = 7ms;
  EXPECT_EQ(load(), apart);
  board.service_core = set.tasks.tasks[1].core;
  EXPECT_GE(load(), apart + 7 * ms);
}

TEST(SwapCharges, LeaveLoadUnboundedWhenServiceCoreIsNearlyFull) {
  Assigned set = assigned(SwapPolicy::pipelined);
  Task& busy = set.tasks.tasks[1];
  busy.period = busy.deadline = 100s;
  busy.wcet->before = 100s - 100us;
  Board board = board_of();
  board.service_core = busy.core;
  EXPECT_EQ(charged(set, board).set.tasks.front().load, unbounded) << "a million jobs later it may end";
}

/// Three tasks with two chunks each. Two of them fit.
struct Trio {
  TaskSet tasks =
      test::set_of({device_only("a", 200ms, 20ms), device_only("b", 300ms, 30ms, 1), device_only("c", 400ms, 40ms, 2)});
  std::vector<MemoryDemand> memory = std::vector<MemoryDemand>(3, MemoryDemand{.state = chunk * 2});
  Board board = board_of(2);
  explicit Trio(SwapPolicy policy = SwapPolicy::pipelined, Order order = Order::edf) {
    tasks.swap.policy = policy;
    tasks.executive.order = order;
    tasks.device.capacity = chunk * 4;
    for (Task& task : tasks.tasks) task.swap_volume = chunk * 2;
  }
  Plan plan() const {
    auto made = make_plan(test::resolved(tasks, board), memory);
    if (!made) throw std::runtime_error(made.error().what);
    return std::move(*made);
  }
};

TEST(SwapAdmission, ChargesChunkDecisionsToCpuPartsOnServiceCore) {
  Trio trio;
  const auto window = [&] { return times_of(test_named(trio.plan(), "core 0")).left; };
  const Duration apart = window();
  trio.board.service_core = 0;
  EXPECT_GE(window(), apart + 3 * 2 * 2 * 5us);
  EXPECT_THAT(test_named(trio.plan(), "core 0").explanation, HasSubstr("the scheduler's time on this core"));
  EXPECT_THAT(test_named(trio.plan(), "core 1").explanation, Not(HasSubstr("the scheduler's time on this core")));
  trio.board.service_core = 1;
  EXPECT_THAT(test_named(trio.plan(), "core 1").explanation, HasSubstr("the scheduler's time on this core"));
}

TEST(SwapAdmission, RejectsSetWhenBestEffortTaskCatchesUpWithoutBound) {
  Trio trio;
  trio.board.service_core = 0;
  trio.tasks.tasks[2].criticality = Criticality::best_effort;
  for (Task& task : trio.tasks.tasks) task.period = task.deadline = 10 * task.period;
  EXPECT_TRUE(trio.plan().proved) << test_named(trio.plan(), "end-to-end").explanation;
  trio.tasks.tasks[2].on_overrun = OnOverrun::catch_up;
  EXPECT_FALSE(trio.plan().proved);
}

// ---- whole plans ----

class SwapAdmissionPerOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(SwapAdmission, SwapAdmissionPerOrder, testing::Values(Order::edf, Order::static_priority));

TEST_P(SwapAdmissionPerOrder, ProvesPipelinedSetAndReportsItsVolumes) {
  const Plan plan = Trio(SwapPolicy::pipelined, GetParam()).plan();
  EXPECT_TRUE(plan.proved);
  ASSERT_TRUE(plan.swap);
  EXPECT_EQ(plan.swap->frames, 4u);
  const TestVerdict device = test_named(plan, "pipelined");
  EXPECT_TRUE(device.proved);
  EXPECT_THAT(device.inequality, HasSubstr("lambda"));
  EXPECT_THAT(device.explanation,
              HasSubstr("6 chunks of 4KiB of 3 tasks are swapped in 4 frames, at 6ms in and 5ms out for each"));
  EXPECT_THAT(test_named(plan, "end-to-end").explanation, HasSubstr("6 chunks"));
  for (const PlannedTask& task : plan.tasks) {
    EXPECT_EQ(task.swap_slots.size(), 2u);
    EXPECT_TRUE(task.promised);
    EXPECT_GE(*task.response_bound, task.wcet.device + 2 * 6ms);
  }
}

/// Static priority. Loads: o = 2 + 2 x 3 + 5 + 2 x 6 = 25 ms. With lambda = 25 ms: e = 25, 30, 40. Task c is staged
/// while b executes when a is requested: B = 30 + (40 - 25). Task a's own load is hidden except lambda: 45 + 25 + 20.
TEST(SwapAdmission, ComputesResponseBoundOfExample) {
  const Plan plan = Trio(SwapPolicy::pipelined, Order::static_priority).plan();
  EXPECT_EQ(test_named(plan, "end-to-end").proved, true);
  EXPECT_EQ(plan.tasks[0].response_bound, 90ms + 2ns); // 2 ns: its parts on the core
}

/// EDF. With lambda = 25 ms, a demands 25 + 20 ms, and is blocked by 45 ms.
TEST(SwapAdmission, AcceptsTightestDeadlineOfExample) {
  Trio trio;
  trio.tasks.tasks[0].deadline = 90ms + 2ns;
  EXPECT_TRUE(trio.plan().proved) << test_named(trio.plan(), "end-to-end").explanation;
  trio.tasks.tasks[0].deadline -= 1ns;
  EXPECT_FALSE(trio.plan().proved);
}

/// rt-swap: B = (40 + 30) + 2 x 5 + 7 x 3 = 101 ms. During b's swap-out (19 ms) the second job of a comes and overtakes
/// it: 101 + 19 + 2 x 53 (a: 19 + 14 + 20), then b's swap-in and execution, 14 + 30.
TEST(SwapAdmission, CountsJobsThatOvertakeASwapOutUnderRtSwap) {
  Trio trio(SwapPolicy::rt_swap, Order::static_priority);
  trio.tasks.tasks[0].period = trio.tasks.tasks[0].deadline = 170ms;
  EXPECT_EQ(trio.plan().tasks[1].response_bound, 270ms + 2ns);
}

/// A task keeps its bound if only one below it has none, unless late tasks move chunks on its core.
TEST(SwapAdmission, PromisesTasksAboveFirstFailure) {
  Trio trio(SwapPolicy::pipelined, Order::static_priority);
  trio.tasks.tasks[0].period = trio.tasks.tasks[0].deadline = 5s;
  trio.tasks.tasks[1].period = trio.tasks.tasks[1].deadline = 6s;
  trio.tasks.tasks[2].period = 400s;
  trio.tasks.tasks[2].deadline = 45ms;
  trio.tasks.executive.priorities = PriorityAssignment::rate_monotonic;
  const Plan partly = trio.plan();
  EXPECT_FALSE(partly.proved);
  EXPECT_TRUE(partly.tasks[0].promised);
  EXPECT_FALSE(partly.tasks[2].promised);
  trio.board.service_core = 0;
  EXPECT_FALSE(trio.plan().tasks[0].promised);
}

TEST_P(SwapAdmissionPerOrder, ChargesWholeSwapsUnderRtSwapAndLru) {
  for (const SwapPolicy policy : {SwapPolicy::rt_swap, SwapPolicy::lru}) {
    Trio trio(policy, GetParam());
    const Plan plan = trio.plan();
    const TestVerdict device = test_named(plan, GetParam() == Order::edf ? "demand" : "rta");
    EXPECT_THAT(device.inequality, HasSubstr("O_out + O_in + C"));
    EXPECT_TRUE(plan.proved) << device.explanation;
    for (Task& task : trio.tasks.tasks) task.period = task.deadline = task.period / 2;
    EXPECT_FALSE(trio.plan().proved);
  }
}

TEST_P(SwapAdmissionPerOrder, ChargesNothingWhenEverythingFits) {
  Trio trio(SwapPolicy::pipelined, GetParam());
  trio.tasks.device.capacity = chunk * 6;
  const Plan plan = trio.plan();
  EXPECT_FALSE(plan.swap);
  EXPECT_EQ(plan.device_test.name(), GetParam() == Order::edf ? "demand" : "rta");
  EXPECT_THAT(plan.device_test.explanation, Not(HasSubstr("swapped")));
}

TEST_P(SwapAdmissionPerOrder, RejectsTooMuchLoadingWithReason) {
  Trio trio(SwapPolicy::pipelined, GetParam());
  for (Task& task : trio.tasks.tasks) task.period = task.deadline = 70ms;
  const Plan plan = trio.plan();
  EXPECT_FALSE(plan.proved);
  const TestVerdict device = test_named(plan, "pipelined");
  EXPECT_EQ(times_of(device).left, 1'000'000'000ns * (25 + 30 + 40) / 70);
  EXPECT_THAT(device.explanation, HasSubstr("in each second of the device"));
}

TEST_P(SwapAdmissionPerOrder, ChoosesProvableSwapVolumes) {
  Trio trio(SwapPolicy::pipelined, GetParam());
  for (Task& task : trio.tasks.tasks) task.swap_volume.reset();
  const Plan plan = trio.plan();
  EXPECT_TRUE(plan.proved) << test_named(plan, "end-to-end").explanation;
}

/// The counter-example to RT-Swap's Eq. (3), which gives 0.976 for it.
TEST(SwapAdmission, RejectsCounterexampleToRtSwapTest) {
  std::vector<Task> tasks{device_only("c", 99'990us, 1ms), device_only("m1", 139'990us, 500us)};
  std::vector<std::uint64_t> chunks{1, 0};
  const auto add = [&](const std::string& name, Duration period, std::uint64_t size) {
    tasks.push_back(device_only(name, period, 10ms));
    chunks.push_back(size);
  };
  for (int i = 2; i <= 8; ++i) add("m" + std::to_string(i), 140ms, 0);
  for (int i = 1; i <= 3; ++i) add("L" + std::to_string(i), 100s, 10);
  TaskSet set = test::set_of(std::move(tasks));
  set.swap.policy = SwapPolicy::rt_swap;
  set.device.capacity = chunk * 10;
  std::vector<MemoryDemand> memory;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    memory.push_back({.state = chunk * chunks[i]});
    set.tasks[i].swap_volume = chunk * chunks[i];
  }
  const Board board = board_of(1, {.chunk = chunk, .in_per_chunk = 3ms, .out_per_chunk = 3ms, .drop_per_chunk = 3ms});
  const Plan plan = make_plan(test::resolved(set, board), memory).value();
  EXPECT_FALSE(plan.proved);
  const TestVerdict demand = test_named(plan, "demand");
  // Due by 139.99999 ms, blocked by 70 ms.
  EXPECT_EQ(times_of(demand).left - times_of(demand).right,
            (1ms + 6ms) + 500us + 7 * 10ms + (40ms + 30ms) - 139'999'990ns);
  EXPECT_THAT(demand.explanation, HasSubstr("work that began before blocks for 70ms"));
}

// ---- reservations ----

struct Reserved3 : Trio {
  explicit Reserved3(Order order) : Trio(SwapPolicy::pipelined, order) {
    tasks.executive.threads = ThreadPolicy::deadline;
    board.device = DeviceKind::cuda;
    board.context_switch = 10us;
    board.swap_costs = {{.chunk = chunk,
                         .in_per_chunk = 2ms,
                         .out_per_chunk = 2ms,
                         .drop_per_chunk = 50us,
                         .in_fixed = 150us,
                         .out_fixed = 150us}};
  }
};

TEST_P(SwapAdmissionPerOrder, ReservesCopyEnginesUnderReservations) {
  Reserved3 trio(GetParam());
  const Plan plan = trio.plan();
  EXPECT_TRUE(plan.proved) << test_named(plan, "end-to-end").explanation;
  ASSERT_TRUE(plan.services && plan.services->copy);
  EXPECT_EQ(plan.services->copy->runtime, 15ms);
  // 3 events for each task, at most 3 chunks in and 5 out in each window of 1.175 ms or more, and the spare.
  EXPECT_GE(plan.services->scheduler.runtime, 50us + (9 + 3 + 5) * 25us);
  EXPECT_GE(plan.services->scheduler.window, 5 * plan.services->scheduler.runtime);

  trio.tasks.device.capacity = chunk * 6;
  const Plan fits = trio.plan();
  EXPECT_FALSE(fits.services->copy);
  EXPECT_EQ(fits.services->scheduler.runtime, 9ms) << "it has a core of its own";
}

/// 2 ms and twice 2 ms, and 150 us to begin and for each of two victims: 6.45 ms. The scheduler's window comes first.
/// Its events, three for each of two jobs of each task, and CPU parts on the service core interrupt the load.
TEST(SwapCharges, ExtendLoadsBySchedulerUnderReservations) {
  Reserved3 trio(Order::edf);
  const Plan plan = trio.plan();
  const auto load = [&] {
    return charged_set(plan, test::resolved(trio.tasks, trio.board), std::vector<std::size_t>{0, 1, 2}, Lateness::any)
        .set.tasks[0]
        .load;
  };
  const Nanos apart = load();
  EXPECT_EQ(apart, 6'450'000 + plan.services->scheduler.window.count() + 3 * 2 * 75'000);
  trio.board.service_core = 1;
  EXPECT_EQ(load(), apart + 2 * 2 * 20'001 - 2 * 2);
}

/// Two tasks of three chunks and 40 ms each, at 11 ms a chunk, in four frames: one frame is free for loads during a
/// job.
TEST_P(SwapAdmissionPerOrder, ChargesAndReportsDelayOfLoads) {
  const auto planned = [](Duration period, std::uint64_t frames, SwapPolicy policy) {
    TaskSet set = test::set_of({device_only("a", period, 40ms), device_only("b", period, 40ms, 1)}, GetParam());
    set.swap.policy = policy;
    set.device.capacity = chunk * frames;
    for (Task& task : set.tasks) task.swap_volume = chunk * 3;
    const MemoryDemand memory{.state = chunk * 3};
    return make_plan(test::resolved(set, board_of()), std::vector{memory, memory}).value();
  };
  const auto told_of = [](const Plan& plan) { return test_named(plan, "end-to-end").explanation; };
  // o = 5 + 3 x 11, delay = 40 - 11: each job costs max(40, 38 + 29) at the best lambda.
  const Plan tight = planned(300ms, 4, SwapPolicy::pipelined);
  EXPECT_TRUE(tight.proved) << told_of(tight);
  EXPECT_THAT(told_of(tight),
              HasSubstr("a load concurrent with a job of task 'a' may wait for up to 29ms for its frames"));
  EXPECT_THAT(told_of(tight), Not(HasSubstr("serial")));
  const Plan roomy = planned(300ms, 5, SwapPolicy::pipelined);
  EXPECT_THAT(told_of(roomy), HasSubstr("up to 18ms"));
  EXPECT_LT(*roomy.tasks[0].response_bound, *tight.tasks[0].response_bound);
  const Plan refused = planned(130ms, 4, SwapPolicy::pipelined);
  EXPECT_FALSE(refused.proved);
  EXPECT_THAT(told_of(refused), HasSubstr("[swap] policy = \"serial\" needs fewer frames"));
}

/// Under reservations, executions are charged 18 ms more. Then (M) fails for volumes that would suffice for the
/// measured ones. The set is RT-Swap's case study.
TEST_P(SwapAdmissionPerOrder, ChoosesVolumesForChargedExecutionTimes) {
  constexpr Bytes mebibyte{std::uint64_t{1} << 20};
  TaskSet set = test::set_of({});
  std::vector<MemoryDemand> memory;
  const auto add = [&](const char* name, Duration period, Duration device, std::uint64_t whole,
                       std::uint64_t swappable) {
    set.tasks.push_back(task_of(name, period, {8ms, device, 50us}, static_cast<unsigned>(set.tasks.size()) + 2));
    memory.push_back({.state = mebibyte * swappable, .fixed = mebibyte * (whole - swappable)});
  };
  add("densenet", 600ms, 2730us, 1639, 922);
  add("resnet", 600ms, 2950us, 1434, 717);
  for (const char* name : {"first", "second"}) add(name, 900ms, 4580us, 5837, 4608);
  for (const char* name : {"third", "fourth"}) add(name, 1200ms, 4770us, 5837, 4608);
  set.executive.order = GetParam();
  set.executive.threads = ThreadPolicy::deadline;
  set.device.chunk = mebibyte * 32;
  set.swap.policy = SwapPolicy::pipelined;
  Board board = board_of(2, {.chunk = mebibyte * 32,
                             .in_per_chunk = 918us,
                             .out_per_chunk = 785us,
                             .drop_per_chunk = 64us,
                             .in_fixed = 30us,
                             .out_fixed = 30us});
  board.device = DeviceKind::cuda;
  board.context_switch = 10us;
  board.capacity = mebibyte * (23 * 1024);
  const auto plan = make_plan(test::resolved(set, board), memory);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->proved) << test_named(*plan, "end-to-end").explanation;
}

TEST_P(SwapAdmissionPerOrder, CountsServiceReservationsOnTheirCore) {
  Reserved3 trio(GetParam());
  const Duration apart = times_of(test_named(trio.plan(), "core 0")).left;
  trio.board.service_core = 0;
  EXPECT_GE(times_of(test_named(trio.plan(), "core 0")).left, apart + 2 * 300ms);
  EXPECT_THAT(test_named(trio.plan(), "core 0").explanation, HasSubstr("copy engines"));
}

TEST_P(SwapAdmissionPerOrder, RejectsCopyEngineThatExceedsItsReservation) {
  Reserved3 trio(GetParam());
  trio.board.device = DeviceKind::host; // the host device copies with the CPU
  const Plan plan = trio.plan();
  EXPECT_FALSE(plan.proved);
  EXPECT_THAT(test_named(plan, "end-to-end").explanation, HasSubstr("copies by itself"));
  EXPECT_GT(times_of(test_named(plan, "end-to-end")).left, 15ms);
  for (const PlannedTask& task : plan.tasks) EXPECT_FALSE(task.promised);
  trio.tasks.executive.threads = ThreadPolicy::fifo;
  EXPECT_TRUE(trio.plan().proved);

  trio = Reserved3(GetParam());
  trio.board.swap_costs.front().in_per_chunk = 100us; // too many chunks in a window
  EXPECT_THAT(test_named(trio.plan(), "end-to-end").explanation, HasSubstr("larger chunk"));
}

// ---- against the second implementation ----

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  long long between(long long low, long long high) {
    return std::uniform_int_distribution<long long>(low, high)(random_);
  }

 private:
  std::mt19937 random_;
};

Reference random_set(Draw& draw) {
  Reference set{.tasks = {}, .per_chunk = draw.between(1, 6)};
  const long long n = draw.between(2, 5);
  for (long long i = 0; i < n; ++i) {
    const long long period = draw.between(20, 120);
    const bool swaps = draw.between(0, 2) > 0;
    set.tasks.push_back({.period = period,
                         .deadline = draw.between(0, 1) == 0 ? period : draw.between(period / 2, period),
                         .device = draw.between(1, period / n),
                         .load = swaps ? draw.between(1, 3 * period / (2 * n)) : 0,
                         .chunks = swaps ? static_cast<unsigned>(draw.between(1, 4)) : 0u});
    set.frames = std::max(set.frames, set.tasks.back().chunks);
  }
  set.frames += static_cast<unsigned>(draw.between(0, 4));
  std::ranges::sort(set.tasks, {}, &rtexec::test::PipelinedTask::period);
  return set;
}

Nanos delay_of(const Reference& set, std::size_t task) {
  LargestVolumes largest;
  for (const auto& each : set.tasks) largest.add(each.chunks);
  const auto& [period, deadline, device, load, chunks] = set.tasks[task];
  return load_delay(device, chunks, largest.other_than(chunks), set.frames, set.per_chunk);
}

std::vector<DemandTask> demand_tasks(const Reference& set) {
  std::vector<DemandTask> tasks;
  for (const auto& task : set.tasks)
    tasks.push_back({.period = task.period,
                     .deadline = task.deadline,
                     .cost = task.device,
                     .load = task.load,
                     .delay = delay_of(set, tasks.size())});
  return tasks;
}

/// Returns response bounds of device parts that are requested at their release.
std::optional<std::vector<long long>> static_bounds(const Reference& set) {
  StagedSet staged;
  for (const auto& task : set.tasks)
    staged.tasks.push_back({.period = task.period,
                            .deadline = task.deadline,
                            .device = task.device,
                            .load = task.load,
                            .delay = delay_of(set, staged.tasks.size())});
  const std::vector<StageBounds> at_release(set.tasks.size());
  std::vector<long long> bounds;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceResponse response = static_priority_device(staged, staged.overlapped(), i, at_release, 0);
    if (!response.settled || response.from_release > set.tasks[i].deadline) return std::nullopt;
    bounds.push_back(response.from_release);
  }
  return bounds;
}

bool accepts(const Reference& set, Order order) {
  return order == Order::edf ? analyse_demand(demand_tasks(set), {}).proved() : static_bounds(set).has_value();
}

TEST(PipelinedReference, AgreesWithDemandTest) {
  Draw draw(31);
  int proved = 0;
  int refused = 0;
  for (int i = 0; i < 6'000; ++i) {
    const Reference set = random_set(draw);
    const bool accepted = accepts(set, Order::edf);
    ASSERT_EQ(accepted, rtexec::test::reference_pipelined(set, Order::edf).has_value()) << "set " << i;
    (accepted ? proved : refused)++;
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(PipelinedReference, AgreesWithResponseTimes) {
  Draw draw(32);
  int proved = 0;
  int refused = 0;
  for (int i = 0; i < 8'000; ++i) {
    const Reference set = random_set(draw);
    const auto bounds = static_bounds(set);
    ASSERT_EQ(bounds, rtexec::test::reference_pipelined(set, Order::static_priority)) << "set " << i;
    (bounds ? proved : refused)++;
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(refused, 1000);
}

struct Broken {
  const char* name;
  Faults faults;
};

class PipelinedReferenceWithFault : public testing::TestWithParam<Broken> {};
INSTANTIATE_TEST_SUITE_P(Deliberate, PipelinedReferenceWithFault,
                         testing::Values(Broken{"staged_load", {.staged_load = true}},
                                         Broken{"running_job", {.running_job = true}},
                                         Broken{"pairing", {.pairing = true}}, Broken{"bypass", {.bypass = true}},
                                         Broken{"delay", {.delay = true}}),
                         [](const auto& broken) { return std::string(broken.param.name); });

/// If no load is delayed, verdicts and bounds equal those of the test without delays.
TEST(PipelinedReference, NeedsNoDelayChargeWhenLoadsHaveRoom) {
  Draw draw(35);
  int with_room = 0;
  for (int i = 0; i < 8'000; ++i) {
    const Reference set = random_set(draw);
    const bool room = !without_load_room(
        set.tasks.size(), set.frames, [&](std::size_t k) { return set.tasks[k].chunks; },
        [&](std::size_t k) { return frames_loaded_in(set.tasks[k].device, set.per_chunk); });
    for (std::size_t k = 0; room && k < set.tasks.size(); ++k) ASSERT_EQ(delay_of(set, k), 0) << "set " << i;
    const bool charged = accepts(set, Order::edf);
    const auto bounds = static_bounds(set);
    const auto uncharged = rtexec::test::reference_pipelined(set, Order::static_priority, {.delay = true});
    ASSERT_LE(charged, rtexec::test::reference_pipelined(set, Order::edf, {.delay = true}).has_value());
    ASSERT_LE(bounds.has_value(), uncharged.has_value());
    if (!room) continue;
    ASSERT_EQ(charged, rtexec::test::reference_pipelined(set, Order::edf, {.delay = true}).has_value()) << "set " << i;
    ASSERT_EQ(bounds, uncharged) << "set " << i;
    ++with_room;
  }
  EXPECT_GT(with_room, 2000);
}

TEST_P(PipelinedReferenceWithFault, DiffersFromAnalysis) {
  for (const Order order : {Order::edf, Order::static_priority}) {
    Draw draw(33);
    int different = 0;
    for (int i = 0; i < 3'000; ++i) {
      const Reference set = random_set(draw);
      different += accepts(set, order) != rtexec::test::reference_pipelined(set, order, GetParam().faults).has_value();
    }
    EXPECT_GT(different, 5);
  }
}

/// For a given number of jobs, the least sum of e over all lambda is that of as many of the largest C's and o's. This
/// is the worst pairing of executions with loads.
TEST(Overlap, LeastSumEqualsSumOfLargestElements) {
  Draw draw(34);
  for (int i = 0; i < 3'000; ++i) {
    std::vector<DevicePart> parts;
    std::vector<Nanos> jobs;
    std::vector<Nanos> elements;
    for (long long n = draw.between(1, 6); n > 0; --n) {
      parts.push_back({draw.between(1, 30), draw.between(0, 30)});
      jobs.push_back(draw.between(0, 4));
      for (Nanos k = 0; k < jobs.back(); ++k)
        elements.insert(elements.end(), {parts.back().execution, parts.back().load});
    }
    std::ranges::sort(elements, std::greater());
    Nanos expected = 0;
    for (std::size_t k = 0; k < elements.size() / 2; ++k) expected += elements[k];
    Nanos least = unbounded;
    for (const Overlap& overlap : overlaps(parts, {})) {
      Nanos sum = 0;
      for (std::size_t k = 0; k < parts.size(); ++k) sum += jobs[k] * overlap.tasks[k].cost;
      least = std::min(least, sum);
    }
    // Loads longer than the longest execution are not among the lambdas: there e only grows with lambda.
    ASSERT_EQ(least, expected) << i;
  }
}

/// The blocking by best-effort tasks is at most that of tasks of the set that are never due.
TEST(Overlap, TreatsBestEffortTasksAsLessUrgent) {
  const std::vector<DevicePart> parts{{10, 25}, {20, 0}};
  for (const Overlap& overlap : overlaps(parts, {30, 40})) {
    ASSERT_EQ(overlap.tasks.size(), 2u);
    const Nanos lambda = overlap.tasks[1].lead; // the lead of a task without a load
    EXPECT_EQ(overlap.background,
              std::max(lambda, Nanos{30}) + std::max(30 - lambda, Nanos{0}) + std::max(40 - lambda, Nanos{0}));
    EXPECT_EQ(overlap.tasks[0].blocking,
              std::max(lambda, Nanos{30}) + std::max(10 - lambda, Nanos{0}) + std::max(25 - lambda, Nanos{0}));
  }
}

// ---- size ----

/// The largest number of tasks that a GPU's memory may serve, far from the edge and beyond it: the search for volumes
/// ends soon.
TEST_P(SwapAdmissionPerOrder, DecidesOnFortyTasks) {
  const Board board = board_of(2, {.chunk = chunk,
                                   .in_per_chunk = 1400us,
                                   .out_per_chunk = 1400us,
                                   .drop_per_chunk = 50us,
                                   .in_fixed = 150us,
                                   .out_fixed = 150us});
  for (const int shortest : {3000, 1300, 900}) {
    TaskSet set = test::set_of({}, GetParam());
    std::vector<MemoryDemand> memory;
    for (int i = 0; i < 40; ++i) {
      set.tasks.push_back(task_of("t" + std::to_string(i), std::chrono::milliseconds(shortest + 50 * i),
                                  {2ms, std::chrono::milliseconds(30 + i), 1ms}, static_cast<unsigned>(i % 4)));
      memory.push_back({.state = chunk * static_cast<std::uint64_t>(20 + i)});
    }
    set.device.capacity = chunk * 400;
    const auto plan = make_plan(test::resolved(set, board), memory);
    ASSERT_TRUE(plan) << plan.error().what;
    EXPECT_TRUE(plan->swap);
    EXPECT_EQ(plan->proved, shortest == 3000) << plan->device_test.explanation;
    for (const TestVerdict& test : plan->tests())
      EXPECT_EQ(test.proved, test.sides().left <= test.sides().right) << test.name() << ": " << test.explanation;
  }
}

} // namespace
} // namespace rtexec::policies
