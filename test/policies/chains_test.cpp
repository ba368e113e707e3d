// Tests bounds of chains against all histories of their tasks, and in plans.
#include "policies/chains/chain_bounds.hpp"

#include "test/policies/chain_oracle.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using namespace rtexec::policies::test;
using rtexec::test::ChainFault;
using rtexec::test::ChainHistory;
using rtexec::test::Choices;
using rtexec::test::history_of;
using rtexec::test::Longest;
using rtexec::test::longest_by_stamps;
using rtexec::test::longest_of;
using rtexec::test::reference_reaction;
using Release = ChainTask::Release;
using testing::HasSubstr;

ChainTask timer(Nanos period, Nanos output, Nanos offset = 0) {
  return {.release = Release::timer, .period = period, .offset = offset, .output = output};
}
ChainTask after(Nanos period, Nanos output) { return {.release = Release::after, .period = period, .output = output}; }
ChainTask sporadic(Nanos period, Nanos output) {
  return {.release = Release::sporadic, .period = period, .output = output};
}

TEST(ChainBounds, EqualPeriodPlusResponseForOneTask) {
  const ChainBounds bounds = chain_bounds({{timer(100, 30)}});
  EXPECT_EQ(bounds.reaction, 130);
  EXPECT_EQ(bounds.age, 130);
  EXPECT_EQ(bounds.reduced_age, 30);
}

TEST(ChainBounds, UseReleaseGridsOfSampledTimers) {
  // The output comes 30 after the release; the next grid point is at 40.
  EXPECT_EQ(chain_bounds({{timer(100, 30), timer(100, 20, 40)}}).reaction, 100 + 30 + 10 + 20);
  EXPECT_EQ(chain_bounds({{timer(100, 30), timer(100, 20)}}).reaction, 100 + 100 + 20);
  EXPECT_EQ(chain_bounds({{timer(100, 30), timer(50, 20)}}).reaction, 100 + 50 + 20);
  // With periods without a common divisor, any phase can occur.
  EXPECT_EQ(chain_bounds({{timer(100, 30), timer(101, 20)}}).reaction, 100 + 30 + 100 + 20);
}

TEST(ChainBounds, AddNoPeriodForTasksReleasedByOutputs) {
  const ChainBounds bounds = chain_bounds({{timer(100, 30), after(100, 20), after(50, 10)}});
  EXPECT_EQ(bounds.reaction, 160);
  EXPECT_EQ(bounds.reduced_age, 60);
  EXPECT_EQ(davare_bound({{timer(100, 30), after(100, 20), after(50, 10)}}), 310);
}

TEST(ChainBounds, AreAbsentWhenNextReleaseIsUnbounded) {
  const ChainBounds head = chain_bounds({{sporadic(100, 30), after(100, 20)}});
  EXPECT_EQ(head.reaction, 150);
  EXPECT_EQ(head.age, std::nullopt);
  EXPECT_EQ(head.reduced_age, 50);
  EXPECT_EQ(head.sporadic, 0u);
  const ChainBounds sampled = chain_bounds({{sporadic(100, 30), timer(100, 20)}});
  EXPECT_EQ(sampled.reaction, 250);
  EXPECT_EQ(sampled.age, std::nullopt);
  EXPECT_EQ(sampled.reduced_age, std::nullopt);
  const ChainBounds samples = chain_bounds({{timer(100, 30), sporadic(100, 20)}});
  EXPECT_EQ(samples.reaction, std::nullopt);
  EXPECT_EQ(samples.age, std::nullopt);
  EXPECT_EQ(samples.reduced_age, 150);
}

TEST(ChainBounds, AreAbsentWhenSumOverflows) {
  const std::vector<ChainTask> chain(max_tasks, timer(longest_time, longest_time));
  EXPECT_EQ(chain_bounds(chain).reaction, std::nullopt);
  EXPECT_EQ(davare_bound(chain), std::nullopt);
}

void expect_within(const Longest& found, const ChainBounds& bounds, const std::string& where) {
  if (bounds.reaction) { ASSERT_LE(found.reaction, *bounds.reaction) << where; }
  if (bounds.age) { ASSERT_LE(found.age, *bounds.age) << where; }
  if (bounds.reduced_age) { ASSERT_LE(found.reduced_age, *bounds.reduced_age) << where; }
}

std::string described(const std::vector<ChainTask>& chain, bool let) {
  std::string text = let ? "let" : "immediate";
  for (const ChainTask& task : chain)
    text += " (" + std::to_string(static_cast<int>(task.release)) + ": T " + std::to_string(task.period) + " O " +
            std::to_string(task.offset) + " R " + std::to_string(task.output) +
            (task.input_delay ? " Z " + std::to_string(*task.input_delay) : "") +
            (task.shuts_out ? " shuts out " + std::to_string(*task.shuts_out) : "") + ")";
  return text;
}

/// Tries every history of this chain and returns the longest times of all.
Longest search(const std::vector<ChainTask>& chain, bool let, std::int64_t horizon) {
  const ChainBounds bounds = chain_bounds(chain);
  Longest longest;
  Choices choices;
  do {
    const auto history = history_of(chain, let, horizon, choices);
    if (!history) continue;
    const Longest found = longest_of(*history, chain[0].release == Release::sporadic, chain[0].input_delay.has_value());
    expect_within(found, bounds, described(chain, let));
    longest.reaction = std::max(longest.reaction, found.reaction);
    longest.age = std::max(longest.age, found.age);
    longest.reduced_age = std::max(longest.reduced_age, found.reduced_age);
  } while (!testing::Test::HasFailure() && choices.next());
  return longest;
}

struct Tightness {
  int chains = 0, reached = 0;
  void add(const Longest& found, const std::vector<ChainTask>& chain) {
    ++chains;
    reached += found.reaction == chain_bounds(chain).reaction;
  }
};

TEST(ChainBounds, HoldInEveryHistoryOfTwoTimersAndAreReached) {
  Tightness immediate, let;
  for (Nanos first = 2; first <= 4; ++first)
    for (Nanos second = 2; second <= 4; ++second)
      for (Nanos offset = 0; offset < second; ++offset)
        for (const Nanos first_output : {Nanos{1}, first - 1, first})
          for (const Nanos second_output : {Nanos{1}, second}) {
            const std::vector<ChainTask> chain{timer(first, first_output), timer(second, second_output, offset)};
            immediate.add(search(chain, false, std::max(3 * std::min(first, second), 2 * std::max(first, second))),
                          chain);
            let.add(search(chain, true, 40), chain);
            if (HasFatalFailure()) return;
          }
  EXPECT_EQ(let.reached, let.chains);
  RecordProperty("chains", immediate.chains);
  RecordProperty("reached", immediate.reached);
  EXPECT_GT(immediate.reached, immediate.chains / 2);
}

TEST(ChainBounds, HoldInEveryHistoryOfSporadicOrTriggeredTasks) {
  Tightness guarded;
  for (Nanos first = 1; first <= 4; ++first)
    for (Nanos second = 1; second <= first; ++second)
      for (Nanos first_output = 1; first_output <= first; ++first_output)
        for (Nanos second_output = 1; second_output <= second; ++second_output) {
          guarded.add(search({timer(first, first_output), after(second, second_output)}, false, 2 * first),
                      {timer(first, first_output), after(second, second_output)});
          static_cast<void>(search({sporadic(first, first_output), after(second, second_output)}, false, first + 2));
          static_cast<void>(search({sporadic(first, first_output), timer(second, second_output)}, false, 3));
          static_cast<void>(search({timer(first, first_output), sporadic(second, second_output)}, false, 3));
          if (HasFatalFailure()) return;
        }
  EXPECT_GT(guarded.reached, guarded.chains / 2);
}

ChainTask delayed(ChainTask task, Nanos delay) {
  task.input_delay = delay;
  return task;
}

TEST(ChainBounds, HoldInEveryHistoryWithInputDelayAndAreReached) {
  Tightness timers, gated;
  for (Nanos period = 2; period <= 4; ++period)
    for (Nanos output = 1; output <= period; ++output)
      for (Nanos delay = 0; delay <= 5; ++delay) {
        const std::vector<ChainTask> timed{delayed(timer(period, output), delay)};
        timers.add(search(timed, false, 2 * period), timed);
        const std::vector<ChainTask> triggered{delayed(sporadic(period, output), delay)};
        gated.add(search(triggered, false, period), triggered);
        static_cast<void>(search({delayed(sporadic(period, output), delay), after(period, output)}, false, 2));
        static_cast<void>(search({delayed(sporadic(period, output), delay), timer(period, output)}, false, 1));
        if (HasFatalFailure()) return;
      }
  EXPECT_EQ(gated.reached, gated.chains);
  EXPECT_GT(timers.reached, timers.chains / 2);
}

TEST(ChainBounds, AddInputDelayBeforeRelease) {
  const ChainBounds timed = chain_bounds({{delayed(timer(100, 30), 7), after(100, 20)}});
  EXPECT_EQ(timed.reaction, 7 + 100 + 50);
  EXPECT_EQ(timed.age, 7 + 100 + 50);
  EXPECT_EQ(timed.reduced_age, 7 + 50);
  EXPECT_EQ(timed.terms[0].waits, 107);
  // The gate delays a sample by no more than the jitter that its delay has room for.
  const ChainBounds triggered = chain_bounds({{delayed(sporadic(100, 30), 7), after(100, 20)}});
  EXPECT_EQ(triggered.reaction, 7 + 50);
  EXPECT_EQ(triggered.age, std::nullopt);
  EXPECT_EQ(triggered.reduced_age, 7 + 50);
  EXPECT_EQ(davare_bound({{delayed(timer(100, 30), 7)}}), 137);
}

std::vector<ChainTask> random_chain(std::mt19937_64& random) {
  const auto draw = [&](Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); };
  std::vector<ChainTask> chain;
  const Nanos unit = draw(0, 2) == 0 ? draw(2, 4) : 1; // periods with a common divisor
  for (Nanos tasks = draw(1, 4); tasks > 0; --tasks) {
    const bool follows = !chain.empty() && draw(0, 2) == 0;
    const Nanos period = follows ? draw(1, chain.back().period) : unit * draw(1, 6);
    const Nanos output = draw(1, period);
    if (follows) chain.push_back(after(period, output));
    else if (draw(0, 7) == 0) chain.push_back(sporadic(period, output));
    else chain.push_back(timer(period, output, draw(0, period)));
    if (draw(0, 2) == 0) chain.back().shuts_out = draw(1, 3);
  }
  if (draw(0, 2) == 0) chain[0].input_delay = draw(0, 8);
  return chain;
}

TEST(ChainBounds, HoldInRandomHistoriesAndStampsMatchDefinition) {
  std::mt19937_64 random(1);
  int counted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<ChainTask> chain = random_chain(random);
    const bool let = i % 4 == 0;
    if (let)
      for (ChainTask& task : chain) task.shuts_out.reset();
    const ChainBounds bounds = chain_bounds(chain);
    ASSERT_EQ(bounds.reaction, reference_reaction(chain)) << described(chain, let);
    Choices choices(random);
    for (int tries = 0; tries < 10; ++tries) {
      const auto history = history_of(chain, let, 60, choices);
      if (!history) continue;
      const bool triggered = chain[0].release == Release::sporadic;
      const bool sampled = chain[0].input_delay.has_value();
      const Longest found = longest_of(*history, triggered, sampled);
      expect_within(found, bounds, described(chain, let));
      if (HasFatalFailure()) return;
      const Longest followed = longest_by_stamps(*history, sampled);
      const Longest untriggered = longest_of(*history, false, sampled);
      ASSERT_EQ(followed.reaction, untriggered.reaction) << described(chain, let);
      ASSERT_EQ(followed.age, untriggered.age) << described(chain, let);
      ASSERT_EQ(followed.reduced_age, untriggered.reduced_age) << described(chain, let);
      ++counted;
    }
  }
  EXPECT_GT(counted, 50'000);
}

TEST(ChainBounds, AreRefutedWhenDeliberatelyWrong) {
  for (const ChainFault fault :
       {ChainFault::no_wait, ChainFault::no_phase, ChainFault::sampled_at_once, ChainFault::no_output,
        ChainFault::shut_out_at_once, ChainFault::no_delay, ChainFault::quick_gate, ChainFault::timer_waits}) {
    std::mt19937_64 random(2);
    bool refuted = false;
    for (int i = 0; i < 20'000 && !refuted; ++i) {
      const std::vector<ChainTask> chain = random_chain(random);
      const auto claimed = reference_reaction(chain, fault);
      if (!claimed) continue;
      Choices choices(random);
      for (int tries = 0; tries < 20 && !refuted; ++tries)
        if (const auto history = history_of(chain, false, 60, choices))
          refuted =
              longest_of(*history, chain[0].release == Release::sporadic, chain[0].input_delay.has_value()).reaction >
              *claimed;
    }
    EXPECT_TRUE(refuted) << static_cast<int>(fault);
  }
}

// ---- chains in plans ----

Task free_task(std::string name, Duration period, Duration wcet, unsigned core) {
  return task_of(std::move(name), period, Wcet{wcet, 0ms, 0ms}, core);
}

Chain drive(std::vector<std::string> tasks) {
  Chain chain;
  chain.name = "drive";
  chain.tasks = std::move(tasks);
  return chain;
}

Plan planned(const TaskSet& tasks, const Board& board = board_of()) {
  return make_plan(resolved(tasks, board, {0, 1, 2}), std::vector<MemoryDemand>(tasks.tasks.size())).value();
}

TaskSet three_tasks() {
  TaskSet set =
      set_of({free_task("sensor", 20ms, 2ms, 0), free_task("plan", 50ms, 5ms, 1), free_task("act", 20ms, 1ms, 2)});
  set.chains = {drive({"sensor", "plan", "act"})};
  return set;
}

TEST(PlannedChains, SumResponseBoundsAndWaitsOfTheirTasks) {
  TaskSet set = three_tasks();
  const Plan plan = planned(set);
  ASSERT_TRUE(plan.proved);
  const PlannedChain& chain = plan.chains.at(0);
  // 20 until sensed; 2 and one step of 10 ms between the grids after 50 - 10; likewise; and the last response.
  const Duration slack = 8ms; // to the next grid point of 10 ms after the sensor's output
  EXPECT_NEAR(static_cast<double>(chain.reaction->count()),
              static_cast<double>(Duration(20ms + 2ms + slack + 40ms + 5ms + 5ms + 10ms + 1ms).count()), 10);
  EXPECT_EQ(chain.reaction, chain.age);
  EXPECT_EQ(*chain.reduced_age + 20ms, *chain.age);
  EXPECT_GT(*chain.davare, *chain.reaction);
  EXPECT_TRUE(chain.kept);
  EXPECT_EQ(chain.finding, "");
  Duration sum{0};
  for (const ChainTerm& term : chain.terms) sum += term.waits + term.takes;
  EXPECT_EQ(sum, *chain.reaction);
}

TEST(PlannedChains, AddInputDelayOfFirstTask) {
  TaskSet set = three_tasks();
  const PlannedChain without = planned(set).chains[0];
  EXPECT_EQ(without.input_delay, std::nullopt);
  set.tasks[0].input_delay = 8ms;
  set.tasks[1].input_delay = 3ms; // no source precedes it in the chain
  const PlannedChain timed = planned(set).chains[0];
  EXPECT_EQ(timed.input_delay, 8ms);
  EXPECT_EQ(*timed.reaction, *without.reaction + 8ms);
  EXPECT_EQ(*timed.age, *without.age + 8ms);
  EXPECT_EQ(timed.terms[0].waits, 28ms);
  set.tasks[0].trigger = Trigger::input;
  const Plan plan = planned(set);
  EXPECT_EQ(plan.chains[0].terms[0].waits, 8ms);
  set.tasks[0].input_delay.reset();
  const Plan from_release = planned(set);
  EXPECT_EQ(from_release.chains[0].terms[0].waits, 20ms);
  // The source's jitter does not count behind the gate.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(plan.tasks[i].response_bound, from_release.tasks[i].response_bound);
}

TEST(PlannedChains, LeaveTaskSetUnprovedWhenTheyExceedALimit) {
  TaskSet set = three_tasks();
  set.chains[0].max_reaction = 50ms;
  set.chains[0].max_age = 10s;
  const Plan plan = planned(set);
  EXPECT_FALSE(plan.proved);
  EXPECT_TRUE(plan.end_to_end.proved);
  EXPECT_TRUE(plan.tasks[0].promised);
  EXPECT_FALSE(plan.chains[0].kept);
  EXPECT_THAT(plan.chains[0].finding, HasSubstr("its reaction time, up to 91"));
  EXPECT_THAT(plan.chains[0].finding, HasSubstr("exceeds max_reaction, 50ms, by 41"));
  EXPECT_THAT(plan.chains[0].finding, HasSubstr("most of it at task 'plan'"));
  EXPECT_THAT(plan.chains[0].finding, testing::Not(HasSubstr("max_age")));
  set.chains[0].max_reaction = 10s;
  EXPECT_TRUE(planned(set).proved);
}

TEST(PlannedChains, UseDeadlinesUnderLet) {
  TaskSet set = three_tasks();
  set.chains[0].communicate = Communication::let;
  EXPECT_EQ(planned(set).chains[0].reaction, Duration(20ms + 20ms + 40ms + 50ms + 10ms + 20ms));
}

TEST(PlannedChains, AddNoPeriodForTasksReleasedByOthers) {
  TaskSet set = three_tasks();
  for (std::size_t i = 1; i < 3; ++i) {
    set.tasks[i].trigger = Trigger::after;
    set.tasks[i].after = set.tasks[i - 1].name;
    set.tasks[i].period = set.tasks[i].deadline = 20ms;
  }
  const PlannedChain chain = planned(set).chains[0];
  EXPECT_NEAR(static_cast<double>(chain.reaction->count()), 28e6, 10);
  set.tasks[2].period = set.tasks[2].deadline = 30ms; // the reader would refuse this
  EXPECT_THAT(planned(set).chains[0].finding, HasSubstr("task 'act' has a longer period"));
}

TEST(PlannedChains, CountOnlyReleaseLatenessWhenLessUrgentTaskOnSameCoreSamples) {
  TaskSet set = set_of({free_task("sensor", 20ms, 6ms, 0), free_task("act", 21ms, 1ms, 0)}, Order::static_priority);
  set.chains = {drive({"sensor", "act"})};
  Board board = board_of();
  board.release_latency = 100us;
  EXPECT_EQ(planned(set, board).chains[0].terms[0].takes, 100us + 1ns);
  set.tasks[1].core = 1;
  EXPECT_GE(planned(set, board).chains[0].terms[0].takes, 6ms);
  set.tasks[1].core = 0;
  set.tasks[0].period = set.tasks[0].deadline = 22ms; // now less urgent
  EXPECT_GE(planned(set, board).chains[0].terms[0].takes, 6ms);
}

TEST(PlannedChains, LackBoundWhenATaskHasNoneOrIsSporadic) {
  TaskSet set = three_tasks();
  set.tasks[1].criticality = Criticality::best_effort;
  Plan plan = planned(set);
  EXPECT_TRUE(plan.proved); // there is no limit
  EXPECT_EQ(plan.chains[0].reaction, std::nullopt);
  EXPECT_EQ(plan.chains[0].finding,
            "no bound on its reaction time and its data age: task 'plan' has no promised response");
  set.chains[0].max_age = 10s;
  EXPECT_FALSE(planned(set).proved);

  set = three_tasks();
  set.tasks[0].trigger = Trigger::input;
  set.chains[0].max_reaction = 10s;
  plan = planned(set);
  EXPECT_TRUE(plan.proved);
  EXPECT_TRUE(plan.chains[0].reaction);
  EXPECT_EQ(plan.chains[0].finding,
            "no bound on its data age: task 'sensor' is released by inputs, and the maximum time between two jobs is "
            "not known");
  set.chains[0].max_age = 10s;
  EXPECT_FALSE(planned(set).proved);
}

/// Makes an input from each source. A job runs only if its input has new data.
TaskInput with_skip(SourceKind source, std::string from = {}, OnStale on_stale = OnStale::skip) {
  return {.tensor = {}, .source = source, .from = std::move(from), .on_stale = on_stale};
}

TEST(PlannedChains, LackBoundWhenATaskSkipsJobsWithoutNewInput) {
  for (const OnStale on_stale : {OnStale::skip, OnStale::miss}) {
    TaskSet set = three_tasks();
    set.tasks[0].inputs = {with_skip(SourceKind::camera, "/dev/video0", on_stale)};
    set.tasks[0].input_delay = 8ms; // for jobs that read; the others do not read
    const PlannedChain chain = planned(set).chains[0];
    EXPECT_EQ(chain.reaction, std::nullopt);
    EXPECT_EQ(chain.age, std::nullopt);
    EXPECT_THAT(chain.finding, HasSubstr("task 'sensor' has no job while an input has no new data"));
    set.chains[0].max_reaction = 10s;
    EXPECT_FALSE(planned(set).proved);
  }
  TaskSet set = three_tasks();
  set.tasks[1].inputs = {with_skip(SourceKind::task, set.tasks[2].name + "/y")}; // not from the task before it
  EXPECT_EQ(planned(set).chains[0].reaction, std::nullopt);
}

TEST(PlannedChains, KeepBoundsWhenOnlyJobsWithoutNewChainDataAreSkipped) {
  TaskSet set = three_tasks();
  const PlannedChain without = planned(set).chains[0];
  set.tasks[0].inputs = {with_skip(SourceKind::camera, "/dev/video0", OnStale::reuse)};
  set.tasks[1].inputs = {with_skip(SourceKind::task, set.tasks[0].name + "/y")};
  set.tasks[2].inputs = {with_skip(SourceKind::task, set.tasks[1].name)};
  EXPECT_EQ(planned(set).chains[0].reaction, without.reaction);
  EXPECT_EQ(planned(set).chains[0].age, without.age);
  // Released by its inputs.
  set.tasks[0].trigger = Trigger::input;
  set.tasks[0].inputs = {with_skip(SourceKind::camera, "/dev/video0")};
  EXPECT_TRUE(planned(set).chains[0].reaction);
  set.tasks[0].inputs.push_back(with_skip(SourceKind::camera, "/dev/video1")); // its samples arrive at any time
  EXPECT_EQ(planned(set).chains[0].reaction, std::nullopt);
  set.tasks[0].trigger = Trigger::call;
  set.tasks[0].inputs = {with_skip(SourceKind::program)};
  EXPECT_TRUE(planned(set).chains[0].reaction);
}

TEST(PlannedChains, AreRejectedWhenATaskDoesNotExist) {
  TaskSet set = three_tasks();
  set.chains[0].tasks[1] = "plans";
  const auto plan = make_plan(resolved(set, board_of(), {0, 1, 2}), std::vector<MemoryDemand>(3));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("chain 'drive': no task 'plans'"));
}

} // namespace
} // namespace rtexec::policies
