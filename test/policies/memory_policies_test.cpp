// Tests plans with chosen memory policies against plans of every combination, and against make_plan alone. Also tests
// that admission is monotone in execution times, on which the search relies.
#include "policies/admission/memory_policies.hpp"
#include "policies/admission/admission.hpp"
#include "policies/memory/plan_memory.hpp"
#include "policies/admission/resident_admission.hpp"
#include "test/policies/plan_sets.hpp"
#include "test/support/rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::resolved;
using test::set_of;
using test::task_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr MemoryPolicy D = MemoryPolicy::device, M = MemoryPolicy::managed, H = MemoryPolicy::host;
constexpr Bytes chunk{4096};

using Measured = std::vector<std::vector<MeasuredPolicy>>;

MeasuredPolicy measured(MemoryPolicy policy, std::uint64_t device, std::uint64_t host, Duration time) {
  return {policy, {.outside = chunk * device, .host = chunk * host, .objects = {}}, Wcet{.device = time}};
}

/// Returns D, M and H of a task that exchanges `exchanged` chunks and has as many more for itself.
std::vector<MeasuredPolicy> three(std::uint64_t exchanged, Duration d, Duration m, Duration h) {
  return {measured(D, 2 * exchanged, exchanged, d), measured(M, 2 * exchanged, 0, m),
          measured(H, exchanged, exchanged, h)};
}

class MemoryPolicies : public testing::Test {
 protected:
  MemoryPolicies() {
    board.memory_policies = {D, M, H};
    board.capacity = chunk * 100;
    tasks = set_of({task_of("a", 10ms, {}), task_of("b", 20ms, {})}, Order::static_priority);
    tasks.swap.policy = SwapPolicy::none;
    for (Task& task : tasks.tasks) task.memory_policy = MemoryPolicy::automatic;
    known = {three(10, 2ms, 3ms, 4ms), three(4, 2ms, 3ms, 4ms)};
  }
  [[nodiscard]] Result<PolicyPlan> chosen(MemoryObjective objective = MemoryObjective::min_memory) const {
    return choose_memory_policies(resolved(tasks, board), known, objective);
  }
  [[nodiscard]] std::vector<std::size_t> picked(MemoryObjective objective = MemoryObjective::min_memory) const {
    return chosen(objective)->chosen;
  }

  Board board = board_of();
  TaskSet tasks;
  Measured known;
};

TEST_F(MemoryPolicies, MinMemoryChoosesHostMemory) {
  EXPECT_THAT(picked(), ElementsAre(2, 2));
  EXPECT_EQ(chosen()->plan.host, chunk * 14);
  EXPECT_EQ(chosen()->plan.demand, chunk * 14);
  EXPECT_TRUE(chosen()->plan.proved);
  EXPECT_EQ(chosen()->plan.tasks[0].memory_policy, H);
  EXPECT_EQ(chosen()->plan.tasks[0].wcet.device, 4ms);
}

TEST_F(MemoryPolicies, MaxSlackChoosesDeviceMemory) {
  EXPECT_THAT(picked(MemoryObjective::max_slack), ElementsAre(0, 0));
}

TEST_F(MemoryPolicies, CountCoRunningWcetWhenTasksFormAPair) {
  tasks.device.co_run = true;
  tasks.tasks[0].deadline = 7ms + 1us;
  MeasuredPolicy& waits = known[0][2];
  waits.co_run_wcet = 4ms;
  waits.mapping_idle = 3ms;
  known[1].resize(1);
  known[1][0].co_run_wcet = 3ms;
  EXPECT_THAT(picked(), ElementsAre(2, 0)) << "with what the second takes beside it";
  EXPECT_TRUE(chosen()->plan.co_runs());
  waits.co_run_wcet = 5ms;
  EXPECT_THAT(picked(), ElementsAre(1, 0)) << "M is in no pair";
  EXPECT_TRUE(chosen()->plan.proved);
}

TEST_F(MemoryPolicies, IgnoreCoRunningWcetOfTasksWithoutPair) {
  tasks.device.co_run = true;
  for (auto& task : known)
    for (MeasuredPolicy& each : task) each.co_run_wcet = each.policy == H ? 4ms : 9ms;
  EXPECT_THAT(picked(MemoryObjective::max_slack), ElementsAre(0, 0)) << "nobody waits so long";
  EXPECT_FALSE(chosen(MemoryObjective::max_slack)->plan.co_runs());
  for (auto& task : known) task[1].mapping_idle = 9ms;
  EXPECT_TRUE(chosen(MemoryObjective::max_slack)->plan.proved);
  EXPECT_THAT(picked(), ElementsAre(2, 2));
}

TEST_F(MemoryPolicies, UseSlowerPoliciesOnlyWhenDeadlinesAllow) {
  // Its own time, that of one job of the other task, and a little for its parts on the core.
  tasks.tasks[0].deadline = 7ms + 1us;
  EXPECT_THAT(picked(), ElementsAre(2, 1)) << "the first saves more; M of the second saves memory of the host";
  tasks.tasks[0].deadline = 6ms + 1us;
  EXPECT_THAT(picked(), ElementsAre(2, 0));
  tasks.tasks[0].deadline = 5ms + 1us;
  EXPECT_THAT(picked(), ElementsAre(1, 0));
  tasks.tasks[0].deadline = 4ms + 1us;
  EXPECT_THAT(picked(), ElementsAre(0, 0));
  EXPECT_TRUE(chosen()->plan.proved);
}

TEST_F(MemoryPolicies, CountHostAndDeviceDataTogetherOnUnifiedMemory) {
  board.unified_memory = true;
  EXPECT_THAT(picked(), ElementsAre(1, 1)) << "M and H take the same, and M less time";
  board.capacity = chunk * 29;
  EXPECT_THAT(picked(MemoryObjective::max_slack), ElementsAre(1, 1));
  board.capacity = chunk * 32;
  EXPECT_THAT(picked(MemoryObjective::max_slack), ElementsAre(1, 0));
}

TEST_F(MemoryPolicies, KeepPoliciesSetByTaskSet) {
  tasks.tasks[0].memory_policy = M;
  EXPECT_THAT(picked(), ElementsAre(1, 2));
  tasks.tasks[1].memory_policy = D;
  EXPECT_THAT(picked(), ElementsAre(1, 0));
}

TEST_F(MemoryPolicies, OmitPoliciesThatBoardLacksOrWereNotMeasured) {
  board.memory_policies = {D, M};
  EXPECT_THAT(picked(), ElementsAre(1, 1));
  known[0].erase(known[0].begin() + 1);
  EXPECT_THAT(picked(), ElementsAre(0, 1)) << "the board has no H, and M was not measured";
  known[0] = known[1];
  board.memory_policies = {M};
  EXPECT_THAT(picked(), ElementsAre(1, 1));
  tasks.tasks[1].memory_policy = H;
  EXPECT_EQ(chosen().error().code, Errc::bad_input);
  EXPECT_THAT(chosen().error().what, HasSubstr("task 'b'"));
  known.pop_back();
  EXPECT_THAT(chosen().error().what, HasSubstr("of 1 tasks were measured for a set of 2"));
}

TEST_F(MemoryPolicies, ReportVerdictsAndErrorsOfMakePlan) {
  tasks.tasks[0].deadline = 1ms;
  EXPECT_FALSE(chosen()->plan.proved);
  EXPECT_THAT(picked(), ElementsAre(0, 0));
  tasks.tasks[0].deadline = 10ms;
  board.capacity = chunk * 13;
  EXPECT_EQ(chosen().error().code, Errc::not_proved);
  tasks.device.chunk = Bytes{0};
  EXPECT_EQ(chosen().error().code, Errc::bad_input);
}

TEST_F(MemoryPolicies, ShareScratchAcrossPolicies) {
  for (auto& task : known)
    for (MeasuredPolicy& each : task) each.memory.scratch = chunk * 80;
  EXPECT_EQ(chosen()->plan.demand, chunk * 94);
  EXPECT_THAT(picked(MemoryObjective::max_slack), ElementsAre(2, 0)) << "10 + 8 + 80 of 100";
}

// ---- random sets ----

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  Duration time(std::int64_t low, std::int64_t high) { return Duration(draw(low, high)); }

 private:
  std::mt19937_64 engine_;
};

Board random_board() {
  Board board = board_of();
  board.context_switch = 200ns;
  board.dispatch = 300ns;
  board.release_latency = 500ns;
  board.copy_engines = 2;
  board.capacity = chunk * 20;
  board.swap_costs = {
      {.chunk = chunk, .in_per_chunk = 700ns, .out_per_chunk = 500ns, .drop_per_chunk = 100ns, .in_fixed = 400ns}};
  return board;
}

/// Draws a set near the edge of what is proved. Some tasks do not use the device.
TaskSet random_set(Random& random, Order order, ThreadPolicy threads, std::int64_t n) {
  std::vector<Task> tasks;
  const std::int64_t scale = threads == ThreadPolicy::deadline ? 100'000 : 100;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t period = random.draw(300, 3000) * scale;
    const Duration device = random.draw(0, 5) == 0 ? 0ns : random.time(1, period / n);
    Task& task = tasks.emplace_back(task_of("t" + std::to_string(i), Duration(period),
                                            {random.time(0, period / 8), device, random.time(0, period / 8)},
                                            static_cast<unsigned>(i % 2)));
    task.deadline = random.time(period * 6 / 10, period);
    task.memory_policy = MemoryPolicy::automatic;
  }
  TaskSet set = set_of(std::move(tasks), order);
  set.executive.threads = threads;
  set.executive.priorities = PriorityAssignment::deadline_monotonic;
  return set;
}

TaskSet random_set(Random& random, Order order, ThreadPolicy threads) {
  return random_set(random, order, threads, random.draw(2, 6));
}

std::vector<MemoryDemand> random_memory(Random& random, const TaskSet& set, bool swapping) {
  std::vector<MemoryDemand> memory(set.tasks.size());
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (set.tasks[i].wcet->uses_device())
      memory[i].state = chunk * (swapping ? static_cast<std::uint64_t>(random.draw(4, 9)) : 1);
  return memory;
}

// ---- against the plans of all combinations ----

struct Kind {
  Order order = Order::edf;
  bool free_cores = false;
  bool other_parts = false; // the options of a task also differ in their CPU parts
};

std::string name_of(const testing::TestParamInfo<Kind>& info) {
  return std::string(info.param.order == Order::edf ? "Edf" : "StaticPriority") +
         (info.param.free_cores ? "FreeCores" : "NamedCores") + (info.param.other_parts ? "OtherParts" : "SameParts");
}

class MemoryPoliciesOfRandomSets : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryPoliciesOfRandomSets,
                         testing::Values(Kind{Order::edf}, Kind{Order::static_priority}, Kind{Order::edf, true},
                                         Kind{Order::static_priority, true}, Kind{Order::edf, false, true},
                                         Kind{Order::static_priority, false, true}, Kind{Order::edf, true, true},
                                         Kind{Order::static_priority, true, true}),
                         name_of);

/// Draws D, M and H of each task, near its own times.
Measured random_policies(Random& random, const TaskSet& tasks, bool other_parts) {
  Measured known;
  for (const Task& task : tasks.tasks) {
    const auto longer = [&](Duration part, std::int64_t low, std::int64_t high) {
      return part * random.draw(low, high) / 100;
    };
    const Wcet& wcet = *task.wcet;
    const Duration m = longer(wcet.device, 80, 200), h = longer(wcet.device, 90, 300);
    known.push_back(three(static_cast<std::uint64_t>(random.draw(1, 4)), wcet.device, m, h));
    for (MeasuredPolicy& each : known.back()) {
      each.wcet.before = other_parts ? longer(wcet.before, 70, 130) : wcet.before;
      each.wcet.after = other_parts ? longer(wcet.after, 70, 130) : wcet.after;
    }
  }
  return known;
}

struct Best {
  std::optional<Bytes> least;
  std::optional<Duration> most;
};

/// Returns the best combination that fits and is proved.
Best best_of_all_plans(const ResolvedSet& set, const Measured& known) {
  Best best;
  for (int code = 0; code < std::pow(3, known.size()); ++code) {
    ResolvedSet one = set;
    std::vector<MemoryDemand> memory;
    Bytes all{0};
    int digits = code;
    for (std::size_t i = 0; i < known.size(); ++i, digits /= 3) {
      const MeasuredPolicy& each = known[i][static_cast<std::size_t>(digits % 3)];
      one.tasks.tasks[i].wcet = each.wcet;
      memory.push_back(each.memory);
      all += each.memory.outside + (set.board.unified_memory ? each.memory.host : Bytes{0});
    }
    if (all > set.board.capacity) continue;
    const auto plan = make_plan(one, memory);
    if (!plan || !plan->proved) continue;
    best.least = std::min(best.least.value_or(all), all);
    best.most = std::max(best.most.value_or(0ns), plan->end_to_end.slack);
  }
  return best;
}

/// Tries one to four tasks, and sometimes up to eight.
TEST_P(MemoryPoliciesOfRandomSets, AreTheBestOfAllPlans) {
  Random random(1);
  int proved = 0;
  for (int round = 0; round < rtexec::test::rounds(150); ++round) {
    SCOPED_TRACE(round);
    const std::int64_t n = round % 30 == 29 ? random.draw(5, 8) : random.draw(1, 4);
    TaskSet tasks = random_set(random, GetParam().order, ThreadPolicy::fifo, n);
    tasks.swap.policy = SwapPolicy::none;
    if (GetParam().free_cores)
      for (Task& task : tasks.tasks)
        if (round % 3 != 0 || random.draw(0, 1) == 0) task.core.reset();
    Board board = random_board();
    board.memory_policies = {D, M, H};
    board.unified_memory = round % 2 == 0;
    board.capacity = chunk * static_cast<std::uint64_t>(5 * n);
    const Measured known = random_policies(random, tasks, GetParam().other_parts);
    const ResolvedSet set = resolved(tasks, board, {0, 1});
    const Best best = best_of_all_plans(set, known);
    const auto small = choose_memory_policies(set, known, MemoryObjective::min_memory);
    const auto fast = choose_memory_policies(set, known, MemoryObjective::max_slack);
    ASSERT_TRUE(small.has_value() == fast.has_value());
    if (!best.least) {
      if (small) {
        EXPECT_THAT(small->chosen, testing::Each(0)) << "D, which may still fit without the host's copies";
        EXPECT_TRUE(board.unified_memory || !small->plan.proved);
      }
      continue;
    }
    ASSERT_TRUE(small && small->plan.proved && fast->plan.proved);
    ++proved;
    EXPECT_TRUE(small->exact && fast->exact);
    EXPECT_EQ(small->plan.demand, *best.least);
    EXPECT_EQ(fast->plan.end_to_end.slack, *best.most);
  }
  EXPECT_GT(proved, rtexec::test::rounds(20));
  EXPECT_LT(proved, rtexec::test::rounds(140));
}

TEST(DeviceOnlyMemoryPolicy, LeavesPlansUnchanged) {
  Random random(2);
  int swapped = 0;
  for (int round = 0; round < 200; ++round) {
    const TaskSet tasks = random_set(random, round % 2 == 0 ? Order::edf : Order::static_priority, ThreadPolicy::fifo);
    const std::vector<MemoryDemand> memory = random_memory(random, tasks, round % 4 < 2);
    Measured known;
    for (std::size_t i = 0; i < memory.size(); ++i)
      known.push_back({{D, memory[i], *tasks.tasks[i].wcet}, {M, {}, Wcet{.device = 1ns}}});
    const ResolvedSet set = resolved(tasks, random_board(), {0, 1});
    const auto right = make_plan(set, memory);
    for (const MemoryObjective objective : {MemoryObjective::min_memory, MemoryObjective::max_slack}) {
      const auto found = choose_memory_policies(set, known, objective);
      ASSERT_EQ(found.has_value(), right.has_value());
      if (!right) continue;
      const Plan& plan = found->plan;
      EXPECT_EQ(plan.proved, right->proved);
      EXPECT_EQ(plan.end_to_end.explanation, right->end_to_end.explanation);
      EXPECT_EQ(plan.demand, right->demand);
      ASSERT_EQ(plan.swap.has_value(), right->swap.has_value());
      for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
        EXPECT_EQ(plan.tasks[i].swap_slots, right->tasks[i].swap_slots);
        EXPECT_EQ(plan.tasks[i].response_bound, right->tasks[i].response_bound);
      }
    }
    swapped += right && right->swap;
  }
  EXPECT_GT(swapped, 30);
}

/// Compares with plans for every kind of decision: searched priorities, chosen cores, reservations, chains.
TEST(ResidentAdmission, MatchesVerdictAndSlackOfPlans) {
  Random random(4);
  int proved = 0, refused = 0;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    TaskSet tasks = random_set(random, round % 2 == 0 ? Order::edf : Order::static_priority,
                               round % 4 < 2 ? ThreadPolicy::fifo : ThreadPolicy::deadline);
    if (round % 8 >= 4) tasks.executive.priorities = PriorityAssignment::audsley;
    if (round % 16 >= 8)
      for (Task& task : tasks.tasks) task.core.reset();
    if (round % 32 >= 16)
      tasks.chains.push_back({.name = "chain",
                              .tasks = {"t0", "t1"},
                              .max_reaction = random.time(1, 6 * tasks.tasks[0].period.count()),
                              .max_age = {}});
    const ResolvedSet set = resolved(tasks, random_board(), {0, 1});
    std::vector<Wcet> shortest, longest;
    for (const Task& task : tasks.tasks) {
      shortest.push_back({.before = task.wcet->before, .after = task.wcet->after});
      longest.push_back({task.wcet->before, 2 * task.wcet->device, task.wcet->after});
    }
    ResidentAdmission admission(set, {shortest, longest});
    for (int cut = 0; cut < 4; ++cut) {
      std::vector<Wcet> wcets;
      for (const Task& task : tasks.tasks) {
        wcets.push_back(*task.wcet);
        wcets.back().device = wcets.back().device * random.draw(40, 130) / 100;
      }
      ResolvedSet one = set;
      for (std::size_t i = 0; i < wcets.size(); ++i) one.tasks.tasks[i].wcet = wcets[i];
      const auto plan = make_plan(one, std::vector<MemoryDemand>(wcets.size()));
      const auto slack = admission.slack(wcets);
      ASSERT_EQ(slack.has_value(), plan && plan->proved);
      if (slack) { EXPECT_EQ(Duration(*slack), plan->end_to_end.slack); }
      (slack ? proved : refused) += 1;
    }
  }
  EXPECT_GT(proved, 300);
  EXPECT_GT(refused, 300);
  const std::vector<Wcet> never{{.device = 0ns - 1ns}};
  ResidentAdmission none(resolved(set_of({task_of("a", 1ms, {})}), random_board()), {never, never});
  EXPECT_FALSE(none.slack(never)) << "make_plan refuses it";
}

/// The times are between two limits. No bound of the deciding test is less than the slack, and what is surely proved is
/// proved. In half of the sets the CPU parts are the same in all queries.
TEST(ResidentAdmission, BoundsNeverFallBelowSlackOfPlans) {
  Random random(5);
  int proved = 0, tight = 0, sure = 0, unsure = 0;
  for (int round = 0; round < 6000; ++round) {
    SCOPED_TRACE(round);
    TaskSet tasks = random_set(random, round % 2 == 0 ? Order::edf : Order::static_priority, ThreadPolicy::fifo);
    if (round % 3 != 0)
      for (Task& task : tasks.tasks)
        if (random.draw(0, 3) != 0) task.core.reset();
    if (round % 7 == 0) tasks.tasks[0].criticality = Criticality::best_effort;
    const bool same_parts = round % 4 < 2;
    const ResolvedSet set = resolved(tasks, random_board(), {0, 1});
    std::vector<Wcet> least, max_of_all;
    for (const Task& task : tasks.tasks) {
      const Wcet& wcet = *task.wcet;
      const int shorter = same_parts ? 1 : 2, longer = same_parts ? 1 : 3;
      least.push_back({wcet.before / shorter, wcet.device * 30 / 100, wcet.after / shorter});
      max_of_all.push_back({longer * wcet.before, 3 * wcet.device, longer * wcet.after});
    }
    ResidentAdmission admission(set, {least, max_of_all});
    for (int question = 0; question < 4; ++question) {
      std::vector<Wcet> shortest;
      for (const Task& task : tasks.tasks) {
        const auto shorter = [&](Duration part) { return same_parts ? part : part * random.draw(50, 110) / 100; };
        shortest.push_back(
            {shorter(task.wcet->before), task.wcet->device * random.draw(30, 110) / 100, shorter(task.wcet->after)});
      }
      std::vector<Wcet> between = shortest;
      const auto stretch = [&](Wcet& wcet) {
        const auto by = [&](Duration part) {
          return part * random.draw(100, random.draw(0, 1) == 0 ? 101 : 150) / 100;
        };
        wcet = {same_parts ? wcet.before : by(wcet.before), by(wcet.device), same_parts ? wcet.after : by(wcet.after)};
      };
      std::ranges::for_each(between, stretch);
      std::vector<Wcet> longest = between;
      std::ranges::for_each(longest, stretch);
      const TimesBetween times{shortest, longest};
      const auto slack = admission.slack(between);
      const Nanos needed = slack.value_or(0);
      std::optional<Nanos> glanced, most, glanced_again;
      bool surely = false;
      for (std::size_t way = 0; way < admission.alternatives(); ++way) {
        glanced = std::max(glanced, admission.glance(way, times, needed));
        most = std::max(most, admission.bound(way, times, needed));
        glanced_again = std::max(glanced_again, admission.glance(way, times, needed));
        surely = surely || admission.surely_proves(way, longest);
        if (surely) break; // no later way decides
      }
      if (slack) {
        ASSERT_GE(most, slack);
        ASSERT_GE(glanced, slack);
        ASSERT_GE(glanced_again, slack);
        tight += *most == *slack;
      }
      if (surely) { ASSERT_TRUE(slack && admission.slack(longest)); }
      proved += slack.has_value();
      (surely ? sure : unsure) += 1;
    }
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(tight, 200);
  EXPECT_GT(sure, 200);
  EXPECT_GT(unsure, 500);
}

TEST(WholeChunks, AddUpToTheDemandOfAPlan) {
  Random random(3);
  const auto size = [&] { return Bytes{static_cast<std::uint64_t>(random.draw(0, 4 * 4096))}; };
  for (const SwapPolicy policy : {SwapPolicy::none, SwapPolicy::pipelined, SwapPolicy::serial, SwapPolicy::rt_swap,
                                  SwapPolicy::mo_vmm, SwapPolicy::lru})
    for (int round = 0; round < 50; ++round) {
      TaskSet tasks = random_set(random, Order::edf, ThreadPolicy::fifo);
      tasks.swap.policy = policy;
      Board board = random_board();
      board.capacity = chunk * 1000;
      std::vector<MemoryDemand> memory(tasks.tasks.size());
      Bytes kept{0}, shared{0};
      for (MemoryDemand& each : memory) {
        each.fixed = size();
        for (const MemoryClass kind :
             {MemoryClass::constant, MemoryClass::scratch, MemoryClass::state, MemoryClass::state})
          each.add(kind, size());
        const WholeChunks chunks = whole_chunks(each, chunk, policy);
        kept += chunks.kept;
        shared = std::max(shared, chunks.shared);
      }
      const auto plan = make_plan(resolved(tasks, board, {0, 1}), memory);
      ASSERT_TRUE(plan);
      EXPECT_EQ(kept + shared, plan->demand);
    }
}

/// Counts how many proved sets are not proved any more when they take less time.
TEST(MonotoneAdmission, HoldsForNearlyAllRandomSetsWhenTimesShrink) {
  for (const bool swapping : {false, true})
    for (const ThreadPolicy threads : {ThreadPolicy::fifo, ThreadPolicy::deadline})
      for (const Order order : {Order::static_priority, Order::edf}) {
        Random random(1);
        int proved = 0, worse = 0;
        for (int round = 0; round < 3000; ++round) {
          TaskSet set = random_set(random, order, threads);
          const std::vector<MemoryDemand> memory = random_memory(random, set, swapping);
          const auto is_proved = [&] {
            const auto plan = make_plan(resolved(set, random_board(), {0, 1}), memory);
            return plan && plan->proved;
          };
          if (!is_proved()) continue;
          ++proved;
          const TaskSet longest = set;
          for (int cut = 0; cut < 3; ++cut) {
            set = longest;
            for (Task& task : set.tasks)
              for (Duration* part : {&task.wcet->before, &task.wcet->device, &task.wcet->after})
                if (random.draw(0, 2) == 0 && *part > 0ns)
                  *part = random.time(part == &task.wcet->device ? 1 : 0, part->count());
            if (is_proved()) continue;
            ++worse;
            break;
          }
        }
        std::cout << name(order) << ", " << name(threads) << (swapping ? ", swapping" : "") << ": " << worse << " of "
                  << proved << " proved sets are not proved when they take less time\n";
        EXPECT_GT(proved, 100);
        EXPECT_LE(worse, proved / 100);
        if (order == Order::static_priority && threads == ThreadPolicy::fifo && !swapping) { EXPECT_EQ(worse, 0); }
      }
}

} // namespace
} // namespace rtexec::policies
