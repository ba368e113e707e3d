#include "policies/scheduler/release_grid.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace rtexec::policies {
namespace {

using Kind = ReleaseDecision::Kind;

constexpr Duration period{10};

Instant at(std::int64_t ns) { return Instant{Duration(ns)}; }
ReleaseDecision decision(Kind kind, std::uint64_t job, std::int64_t nominal) { return {kind, job, at(nominal)}; }
ReleaseDecision pays(std::uint64_t job, std::int64_t nominal) {
  return {Kind::skip, job, at(nominal), ReleaseReason::wcet_exceeded};
}

class ReleaseGridPerPolicy : public testing::TestWithParam<OnOverrun> {};

TEST_P(ReleaseGridPerPolicy, KeepsGridWhileJobsAreOnTime) {
  ReleaseGrid grid(GetParam(), period, at(3));
  for (std::uint64_t job = 0; job < 1000; ++job) {
    const auto nominal = static_cast<std::int64_t>(3 + 10 * job);
    EXPECT_EQ(grid.next(), at(nominal));
    EXPECT_EQ(grid.at_release(false), decision(Kind::start, job, nominal));
  }
  EXPECT_EQ(grid.released(), 1000u);
  EXPECT_EQ(grid.skipped(), 0u);
}

TEST_P(ReleaseGridPerPolicy, NeverAllocates) {
  ReleaseGrid grid(GetParam(), period, at(0));
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 100; ++i) {
    const Kind kind = grid.at_release(i % 3 == 1).kind;
    if (kind == Kind::wait || kind == Kind::abort_and_wait)
      static_cast<void>(grid.after_wait(grid.next() + period * 2));
  }
  EXPECT_EQ(test::allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, ReleaseGridPerPolicy,
                         testing::Values(OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase,
                                         OnOverrun::abort_job, OnOverrun::stop));

// In each timeline job 0 is released at 0 and ends at 35: it overruns the releases at 10, 20 and 30.

TEST(ReleaseGrid, SkipDropsReleasesDuringOverrun) {
  ReleaseGrid grid(OnOverrun::skip, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::skip, 1, 10));
  EXPECT_EQ(grid.at_release(true), decision(Kind::skip, 1, 20));
  EXPECT_EQ(grid.at_release(true), decision(Kind::skip, 1, 30));
  EXPECT_EQ(grid.next(), at(40));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 1, 40));
  EXPECT_EQ(grid.skipped(), 3u);
  EXPECT_EQ(grid.released(), 2u);
}

TEST(ReleaseGrid, CatchUpStartsAJobForEveryDelayedRelease) {
  ReleaseGrid grid(OnOverrun::catch_up, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(grid.after_wait(at(35)), decision(Kind::start, 1, 10));
  EXPECT_EQ(grid.next(), at(20)); // in the past: released at once
  EXPECT_EQ(grid.at_release(true), decision(Kind::wait, 2, 20));
  EXPECT_EQ(grid.after_wait(at(37)), decision(Kind::start, 2, 20));
  EXPECT_EQ(grid.at_release(true), decision(Kind::wait, 3, 30));
  EXPECT_EQ(grid.after_wait(at(39)), decision(Kind::start, 3, 30));
  EXPECT_EQ(grid.next(), at(40)); // caught up
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 4, 40));
  EXPECT_EQ(grid.skipped(), 0u);
  EXPECT_EQ(grid.released(), 5u);
}

TEST(ReleaseGrid, RePhaseRestartsGridAtEndOfLateJob) {
  ReleaseGrid grid(OnOverrun::re_phase, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(grid.after_wait(at(35)), decision(Kind::start, 1, 35));
  EXPECT_EQ(grid.next(), at(45));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 2, 45));
  EXPECT_EQ(grid.next(), at(55));
  EXPECT_EQ(grid.skipped(), 0u);
}

TEST(ReleaseGrid, AbortJobProceedsFromTheNominalRelease) {
  ReleaseGrid grid(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(grid.after_wait(at(14)), decision(Kind::start, 1, 10));
  EXPECT_EQ(grid.next(), at(20));
  EXPECT_EQ(grid.skipped(), 0u);
}

TEST(ReleaseGrid, AbortJobSkipsReleasesThatPassWhileItWaits) {
  ReleaseGrid grid(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(grid.after_wait(at(35)), decision(Kind::start, 1, 30));
  EXPECT_EQ(grid.skipped(), 2u); // 10 and 20
  EXPECT_EQ(grid.next(), at(40));
}

TEST(ReleaseGrid, AbortJobStartsReleaseThatCoincidesWithItsEnd) {
  ReleaseGrid grid(OnOverrun::abort_job, period, at(0));
  static_cast<void>(grid.at_release(false));
  static_cast<void>(grid.at_release(true));
  EXPECT_EQ(grid.after_wait(at(20)), decision(Kind::start, 1, 20));
  EXPECT_EQ(grid.skipped(), 1u);
}

TEST(ReleaseGrid, StopEndsReleasesForGood) {
  ReleaseGrid grid(OnOverrun::stop, period, at(0));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(grid.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(grid.released(), 1u);
}

TEST(ReleaseGrid, PostponedReleaseShiftsTheGrid) {
  ReleaseGrid grid(OnOverrun::skip, period, at(0));
  static_cast<void>(grid.at_release(false));
  grid.postpone(at(17));
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 1, 17));
  EXPECT_EQ(grid.next(), at(27));
}

// ---- parts above their WCETs ----

TEST(WcetExceeded, SkipNextDropsOneReleasePerExceedingJob) {
  ReleaseGrid grid(OnOverrun::skip, period, at(0), OnWcetExceeded::skip_next);
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(false, true), pays(1, 10));
  EXPECT_EQ(grid.at_release(false, true), decision(Kind::start, 1, 20)) << "of the same job: it has paid";
  EXPECT_EQ(grid.at_release(false, true), pays(2, 30));
  EXPECT_EQ(grid.at_release(false, true), decision(Kind::start, 2, 40));
  EXPECT_EQ(grid.at_release(false, false), decision(Kind::start, 3, 50));
  EXPECT_EQ(grid.skipped(), 2u);
  EXPECT_EQ(grid.released(), 4u);
}

TEST(WcetExceeded, SkipNextCountsReleaseAlreadySkippedByOverrun) {
  ReleaseGrid grid(OnOverrun::skip, period, at(0), OnWcetExceeded::skip_next);
  EXPECT_EQ(grid.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(grid.at_release(true), decision(Kind::skip, 1, 10));
  EXPECT_EQ(grid.at_release(false, true), decision(Kind::start, 1, 20));
}

TEST(WcetExceeded, SkipNextDropsReleaseThatWaitedForLateJob) {
  ReleaseGrid catching_up(OnOverrun::catch_up, period, at(0), OnWcetExceeded::skip_next);
  static_cast<void>(catching_up.at_release(false));
  EXPECT_EQ(catching_up.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(catching_up.after_wait(at(25), true), pays(1, 10));
  EXPECT_EQ(catching_up.at_release(true), decision(Kind::wait, 1, 20));
  EXPECT_EQ(catching_up.after_wait(at(25), true), decision(Kind::start, 1, 20));

  ReleaseGrid re_phasing(OnOverrun::re_phase, period, at(0), OnWcetExceeded::skip_next);
  static_cast<void>(re_phasing.at_release(false));
  EXPECT_EQ(re_phasing.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(re_phasing.after_wait(at(25), true), pays(1, 25));
  EXPECT_EQ(re_phasing.at_release(false, true), decision(Kind::start, 1, 35));

  ReleaseGrid aborting(OnOverrun::abort_job, period, at(0), OnWcetExceeded::skip_next);
  static_cast<void>(aborting.at_release(false));
  EXPECT_EQ(aborting.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(aborting.after_wait(at(14), true), pays(1, 10));
  EXPECT_EQ(aborting.at_release(false, true), decision(Kind::start, 1, 20));
}

TEST(WcetExceeded, OnlyStopEndsTheRun) {
  EXPECT_FALSE(ends_run(OnWcetExceeded::tell));
  EXPECT_FALSE(ends_run(OnWcetExceeded::skip_next));
  EXPECT_TRUE(ends_run(OnWcetExceeded::stop));
}

/// A history of jobs, each of which ends after a random time and may exceed its WCET.
struct RandomJobs {
  ReleaseGrid grid;
  std::mt19937 random;
  Instant ended{};
  bool exceeded = false;

  /// The next job's nominal release, that of the job before, and whether that one exceeded its WCET.
  struct Started {
    Instant nominal{}, before{};
    bool before_exceeded = false;
  };
  Started next(Instant before) {
    const bool before_exceeded = exceeded;
    for (;;) {
      const Instant release = grid.next();
      ReleaseDecision decided = grid.at_release(ended > release, exceeded);
      if (decided.kind == Kind::wait || decided.kind == Kind::abort_and_wait)
        decided = grid.after_wait(ended, exceeded);
      if (decided.kind == Kind::skip) continue;
      ended = std::max(ended, release) + Duration(1 + random() % (3 * period.count()));
      exceeded = random() % 2 == 0;
      return {decided.nominal, before, before_exceeded};
    }
  }
};

class WcetExceededPolicy : public testing::TestWithParam<OnOverrun> {};
INSTANTIATE_TEST_SUITE_P(ThatGoOn, WcetExceededPolicy,
                         testing::Values(OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase,
                                         OnOverrun::abort_job));

TEST_P(WcetExceededPolicy, SkipNextSpacesReleasesTwoPeriodsApart) {
  RandomJobs paying{{GetParam(), period, at(0), OnWcetExceeded::skip_next}, std::mt19937(1)};
  Instant last = paying.next({}).nominal;
  for (int i = 0; i < 10'000; ++i) {
    const auto job = paying.next(last);
    ASSERT_GE(job.nominal - job.before, (job.before_exceeded ? 2 : 1) * period) << "job " << i;
    last = job.nominal;
  }
  RandomJobs telling{{GetParam(), period, at(0), OnWcetExceeded::tell}, std::mt19937(2)};
  RandomJobs plain{{GetParam(), period, at(0)}, std::mt19937(2)};
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(telling.next({}).nominal, plain.next({}).nominal);
}

} // namespace
} // namespace rtexec::policies
