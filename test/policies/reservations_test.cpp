// Tests reservations: the plan's choice, and attacks in virtual time on the cores and the compute engine under them.
#include "policies/admission/admission.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/bounds/reservations.hpp"
#include "test/policies/constant_bandwidth.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::ConstantBandwidthCore;
using test::task_of;
using test::test_named;
using test::times_of;
using testing::HasSubstr;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  Nanos between(Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random_); }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::mt19937 random_;
};

Board charged_board(unsigned service_core) {
  Board board = test::board_of();
  board.compute_core = 9;
  board.service_core = service_core;
  board.context_switch = 10us;
  board.dispatch = 60us;
  board.release_latency = 100us;
  return board;
}

TaskSet set_of(std::vector<Task> tasks, Order order = Order::edf) {
  TaskSet set = test::set_of(std::move(tasks), order);
  set.executive.threads = ThreadPolicy::deadline;
  return set;
}

Plan plan_of(const TaskSet& set, unsigned service_core = 0) {
  auto plan = make_plan(test::resolved(set, charged_board(service_core)), std::vector<MemoryDemand>(set.tasks.size()));
  if (!plan) throw std::runtime_error(plan.error().what);
  return std::move(*plan);
}

// ---- the lemma ----

struct Arrival {
  Nanos when = 0;
  std::size_t server = 0;
  Nanos work = 0;
};

/// Draws work for one server: in no window more than its runtime; in bursts, on the edge of the window, or spread.
std::vector<Arrival> arrivals_for(std::size_t server, Nanos runtime, Nanos window, Nanos horizon, Draw& draw) {
  std::vector<Arrival> arrivals;
  Nanos now = draw.between(0, window);
  while (now < horizon) {
    Nanos recent = 0;
    for (auto it = arrivals.rbegin(); it != arrivals.rend() && it->when > now - window; ++it) recent += it->work;
    if (const Nanos allowed = runtime - recent; allowed > 0)
      arrivals.push_back({now, server, draw.one_in(2) ? allowed : draw.between(1, allowed)});
    const Nanos edge = arrivals.empty() ? window : std::max(Nanos{1}, arrivals.back().when + window - now);
    now += draw.one_in(2) ? edge : draw.between(1, draw.one_in(3) ? 2 * window : std::max(Nanos{1}, window / 4));
  }
  return arrivals;
}

/// Returns by how much the latest piece of work exceeds its window. The result is at most 0 if the lemma holds.
Nanos worst_excess(Nanos share_in_thousandths, unsigned seed) {
  Draw draw(seed);
  const Nanos n = draw.between(1, 5);
  ConstantBandwidthCore core;
  std::vector<Arrival> arrivals;
  for (Nanos i = 0; i < n; ++i) {
    const Nanos window = draw.between(20, 400);
    const Nanos runtime = std::max(Nanos{1}, window * share_in_thousandths / 1000 / n);
    core.add(runtime, window);
    const auto more = arrivals_for(static_cast<std::size_t>(i), runtime, window, 4000, draw);
    arrivals.insert(arrivals.end(), more.begin(), more.end());
  }
  std::ranges::stable_sort(arrivals, {}, &Arrival::when);
  for (const Arrival& each : arrivals) core.arrive(each.server, each.when, each.work);
  core.finish();
  Nanos worst = -unbounded;
  for (const auto& end : core.ends) worst = std::max(worst, end.end - end.arrival - core.window(end.server));
  return worst;
}

TEST(Reservations, ServeOneRuntimeOfWorkPerWindowWithinTheWindow) {
  Nanos worst = -unbounded;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    worst = worst_excess(1000, seed);
    ASSERT_LE(worst, 0) << "seed " << seed;
  }
}

TEST(Reservations, SimulationDetectsOvercommittedCore) {
  int caught = 0;
  for (unsigned seed = 0; seed < 500; ++seed) caught += worst_excess(1150, seed) > 0;
  EXPECT_GT(caught, 50);
}

// ---- the plan's choice ----

TaskSet random_set(Draw& draw) {
  std::vector<Task> tasks;
  const Nanos n = draw.between(1, 6);
  for (Nanos i = 0; i < n; ++i) {
    const Duration period = std::chrono::milliseconds(draw.between(30, draw.one_in(8) ? 9000 : 400));
    const auto part = [&](int divisor) {
      return draw.one_in(6) ? Duration(0) : Duration(draw.between(0, period.count() / divisor / n));
    };
    tasks.push_back(task_of("t" + std::to_string(i), period, {part(6), part(3), part(6)},
                            static_cast<unsigned>(draw.between(0, 1))));
    tasks.back().deadline = Duration(draw.between(period.count() / 2, period.count()));
    if (draw.one_in(8)) tasks.back().criticality = Criticality::best_effort;
  }
  return set_of(std::move(tasks), draw.one_in(2) ? Order::edf : Order::static_priority);
}

/// Returns the reservations' share of a core, in nanoseconds per second.
double share_of(const Plan& plan, const TaskSet& set, unsigned core) {
  const auto rate = [](const CpuReservation& each) {
    return 1e9 * static_cast<double>(each.runtime.count()) / static_cast<double>(each.window.count());
  };
  double share = core == 0 ? rate(plan.services->scheduler) : 0;
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    if (set.tasks[i].core == core && plan.tasks[i].before_reservation)
      share += rate(*plan.tasks[i].before_reservation) + rate(*plan.tasks[i].after_reservation);
  return share;
}

/// True if only its own task reserves a part of `core`. The scheduler is on core 0.
bool alone_on(const TaskSet& set, unsigned core) {
  const auto real_time = [&](const Task& task) {
    return task.core == core && task.criticality != Criticality::best_effort;
  };
  return core != 0 && std::ranges::count_if(set.tasks, real_time) == 1;
}

/// Returns the time from a part becoming ready to its end.
Nanos time_to_end(const TaskSet& set, unsigned core, const CpuReservation& part) {
  const Nanos window = part.window.count();
  return alone_on(set, core) ? std::min(window, part.runtime.count() + spare_runtime) : window;
}

TEST(Reservations, RespectUtilisationCapDeadlinesAndKernelLimits) {
  Draw draw(5);
  int proved = 0;
  int best_effort = 0;
  for (int i = 0; i < 1500; ++i) {
    const TaskSet set = random_set(draw);
    const Plan plan = plan_of(set);
    ASSERT_TRUE(plan.services);
    for (std::size_t k = 0; k < set.tasks.size(); ++k) {
      const PlannedTask& task = plan.tasks[k];
      if (set.tasks[k].criticality == Criticality::best_effort) {
        ++best_effort;
        ASSERT_FALSE(task.before_reservation || task.after_reservation);
        continue;
      }
      ASSERT_TRUE(task.before_reservation && task.after_reservation);
      for (const CpuReservation& each : {*task.before_reservation, *task.after_reservation}) {
        ASSERT_GE(each.runtime, 50us);
        ASSERT_LE(each.runtime, each.window);
        ASSERT_GE(each.window, 100us);
        ASSERT_LE(each.window, Duration(4'194'304us));
      }
      if (!task.promised) continue;
      ASSERT_GE(task.before_reservation->runtime, task.wcet.before + 20us);
      ASSERT_GE(task.after_reservation->runtime, task.wcet.after + 20us);
      ASSERT_GE(task.ready_by, 100us + Duration(time_to_end(set, task.core, *task.before_reservation)));
      ASSERT_GE(task.device_done_by - task.ready_by, task.wcet.device);
      ASSERT_LE(task.device_done_by + task.after_reservation->window, set.tasks[k].deadline);
      ASSERT_LE(*task.response_bound, set.tasks[k].deadline);
    }
    for (const unsigned core : {0u, 1u})
      if (plan.proved) { ASSERT_LE(share_of(plan, set, core), 900'000'001.0); }
    proved += plan.proved;
  }
  EXPECT_GT(proved, 300);
  EXPECT_LT(proved, 1400);
  EXPECT_GT(best_effort, 100);
}

/// Simulates jobs of all tasks of one core under the planned reservations, with the worst releases, device and CPU
/// times that the bounds allow.
void attack(const Plan& plan, const TaskSet& set, unsigned core, Draw& draw) {
  ConstantBandwidthCore simulated;
  std::vector<Arrival> activations;
  std::vector<Nanos> longest; // by server
  std::size_t servers = 0;
  const auto activate = [&](std::size_t server, Nanos when, Nanos work) {
    activations.push_back({when, server, work});
  };
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const PlannedTask& task = plan.tasks[i];
    if (set.tasks[i].core != core || !task.before_reservation) continue;
    const CpuReservation before = *task.before_reservation, after = *task.after_reservation;
    const std::size_t server = servers;
    servers += 2;
    simulated.add(before.runtime.count(), before.window.count());
    simulated.add(after.runtime.count(), after.window.count());
    for (const CpuReservation& part : {before, after}) longest.push_back(time_to_end(set, core, part));
    const Nanos jitter = Nanos{100'000};
    const Nanos period = set.tasks[i].period.count();
    for (Nanos nominal = draw.one_in(3) ? 0 : draw.between(0, period), job = 0; job < 12;
         ++job, nominal += period + (draw.one_in(4) ? draw.between(0, period) : 0)) {
      const auto end_points = [&](Nanos low, Nanos high) {
        return draw.one_in(2) ? (draw.one_in(2) ? low : high) : draw.between(low, high);
      };
      const auto work = [&](const CpuReservation& part) {
        return draw.one_in(3) ? draw.between(1, part.runtime.count() - spare_runtime)
                              : part.runtime.count() - spare_runtime;
      };
      const Nanos released = nominal + end_points(0, jitter);
      activate(server, released, work(before));
      // The release thread is woken once for nothing.
      activate(server, released + draw.between(1, period - jitter), spare_runtime / 2);
      // The device is as early or late as possible. If the task is alone on the core, its parts keep their order.
      const Nanos earliest = alone_on(set, core) ? released - nominal + longest[server] : jitter + 1;
      activate(server + 1, nominal + end_points(earliest, task.device_done_by.count()), work(after));
    }
  }
  std::ranges::stable_sort(activations, {}, &Arrival::when);
  for (const Arrival& each : activations) simulated.arrive(each.server, each.when, each.work);
  simulated.finish();
  for (const auto& end : simulated.ends)
    ASSERT_LE(end.end, end.arrival + longest[end.server]) << "core " << core << " server " << end.server;
}

TEST(Reservations, PartsOfPromisedTasksEndWithinTheirWindows) {
  Draw draw(6);
  int attacked = 0;
  for (int i = 0; i < 1500; ++i) {
    const TaskSet set = random_set(draw);
    const Plan plan = plan_of(set);
    if (!plan.proved) continue;
    ++attacked;
    for (const unsigned core : {0u, 1u}) ASSERT_NO_FATAL_FAILURE(attack(plan, set, core, draw)) << "set " << i;
  }
  EXPECT_GT(attacked, 300);
}

TEST(Reservations, TaskAloneOnItsCoreDoesNotWaitForItsWindows) {
  const auto bound_of_first = [](unsigned core_of_second, Order order) {
    const TaskSet set =
        set_of({task_of("a", 100ms, {8ms, 2ms, 1ms}, 1), task_of("b", 100ms, {8ms, 2ms, 1ms}, core_of_second)}, order);
    return plan_of(set).tasks[0].response_bound;
  };
  for (const Order order : {Order::edf, Order::static_priority}) {
    // Own parts, one part of the other task, and on each core two wake-ups that have 50 us.
    const auto alone = bound_of_first(2, order);
    ASSERT_TRUE(alone);
    EXPECT_GE(*alone, 100us + 8ms + 2ms + 2ms + 1ms);
    EXPECT_LE(*alone, 100us + 8ms + 2ms + 2ms + 1ms + 600us);
    const auto beside = bound_of_first(1, order);
    ASSERT_TRUE(beside);
    EXPECT_GE(*beside, *alone + 9ms);
  }
}

// ---- the compute engine ----

/// Simulates the compute engine alone on its core. The kernel checks its budget at ticks, and when it goes to sleep.
class Engine {
 public:
  Engine(Nanos tick, Nanos phase, const CpuReservation& reservation = slices)
      : tick_(tick), next_tick_(phase), runtime(reservation.runtime.count()), window(reservation.window.count()) {}

  [[nodiscard]] Nanos now() const { return now_; }

  void idle(Nanos time) { now_ += time; }

  /// Returns the time that the part takes.
  Nanos execute(Nanos part) {
    const Nanos begin = now_;
    skip_ticks();
    if (throttled_) await_budget();
    else if (deadline_ < now_ || Wide{budget_} * window > Wide{deadline_ - now_} * runtime) renew();
    while (part > 0) {
      const Nanos slice = std::min(part, next_tick_ - now_);
      now_ += slice;
      budget_ -= slice;
      part -= slice;
      if (now_ == next_tick_) next_tick_ += tick_;
      if (budget_ > 0) continue;
      throttled_ = deadline_ > now_;
      if (!throttled_) replenish();
      else if (part > 0) await_budget();
    }
    return now_ - begin;
  }

 private:
  void skip_ticks() {
    if (next_tick_ <= now_) next_tick_ += ((now_ - next_tick_) / tick_ + 1) * tick_;
  }
  void renew() {
    deadline_ = now_ + window;
    budget_ = runtime;
  }
  void replenish() {
    throttled_ = false;
    while (budget_ <= 0) {
      deadline_ += window;
      budget_ += runtime;
    }
    if (deadline_ < now_) renew();
  }
  void await_budget() {
    const bool passed = deadline_ <= now_;
    now_ = std::max(now_, deadline_);
    replenish();
    if (passed && deadline_ < now_) renew();
    skip_ticks();
  }

  Nanos tick_;
  Nanos next_tick_;
  Nanos runtime, window;
  Nanos now_ = 0;
  Nanos deadline_ = -1;
  Nanos budget_ = 0;
  bool throttled_ = false;
};

TEST(Reservations, EnginePausesStayWithinChargedTenthPlusOneTick) {
  Draw draw(7);
  Nanos worst = 0;
  for (int run = 0; run < 3000; ++run) {
    const Nanos tick = draw.one_in(2) ? longest_tick : draw.between(1000, longest_tick);
    Engine engine(tick, draw.between(1, tick));
    Nanos excess = 0; // beyond the charges, in the worst window that ends here
    for (int job = 0; job < 60; ++job) {
      const Nanos edge = draw.between(1, 4) * slices.runtime.count() + draw.between(-5'000'000, 5'000'000);
      const Nanos part = draw.one_in(2) ? std::max(Nanos{1}, edge) : draw.between(1, 30'000'000);
      excess = std::max(excess, Nanos{0}) + engine.execute(part) - with_pauses(part);
      ASSERT_LE(excess, longest_pause) << "run " << run << " job " << job << " part " << part;
      worst = std::max(worst, excess);
      engine.idle(draw.one_in(2) ? draw.between(0, 200'000) : draw.between(0, 12'000'000));
    }
  }
  EXPECT_GT(worst, longest_tick); // the attack comes close
}

/// Executions of each task begin between its releases and its deadlines, one at a time.
TEST(Reservations, EngineNeverPausesWhenWindowHasRoomForArrivals) {
  Draw draw(8);
  int tried = 0, long_windows = 0;
  for (int run = 0; run < 3000; ++run) {
    std::vector<Load> executions;
    const Nanos n = draw.between(1, 5);
    for (Nanos i = 0; i < n; ++i) {
      const Nanos period = draw.between(5, 80) * 1'000'000;
      executions.push_back({period, draw.between(100'000, period / n), draw.between(period / 2, period)});
    }
    const auto reservation = never_used_up(executions);
    if (!reservation) continue;
    ++tried;
    long_windows += reservation->window > slices.window;
    struct Start {
      Nanos when, cost;
    };
    std::vector<Start> starts;
    for (const Load& each : executions)
      for (Nanos job = 0, nominal = draw.between(0, each.period); job < 30; ++job, nominal += each.period)
        starts.push_back({nominal + (draw.one_in(2) ? draw.one_in(2) * each.jitter : draw.between(0, each.jitter)),
                          draw.one_in(4) ? draw.between(1, each.cost) : each.cost});
    std::ranges::sort(starts, {}, &Start::when);
    const Nanos tick = draw.between(1000, longest_tick);
    Engine engine(tick, draw.between(1, tick), *reservation);
    for (const Start& each : starts) {
      engine.idle(std::max(Nanos{0}, each.when - engine.now()));
      ASSERT_EQ(engine.execute(each.cost), each.cost) << "run " << run;
    }
  }
  EXPECT_GT(tried, 300);
  EXPECT_GT(long_windows, 100);
}

// ---- a scheduler that has a core of its own ----

/// Eight tasks. Each has more than three events in a window of five times their cost.
TEST(Reservations, SchedulerAloneOnCoreHasBudgetForAllItsEvents) {
  std::vector<Task> tasks;
  constexpr Duration period = 8ms;
  for (int i = 0; i < 8; ++i)
    tasks.push_back(task_of("t" + std::to_string(i), period, {20us, 150us, 20us}, static_cast<unsigned>(1 + i % 4)));
  const TaskSet set = set_of(tasks);
  const Plan plan = plan_of(set);
  ASSERT_TRUE(plan.proved);
  const CpuReservation scheduler = plan.services->scheduler;
  const Nanos jobs_of_each = (scheduler.window + period + period - 1ns) / period;
  const Nanos events = 3 * 8 * jobs_of_each;
  EXPECT_GE(scheduler.runtime.count(), events * event_cost(10us).count() + spare_runtime);
  EXPECT_LE(scheduler.runtime, scheduler.window * 9 / 10);
}

/// The demand of a late task on the service threads has no bound, so no budget can have room for it.
TEST(Reservations, TaskKeepsBoundWhenLateTaskLimitsSchedulerBudget) {
  const auto plan_with = [](Duration execution) {
    std::vector<Task> tasks{task_of("a", 200ms, {1ms, 40ms, 1ms}, 1), task_of("b", 200ms, {1ms, execution, 1ms}, 2)};
    tasks[1].deadline = 150ms;
    tasks[0].priority = 2;
    tasks[1].priority = 1;
    TaskSet set = set_of(std::move(tasks), Order::static_priority);
    set.executive.priorities = PriorityAssignment::explicit_priorities;
    return plan_of(set);
  };
  const Plan in_time = plan_with(20ms), late = plan_with(100ms);
  ASSERT_TRUE(in_time.proved);
  EXPECT_EQ(in_time.services->scheduler.runtime, 9ms);
  ASSERT_FALSE(late.proved);
  ASSERT_TRUE(late.tasks[0].response_bound);
  EXPECT_LT(late.services->scheduler.runtime, 1ms);
  EXPECT_FALSE(late.tasks[1].response_bound);
}

// ---- verdicts ----

class ReservationsPerOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Reservations, ReservationsPerOrder, testing::Values(Order::edf, Order::static_priority));

TEST_P(ReservationsPerOrder, ProveLightTaskSet) {
  const TaskSet set =
      set_of({task_of("a", 100ms, {1ms, 30ms, 1ms}), task_of("b", 200ms, {2ms, 5ms, Duration(0)}, 1)}, GetParam());
  const Plan plan = plan_of(set);
  EXPECT_TRUE(plan.proved);
  const TestVerdict core = test_named(plan, "core 0");
  EXPECT_TRUE(core.proved);
  EXPECT_EQ(times_of(core).right, 900ms);
  EXPECT_EQ(core.limiting_task, "a");
  EXPECT_THAT(core.explanation, HasSubstr("scheduler"));
  const CpuReservation compute = plan.services->compute;
  EXPECT_EQ(compute.runtime, compute.window - compute.window / 10);
  EXPECT_GE(compute.runtime, 2 * (30ms + 5ms)) << "both executions of two jobs";
}

TEST_P(ReservationsPerOrder, RejectFullCoreWithItsShare) {
  const TaskSet set = set_of({task_of("a", 50ms, {8ms, 1ms, 8ms}), task_of("b", 50ms, {8ms, 1ms, 8ms})}, GetParam());
  const Plan plan = plan_of(set);
  EXPECT_FALSE(plan.proved);
  const TestVerdict verdict = test_named(plan, "end-to-end");
  EXPECT_FALSE(verdict.proved);
  EXPECT_THAT(verdict.inequality, HasSubstr("sum of Q/d"));
  EXPECT_GT(times_of(verdict).left, times_of(verdict).right);
  EXPECT_EQ(times_of(verdict).right, 900ms);
  EXPECT_LE(share_of(plan, set, 0), 900'000'001.0); // a forced run can start
  for (const PlannedTask& task : plan.tasks) EXPECT_FALSE(task.promised);
}

TEST_P(ReservationsPerOrder, RejectDeadlineTooShortForParts) {
  Task task = task_of("late", 100ms, {1ms, 30ms, 1ms});
  task.deadline = 32ms;
  const Plan plan = plan_of(set_of({task}, GetParam()));
  EXPECT_FALSE(plan.proved);
  EXPECT_EQ(test_named(plan, "end-to-end").limiting_task, "late");
  EXPECT_EQ(times_of(test_named(plan, "end-to-end")).right, 32ms);
  EXPECT_LT(test_named(plan, "end-to-end").slack, Duration(0));
}

TEST_P(ReservationsPerOrder, RejectPartLongerThanAnyReservation) {
  const Plan plan = plan_of(set_of({task_of("endless", 60s, {5s, 1ms, 1ms}, 1)}, GetParam()));
  EXPECT_FALSE(plan.proved);
  EXPECT_EQ(times_of(test_named(plan, "end-to-end")).left, 5s + 70us);
}

TEST_P(ReservationsPerOrder, ChargeServiceThreadsToServiceCore) {
  const TaskSet set = set_of({task_of("a", 100ms, {1ms, 1ms, 1ms}, 1)}, GetParam());
  EXPECT_LT(times_of(test_named(plan_of(set, 0), "core 1")).left, times_of(test_named(plan_of(set, 1), "core 1")).left);
}

TEST(Reservations, RejectSchedulerOnComputeCore) {
  const TaskSet set = set_of({task_of("a", 100ms, {1ms, 1ms, 1ms})});
  const auto plan = make_plan(test::resolved(set, charged_board(9)), std::vector<MemoryDemand>(1));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("service_core"));
}

TEST(Reservations, AreAbsentUnderFifoAndAutomaticThreads) {
  TaskSet set = set_of({task_of("a", 100ms, {1ms, 30ms, 1ms})});
  for (const ThreadPolicy threads : {ThreadPolicy::automatic, ThreadPolicy::fifo}) {
    set.executive.threads = threads;
    const Plan plan = plan_of(set);
    EXPECT_FALSE(plan.services);
    EXPECT_FALSE(plan.tasks[0].before_reservation || plan.tasks[0].after_reservation);
    const Duration decisions = 4 * 25us; // on a request and an end, of this job and the one before
    EXPECT_EQ(plan.tasks[0].response_bound, 100us + 1020us + decisions + 30120us + 1020us + decisions);
  }
}

// ---- charges of the device ----

TEST(Reservations, ChargeDecisionOfEachInterruptionBesidePauses) {
  const TaskSet set = set_of({task_of("front", 100ms, {.device = 5ms}), task_of("rear", 200ms, {.device = 30ms})});
  Plan plan;
  plan.launch_ahead = 1;
  plan.tasks.resize(2);
  plan.tasks[0].device_class = 0;
  plan.tasks[1].device_class = 1;
  plan.tasks[1].segments = 2;
  plan.tasks[1].segment_wcets = {10ms, 20ms};
  const NamedSet named =
      charged_set(plan, test::resolved(set, charged_board(0)), std::vector<std::size_t>{0, 1}, Lateness::any);
  ASSERT_TRUE(named.services && named.services->pauses);
  const Nanos decision = named.services->decision, dispatched = 120'000, cut = 60'000;
  ASSERT_GT(decision, 0);
  EXPECT_EQ(named.set.tasks[0].device, with_pauses(5'000'000 + 2 * dispatched) + 2 * decision)
      << "its own begin, and the one after it, of the segment that it sent away";
  EXPECT_EQ(named.set.tasks[1].device,
            with_pauses(10'000'000 + cut) + with_pauses(20'000'000 + dispatched) + 2 * decision);
}

} // namespace
} // namespace rtexec::policies
