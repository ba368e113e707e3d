#include "policies/overrun_handler.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

namespace rtexec::policies {
namespace {

using Kind = ReleaseDecision::Kind;

constexpr Duration period{10};

Instant at(std::int64_t ns) { return Instant{Duration(ns)}; }
ReleaseDecision decision(Kind kind, std::uint64_t job, std::int64_t nominal) { return {kind, job, at(nominal)}; }

class Gate : public testing::TestWithParam<OnOverrun> {};

TEST_P(Gate, KeepsTheGridWhileJobsAreInTime) {
  OverrunHandler overruns(GetParam(), period, at(3));
  for (std::uint64_t job = 0; job < 1000; ++job) {
    const auto nominal = static_cast<std::int64_t>(3 + 10 * job);
    EXPECT_EQ(overruns.next(), at(nominal));
    EXPECT_EQ(overruns.at_release(false), decision(Kind::start, job, nominal));
  }
  EXPECT_EQ(overruns.released(), 1000u);
  EXPECT_EQ(overruns.skipped(), 0u);
}

TEST_P(Gate, NeverAllocates) {
  OverrunHandler overruns(GetParam(), period, at(0));
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 100; ++i) {
    const Kind kind = overruns.at_release(i % 3 == 1).kind;
    if (kind == Kind::wait || kind == Kind::abort_and_wait)
      static_cast<void>(overruns.after_wait(overruns.next() + period * 2));
  }
  EXPECT_EQ(test::allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, Gate,
                         testing::Values(OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase,
                                         OnOverrun::abort_job, OnOverrun::stop));

// In each timeline job 0 is released at 0 and ends at 35: it overruns the releases at 10, 20 and 30.

TEST(OverrunHandler, SkipDropsEveryReleaseThatTheJobReaches) {
  OverrunHandler overruns(OnOverrun::skip, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::skip, 1, 10));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::skip, 1, 20));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::skip, 1, 30));
  EXPECT_EQ(overruns.next(), at(40));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 1, 40));
  EXPECT_EQ(overruns.skipped(), 3u);
  EXPECT_EQ(overruns.released(), 2u);
}

TEST(OverrunHandler, CatchUpGivesEveryReleaseItsJobAndItsDeadline) {
  OverrunHandler overruns(OnOverrun::catch_up, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(overruns.after_wait(at(35)), decision(Kind::start, 1, 10));
  EXPECT_EQ(overruns.next(), at(20)); // past: asked for at once
  EXPECT_EQ(overruns.at_release(true), decision(Kind::wait, 2, 20));
  EXPECT_EQ(overruns.after_wait(at(37)), decision(Kind::start, 2, 20));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::wait, 3, 30));
  EXPECT_EQ(overruns.after_wait(at(39)), decision(Kind::start, 3, 30));
  EXPECT_EQ(overruns.next(), at(40)); // caught up
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 4, 40));
  EXPECT_EQ(overruns.skipped(), 0u);
  EXPECT_EQ(overruns.released(), 5u);
}

TEST(OverrunHandler, RePhaseStartsTheGridAnewAtTheEndOfTheLateJob) {
  OverrunHandler overruns(OnOverrun::re_phase, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(overruns.after_wait(at(35)), decision(Kind::start, 1, 35));
  EXPECT_EQ(overruns.next(), at(45));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 2, 45));
  EXPECT_EQ(overruns.next(), at(55));
  EXPECT_EQ(overruns.skipped(), 0u);
}

TEST(OverrunHandler, AbortJobProceedsFromTheNominalRelease) {
  OverrunHandler overruns(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(overruns.after_wait(at(14)), decision(Kind::start, 1, 10));
  EXPECT_EQ(overruns.next(), at(20));
  EXPECT_EQ(overruns.skipped(), 0u);
}

TEST(OverrunHandler, AbortJobSkipsReleasesThatPassWhileItWaits) {
  OverrunHandler overruns(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(overruns.after_wait(at(35)), decision(Kind::start, 1, 30));
  EXPECT_EQ(overruns.skipped(), 2u); // 10 and 20
  EXPECT_EQ(overruns.next(), at(40));
}

TEST(OverrunHandler, AbortJobThatEndsOnAReleaseStartsThatOne) {
  OverrunHandler overruns(OnOverrun::abort_job, period, at(0));
  static_cast<void>(overruns.at_release(false));
  static_cast<void>(overruns.at_release(true));
  EXPECT_EQ(overruns.after_wait(at(20)), decision(Kind::start, 1, 20));
  EXPECT_EQ(overruns.skipped(), 1u);
}

TEST(OverrunHandler, StopStopsAndStaysStopped) {
  OverrunHandler overruns(OnOverrun::stop, period, at(0));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(overruns.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(overruns.released(), 1u);
}

TEST(OverrunHandler, ASporadicReleaseMovesTheGrid) {
  OverrunHandler overruns(OnOverrun::skip, period, at(0));
  static_cast<void>(overruns.at_release(false));
  overruns.postpone(at(17));
  EXPECT_EQ(overruns.at_release(false), decision(Kind::start, 1, 17));
  EXPECT_EQ(overruns.next(), at(27));
}

} // namespace
} // namespace rtexec::policies
