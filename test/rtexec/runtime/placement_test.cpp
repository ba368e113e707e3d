// Tests the settings of a plan's threads, and a plan's reservations under the kernel of this machine.
#include "rtexec/runtime/executive/placement.hpp"
#include <rtexec/planning.hpp>

#include "policies/admission/admission.hpp"
#include "policies/bounds/reservations.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/resolved.hpp"
#include "test/support/expected_result.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::executive {
namespace {

using namespace test;
using testing::HasSubstr;

Board board_of() {
  Board board;
  board.name = "host";
  board.capacity = Bytes{1 << 30};
  board.chunk = Bytes{2 << 20};
  board.memory_policies = {MemoryPolicy::device};
  board.compute_core = 1;
  board.service_core = 0;
  board.context_switch = 10us;
  board.dispatch = 60us;
  board.release_latency = 100us;
  return board;
}

struct ThreadPlacement : testing::Test {
  // There are no cpusets under this root: the settings are tested, not the partition.
  hal::Machine machine{"/nonexistent"};
  TaskSet set = set_of({synthetic("quick", 20ms, {.before = 1ms, .device = 1ms, .after = {}}),
                        synthetic("slow", 40ms, {.before = 1ms, .device = 1ms, .after = 1ms}),
                        synthetic("extra", 50ms, {.before = 1ms, .device = 1ms, .after = 1ms})},
                       1s);
  Plan plan;

  ThreadPlacement() { set.tasks[2].criticality = Criticality::best_effort; }

  Placement placement(ThreadPolicy threads) {
    set.executive.threads = threads;
    const Board board = board_of();
    plan = policies::make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size())).value();
    return place_threads(resolve(set, board, this_machine()), plan, machine);
  }
};

std::vector<std::string> degraded(const Placement& placement) { return degradations(placement.needs); }

bool class_refused(const Placement& placement) {
  return std::ranges::any_of(degraded(placement), [](const std::string& line) { return line.contains("SCHED_OTHER"); });
}

void expect_planned(const hal::ThreadSettings& thread, const CpuReservation& planned) {
  ASSERT_TRUE(thread.reservation) << thread.name;
  EXPECT_EQ(thread.fifo_priority, 0) << thread.name;
  EXPECT_EQ(thread.reservation->runtime, planned.runtime) << thread.name;
  EXPECT_EQ(thread.reservation->deadline, planned.window) << thread.name;
  EXPECT_EQ(thread.reservation->period, planned.window) << thread.name;
}

void expect_ordinary(const hal::ThreadSettings& thread) {
  EXPECT_FALSE(thread.reservation) << thread.name;
  EXPECT_EQ(thread.fifo_priority, 0) << thread.name;
}

TEST_F(ThreadPlacement, UsesPlannedReservationsWithImplicitDeadlines) {
  const Placement placed = placement(ThreadPolicy::deadline);
  if (class_refused(placed)) GTEST_SKIP() << "SCHED_DEADLINE is refused here";
  for (std::size_t i = 0; i < 2; ++i) {
    expect_planned(placed.release[i], *plan.tasks[i].before_reservation);
    expect_planned(placed.completion[i], *plan.tasks[i].after_reservation);
  }
  expect_planned(placed.scheduler, plan.services->scheduler);
  expect_planned(placed.compute, plan.services->compute);
  for (const auto& ordinary : {placed.release[2], placed.completion[2], placed.copy_in, placed.copy_out})
    expect_ordinary(ordinary);
  EXPECT_THAT(to_string(scheduling_of(placed.compute)), "DEADLINE 9ms/10ms");
  EXPECT_THAT(degraded(placed), testing::Contains(HasSubstr("not pinned")));
}

TEST_F(ThreadPlacement, LongestWindowCoversEveryThread) {
  Placement placed;
  placed.release.resize(2);
  placed.completion.resize(2);
  EXPECT_EQ(longest_window(placed), 0ms) << "FIFO";
  Duration window = 50ms;
  for (hal::ThreadSettings* thread : {&placed.scheduler, &placed.compute, &placed.copy_in, &placed.copy_out,
                                      &placed.release[1], &placed.completion[1]}) {
    window += 1ms;
    thread->reservation = {.runtime = 1ms, .deadline = window, .period = window};
    EXPECT_EQ(longest_window(placed), window);
  }
}

TEST_F(ThreadPlacement, FifoPrioritiesFollowRanks) {
  const Placement placed = placement(ThreadPolicy::fifo);
  if (class_refused(placed)) GTEST_SKIP() << "SCHED_FIFO is refused here";
  EXPECT_GT(placed.scheduler.fifo_priority, placed.compute.fifo_priority);
  EXPECT_GT(placed.compute.fifo_priority, placed.release[0].fifo_priority);
  EXPECT_GT(placed.release[0].fifo_priority, placed.release[1].fifo_priority);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(placed.completion[i].fifo_priority, placed.release[i].fifo_priority);
    EXPECT_FALSE(placed.release[i].reservation || placed.completion[i].reservation);
  }
  expect_ordinary(placed.release[2]);
  expect_ordinary(placed.completion[2]);
}

// Admission assumes that copy engines are less urgent than all CPU parts of their core.
TEST_F(ThreadPlacement, SecondComputeEngineSharesCoreOfFirstUnderCoRun) {
  EXPECT_FALSE(placement(ThreadPolicy::fifo).secondary_compute);
  plan.tasks[0].co_run = CoRun{.wcet = 1ms, .idle = {}};
  const ResolvedSet resolved = resolve(set, board_of(), this_machine());
  const Placement placed = place_threads(resolved, plan, machine);
  ASSERT_TRUE(placed.secondary_compute);
  EXPECT_EQ(placed.secondary_compute->name, "beside");
  EXPECT_EQ(placed.secondary_compute->core, placed.compute.core);
  EXPECT_EQ(placed.secondary_compute->fifo_priority, placed.compute.fifo_priority);
  EXPECT_EQ(placed.secondary_compute->stack, placed.compute.stack);
}

TEST_F(ThreadPlacement, LowestTaskPriorityIsAboveCopyEngines) {
  constexpr std::size_t most = 89;
  const Task task = synthetic("task", 10s, {.before = 1us, .device = 1us, .after = {}});
  set.tasks.assign(most, task);
  for (std::size_t i = 0; i < most; ++i) set.tasks[i].name = "task" + std::to_string(i);
  const Placement placed = placement(ThreadPolicy::fifo);
  if (class_refused(placed)) GTEST_SKIP() << "SCHED_FIFO is refused here";
  for (const auto& thread : placed.release) EXPECT_GT(thread.fifo_priority, placed.copy_in.fifo_priority);
  set.tasks.push_back(task);
  EXPECT_TRUE(fails(refusal_of(placement(ThreadPolicy::fifo).needs, true), Errc::refused,
                    "more than the kernel has priorities"));
}

TEST_F(ThreadPlacement, ReportsMissingCoreAndItsUser) {
  const Board board = board_of();
  set.executive.threads = ThreadPolicy::fifo;
  MachineFacts small = this_machine();
  small.cores = {0};
  small.withheld = {1};
  plan = policies::make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size())).value();
  for (PlannedTask& task : plan.tasks) task.core = 0;
  plan.tasks[0].core = 7;
  const ResolvedSet resolved = resolve(set, board, small);
  const auto refusal = refusal_of(place_threads(resolved, plan, machine).needs, false);
  EXPECT_TRUE(
      fails(refusal, Errc::refused, "core 1: the compute engine of board 'host': this process may not use core 1"));
  EXPECT_TRUE(fails(refusal, Errc::refused, "core 7: task 'quick': this machine has cores 0 only"));
  EXPECT_THAT(refusal.error().what, testing::Not(HasSubstr("is used instead"))) << "it is refused";
  EXPECT_THAT(degraded(place_threads(resolved, plan, machine)),
              testing::Contains(HasSubstr("core 0 is used instead of core 7: task 'quick'")));
}

TEST_F(ThreadPlacement, ReportsComputeEngineThatStarvesCopyEnginesOnSameCore) {
  Board board = board_of();
  set.executive.threads = ThreadPolicy::fifo;
  plan = policies::make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size())).value();
  board.compute_core = board.service_core = 0; // as if the process may not use one of them
  const auto coincide = [&] {
    return std::ranges::any_of(degraded(place_threads(resolve(set, board, this_machine()), plan, machine)),
                               [](const std::string& line) { return line.contains("copy engines"); });
  };
  EXPECT_FALSE(coincide());
  plan.swap = SwapPlan{};
  EXPECT_TRUE(coincide());
  board.device = DeviceKind::cuda;
  EXPECT_FALSE(coincide());
}

TEST(ThreadPolicyResolution, KeepsExplicitPolicyAndResolvesAutomatic) {
  const auto available = [](ThreadPolicy asked) {
    TaskSet tasks;
    tasks.executive.threads = asked;
    return resolve(tasks, {}, this_machine()).tasks.executive.threads;
  };
  EXPECT_EQ(available(ThreadPolicy::fifo), ThreadPolicy::fifo);
  EXPECT_EQ(available(ThreadPolicy::deadline), ThreadPolicy::deadline);
  EXPECT_NE(available(ThreadPolicy::automatic), ThreadPolicy::automatic);
}

// ---- under this machine's kernel ----

/// Returns the report, or why this machine cannot run the set. Another program may hold the cores for a while.
Result<Report> run_reserved(std::vector<Task> tasks, Duration duration) {
  TaskSet set = set_of(std::move(tasks), duration);
  set.executive.allow_degraded = false;
  set.executive.threads = ThreadPolicy::deadline;
  for (int attempt = 0;; ++attempt) {
    auto executive = executive::create(set, {});
    if (!executive) return Unexpected(executive.error());
    if (!executive->plan().proved) return fail(Errc::not_proved, executive->plan().end_to_end.explanation);
    const auto started = executive->start();
    if (!started && started.error().what.contains("in use") && attempt < 10) {
      hal::sleep_until(hal::now() + 1s);
      continue;
    }
    if (!started) return Unexpected(started.error());
    executive->wait();
    return executive->stop();
  }
}

TEST(DeadlineReservations, KeepMedianResponseTimesWithinBounds) {
  const auto report = run_reserved({synthetic("long", 100ms, {.before = 1ms, .device = 30ms, .after = 1ms}),
                                    synthetic("quick", 80ms, {.before = 1ms, .device = 2ms, .after = {}})},
                                   2s);
  if (!report && report.error().code != Errc::not_proved)
    GTEST_SKIP() << "SCHED_DEADLINE threads are refused here: " << report.error().what;
  ASSERT_TRUE(report) << report.error().what;
  for (const TaskReport& task : report->tasks) {
    EXPECT_GT(task.completed, 10u) << task.name;
    EXPECT_LE(task.missed, task.released / 5) << task.name; // a shared machine may stop any thread
    EXPECT_LE(task.response.p50, *task.bound) << task.name;
    EXPECT_LT(task.release_latency.p50, 1ms) << task.name;
  }
}

// ---- cores that the plan chooses ----

TEST(ChosenCores, AreOnlineCoresOtherThanComputeCore) {
  const auto online = hal::Machine().online_cores();
  auto set = set_of({synthetic("quick", 20ms, {.before = 1ms, .device = 1ms, .after = {}}),
                     synthetic("slow", 40ms, {.before = 1ms, .device = 1ms, .after = 1ms})},
                    1s);
  set.tasks[1].core = 0;
  const auto executive = executive::create(set);
  ASSERT_TRUE(executive) << executive.error().what;
  EXPECT_EQ(executive->set().machine.cores, online);
  const auto& chosen = executive->plan().tasks[0];
  EXPECT_TRUE(chosen.core_chosen);
  EXPECT_THAT(online, testing::Contains(chosen.core));
  if (online.size() > 1) { EXPECT_NE(chosen.core, executive->set().compute_core); }
  EXPECT_EQ(executive->plan().tasks[1].core, 0u);
  EXPECT_FALSE(executive->plan().tasks[1].core_chosen);
}

TEST_F(ThreadPlacement, UsesPlannedCores) {
  set.executive.threads = ThreadPolicy::fifo;
  const Board board = board_of();
  plan = policies::make_plan(test::resolved(set, board, {0, 1}), std::vector<MemoryDemand>(set.tasks.size())).value();
  const hal::Machine here;
  if (here.online_cores().size() < 2) GTEST_SKIP() << "one core";
  plan.tasks[0].core = here.online_cores()[1];
  plan.tasks[1].core = here.online_cores()[0];
  const auto placed = place_threads(resolve(set, board, this_machine()), plan, here);
  EXPECT_EQ(placed.release[0].core, plan.tasks[0].core);
  EXPECT_EQ(placed.completion[1].core, plan.tasks[1].core);
}

TEST(DeadlineReservations, AcceptPeriodAboveKernelLimit) {
  const auto report = run_reserved({synthetic("rare", 5s, {.before = 1ms, .device = 8ms, .after = 1ms})}, 2s);
  if (!report && report.error().code != Errc::not_proved)
    GTEST_SKIP() << "SCHED_DEADLINE threads are refused here: " << report.error().what;
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->tasks[0].completed, 1u);
}

// ---- time that is not execution ----

struct UnexecutedTimeLimit : testing::Test {
  UnexecutedTimeLimit() {
    board.dispatch = 60us;
    placement.compute.core = 1;
    for (auto* service : {&placement.scheduler, &placement.copy_in, &placement.copy_out}) service->core = 0;
    placement.release.resize(2, {.name = "task", .core = 0, .reservation = {}});
    placement.completion = placement.release;
  }
  Duration on(DeviceKind device) {
    board.device = device;
    return max_not_executed(placement, board);
  }
  Board board;
  Placement placement;
};

TEST_F(UnexecutedTimeLimit, IsUnlimitedForHostDeviceWithSeparateCore) {
  EXPECT_EQ(on(DeviceKind::host), Duration::max());
}

TEST_F(UnexecutedTimeLimit, IsZeroForHostDeviceWithSharedCore) {
  for (auto* thread : {&placement.scheduler, &placement.copy_in, &placement.copy_out, &placement.release[1],
                       &placement.completion[0]}) {
    thread->core = 1;
    EXPECT_EQ(on(DeviceKind::host), 0us);
    thread->core.reset(); // not pinned
    EXPECT_EQ(on(DeviceKind::host), 0us);
    thread->core = 0;
  }
  placement.compute.core.reset();
  EXPECT_EQ(on(DeviceKind::host), 0us);
}

TEST_F(UnexecutedTimeLimit, OfGpuIsTwoDispatchesPlusPlatformStall) {
  EXPECT_EQ(on(DeviceKind::cuda), 120us);
  placement.compute.core = 0;
  EXPECT_EQ(on(DeviceKind::cuda), 120us);
  board.platform_stall = 1ms;
  EXPECT_EQ(on(DeviceKind::cuda), 1120us);
}

} // namespace
} // namespace rtexec::executive
