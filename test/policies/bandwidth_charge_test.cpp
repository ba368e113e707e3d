#include "policies/admission/admission.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "policies/bounds/bandwidth_charges.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/bounds/core_windows.hpp"
#include "policies/bounds/priorities.hpp"
#include "test/policies/regulated_core.hpp"
#include "test/policies/plan_sets.hpp"
#include "test/support/rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace rtexec::policies {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::board_of;
using test::set_of;
using test::task_of;
using test::test_named;
using testing::HasSubstr;
using testing::Not;

Result<Plan> plan_of(const TaskSet& set, const Board& board) {
  return make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size()));
}

// ---- values computed by hand ----

/// One task on core 1 with 1000 lines in each millisecond. Another core runs the compute engine and the service
/// threads.
class BandwidthCharge : public testing::TestWithParam<Order> {
 protected:
  BandwidthCharge() {
    board = board_of();
    board.compute_core = 3;
    board.service_core = 2;
    board.release_latency = microseconds(10);
    board.memory.core_bandwidth = {1'280'000'000}; // 20 lines in a microsecond
    board.counters = {{.event = "r17", .write_event = {}, .line = Bytes{64}, .cores = {}}};
    set = set_of({task_of("front", milliseconds(50), {milliseconds(2), milliseconds(6), milliseconds(3)}, 1)},
                 GetParam());
    set.tasks[0].traffic_before = Bytes{1500 * 64};
    set.tasks[0].traffic_after = Bytes{2600 * 64 - 63}; // the last line in part
    set.core_budgets = {{.core = 1, .budget = {64'000'000}}};
  }
  Plan plan() const { return plan_of(set, board).value(); }
  std::string refusal() const {
    const Plan made = plan();
    EXPECT_FALSE(made.proved);
    for (const PlannedTask& task : made.tasks) EXPECT_FALSE(task.promised);
    return test_named(made, "end-to-end").explanation;
  }
  Duration bound() const { return plan().tasks[0].response_bound.value_or(Duration(-1)); }

  TaskSet set;
  Board board;
};
INSTANTIATE_TEST_SUITE_P(Admission, BandwidthCharge, testing::Values(Order::edf, Order::static_priority));

// 1000 lines take 50 us, so X = 1000 + 10 - 50. 200 lines move within the latency of 10 us. A tick takes 5 us.
constexpr Duration stall = microseconds(960);
constexpr Duration once = stall + microseconds(10) + Duration(50 + 1);
constexpr Duration tick = microseconds(5);

TEST_P(BandwidthCharge, AddsInitialStallStallPerBudgetAndTicks) {
  // First part: 1700 lines. One stall and another: 3.93 ms with 4 ticks. Last part: 2800 lines, 5.9 ms with 6.
  const Duration first = milliseconds(2) + once + stall + 4 * tick;
  const Duration last = milliseconds(3) + once + 2 * stall + 6 * tick;
  const Duration separate = microseconds(10) + first + milliseconds(6) + last;
  // Joined under static priority: 4500 lines.
  const Duration joint = microseconds(10) + milliseconds(11) + 2 * once + 4 * stall + 17 * tick;
  EXPECT_EQ(bound(), GetParam() == Order::edf ? separate : std::min(separate, joint));
}

TEST_P(BandwidthCharge, OmitsOvershootWhenItIsForgiven) {
  set.bandwidth.overshoot = Overshoot::forgive;
  board.release_latency = Duration(0);
  set.tasks[0].traffic_before = Bytes{999 * 64};
  set.tasks[0].traffic_after.reset();
  const Duration part = microseconds(950);
  EXPECT_EQ(bound(), milliseconds(2) + part + 3 * tick + milliseconds(6) + milliseconds(3) + part + 4 * tick);
  set.tasks[0].traffic_before = Bytes{1000 * 64};
  EXPECT_EQ(bound(), milliseconds(2) + 2 * part + 4 * tick + milliseconds(6) + milliseconds(3) + part + 4 * tick);
  set.bandwidth.overshoot = Overshoot::carry; // no event is late: no overshoot, except a line that has begun
  EXPECT_EQ(bound(), milliseconds(2) + 2 * part + 4 * tick + milliseconds(6) + milliseconds(3) + part + 4 * tick +
                         2 * Duration(51));
}

TEST_P(BandwidthCharge, AssumesStallOfWholePeriodWhenRateIsUnknown) {
  set.bandwidth.overshoot = Overshoot::forgive;
  board.memory.core_bandwidth = {};
  const Duration whole = microseconds(1010);
  const Duration separate = microseconds(10) + milliseconds(11) + 2 * whole + (1 + 2) * whole + (5 + 7) * tick;
  EXPECT_EQ(bound(), separate);
}

TEST_P(BandwidthCharge, IgnoresBoardRateWhenEventIsCycles) {
  set.bandwidth.event = "cycles";
  EXPECT_THAT(refusal(), HasSubstr("[bandwidth] overshoot = \"forgive\""));
  set.bandwidth.overshoot = Overshoot::forgive;
  const Duration known_by_the_board = bound();
  board.memory.core_bandwidth = {};
  EXPECT_EQ(bound(), known_by_the_board);
  EXPECT_GT(known_by_the_board, Duration(0));
}

TEST_P(BandwidthCharge, CountsPageFaultsInPages) {
  set.bandwidth.event = "page-faults";
  set.bandwidth.overshoot = Overshoot::forgive;
  EXPECT_THAT(test_named(plan(), "core 1").explanation, HasSubstr("may move 15 lines of 4KiB in each 1ms (64MB/s)"));
}

TEST_P(BandwidthCharge, AppearsInExplanationsOfTests) {
  for (const char* test : {"core 1", "end-to-end"})
    EXPECT_THAT(test_named(plan(), test).explanation,
                HasSubstr("core 1 may move 1000 lines of 64B in each 1ms (64MB/s), and stalls for up to 0.96ms"));
  EXPECT_THAT(test_named(plan(), "core 1").inequality, HasSubstr("X (1 + floor("));
  set.core_budgets.clear();
  for (const TestVerdict& verdict : plan().tests()) EXPECT_THAT(verdict.explanation, Not(HasSubstr("may move")));
}

TEST_P(BandwidthCharge, IsZeroOnCoresWithoutBudget) {
  const Duration charged = bound();
  set.core_budgets[0].core = 0;
  EXPECT_EQ(bound(), microseconds(10) + milliseconds(11));
  set.tasks[0].traffic_before.reset(); // nothing needs it
  EXPECT_EQ(bound(), microseconds(10) + milliseconds(11));
  set.tasks[0].core = 0;
  set.core_budgets[0].core = 1;
  EXPECT_EQ(bound(), microseconds(10) + milliseconds(11));
  EXPECT_GT(charged, bound());
}

TEST_P(BandwidthCharge, IsZeroWhenOnlyBestEffortTasksAreLimited) {
  set.core_budgets.clear();
  set.bandwidth.best_effort = Bandwidth{10'000'000};
  set.tasks[0].traffic_before.reset();
  Task greedy = task_of("greedy", milliseconds(1), {milliseconds(1), Duration(0), Duration(0)}, 0);
  greedy.criticality = Criticality::best_effort;
  set.tasks.push_back(greedy);
  EXPECT_EQ(bound(), microseconds(10) + milliseconds(11) + Duration(0));
  set.core_budgets = {{.core = 0, .budget = {64'000'000}}}; // a core without a real-time task
  EXPECT_EQ(bound(), microseconds(10) + milliseconds(11));
}

TEST_P(BandwidthCharge, IncludesLinesOfHigherPriorityTasks) {
  Task quick = task_of("quick", milliseconds(10), {microseconds(100), microseconds(1), microseconds(100)}, 1);
  quick.traffic_before = Bytes{0};
  set.tasks.push_back(quick);
  const Duration without = bound();
  set.tasks[1].traffic_before = Bytes{400 * 64};
  EXPECT_GE(bound(), without + stall);
}

// ---- refusals ----

TEST_P(BandwidthCharge, RejectsTaskWithUnknownTraffic) {
  set.tasks[0].traffic_before.reset();
  EXPECT_THAT(refusal(), HasSubstr("give its traffic_before and traffic_after, in bytes"));
  EXPECT_EQ(test_named(plan(), "end-to-end").limiting_task, "front");
}

TEST_P(BandwidthCharge, RejectsBudgetOfServiceOrComputeCore) {
  set.core_budgets[0].core = 2;
  EXPECT_THAT(refusal(), HasSubstr("is the service_core of board 'host'"));
  set.core_budgets[0].core = 3;
  EXPECT_THAT(refusal(), HasSubstr("is the compute_core of board 'host'"));
  set.core_budgets[0].core = 0;
  EXPECT_TRUE(plan().proved);
}

TEST_P(BandwidthCharge, RejectsCarriedOvershootWhenRateIsUnknown) {
  board.memory.core_bandwidth = {};
  EXPECT_THAT(refusal(), HasSubstr("[memory] core_bandwidth"));
}

TEST_P(BandwidthCharge, RejectsThreadAndPollingCounters) {
  for (const auto back_end : {CounterBackEnd::thread, CounterBackEnd::polling}) {
    set.bandwidth.counter = back_end;
    EXPECT_THAT(refusal(), HasSubstr("counter = \"core\""));
  }
  set.bandwidth.counter = CounterBackEnd::core;
  EXPECT_TRUE(plan().proved);
}

TEST_P(BandwidthCharge, RejectsClusterCounterForCoreBudget) {
  board.counters[0].cluster = true;
  board.counters[0].cores = {0, 1};
  EXPECT_THAT(refusal(), HasSubstr("the others can use up the budget"));
  set.core_budgets[0].core = 0; // the other core's: then both stand still
  EXPECT_THAT(refusal(), HasSubstr("the others can use up the budget"));
  board.counters[0].cores = {1, 2};
  set.core_budgets[0].core = 1;
  EXPECT_THAT(refusal(), HasSubstr("service_core"));
  set.bandwidth.event = "r18"; // an event that each core counts
  EXPECT_TRUE(plan().proved);
}

TEST_P(BandwidthCharge, NeedsCoreCounterAndIsZeroUnderReservations) {
  set.executive.threads = ThreadPolicy::deadline;
  for (const auto back_end : {CounterBackEnd::automatic, CounterBackEnd::thread}) {
    set.bandwidth.counter = back_end;
    EXPECT_THAT(refusal(), HasSubstr("a thread that stops itself"));
  }
  set.bandwidth.counter = CounterBackEnd::core;
  const Plan stopped = plan();
  set.core_budgets.clear();
  EXPECT_TRUE(stopped.proved);
  EXPECT_EQ(stopped.tasks[0].response_bound, bound());
}

TEST_P(BandwidthCharge, RejectsBudgetTooSmallForTraffic) {
  set.core_budgets[0].budget = {640'000}; // 10 lines
  const Plan made = plan();
  EXPECT_FALSE(made.proved);
  EXPECT_FALSE(test_named(made, "core 1").proved);
  EXPECT_THAT(test_named(made, "core 1").explanation, HasSubstr("may move 10 lines"));
}

TEST_P(BandwidthCharge, ReportsBadInputForValuesOutOfRange) {
  set.tasks[0].traffic_after = Bytes{UINT64_MAX};
  EXPECT_THAT(plan_of(set, board).error().what, HasSubstr("traffic of"));
  set.tasks[0].traffic_after.reset();
  board.counters[0].line = Bytes{0};
  EXPECT_THAT(plan_of(set, board).error().what, HasSubstr("a line of 0B"));
  board.counters[0].line = Bytes{64};
  set.bandwidth.period = Duration(0);
  EXPECT_THAT(plan_of(set, board).error().what, HasSubstr("[bandwidth] period"));
}

TEST_P(BandwidthCharge, DoesNotOverflowForExtremeValues) {
  const Bytes most{static_cast<std::uint64_t>(longest_time)};
  for (const Bytes traffic : {Bytes{1}, most})
    for (const Bytes line : {Bytes{1}, most})
      for (const Bandwidth rate : {Bandwidth{1}, Bandwidth{UINT64_MAX}})
        for (const Bandwidth budget : {Bandwidth{0}, Bandwidth{1}, Bandwidth{UINT64_MAX}})
          for (const Duration period : {Duration(1), Duration(longest_time)}) {
            set.tasks[0].traffic_before = set.tasks[0].traffic_after = traffic;
            board.counters[0].line = line;
            board.memory.core_bandwidth = rate;
            set.core_budgets[0].budget = budget;
            set.bandwidth.period = period;
            const auto charge = stall_charge(set.core_budgets[0], test::resolved(set, board));
            ASSERT_TRUE(charge);
            EXPECT_GE(charge->core.budget, 1);
            EXPECT_GE(charge->core.stall, 0);
            EXPECT_LE(charge->core.once, unbounded);
            EXPECT_GE(charge->core.overshoot, rate.bytes_per_second == 1 ? 1 : 0);
            EXPECT_GE(stalls(charge->core, Wide{unbounded} * unbounded, 2), 0);
            EXPECT_GE(bound(), Duration(-1));
          }
}

TEST(Partition, AssignsUnpinnedTaskToCoreWithoutBudget) {
  Board board = board_of();
  board.service_core = 2;
  board.compute_core = 3;
  TaskSet set = set_of({task_of("front", milliseconds(10), {milliseconds(1), milliseconds(1), milliseconds(1)})});
  set.tasks[0].core.reset();
  set.core_budgets = {{.core = 0, .budget = {1'000'000}}};
  const Plan plan = make_plan(test::resolved(set, board, {0, 1, 2, 3}), std::vector<MemoryDemand>(1)).value();
  EXPECT_EQ(plan.tasks[0].core, 1u);
  EXPECT_TRUE(plan.proved);
}

// ---- against a simulated core ----

struct RandomSet {
  test::RegulatedModel model;
  std::vector<test::RegulatedTask> tasks;
};

/// The charge that a deliberate error leaves out.
enum class Break { nothing, held_before, surcharge, ticks, overshoot, latency, own_lines };

class RandomSets {
 public:
  explicit RandomSets(unsigned seed) : random_(seed) {}

  RandomSet draw() {
    RandomSet set;
    set.model = {.period = pick(30, 90),
                 .budget = 0,
                 .latency = pick(0, pick(0, 1) == 1 ? 6 : 25),
                 .tick = 5,
                 .carry = pick(0, 1) == 1,
                 .edf = pick(0, 1) == 1};
    set.model.budget = std::max(1, set.model.period * pick(3, 70) / 100);
    const int count = pick(1, 3);
    const int scale = pick(0, 3) == 0 ? set.model.period / 4 : set.model.period;
    for (int i = 0; i < count; ++i) {
      test::RegulatedTask task{.period = set.model.period * pick(6, 30),
                               .before = pick(1, 2 * scale),
                               .device = pick(1, scale),
                               .after = pick(1, 2 * scale)};
      const int share = pick(0, 100);
      task.lines_before = task.before * share / 100;
      task.lines_after = task.after * share / 100;
      set.tasks.push_back(task);
    }
    std::ranges::sort(set.tasks, {}, &test::RegulatedTask::period);
    return set;
  }

  unsigned seed() { return static_cast<unsigned>(random_()); }

 private:
  int pick(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }
  std::mt19937 random_;
};

RandomSet scaled(RandomSet set, int percent) {
  for (test::RegulatedTask& task : set.tasks) {
    task.before = std::max(1, task.before * percent / 100);
    task.after = std::max(1, task.after * percent / 100);
    task.lines_before = std::min(task.before, task.lines_before * percent / 100);
    task.lines_after = std::min(task.after, task.lines_after * percent / 100);
  }
  return set;
}

struct Bounds {
  std::vector<StageBounds> tasks;
  bool proved = false;
};

/// Applies the analysis to a random set. A microsecond of the model is one, and a line takes one.
class Analysed {
 public:
  explicit Analysed(const RandomSet& set) : model_(set.model) {
    board_ = board_of();
    board_.compute_core = 3;
    board_.service_core = 2;
    board_.release_latency = microseconds(model_.latency);
    board_.counters = {{.event = "r17", .write_event = {}, .line = Bytes{64}, .cores = {}}};
    if (model_.carry || model_.budget % 4 != 0) board_.memory.core_bandwidth = {64'000'000};
    tasks_ = set_of({}, model_.edf ? Order::edf : Order::static_priority);
    for (const test::RegulatedTask& task : set.tasks) {
      tasks_.tasks.push_back(task_of("t" + std::to_string(tasks_.tasks.size()), microseconds(task.period),
                                     {microseconds(task.before), microseconds(task.device), microseconds(task.after)},
                                     1));
      tasks_.tasks.back().traffic_before = Bytes{64 * static_cast<std::uint64_t>(task.lines_before)};
      tasks_.tasks.back().traffic_after = Bytes{64 * static_cast<std::uint64_t>(task.lines_after)};
    }
    tasks_.bandwidth.period = microseconds(model_.period);
    tasks_.bandwidth.overshoot = model_.carry ? Overshoot::carry : Overshoot::forgive;
    const auto bytes = static_cast<std::uint64_t>(model_.budget) * 64'000'000;
    const auto period = static_cast<std::uint64_t>(model_.period);
    tasks_.core_budgets = {{.core = 1, .budget = {(bytes + period - 1) / period}}};
  }

  Bounds bounds(Break broken) const {
    Plan plan;
    plan.order = tasks_.executive.order;
    plan.tasks.resize(tasks_.tasks.size());
    for (PlannedTask& task : plan.tasks) task.core = 1;
    NamedSet named = charged_set(plan, test::resolved(tasks_, board_), by_urgency(tasks_), Lateness::any);
    EXPECT_FALSE(named.obstacle);
    EXPECT_EQ(named.set.regulated.at(0).budget, model_.budget);
    damage(named.set, broken);
    Bounds bounds;
    if (model_.edf) {
      EdfBounds found = edf_bounds(named.set);
      bounds = {.tasks = found.tasks, .proved = found.proved()};
    } else {
      bounds.tasks = static_priority_bounds(named.set);
      bounds.proved =
          bounds.tasks.size() == tasks_.tasks.size() && std::ranges::all_of(bounds.tasks, &StageBounds::settled);
    }
    for (std::size_t i = 0; i < bounds.tasks.size(); ++i)
      bounds.proved = bounds.proved && bounds.tasks[i].done <= named.set.tasks[i].deadline;
    return bounds;
  }

  Plan plan() const { return plan_of(tasks_, board_).value(); }

 private:
  void damage(StagedSet& set, Break broken) const {
    RegulatedCore& core = set.regulated[0];
    switch (broken) {
    case Break::nothing: break;
    case Break::held_before: core.once = 0; break;
    case Break::surcharge: core.budget = unbounded; break;
    case Break::ticks: core.tick.cost = 0; break;
    case Break::overshoot:
      core.overshoot = 0;
      core.once = core.stall;
      break;
    case Break::latency:
      core.stall = std::max(Nanos{0}, core.stall - 1000 * model_.latency);
      core.once = std::max(Nanos{0}, core.once - 1000 * model_.latency);
      break;
    case Break::own_lines: // only tasks above use up the budget
      for (StagedTask& task : set.tasks) task.lines_before = task.lines_after = 0;
      break;
    }
  }

  test::RegulatedModel model_;
  Board board_;
  TaskSet tasks_;
};

struct Found {
  int sets = 0, refuted = 0;
  long long holds = 0;
  double closest = 0; // response / bound
};

/// Draws sets at the edge of what the bounds accept, and simulates each in `runs` histories.
Found attack(Break broken, int wanted, int runs, unsigned seed) {
  RandomSets sets(seed);
  Found found;
  while (found.sets < wanted) {
    const RandomSet drawn = sets.draw();
    for (const int percent : {300, 220, 160, 120, 90, 65, 45, 30, 20}) {
      RandomSet set = scaled(drawn, percent);
      const Analysed analysed(set);
      const Bounds bounds = analysed.bounds(broken);
      if (!bounds.proved) continue;
      ++found.sets;
      if (broken == Break::nothing && found.sets % 16 == 0) {
        const Plan plan = analysed.plan();
        EXPECT_TRUE(plan.proved);
        for (std::size_t i = 0; i < plan.tasks.size(); ++i)
          EXPECT_EQ(plan.tasks[i].response_bound, Duration(bounds.tasks[i].done));
      }
      for (std::size_t i = 0; i < set.tasks.size(); ++i) set.tasks[i].device_done = bounds.tasks[i].device_done;
      bool refuted = false;
      for (int run = 0; run < runs && !refuted; ++run) {
        test::RegulatedCoreModel core(set.model, set.tasks, sets.seed());
        const std::vector<int> worst = core.run(6 * set.tasks.back().period + 200);
        found.holds += core.holds;
        for (std::size_t i = 0; i < worst.size(); ++i) {
          refuted =
              refuted || 1000LL * worst[i] > bounds.tasks[i].done || 1000LL * core.ready()[i] > bounds.tasks[i].ready;
          found.closest = std::max(found.closest, 1000.0 * worst[i] / static_cast<double>(bounds.tasks[i].done));
        }
      }
      found.refuted += refuted ? 1 : 0;
      break;
    }
  }
  return found;
}

int scale() {
  const char* sets = std::getenv("RTEXEC_STALL_SETS");
  return sets == nullptr ? rtexec::test::rounds(2'500) : std::atoi(sets);
}

TEST(RegulatedCoreBounds, CoverAllResponsesOfSimulatedCore) {
  const Found found = attack(Break::nothing, scale(), 3, 1);
  EXPECT_EQ(found.refuted, 0) << "of " << found.sets;
  EXPECT_GT(found.holds, found.sets);
  EXPECT_GT(found.closest, 0.9);
  RecordProperty("closest", std::to_string(found.closest));
}

TEST(RegulatedCoreBounds, AreRefutedWhenAChargeIsLeftOut) {
  for (const auto& [broken, name] :
       {std::pair(Break::held_before, "held before"), std::pair(Break::surcharge, "surcharge"),
        std::pair(Break::ticks, "tick"), std::pair(Break::overshoot, "overshoot"), std::pair(Break::latency, "latency"),
        std::pair(Break::own_lines, "lines")}) {
    const Found found = attack(broken, scale() / 10, 8, 2);
    EXPECT_GT(found.refuted, 0) << name;
    RecordProperty(name, std::to_string(found.refuted) + " of " + std::to_string(found.sets));
    if (std::getenv("RTEXEC_STALL_SETS") != nullptr)
      std::printf("%s: %d of %d refuted, closest %.3f\n", name, found.refuted, found.sets, found.closest);
  }
}

} // namespace
} // namespace rtexec::policies
