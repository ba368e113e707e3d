// Tests where a job's time went: each cause alone, all of them together, and which job is blamed.
#include "test/traces/recording_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using policies::Action;
using policies::JobId;
using policies::Transfer;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr JobId front{0, 0}, rear{1, 0};

/// Returns two tasks, of which `front` is the more urgent.
std::vector<TaskSetup> two() { return {task("front", 100us, 0), task("rear", 200us, 1)}; }

JobBreakdown only(const Script& script, JobId job) {
  Jobs jobs;
  static_cast<void>(script.analyze({&jobs}));
  return jobs.of(job);
}

TEST(Breakdown, SplitsUndisturbedJobIntoLatencyExecutionAndOverhead) {
  Script script(two());
  script.release(front, 0, 3);
  script.ready(front, 13, 9); // one of ten microseconds remains unexplained
  script.begin(front, 15);
  script.end(front, 45);
  script.finish(front, 46, 50, 4);
  const auto job = only(script, front);
  EXPECT_EQ(job.response, 50us);
  EXPECT_EQ(took(job, Cause::release_latency), 3us);
  EXPECT_EQ(took(job, Cause::execution), 9us + 30us + 4us);
  EXPECT_EQ(took(job, Cause::overhead), 1us + 2us + 1us);
  EXPECT_EQ(sum(job), job.response);
  EXPECT_EQ(job.outcome, JobOutcome::in_time);
}

TEST(Breakdown, CountsIdleTimeOnDeviceAsOverheadNotAsWcetOverrun) {
  Script script(two());
  script.setup.tasks[0].wcet.device = 20us;
  script.release(front, 0, 0);
  script.ready(front, 5, 5);
  script.begin(front, 5);
  script.end(front, 105, 15);
  script.finish(front, 105, 110, 5);
  const auto job = only(script, front);
  EXPECT_EQ(job.outcome, JobOutcome::late);
  EXPECT_EQ(took(job, Cause::execution), 5us + 15us + 5us);
  EXPECT_EQ(took(job, Cause::overhead), 85us);
  EXPECT_EQ(sum(job), job.response);
  const auto analysis = script.analyze();
  EXPECT_THAT(analysis.missed_jobs[0].blame, HasSubstr("85.0 us on the device without executing"));
  EXPECT_THAT(analysis.missed_jobs[0].blame, testing::Not(HasSubstr("above its WCET")));
}

/// `front` is a top-class job, whatever its rank, and executes between two segments. Then a chunk is reloaded.
TEST(Breakdown, ChargesWaitBetweenSegmentsToPreemptingJobAndSwapIn) {
  Script script(two());
  script.setup.tasks[0].device_class = 0;
  script.setup.tasks[0].device_rank = 7;
  script.setup.tasks[1].segments = 3;
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.pause(rear, 0, 11, 11);
  script.release(front, 12, 12);
  script.ready(front, 13, 1);
  script.pause(rear, 1, 21, 31);
  script.begin(front, 21);
  script.end(front, 25);
  script.finish(front, 25, 26, 1);
  script.move(true, rear, {1, 0, 0}, 26, 30);
  script.end(rear, 41, 28); // of 30 on the device
  script.finish(rear, 41, 43, 2);
  const auto job = only(script, rear);
  EXPECT_EQ(took(job, Cause::execution), 1us + 28us + 2us);
  EXPECT_EQ(took(job, Cause::queueing), 4us);
  EXPECT_EQ(took(job, Cause::swap_in), 4us);
  EXPECT_EQ(took(job, Cause::overhead), 2us + 2us);
  EXPECT_EQ(sum(job), job.response);
  const auto preempted = std::ranges::find(job.shares, Cause::queueing, &Share::cause);
  EXPECT_EQ(preempted->culprit, front);
  EXPECT_EQ(took(only(script, front), Cause::blocking_execution), 8us);
  EXPECT_EQ(script.analyze().tasks[1].stages[1].times.max, 28us);
}

TEST(Breakdown, ChargesPreemptionOfCpuPartToMoreUrgentJob) {
  Script script(two());
  script.release(rear, 0, 0);
  script.release(front, 4, 4);
  script.ready(front, 10, 6);
  script.ready(rear, 16, 10);
  script.begin(front, 10);
  script.end(front, 12);
  script.finish(front, 12, 12, 0);
  script.begin(rear, 16);
  script.end(rear, 20);
  script.finish(rear, 20, 20, 0);
  const auto job = only(script, rear);
  EXPECT_EQ(took(job, Cause::queueing), 6us);
  EXPECT_EQ(took(job, Cause::execution), 14us);
  ASSERT_EQ(job.shares.size(), 3u);
  const auto preempted = std::ranges::find(job.shares, Cause::queueing, &Share::cause);
  EXPECT_EQ(preempted->culprit, front);
  EXPECT_EQ(preempted->where, Share::Where::core);
}

TEST(Breakdown, DoesNotBlameMoreUrgentJobThatSleeps) {
  Script script(two());
  script.release(rear, 0, 0);
  script.release(front, 2, 2);
  script.ready(rear, 10, 10); // it had the core all the time
  script.ready(front, 12, 1);
  script.begin(rear, 10);
  script.end(rear, 11);
  script.finish(rear, 11, 11, 0);
  const auto job = only(script, rear);
  EXPECT_EQ(took(job, Cause::queueing), 0us);
  EXPECT_EQ(took(job, Cause::execution), 11us);
}

TEST(Breakdown, ChargesDeviceWaitAsQueueingOrBlockingByUrgency) {
  Script script(two());
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.release(front, 2, 2);
  script.ready(front, 3, 1);
  script.end(rear, 21);
  script.begin(front, 21);
  script.end(front, 30);
  script.finish(front, 30, 30, 0);
  script.finish(rear, 21, 21, 0);
  const auto blocked = only(script, front);
  EXPECT_EQ(took(blocked, Cause::blocking_execution), 18us);
  EXPECT_EQ(sum(blocked), 28us);

  Script other(two());
  other.release(front, 0, 0);
  other.ready(front, 1, 1);
  other.begin(front, 1);
  other.release(rear, 2, 2);
  other.ready(rear, 3, 1);
  other.end(front, 21);
  other.finish(front, 21, 21, 0);
  other.begin(rear, 22);
  other.end(rear, 30);
  other.finish(rear, 30, 30, 0);
  const auto queued = only(other, rear);
  EXPECT_EQ(took(queued, Cause::queueing), 18us);
  EXPECT_EQ(took(queued, Cause::overhead), 1us);
}

TEST(Breakdown, EarlierDeadlineIsMoreUrgentAtEqualRank) {
  auto tasks = two();
  tasks[0].device_rank = tasks[1].device_rank = 0;
  Script script(tasks);
  script.release(rear, 0, 0); // due at 200
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.release(front, 2, 2); // due at 102
  script.ready(front, 3, 1);
  script.end(rear, 21);
  script.begin(front, 21);
  script.end(front, 30);
  script.finish(front, 30, 30, 0);
  EXPECT_EQ(took(only(script, front), Cause::blocking_execution), 18us);
}

Script swapping() {
  Script script(two());
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = 2, .copy_engines = 2, .chunk = Bytes{4096}, .store = "test"};
  for (TaskSetup& task : script.setup.tasks) task.swap_slots = 2;
  return script;
}

TEST(Breakdown, SeparatesSwapOutSwapInAndCopyEngineWait) {
  Script script = swapping();
  script.release(front, 0, 0);
  script.ready(front, 1, 1);
  script.order(Action::Kind::copy_out, front, {1, 0, 0}, 1);
  script.move(false, front, {1, 0, 0}, 3, 10); // 2 us until the engine begins
  script.order(Action::Kind::copy_in, front, {0, 0, 0}, 10);
  script.move(true, front, {0, 0, 0}, 15, 30); // 5 us
  script.begin(front, 31);
  script.end(front, 40);
  script.finish(front, 40, 40, 0);
  const auto job = only(script, front);
  EXPECT_EQ(took(job, Cause::copy_engine), 7us);
  EXPECT_EQ(took(job, Cause::swap_out), 7us);
  EXPECT_EQ(took(job, Cause::swap_in), 15us);
  EXPECT_EQ(took(job, Cause::overhead), 1us);
  EXPECT_EQ(took(job, Cause::execution), 10us);
  EXPECT_EQ(sum(job), job.response);
}

TEST(Breakdown, DoesNotChargeSwapHiddenBehindAnotherExecution) {
  Script script = swapping();
  script.release(rear, 0, 0);
  script.ready(rear, 1, 1);
  script.begin(rear, 1);
  script.release(front, 2, 2);
  script.ready(front, 3, 1);
  script.order(Action::Kind::copy_in, front, {0, 0, 0}, 3);
  script.move(true, front, {0, 0, 0}, 4, 24);
  script.end(rear, 21);
  script.finish(rear, 21, 21, 0);
  script.begin(front, 24);
  script.end(front, 30);
  script.finish(front, 30, 30, 0);
  const auto job = only(script, front);
  EXPECT_EQ(took(job, Cause::blocking_execution), 18us);
  EXPECT_EQ(took(job, Cause::swap_in), 3us);
  EXPECT_EQ(took(job, Cause::copy_engine), 0us);
}

TEST(Breakdown, ChargesWaitForAnotherTransferAsBlockingOrQueueing) {
  Script script = swapping();
  script.release(rear, 0, 0);
  script.ready(rear, 0, 0);
  script.release(front, 1, 1);
  script.ready(front, 2, 1);
  script.move(true, rear, {1, 0, 0}, 0, 12); // front is not staged: it waits for the swap of the less urgent one
  script.order(Action::Kind::copy_in, front, {0, 0, 1}, 12);
  script.move(true, front, {0, 0, 1}, 12, 20);
  script.begin(front, 20);
  script.end(front, 25);
  script.finish(front, 25, 25, 0);
  script.begin(rear, 25);
  script.end(rear, 30);
  script.finish(rear, 30, 30, 0);
  Jobs jobs;
  static_cast<void>(script.analyze({&jobs}));
  EXPECT_EQ(took(jobs.of(front), Cause::blocking_copy), 10us);
  EXPECT_EQ(took(jobs.of(front), Cause::swap_in), 8us);
  EXPECT_EQ(took(jobs.of(rear), Cause::swap_in), 12us);
  EXPECT_EQ(took(jobs.of(rear), Cause::queueing), 13us);
  const auto& shares = jobs.of(rear).shares;
  EXPECT_TRUE(std::ranges::any_of(shares, [](const Share& share) {
    return share.culprit == front && share.where == Share::Where::swap_in && share.time == 8us;
  }));
}

TEST(Breakdown, ChargesCopyEngineWaitToTheJobItServes) {
  Script script = swapping();
  script.release(rear, 0, 0);
  script.ready(rear, 0, 0);
  script.release(front, 0, 0);
  script.ready(front, 1, 1);
  script.order(Action::Kind::copy_in, front, {0, 0, 1}, 1);
  script.move(true, rear, {1, 0, 0}, 0, 9);
  script.move(true, front, {0, 0, 1}, 9, 12);
  script.begin(front, 12);
  script.end(front, 13);
  script.finish(front, 13, 13, 0);
  const auto job = only(script, front);
  EXPECT_EQ(took(job, Cause::copy_engine), 8us);
  const auto share = std::ranges::find(job.shares, Cause::copy_engine, &Share::cause);
  EXPECT_EQ(share->culprit, rear);
}

TEST(Breakdown, ChargesThrottledCoreAsThrottlingNotPreemption) {
  Script script(two());
  script.release(front, 0, 0);
  script.add(RecordKind::throttle_begin, 2).core = 1;
  script.add(RecordKind::throttle_end, 8).core = 1;
  script.ready(front, 10, 4);
  script.begin(front, 10);
  script.end(front, 12);
  script.finish(front, 12, 12, 0);
  const auto job = only(script, front);
  EXPECT_EQ(took(job, Cause::throttled), 6us);
  EXPECT_EQ(took(job, Cause::execution), 6us);
  EXPECT_EQ(sum(job), job.response);
}

TEST(Breakdown, ReportsThrottlingOfCoreWithoutTasks) {
  Script script(two());
  script.setup.regulated_cores = {7};
  script.add(RecordKind::throttle_begin, 2).core = 7;
  script.add(RecordKind::throttle_end, 8).core = 7;
  const Analysis analysis = script.analyze({});
  const auto core = std::ranges::find(analysis.resources, "core 7", &ResourceAnalysis::name);
  ASSERT_NE(core, analysis.resources.end());
  EXPECT_EQ(core->throttled, 6us);
}

TEST(Breakdown, IgnoresThrottlingOfAnotherCore) {
  Script script(two());
  script.release(front, 0, 0);
  script.add(RecordKind::throttle_begin, 2).core = 2;
  script.add(RecordKind::throttle_end, 8).core = 2;
  script.ready(front, 10, 4);
  script.begin(front, 10);
  script.end(front, 12);
  script.finish(front, 12, 12, 0);
  EXPECT_EQ(took(only(script, front), Cause::throttled), 0us);
  EXPECT_EQ(took(only(script, front), Cause::overhead), 6us);
}

TEST(Breakdown, ChargesWaitForPreviousJobOfTaskAsQueueing) {
  Script script(two());
  script.run({0, 0}, 0, 10, 110, 10);
  script.release({0, 1}, 100, 131);
  script.ready({0, 1}, 132, 1);
  script.begin({0, 1}, 132);
  script.end({0, 1}, 140);
  script.finish({0, 1}, 140, 140, 0);
  const auto job = only(script, {0, 1});
  EXPECT_EQ(took(job, Cause::queueing), 30us);
  EXPECT_EQ(took(job, Cause::release_latency), 1us);
  EXPECT_EQ(job.shares.front().culprit, (JobId{0, 0}));
}

// ---- blame ----

/// Analyses twenty jobs of `rear` that keep their deadline, each 10 us behind `front`, followed by the records that
/// `disturb` adds.
Analysis after_twenty(const std::function<void(Script&, JobId front, JobId rear, std::int64_t at)>& disturb) {
  auto tasks = two();
  tasks[0].wcet = {.before = 5us, .device = 10us, .after = 5us};
  tasks[1].wcet = {.before = 5us, .device = 30us, .after = 5us};
  tasks[1].deadline = 100us;
  Script script(tasks);
  script.setup.swap = swapping().setup.swap;
  for (std::uint64_t job = 0; job < 20; ++job) {
    const auto at = static_cast<std::int64_t>(job) * 200;
    script.run({0, job}, at, 1, 10, 1);
    script.release({1, job}, at, at);
    script.ready({1, job}, at + 1, 1);
    script.begin({1, job}, at + 11);
    script.end({1, job}, at + 40);
    script.finish({1, job}, at + 40, at + 41, 1);
  }
  disturb(script, {0, 20}, {1, 20}, 4000);
  return script.analyze();
}

TEST(Blame, NamesWcetOverrunOfAnotherJob) {
  const auto analysis = after_twenty([](Script& script, JobId other, JobId late, std::int64_t at) {
    script.run(other, at, 1, 80, 1);
    script.release(late, at, at);
    script.ready(late, at + 1, 1);
    script.begin(late, at + 81);
    script.end(late, at + 110);
    script.finish(late, at + 110, at + 111, 1);
  });
  ASSERT_EQ(analysis.missed_jobs.size(), 1u);
  const auto& job = analysis.missed_jobs[0];
  EXPECT_EQ(job.shares[0].cause, Cause::queueing);
  EXPECT_EQ(job.shares[0].culprit, (JobId{0, 20}));
  EXPECT_EQ(job.shares[0].time, 80us);
  EXPECT_EQ(job.shares[0].usual, 10us);
  EXPECT_EQ(job.shares[0].overrun, 70us);
  EXPECT_EQ(job.blame,
            "job 20 of rear was 11.0 us late (111 us of 100 us): 80.0 us behind the execution of front (job 20), 70.0 "
            "us above its WCET (usually 10.0 us)");
}

TEST(Blame, NamesOwnSwapInWhenItDelaysTheJob) {
  const auto analysis = after_twenty([](Script& script, JobId, JobId late, std::int64_t at) {
    script.release(late, at, at);
    script.ready(late, at + 1, 1);
    script.order(Action::Kind::copy_in, late, {1, 0, 0}, at + 1);
    script.move(true, late, {1, 0, 0}, at + 1, at + 76);
    script.begin(late, at + 76);
    script.end(late, at + 105);
    script.finish(late, at + 105, at + 106, 1);
  });
  ASSERT_EQ(analysis.missed_jobs.size(), 1u);
  EXPECT_EQ(analysis.missed_jobs[0].shares[0].cause, Cause::swap_in);
  EXPECT_THAT(analysis.missed_jobs[0].blame, HasSubstr("75.0 us its own swap-in"));
}

TEST(Blame, NamesThrottlingOfTheCore) {
  const auto analysis = after_twenty([](Script& script, JobId, JobId late, std::int64_t at) {
    script.release(late, at, at);
    script.add(RecordKind::throttle_begin, at).core = 1;
    script.add(RecordKind::throttle_end, at + 70).core = 1;
    script.ready(late, at + 71, 1);
    script.begin(late, at + 71);
    script.end(late, at + 100);
    script.finish(late, at + 100, at + 101, 1);
  });
  ASSERT_EQ(analysis.missed_jobs.size(), 1u);
  EXPECT_EQ(analysis.missed_jobs[0].shares[0].cause, Cause::throttled);
  EXPECT_THAT(analysis.missed_jobs[0].blame, HasSubstr("70.0 us throttled"));
}

TEST(Blame, NamesOwnExecutionThatOverranItsWcet) {
  const auto analysis =
      after_twenty([](Script& script, JobId, JobId late, std::int64_t at) { script.run(late, at, 1, 120, 1); });
  ASSERT_EQ(analysis.missed_jobs.size(), 1u);
  const auto& share = analysis.missed_jobs[0].shares[0];
  EXPECT_EQ(share.cause, Cause::execution);
  EXPECT_EQ(share.overrun, 90us);
  EXPECT_THAT(analysis.missed_jobs[0].blame,
              HasSubstr("120 us its own execution, 90.0 us above its WCET (usually 29.0 us)"));
  EXPECT_THAT(analysis.breaches, testing::SizeIs(2)); // its deadline, and its WCET
}

// ---- all together ----

/// Records are in a possible order, but at random instants: the parts always sum to the response time.
TEST(Breakdown, PartsAndSharesSumToResponseForRandomRecords) {
  std::mt19937 random(7);
  const auto number = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  for (int round = 0; round < 300; ++round) {
    Script script = swapping();
    std::int64_t now = 0;
    for (std::uint64_t job = 0; job < 30; ++job) {
      for (const std::uint32_t task : {0u, 1u}) {
        const JobId id{task, job};
        const std::int64_t nominal = now - number(20);
        std::int64_t at = nominal + number(30);
        script.release(id, nominal, at);
        script.ready(id, at += number(30), number(40));
        if (number(1) == 0)
          script.order(number(1) == 0 ? Action::Kind::copy_in : Action::Kind::copy_out, id, {task, 0, 0}, at);
        for (int i = number(4); i > 0; --i) {
          const std::int64_t begin = at + number(30);
          script.move(number(1) == 0, number(1) == 0 ? id : JobId{1 - task, job}, {task, 0, 0}, begin,
                      begin + number(30));
        }
        script.begin(id, at += number(60));
        script.end(id, at += number(30));
        script.finish(id, at + number(5), at + 5 + number(20), number(30));
        if (number(3) == 0) {
          script.add(RecordKind::throttle_begin, at - number(50)).core = 1;
          script.add(RecordKind::throttle_end, at + number(50)).core = 1;
        }
      }
      now += number(100);
    }
    Jobs jobs;
    static_cast<void>(script.analyze({&jobs}));
    EXPECT_THAT(jobs.all, testing::Not(IsEmpty()));
    for (const JobBreakdown& job : jobs.all) {
      ASSERT_EQ(sum(job), job.response);
      for (const Duration part : job.by_cause) ASSERT_GE(part, 0ns);
      Duration shares{0};
      for (const Share& share : job.shares) shares += share.time;
      ASSERT_EQ(shares, job.response);
    }
  }
}

} // namespace
} // namespace rtexec::traces
