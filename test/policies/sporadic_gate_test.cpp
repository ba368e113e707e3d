#include "policies/scheduler/sporadic_gate.hpp"

#include "policies/scheduler/release_grid.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

constexpr Instant at(std::int64_t time) { return Instant{Duration(time)}; }

TEST(SporadicGate, PassesTriggersAPeriodApartWithoutDelay) {
  SporadicGate gate(Duration(10));
  EXPECT_EQ(gate.next(), std::nullopt);
  gate.trigger(at(3));
  EXPECT_EQ(gate.next(), at(3));
  gate.release(at(3));
  EXPECT_EQ(gate.next(), std::nullopt);
  gate.trigger(at(13));
  EXPECT_EQ(gate.next(), at(13));
  EXPECT_EQ(gate.dropped(), 0u);
}

TEST(SporadicGate, DelaysEarlyTriggerAndKeepsOnlyOne) {
  SporadicGate gate(Duration(10));
  gate.trigger(at(3));
  gate.release(at(3));
  gate.trigger(at(5));
  EXPECT_EQ(gate.next(), at(13));
  gate.trigger(at(8));
  EXPECT_EQ(gate.next(), at(13));
  EXPECT_EQ(gate.dropped(), 1u);
  gate.release(at(14)); // the job before it delayed it
  gate.trigger(at(15));
  EXPECT_EQ(gate.next(), at(24));
}

/// Jobs of the head come at least a period apart and end within their response bound. Then each end of the `k`-th task
/// releases one job, within the sum of the bounds before it, and no trigger is dropped.
TEST(SporadicGate, ReleasesFollowersWithinPrecedingResponseBounds) {
  std::mt19937_64 random(1);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int set = 0; set < 2000; ++set) {
    std::vector<std::int64_t> nominal; // releases of the head
    std::int64_t period = draw(2, 20);
    for (std::int64_t now = 0, job = 0; job < 50; ++job, now += period + draw(0, 1) * draw(0, 9))
      nominal.push_back(now);
    std::vector<std::int64_t> releases = nominal;
    std::int64_t bound = 0;
    for (int follower = 0; follower < 4; ++follower) {
      const std::int64_t response = draw(1, period - 1);
      bound += response;
      const std::int64_t own = draw(1, period);
      SporadicGate gate{Duration(own)};
      for (std::size_t job = 0; job < releases.size(); ++job) {
        const std::int64_t end = releases[job] + draw(0, response);
        gate.trigger(at(end));
        releases[job] = gate.next()->time_since_epoch().count();
        gate.release(*gate.next());
        ASSERT_LE(releases[job], nominal[job] + bound);
        if (job > 0) { ASSERT_GE(releases[job] - releases[job - 1], own); }
      }
      ASSERT_EQ(gate.dropped(), 0u);
      period = own;
      if (period < 2) break;
    }
  }
}

/// A source samples at least a period apart, and samples are seen with delays from `least` to `most`. Each sample
/// releases a job, or is replaced by a newer one, within `most` of its sampling, and waits no longer than the jitter.
TEST(SporadicGate, DelaysSamplesByNoMoreThanTheirJitter) {
  std::mt19937_64 random(3);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::int64_t longest_share = 0; // of the jitter, in percent
  for (int set = 0; set < 2000; ++set) {
    const std::int64_t period = draw(2, 20), least = draw(0, 30), jitter = draw(1, 30);
    SporadicGate gate{Duration(period)};
    std::int64_t sample = 0, seen = 0;
    std::optional<std::int64_t> last;
    const auto release_until = [&](std::int64_t now) {
      if (!gate.next() || *gate.next() > at(now)) return;
      const std::int64_t release = gate.next()->time_since_epoch().count();
      if (last) { ASSERT_GE(release - *last, period); }
      last = release;
      gate.release(*gate.next());
    };
    for (int k = 0; k < 60; ++k, sample += period + draw(0, 1) * draw(0, 9)) {
      seen = std::max(seen, sample + least + draw(0, 1) * draw(0, jitter));
      release_until(seen);
      gate.trigger(at(seen));
      const std::int64_t release = gate.next()->time_since_epoch().count();
      ASSERT_LE(release, sample + least + jitter);
      ASSERT_LE(release - seen, jitter);
      longest_share = std::max(longest_share, 100 * (release - seen) / jitter);
    }
  }
  EXPECT_EQ(longest_share, 100);
}

/// Any triggers may come, and jobs may be late by any amount. Each overrun policy follows the gate.
TEST(SporadicGate, KeepsReleasesAPeriodApartTogetherWithReleaseGrid) {
  std::mt19937_64 random(2);
  for (const OnOverrun policy : {OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase}) {
    for (int run = 0; run < 500; ++run) {
      const Duration period(static_cast<std::int64_t>(random() % 9) + 2);
      SporadicGate gate(period);
      ReleaseGrid grid(policy, period, at(0));
      std::optional<Instant> last, ends;
      Instant trigger = at(0);
      for (int i = 0; i < 200; ++i) {
        trigger += Duration(static_cast<std::int64_t>(random() % 12));
        gate.trigger(trigger);
        grid.postpone(std::max(*gate.next(), grid.next()));
        const Instant now = grid.next();
        if (random() % 3 == 0 && now > trigger + period) continue; // the next trigger comes before
        gate.release(now);
        ReleaseDecision decision = grid.at_release(ends && *ends > now);
        if (decision.kind == ReleaseDecision::Kind::wait) decision = grid.after_wait(*ends);
        if (decision.kind != ReleaseDecision::Kind::start) continue;
        if (last) { ASSERT_GE(decision.nominal - *last, period); }
        last = decision.nominal;
        ends = std::max(now, ends.value_or(now)) + Duration(static_cast<std::int64_t>(random() % 20));
        trigger = std::max(trigger, now);
      }
      EXPECT_GT(grid.released(), 20u);
    }
  }
}

} // namespace
} // namespace rtexec::policies
