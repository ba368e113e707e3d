#include "policies/release_gate.hpp"
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
  ReleaseGate gate(GetParam(), period, at(3));
  for (std::uint64_t job = 0; job < 1000; ++job) {
    const auto nominal = static_cast<std::int64_t>(3 + 10 * job);
    EXPECT_EQ(gate.next(), at(nominal));
    EXPECT_EQ(gate.at_release(false), decision(Kind::start, job, nominal));
  }
  EXPECT_EQ(gate.released(), 1000u);
  EXPECT_EQ(gate.skipped(), 0u);
}

TEST_P(Gate, NeverAllocates) {
  ReleaseGate gate(GetParam(), period, at(0));
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 100; ++i) {
    const Kind kind = gate.at_release(i % 3 == 1).kind;
    if (kind == Kind::wait || kind == Kind::abort_and_wait)
      static_cast<void>(gate.after_wait(gate.next() + period * 2));
  }
  EXPECT_EQ(test::allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, Gate,
                         testing::Values(OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase,
                                         OnOverrun::abort_job, OnOverrun::stop));

// In each timeline job 0 is released at 0 and ends at 35: it overruns the releases at 10, 20 and 30.

TEST(ReleaseGate, SkipDropsEveryReleaseThatTheJobReaches) {
  ReleaseGate gate(OnOverrun::skip, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::skip, 1, 10));
  EXPECT_EQ(gate.at_release(true), decision(Kind::skip, 1, 20));
  EXPECT_EQ(gate.at_release(true), decision(Kind::skip, 1, 30));
  EXPECT_EQ(gate.next(), at(40));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 1, 40));
  EXPECT_EQ(gate.skipped(), 3u);
  EXPECT_EQ(gate.released(), 2u);
}

TEST(ReleaseGate, CatchUpGivesEveryReleaseItsJobAndItsDeadline) {
  ReleaseGate gate(OnOverrun::catch_up, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(gate.after_wait(at(35)), decision(Kind::start, 1, 10));
  EXPECT_EQ(gate.next(), at(20)); // past: asked for at once
  EXPECT_EQ(gate.at_release(true), decision(Kind::wait, 2, 20));
  EXPECT_EQ(gate.after_wait(at(37)), decision(Kind::start, 2, 20));
  EXPECT_EQ(gate.at_release(true), decision(Kind::wait, 3, 30));
  EXPECT_EQ(gate.after_wait(at(39)), decision(Kind::start, 3, 30));
  EXPECT_EQ(gate.next(), at(40)); // caught up
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 4, 40));
  EXPECT_EQ(gate.skipped(), 0u);
  EXPECT_EQ(gate.released(), 5u);
}

TEST(ReleaseGate, RePhaseStartsTheGridAnewAtTheEndOfTheLateJob) {
  ReleaseGate gate(OnOverrun::re_phase, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::wait, 1, 10));
  EXPECT_EQ(gate.after_wait(at(35)), decision(Kind::start, 1, 35));
  EXPECT_EQ(gate.next(), at(45));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 2, 45));
  EXPECT_EQ(gate.next(), at(55));
  EXPECT_EQ(gate.skipped(), 0u);
}

TEST(ReleaseGate, AbortJobProceedsFromTheNominalRelease) {
  ReleaseGate gate(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(gate.after_wait(at(14)), decision(Kind::start, 1, 10));
  EXPECT_EQ(gate.next(), at(20));
  EXPECT_EQ(gate.skipped(), 0u);
}

TEST(ReleaseGate, AbortJobSkipsReleasesThatPassWhileItWaits) {
  ReleaseGate gate(OnOverrun::abort_job, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::abort_and_wait, 0, 10));
  EXPECT_EQ(gate.after_wait(at(35)), decision(Kind::start, 1, 30));
  EXPECT_EQ(gate.skipped(), 2u); // 10 and 20
  EXPECT_EQ(gate.next(), at(40));
}

TEST(ReleaseGate, AbortJobThatEndsOnAReleaseStartsThatOne) {
  ReleaseGate gate(OnOverrun::abort_job, period, at(0));
  static_cast<void>(gate.at_release(false));
  static_cast<void>(gate.at_release(true));
  EXPECT_EQ(gate.after_wait(at(20)), decision(Kind::start, 1, 20));
  EXPECT_EQ(gate.skipped(), 1u);
}

TEST(ReleaseGate, StopStopsAndStaysStopped) {
  ReleaseGate gate(OnOverrun::stop, period, at(0));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 0, 0));
  EXPECT_EQ(gate.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(gate.at_release(true), decision(Kind::stop, 1, 10));
  EXPECT_EQ(gate.released(), 1u);
}

TEST(ReleaseGate, ASporadicReleaseMovesTheGrid) {
  ReleaseGate gate(OnOverrun::skip, period, at(0));
  static_cast<void>(gate.at_release(false));
  gate.postpone(at(17));
  EXPECT_EQ(gate.at_release(false), decision(Kind::start, 1, 17));
  EXPECT_EQ(gate.next(), at(27));
}

} // namespace
} // namespace rtexec::policies
