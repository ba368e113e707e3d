// Memory bandwidth budgets: Eq. (14), the rules with values computed by hand, and random histories against a second
// implementation of the rules and against the guarantees of
// policies/proofs/bandwidth.md.
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "test/support/rounds.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using Answer = BandwidthRegulator::Answer;
using Kind = Answer::Kind;
using State = BandwidthRegulator::State;
__extension__ typedef __int128 Int;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

// ---- Eq. (14) ----

TEST(BandwidthLines, MatchEquation14ForKnownBandwidths) {
  EXPECT_EQ(lines_of({100'000'000}, {64}, 1ms), 1562u);
  EXPECT_EQ(lines_of({1'048'576}, {64}, 1ms), 16u); // MemGuard: 1 MB/s is 16.4 lines
  EXPECT_EQ(lines_of({100'000'000}, {4096}, 1s), 24414u);
  EXPECT_EQ(bandwidth_of(1562, {64}, 1ms), Bandwidth{99'968'000});
  EXPECT_EQ(bandwidth_of(1, {1}, 3s), Bandwidth{0});
}

TEST(BandwidthLines, SaturateAtExtremeValues) {
  EXPECT_EQ(lines_of({0}, {64}, 1ms), 1u);
  EXPECT_EQ(lines_of({1}, {largest}, 1ns), 1u);
  EXPECT_EQ(lines_of({largest}, {1}, Duration::max()), unlimited - 1);
  EXPECT_EQ(lines_of({largest}, {1}, 1s), unlimited - 1);
  EXPECT_EQ(lines_of({largest}, {64}, 1s), largest / 64);
  EXPECT_EQ(bandwidth_of(largest, {largest}, 1ns), Bandwidth{largest});
  EXPECT_EQ(bandwidth_of(largest, {1}, 1s), Bandwidth{largest});
  EXPECT_EQ(bandwidth_of(largest, {1}, 2s), Bandwidth{largest / 2});
  EXPECT_EQ(bandwidth_of(0, {64}, 1ns), Bandwidth{0});
}

TEST(BandwidthLines, RoundTripThroughBandwidthLosesOnlyRounding) {
  std::mt19937_64 random(1);
  const auto up_to = [&](int bits) { return random() >> (64 - std::uniform_int_distribution(1, bits)(random)); };
  for (int i = 0; i < 100'000; ++i) {
    const Bandwidth bandwidth{up_to(45)};
    const Bytes line{1 + up_to(13)};
    const Duration period{static_cast<std::int64_t>(1 + up_to(31))};
    const Lines lines = lines_of(bandwidth, line, period);
    const Int exact = Int{bandwidth.bytes_per_second} * period.count();
    const Int unit = Int{line.count} * 1'000'000'000;
    if (lines > 1) { EXPECT_LE(Int{lines} * unit, exact); }
    EXPECT_GT((Int{lines} + 1) * unit, exact);
    if (lines > 1) { EXPECT_LE(bandwidth_of(lines, line, period), bandwidth); }
    const Lines back = lines_of(bandwidth_of(lines, line, period), line, period);
    EXPECT_LE(back, lines);
    // The byte that was rounded off, in lines.
    EXPECT_GE(back + 1 + static_cast<std::uint64_t>(period.count()) / (line.count * 1'000'000'000), lines);
  }
}

// ---- values computed by hand ----

struct Rules : BandwidthRules {
  Rules with_reclaim() const {
    Rules copy = *this;
    copy.reclaim = true;
    return copy;
  }
  Rules sharing_by(BandwidthSharing how) const {
    Rules copy = *this;
    copy.sharing = how;
    return copy;
  }
  Rules forgiving() const {
    Rules copy = *this;
    copy.overshoot = Overshoot::forgive;
    return copy;
  }
};

BandwidthRegulator regulator(std::initializer_list<Lines> budgets, const BandwidthRules& rules = {}) {
  std::vector<BandwidthDomain> domains;
  for (const Lines budget : budgets) domains.push_back({.budget = budget, .always = true, .donates = true});
  return {domains, rules};
}

constexpr Answer hold{Kind::hold, 0};
constexpr Answer more(Lines lines) { return {Kind::more, lines}; }

TEST(BandwidthRegulator, HoldsDomainWhenBudgetIsUsedUp) {
  BandwidthRegulator r = regulator({100});
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_FALSE(r.state(0).held);
  EXPECT_EQ(r.used_up(0, 100, false), hold);
  EXPECT_TRUE(r.state(0).held);
  EXPECT_FALSE(r.state(0).mispredicted);
  EXPECT_EQ(r.begin_period(0, 100, false), 100u);
  EXPECT_FALSE(r.state(0).held);
}

TEST(BandwidthRegulator, ReturnsRemainingLinesWhenAskedTooEarly) {
  BandwidthRegulator r = regulator({100});
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.used_up(0, 99, false), more(1));
  EXPECT_FALSE(r.state(0).held);
}

TEST(BandwidthRegulator, CarriesDebtOverSeveralPeriods) {
  BandwidthRegulator r = regulator({100});
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.used_up(0, 330, false), hold);
  EXPECT_EQ(r.begin_period(0, 330, false), 0u);
  EXPECT_TRUE(r.state(0).held);
  EXPECT_EQ(r.state(0).debt, 130u);
  EXPECT_EQ(r.begin_period(0, 0, false), 0u);
  EXPECT_EQ(r.begin_period(0, 5, false), 65u); // the domain used 5 lines while it stood still
  EXPECT_EQ(r.state(0).debt, 0u);
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
}

TEST(BandwidthRegulator, ForgivesOvershootWhenConfigured) {
  BandwidthRegulator r = regulator({100}, Rules().forgiving());
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.used_up(0, 330, false), hold);
  EXPECT_EQ(r.begin_period(0, 330, false), 100u);
  EXPECT_EQ(r.state(0).debt, 0u);
}

TEST(BandwidthRegulator, LimitsOnlyWhileDeviceIsBusy) {
  const std::array<BandwidthDomain, 1> domain{{{.budget = 100}}};
  BandwidthRegulator r(domain, {});
  EXPECT_EQ(r.begin_period(0, 0, false), unlimited);
  EXPECT_EQ(r.begin_period(0, 5000, true), 100u); // no debt
  EXPECT_EQ(r.used_up(0, 150, true), hold);
  EXPECT_EQ(r.begin_period(0, 150, false), unlimited);
  EXPECT_EQ(r.state(0).debt, 50u); // the debt waits
  EXPECT_EQ(r.begin_period(0, 7000, true), 50u);
  EXPECT_EQ(r.used_up(0, 50, true), hold);
  EXPECT_EQ(r.used_up(0, 50, false), more(unlimited)); // the device is idle: the domain runs without a limit
  EXPECT_FALSE(r.state(0).held);
  EXPECT_EQ(r.begin_period(0, 9000, true), 100u);
}

TEST(BandwidthRegulator, GrantsBudgetsOfMissedPeriods) {
  BandwidthRegulator r = regulator({100, 100});
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.begin_period(1, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 300, false, 3), 100u);
  EXPECT_EQ(r.begin_period(1, 350, false, 3), 50u);
  EXPECT_EQ(r.begin_period(0, 0, false, 0), 100u); // the same as 1 period
}

TEST(BandwidthRegulator, AppliesNewBudgetFromNextPeriod) {
  BandwidthRegulator r = regulator({100});
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  r.set_budget(0, 40);
  EXPECT_EQ(r.used_up(0, 99, false), more(1));
  EXPECT_EQ(r.used_up(0, 120, false), hold);
  EXPECT_EQ(r.begin_period(0, 120, false), 20u); // 20 beyond the old budget
  r.set_budget(0, unlimited);
  EXPECT_EQ(r.begin_period(0, 20, false), unlimited);
  r.set_budget(0, 0);
  EXPECT_EQ(r.begin_period(0, 1'000'000, false), 1u);
}

TEST(BandwidthRegulator, DonatesLinesPredictedToStayUnused) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  EXPECT_EQ(r.begin_period(0, 0, false), 100u); // nothing is predicted yet: nothing is donated
  EXPECT_EQ(r.begin_period(1, 0, false), 100u);
  EXPECT_EQ(r.used_up(1, 100, false), hold);
  EXPECT_EQ(r.begin_period(0, 20, false), 60u); // half of 100, half of 20
  EXPECT_EQ(r.pool(), 40u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u);
  EXPECT_EQ(r.pool(), 40u);
  EXPECT_EQ(r.used_up(1, 100, false), more(25)); // a quarter of its budget
  EXPECT_EQ(r.used_up(1, 125, false), more(15));
  EXPECT_EQ(r.pool(), 0u);
  EXPECT_EQ(r.used_up(1, 140, false), hold);
  EXPECT_FALSE(r.state(1).mispredicted);
}

TEST(BandwidthRegulator, ReturnsDonatedLinesToDonorOnDemand) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 20, false), 60u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u);
  EXPECT_EQ(r.used_up(0, 62, false), more(38)); // up to 100, of which 62 are used
  EXPECT_EQ(r.pool(), 0u);
  EXPECT_EQ(r.used_up(0, 100, false), hold);
  EXPECT_FALSE(r.state(0).mispredicted);
}

TEST(BandwidthRegulator, HoldsMispredictedDonorAndRaisesItsPrediction) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 20, false), 60u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u);
  EXPECT_EQ(r.used_up(1, 100, false), more(25));
  EXPECT_EQ(r.used_up(0, 60, false), more(15));
  EXPECT_EQ(r.used_up(0, 75, false), hold);
  EXPECT_TRUE(r.state(0).mispredicted);
  EXPECT_EQ(r.begin_period(0, 75, false), 100u);
  EXPECT_EQ(r.state(0).predicted, 125u); // its budget, plus the request that was not met
}

TEST(BandwidthRegulator, LeavesPoolUntouchedWhenItCannotCoverOvershoot) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 20, false), 60u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u);
  EXPECT_EQ(r.used_up(1, 140, false), hold);
  EXPECT_EQ(r.pool(), 40u);
}

TEST(BandwidthRegulator, RealTimeDomainsReceiveButNeverDonate) {
  const std::array<BandwidthDomain, 2> domains{
      {{.budget = 100, .always = true, .donates = false}, {.budget = 100, .always = true, .donates = true}}};
  BandwidthRegulator r(domains, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.begin_period(1, 0, false), 50u);
  EXPECT_EQ(r.used_up(0, 100, false), more(25));
}

TEST(BandwidthRegulator, EmptiesPoolWhenPeriodEnds) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.begin_period(0, 0, false), 50u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u);
  EXPECT_EQ(r.pool(), 50u);
  EXPECT_EQ(r.begin_period(1, 100, false), 100u); // the next period begins
  EXPECT_EQ(r.pool(), 0u);
  EXPECT_EQ(r.used_up(0, 50, false), hold); // its period is over
  EXPECT_FALSE(r.state(0).mispredicted);
}

TEST(BandwidthRegulator, LetsLateDomainShareCurrentPool) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  for (int n = 0; n < 3; ++n) EXPECT_GE(r.begin_period(0, 0, false), 13u);
  EXPECT_EQ(r.begin_period(1, 300, false), 0u); // three periods, but the domain was notified of one
  EXPECT_GT(r.pool(), 0u);
  EXPECT_EQ(r.used_up(1, 0, false), more(25));
}

TEST(BandwidthRegulator, LeavesDonorAtLeastOneLine) {
  BandwidthRegulator r = regulator({unlimited, 100}, Rules().with_reclaim());
  EXPECT_EQ(r.begin_period(0, 0, false), unlimited);
  r.set_budget(0, 100);
  EXPECT_EQ(r.begin_period(0, 0, false), 1u);
  EXPECT_FALSE(r.state(0).held);
  EXPECT_EQ(r.pool(), 99u);
}

TEST(BandwidthRegulator, HoldsDebtorButGrantsItPoolLinesOnRequest) {
  BandwidthRegulator r = regulator({100, 100}, Rules().with_reclaim());
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.used_up(1, 250, false), hold);
  EXPECT_EQ(r.begin_period(0, 0, false), 50u);
  EXPECT_EQ(r.begin_period(1, 250, false), 0u);
  EXPECT_TRUE(r.state(1).held);
  EXPECT_EQ(r.used_up(1, 0, false), more(25));
  EXPECT_FALSE(r.state(1).held);
}

TEST(BandwidthRegulator, LiftsLimitWhenAllBudgetsAreUsedUp) {
  BandwidthRegulator r = regulator({100, unlimited, 50}, Rules().sharing_by(BandwidthSharing::spare));
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.begin_period(1, 0, false), unlimited);
  EXPECT_EQ(r.begin_period(2, 0, false), 50u);
  EXPECT_EQ(r.used_up(0, 110, false), hold);
  EXPECT_EQ(r.used_up(2, 50, false), (Answer{Kind::go_on, unlimited}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(r.state(i).held);
    EXPECT_EQ(r.state(i).given, unlimited);
  }
  EXPECT_EQ(r.used_up(0, 5000, false), more(unlimited));
  EXPECT_EQ(r.begin_period(0, 9000, false), 100u); // no debt
  EXPECT_EQ(r.begin_period(2, 9000, false), 50u);
}

TEST(BandwidthRegulator, DoesNotShareBeforeEveryDomainHasBegunThePeriod) {
  BandwidthRegulator r = regulator({100, 100}, Rules().sharing_by(BandwidthSharing::spare));
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(r.begin_period(i, 0, false), 100u);
  EXPECT_EQ(r.used_up(1, 100, false), hold);
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.used_up(0, 100, false), hold); // domain 1 is held, but in the previous period
  r.set_budget(1, unlimited);                // not regulated any more
  EXPECT_EQ(r.used_up(0, 100, false), (Answer{Kind::go_on, unlimited}));
}

TEST(BandwidthRegulator, BeginsNewPeriodEarlyUnderProportionalSharing) {
  BandwidthRegulator r = regulator({100, 50}, Rules().sharing_by(BandwidthSharing::proportional));
  EXPECT_EQ(r.begin_period(0, 0, false), 100u);
  EXPECT_EQ(r.begin_period(1, 0, false), 50u);
  EXPECT_EQ(r.used_up(1, 50, false), hold);
  EXPECT_EQ(r.used_up(0, 103, false), (Answer{Kind::new_period, 0}));
  EXPECT_EQ(r.begin_period(1, 50, false), 50u);
  EXPECT_EQ(r.begin_period(0, 103, false), 97u);
}

TEST(BandwidthRegulator, DoesNotOverflowForLargestBudgets) {
  BandwidthRegulator r = regulator({unlimited - 1, unlimited - 1, unlimited - 1}, Rules().with_reclaim());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(r.begin_period(i, 0, false), unlimited - 1);
  for (int n = 0; n < 100; ++n)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(r.begin_period(i, 0, false), 1u);
  EXPECT_EQ(r.pool(), unlimited - 1);
  EXPECT_EQ(r.used_up(0, unlimited - 1, false).kind, Kind::hold);
  EXPECT_EQ(r.state(0).given, unlimited - 1);
  EXPECT_GE(r.begin_period(0, unlimited, false, unlimited), 1u);
  EXPECT_EQ(r.used_up(0, unlimited, false).kind, Kind::hold);
}

// ---- pauses ----

/// Returns a regulator after `periods` periods without traffic.
BandwidthRegulator quiet(BandwidthDomain domain, const BandwidthRules& rules = {}, int periods = 20) {
  BandwidthRegulator r(std::span(&domain, 1), rules);
  for (int i = 0; i <= periods; ++i) static_cast<void>(r.begin_period(0, 0, true));
  return r;
}

TEST(BandwidthRegulator, PausesRegulationOfDomainWithLittleTraffic) {
  BandwidthRegulator r = quiet({.budget = 1000});
  EXPECT_EQ(r.pause(0, 16), 500u);
  static_cast<void>(r.begin_period(0, 499, true, 16)); // 32 in each period
  EXPECT_EQ(r.pause(0, 16), 500u);
  static_cast<void>(r.begin_period(0, 100, true));
  EXPECT_EQ(r.pause(0, 16), 0u) << "16 such periods would be more than half a budget";
}

TEST(BandwidthRegulator, DoesNotPauseRealTimeSharingOrUnlimitedDomains) {
  EXPECT_EQ(quiet({.budget = 1000}, {}, 0).pause(0, 16), 0u) << "nothing is known of it";
  EXPECT_EQ(quiet({.budget = unlimited}).pause(0, 16), 0u);
  EXPECT_EQ(quiet({.budget = 1}).pause(0, 16), 0u);
  EXPECT_EQ(quiet({.budget = 1000, .donates = false}).pause(0, 16), 0u)
      << "real-time work is promised all of its budget";
  EXPECT_EQ(quiet({.budget = 1000}, Rules().with_reclaim()).pause(0, 16), 0u);
  EXPECT_EQ(quiet({.budget = 1000}, Rules().sharing_by(BandwidthSharing::spare)).pause(0, 16), 0u);
  BandwidthRegulator debtor = quiet({.budget = 1000, .always = true});
  static_cast<void>(debtor.begin_period(0, 1'000'000, true));
  for (int i = 0; i < 20; ++i) static_cast<void>(debtor.begin_period(0, 0, true));
  EXPECT_EQ(debtor.pause(0, 16), 0u);
}

TEST(BandwidthRegulator, DoesNotPauseInPeriodThatPaysDebt) {
  BandwidthRegulator r = quiet({.budget = 1000});
  static_cast<void>(r.begin_period(0, 1600, false));
  // The debt waits while no limit is in force.
  for (int i = 0; i < 20; ++i) static_cast<void>(r.begin_period(0, 0, false));
  EXPECT_EQ(r.begin_period(0, 0, true), 400u);
  EXPECT_EQ(r.state(0).debt, 0u);
  EXPECT_EQ(r.pause(0, 16), 0u);
  static_cast<void>(r.begin_period(0, 0, true));
  EXPECT_EQ(r.pause(0, 16), 500u);
}

/// Moves traffic in bursts, one line at a time, through a domain that is left unlimited whenever possible.
TEST(BandwidthRegulator, PauseLetsNoPeriodExceedItsBudget) {
  constexpr Lines budget = 400;
  constexpr std::uint64_t most = 16;
  std::mt19937_64 random(7);
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  const BandwidthDomain domain{.budget = budget, .always = true};
  for (int history = 0; history < 300; ++history) {
    BandwidthRegulator r(std::span(&domain, 1), {});
    Lines moved = 0, base = 0, allowed = 0; // base: at the begin of the current period
    std::uint64_t planned = 1, left = 0;    // periods until begin_period() is called
    std::uint64_t pauses = 0, cut_short = 0, holds = 0;
    for (int period = 0; period < 1000; ++period) {
      if (left == 0) {
        const Lines given = r.begin_period(0, moved - base, true, planned);
        const Lines of_pause = r.pause(0, most);
        base = moved;
        planned = left = of_pause > 0 ? most : 1;
        allowed = of_pause > 0 ? of_pause : given;
        pauses += of_pause > 0;
      }
      --left;
      const Lines wanted = draw(20) == 0 ? draw(3 * budget) : draw(5) == 0 ? draw(budget / 4) : draw(2);
      Lines in_period = 0;
      while (in_period < wanted) {
        if (moved - base == allowed) {
          if (planned > 1) {
            if (const std::uint64_t begun = planned - left - 1; begun > 0)
              static_cast<void>(r.begin_period(0, 0, true, begun));
            ++cut_short;
            planned = 1;
            left = 0;
          }
          const Answer answer = r.used_up(0, moved - base, true);
          if (answer.kind == Kind::hold) break;
          allowed = moved - base + answer.lines;
        }
        ++moved;
        ++in_period;
      }
      ASSERT_LE(in_period, budget);
      if (in_period == wanted) continue;
      ++holds;
      ASSERT_GE(in_period, budget - budget / 2) << "what a pause may cost the period that ends it";
      ASSERT_EQ(r.state(0).debt, 0u);
    }
    ASSERT_GT(pauses, 5u);
    ASSERT_GT(cut_short, 5u);
    ASSERT_GT(holds, 5u);
  }
}

// ---- a second implementation of the rules ----

/// Keeps every period of every domain. Computes debts, predictions and the pool from them anew at each query.
class Ledger {
 public:
  struct Entry {
    Int number = 0;
    Int budget = 0;
    bool limited = false; // limited when it began
    bool lifted = false;
    Int paid = 0, donated = 0, taken = 0;
    bool held = false, robbed = false;
    bool over = false;
    Int used = 0, periods = 1; // set once the period is over
  };

  Ledger(std::vector<BandwidthDomain> domains, const BandwidthRules& rules)
      : domains_(std::move(domains)), rules_(rules), books_(domains_.size()) {
    for (const BandwidthDomain& domain : domains_) next_.push_back(std::max<Lines>(domain.budget, 1));
  }

  Lines begin(std::size_t d, Lines used, bool in_force, std::uint64_t periods) {
    std::vector<Entry>& book = books_[d];
    Entry entry{.number = Int{periods}, .budget = next_[d]};
    if (!book.empty()) {
      book.back().over = true;
      book.back().used = used;
      book.back().periods = periods;
      entry.number += book.back().number;
    }
    entry.number = std::max(entry.number, latest());
    entry.limited = limited(d, next_[d], in_force);
    const Int debt = debt_of(d), forecast = forecast_of(d);
    if (entry.limited) {
      entry.paid = std::min(debt, entry.budget);
      const Int own = entry.budget - entry.paid;
      if (rules_.reclaim && domains_[d].donates && own > 0)
        entry.donated = std::max<Int>(0, own - std::max<Int>(forecast, 1));
      entry.held = own == 0;
    }
    book.push_back(entry);
    return given(d);
  }

  Answer ask(std::size_t d, Lines used, bool in_force) {
    Entry& entry = books_[d].back();
    if (!entry.limited || entry.lifted) return more(unlimited);
    if (!domains_[d].always && !in_force) {
      entry.lifted = true;
      entry.held = entry.robbed = false;
      return more(unlimited);
    }
    const Int own = entry.budget - entry.paid;
    if (used >= given(d) && rules_.reclaim && entry.number == latest()) {
      // First it gets back the lines that it donated.
      for (; given(d) < own && pool() > 0; ++entry.taken) {}
      // Then it gets as many lines as it needs to continue.
      if (given(d) <= used && given(d) + pool() > used) {
        const Int target = used + (entry.budget + 3) / 4;
        for (; given(d) < target && pool() > 0; ++entry.taken) {}
      }
    }
    entry.held = given(d) <= used;
    entry.robbed = entry.held && used < own && entry.number == latest();
    if (!entry.held) return more(static_cast<Lines>(given(d) - used));
    if (rules_.sharing == BandwidthSharing::none || !current(d)) return hold;
    for (std::size_t other = 0; other < books_.size(); ++other)
      if (counts(other) && !(current(other) && books_[other].back().held)) return hold;
    if (rules_.sharing == BandwidthSharing::proportional) return {Kind::new_period, 0};
    for (std::size_t other = 0; other < books_.size(); ++other)
      if (current(other)) {
        books_[other].back().lifted = true;
        books_[other].back().held = books_[other].back().robbed = false;
      }
    return {Kind::go_on, unlimited};
  }

  void set_budget(std::size_t d, Lines budget) { next_[d] = budget; }

  Int pool() const {
    Int sum = 0;
    for (const auto& book : books_)
      if (!book.empty() && book.back().number == latest()) sum += book.back().donated - book.back().taken;
    return sum;
  }

  State state(std::size_t d) const {
    const Entry& entry = books_[d].back();
    return {static_cast<Lines>(entry.budget), given(d),   static_cast<Lines>(forecast_of(d)),
            static_cast<Lines>(debt_of(d)),   entry.held, entry.robbed};
  }

 private:
  bool limited(std::size_t d, Lines budget, bool in_force) const {
    return budget != unlimited && (domains_[d].always || in_force);
  }
  bool current(std::size_t d) const { return !books_[d].empty() && books_[d].back().number == latest(); }
  bool counts(std::size_t d) const {
    return current(d) ? books_[d].back().limited && !books_[d].back().lifted : next_[d] != unlimited;
  }

  Int latest() const {
    Int number = 0;
    for (const auto& book : books_)
      if (!book.empty()) number = std::max(number, book.back().number);
    return number;
  }

  static Int given(const Entry& entry) { return entry.budget - entry.paid - entry.donated + entry.taken; }
  Lines given(std::size_t d) const {
    const Entry& entry = books_[d].back();
    return entry.limited && !entry.lifted ? static_cast<Lines>(given(entry)) : unlimited;
  }

  Int debt_of(std::size_t d) const {
    Int debt = 0;
    for (const Entry& entry : books_[d]) {
      debt -= entry.paid;
      if (entry.over && rules_.overshoot == Overshoot::carry && entry.limited && !entry.lifted)
        debt += std::max<Int>(
            0, entry.used - std::max(given(entry), entry.budget - entry.paid) - (entry.periods - 1) * entry.budget);
    }
    return debt;
  }

  Int forecast_of(std::size_t d) const {
    const std::vector<Entry>& book = books_[d];
    const Int first = book.empty() ? Int{next_[d]} : book.front().budget;
    Int forecast = first == Int{unlimited} ? 0 : first;
    for (std::size_t i = 0; i < book.size(); ++i) {
      const Entry& entry = book[i];
      if (!entry.over) break;
      const Int following = i + 1 < book.size() ? book[i + 1].budget : Int{next_[d]};
      const Int of_one = (entry.used + entry.periods - 1) / entry.periods;
      const Int own = entry.budget - entry.paid;
      if (entry.robbed) forecast = entry.budget + std::max<Int>(0, own - entry.used);
      else forecast = (forecast + (entry.held ? std::max(of_one, entry.budget) : of_one) + 1) / 2;
      if (following != Int{unlimited} && forecast >= entry.budget) forecast = std::max(forecast, following);
    }
    return forecast;
  }

  std::vector<BandwidthDomain> domains_;
  BandwidthRules rules_;
  std::vector<std::vector<Entry>> books_;
  std::vector<Lines> next_;
};

// ---- random histories ----

/// Simulates a few domains that move as much as they want and stop a little late, driven as rtexec/runtime/regulation
/// drives them. It includes everything that can go wrong there: periods begun late or missed, questions too early or in
/// the last instant of a period, new budgets, a device that stops in the middle.
class History {
 public:
  struct Counts {
    std::uint64_t held = 0, mispredicted = 0, reclaimed = 0, shared = 0, debts = 0;
  };

  History(std::uint64_t seed, const BandwidthRules& rules)
      : random_(seed),
        rules_(rules),
        domains_(some_domains()),
        regulator_(domains_, rules),
        ledger_(domains_, rules),
        sites_(domains_.size()) {
    largest_overshoot_ = up_to(3) == 0 ? 400 : 10;
  }

  void play(int periods) {
    for (int n = 0; n < periods && !testing::Test::HasFailure(); ++n) {
      if (up_to(4) == 0) device_works_ = !device_works_;
      if (up_to(6) == 0) change_a_budget();
      new_periods_ = 0;
      for (Site& site : sites_) site.pending = true;
      while (step()) compare();
    }
  }

  const std::vector<Lines>& answers() const { return answers_; }
  const Counts& counts() const { return counts_; }

 private:
  struct Site {
    bool pending = false; // a period has begun, but the domain has not begun it yet
    bool started = false;
    bool resting = true; // it stands still, or has moved all its wanted lines
    std::uint64_t missed = 0;
    Lines wanted = 0, moved = 0;
  };

  static bool current(const Site& site) { return site.started && !site.pending && site.missed == 0; }

  Lines up_to(Lines most) { return std::uniform_int_distribution<Lines>(0, most)(random_); }
  Lines some_budget() { return up_to(6) == 0 ? unlimited : up_to(5) == 0 ? 1 + up_to(4) : 20 + up_to(300); }

  std::vector<BandwidthDomain> some_domains() {
    std::vector<BandwidthDomain> domains(1 + up_to(3));
    for (BandwidthDomain& domain : domains)
      domain = {.budget = some_budget(), .always = up_to(2) == 0, .donates = up_to(3) > 0};
    return domains;
  }

  void change_a_budget() {
    const std::size_t d = up_to(sites_.size() - 1);
    const Lines budget = some_budget();
    regulator_.set_budget(d, budget);
    ledger_.set_budget(d, budget);
    domains_[d].budget = budget;
  }

  /// Does one thing that can happen. Returns false if the period is over.
  bool step() {
    std::vector<std::size_t> able;
    for (std::size_t d = 0; d < sites_.size(); ++d)
      if (sites_[d].pending || !sites_[d].resting) able.push_back(d);
    if (able.empty()) return false;
    const std::size_t d = able[up_to(able.size() - 1)];
    if (up_to(40) == 0) stop_the_device();
    else if (!sites_[d].pending || (!sites_[d].resting && up_to(5) == 0)) move(d);
    else if (sites_[d].started && up_to(30) == 0) miss(d);
    else begin(d);
    return true;
  }

  void stop_the_device() {
    device_works_ = false;
    for (std::size_t d = 0; d < sites_.size(); ++d)
      if (sites_[d].started && regulator_.state(d).held) ask(d);
  }

  void miss(std::size_t d) {
    ++sites_[d].missed;
    sites_[d].pending = false;
    sites_[d].resting = true;
  }

  void begin(std::size_t d) {
    Site& site = sites_[d];
    const std::uint64_t periods = 1 + site.missed;
    const Lines given = regulator_.begin_period(d, site.moved, device_works_, periods);
    EXPECT_EQ(given, ledger_.begin(d, site.moved, device_works_, periods));
    answers_.push_back(given);
    EXPECT_EQ(given == unlimited, domains_[d].budget == unlimited || !(device_works_ || domains_[d].always));
    EXPECT_EQ(given == 0, regulator_.state(d).held);
    counts_.debts += given == 0;
    site = {.started = true, .resting = given == 0, .wanted = up_to(1) == 0 ? 100'000 : up_to(120)};
    if (given == 0 && up_to(1) == 0) ask(d);
  }

  void move(std::size_t d) {
    Site& site = sites_[d];
    const Lines given = regulator_.state(d).given;
    if (given == unlimited || site.wanted < given) {
      site.moved = std::max(site.moved, site.wanted);
      site.resting = true;
      if (up_to(20) == 0) ask(d);
      return;
    }
    site.moved = std::max(site.moved, given + std::min(up_to(largest_overshoot_), site.wanted - given));
    ask(d);
  }

  void ask(std::size_t d) {
    Site& site = sites_[d];
    const State before = regulator_.state(d);
    const Answer answer = regulator_.used_up(d, site.moved, device_works_);
    EXPECT_EQ(answer, ledger_.ask(d, site.moved, device_works_));
    answers_.push_back(static_cast<Lines>(answer.kind));
    answers_.push_back(answer.lines);
    check(d, before, answer);
    const State& state = regulator_.state(d);
    site.resting = state.held || site.moved >= site.wanted;
    if (answer.kind == Kind::go_on || answer.kind == Kind::new_period) share(answer.kind);
  }

  void check(std::size_t d, const State& before, const Answer& answer) {
    const State& state = regulator_.state(d);
    EXPECT_EQ(answer.kind == Kind::hold || answer.kind == Kind::new_period, state.held);
    EXPECT_TRUE(answer.kind != Kind::more || answer.lines >= 1);
    if (before.given == unlimited) { EXPECT_EQ(answer, more(unlimited)) << "there was no limit"; }
    if (!state.held) {
      EXPECT_FALSE(state.mispredicted);
    } else {
      EXPECT_TRUE(device_works_ || domains_[d].always);
      EXPECT_LE(state.given, sites_[d].moved);
      if (state.mispredicted) { EXPECT_TRUE(rules_.reclaim && domains_[d].donates && regulator_.pool() == 0); }
    }
    counts_.held += state.held;
    counts_.mispredicted += state.mispredicted;
    counts_.reclaimed += answer.kind == Kind::more && answer.lines != unlimited && state.given > before.given;
  }

  void share(Kind kind) {
    EXPECT_EQ(kind == Kind::go_on, rules_.sharing == BandwidthSharing::spare);
    EXPECT_NE(rules_.sharing, BandwidthSharing::none);
    ++counts_.shared;
    const bool begins = kind == Kind::new_period && ++new_periods_ < 3;
    // Some domain must have begun the period: before that, domains still share the old period.
    const bool begun = std::ranges::any_of(sites_, current);
    for (std::size_t d = 0; d < sites_.size(); ++d) {
      Site& site = sites_[d];
      const State& state = regulator_.state(d);
      if (begun && !current(site)) {
        EXPECT_EQ(domains_[d].budget, unlimited) << "shared before every domain had begun the period";
      }
      if (current(site)) {
        EXPECT_TRUE(state.held || state.given == unlimited) << "shared before every domain had used its budget up";
      }
      if (kind == Kind::go_on && !site.pending) site.resting = site.moved >= site.wanted;
      if (begins && site.pending) ++site.missed;
      site.pending |= begins;
    }
  }

  void compare() {
    Int given = 0, budgets = 0;
    bool begun = false;
    for (std::size_t d = 0; d < sites_.size(); ++d) {
      if (!sites_[d].started) continue;
      const State& state = regulator_.state(d);
      EXPECT_EQ(state, ledger_.state(d));
      if (!current(sites_[d])) continue;
      begun = true;
      if (state.budget == unlimited) continue;
      budgets += state.budget;
      if (state.given != unlimited) given += state.given;
    }
    EXPECT_EQ(Int{regulator_.pool()}, ledger_.pool());
    if (begun && rules_.sharing == BandwidthSharing::none) given += regulator_.pool();
    if (rules_.sharing != BandwidthSharing::spare) { EXPECT_LE(given, budgets) << "more was given than there is"; }
  }

  std::mt19937_64 random_;
  BandwidthRules rules_;
  std::vector<BandwidthDomain> domains_; // with their newest budgets
  BandwidthRegulator regulator_;
  Ledger ledger_;
  std::vector<Site> sites_;
  std::vector<Lines> answers_;
  Counts counts_;
  bool device_works_ = false;
  int new_periods_ = 0;
  Lines largest_overshoot_ = 0;
};

constexpr std::array sharing_modes{BandwidthSharing::none, BandwidthSharing::spare, BandwidthSharing::proportional};

BandwidthRules rules_of(std::uint64_t seed) {
  return {.reclaim = seed % 2 == 1,
          .sharing = sharing_modes[seed / 2 % 3],
          .overshoot = seed / 6 % 3 == 0 ? Overshoot::forgive : Overshoot::carry};
}

TEST(BandwidthHistories, MatchReferenceImplementationAndKeepRules) {
  History::Counts all;
  for (std::uint64_t seed = 0; seed < rtexec::test::rounds(10'000U) && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History history(seed, rules_of(seed));
    history.play(30);
    all.held += history.counts().held;
    all.mispredicted += history.counts().mispredicted;
    all.reclaimed += history.counts().reclaimed;
    all.shared += history.counts().shared;
    all.debts += history.counts().debts;
  }
  for (const std::uint64_t count : {all.held, all.mispredicted, all.reclaimed, all.shared, all.debts})
    EXPECT_GT(count, rtexec::test::rounds(1000U));
}

TEST(BandwidthHistories, ReplayWithSameAnswers) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    History first(seed, rules_of(seed)), again(seed, rules_of(seed));
    first.play(30);
    again.play(30);
    EXPECT_EQ(first.answers(), again.answers());
  }
}

// ---- guarantees ----

TEST(BandwidthGuarantees, GreedyDomainGetsItsBudgetInTheLongRun) {
  std::mt19937_64 random(3);
  const auto up_to = [&](Lines most) { return std::uniform_int_distribution<Lines>(0, most)(random); };
  for (int trial = 0; trial < 2000; ++trial) {
    const Lines budget = 1 + up_to(200);
    const Lines overshoot = up_to(3) == 0 ? up_to(1000) : up_to(20);
    const std::array<BandwidthDomain, 1> domain{{{.budget = budget, .always = trial % 2 == 0}}};
    BandwidthRegulator r(domain, {});
    std::vector<Lines> moved; // in the periods in which the limit was in force
    Lines used = 0;
    for (int n = 0; n < 60; ++n) {
      const std::uint64_t periods = up_to(9) == 0 && moved.size() > 1 ? 1 + up_to(2) : 1;
      const bool in_force = up_to(2) > 0;
      // Each missed period had the same budget.
      if (periods > 1 && r.state(0).given != unlimited) {
        for (std::uint64_t more_periods = 1; more_periods < periods; ++more_periods) moved.push_back(budget);
        used += (periods - 1) * budget;
      }
      const Lines given = r.begin_period(0, used, in_force, n == 0 ? 1 : periods);
      used = given == unlimited ? 100'000 : given == 0 ? 0 : given + up_to(overshoot);
      if (given == unlimited) continue;
      moved.push_back(used);
      if (given > 0) { EXPECT_EQ(r.used_up(0, used, true).kind, Kind::hold); }
    }
    for (std::size_t from = 0; from < moved.size(); ++from)
      for (std::size_t to = from, sum = 0; to < moved.size(); ++to) {
        sum += moved[to];
        const Lines budgets = (to - from + 1) * budget;
        EXPECT_LE(sum, budgets + overshoot);
        EXPECT_GE(sum + (from == 0 ? 0 : overshoot), budgets);
      }
  }
}

/// Returns how often a domain is held that never wants more than its budget, while others always want more.
std::uint64_t modest_domains_held(const BandwidthRules& rules, std::uint64_t& mispredicted) {
  std::mt19937_64 random(5);
  const auto up_to = [&](Lines most) { return std::uniform_int_distribution<Lines>(0, most)(random); };
  std::uint64_t held = 0;
  for (int trial = 0; trial < 500; ++trial) {
    BandwidthRegulator r = regulator({50 + up_to(50), 50 + up_to(50), 50 + up_to(50)}, rules);
    std::array<Lines, 3> moved{};
    for (int n = 0; n < 40; ++n) {
      std::array<Lines, 3> wanted{100'000, 0, 0};
      for (std::size_t d = 0; d < 3; ++d) static_cast<void>(r.begin_period(d, moved[d], true));
      for (std::size_t d = 1; d < 3; ++d) wanted[d] = up_to(r.state(d).budget);
      moved = {};
      std::array<std::size_t, 3> order{0, 1, 2};
      std::ranges::shuffle(order, random);
      for (const std::size_t d : order)
        while (moved[d] < wanted[d]) {
          const Lines given = r.state(d).given;
          moved[d] = std::max(moved[d], std::min(wanted[d], given == 0 ? 0 : given + up_to(5)));
          if (given > moved[d] || moved[d] == wanted[d]) break;
          if (r.used_up(d, moved[d], true).kind != Kind::hold) continue;
          held += d > 0;
          mispredicted += d > 0 && r.state(d).mispredicted;
          break;
        }
    }
  }
  return held;
}

TEST(BandwidthGuarantees, DomainWithinItsBudgetIsNeverHeld) {
  std::uint64_t mispredicted = 0;
  EXPECT_EQ(modest_domains_held({}, mispredicted), 0u);
}

TEST(BandwidthGuarantees, DomainWithinItsBudgetIsHeldUnderReclaimOnlyAfterMisprediction) {
  std::uint64_t mispredicted = 0;
  const std::uint64_t held = modest_domains_held(Rules().with_reclaim(), mispredicted);
  EXPECT_GT(held, 0u);
  EXPECT_EQ(held, mispredicted);
}

TEST(BandwidthGuarantees, GreedyDomainMovesMoreLinesUnderReclaim) {
  const auto moved_by = [](const BandwidthRules& rules) {
    BandwidthRegulator r = regulator({100, 100, 100, 100}, rules);
    Lines moved = 0, sum = 0;
    for (int n = 0; n < 100; ++n) {
      for (std::size_t d = 0; d < 4; ++d) static_cast<void>(r.begin_period(d, n == 0 ? 0 : d == 0 ? moved : 10, true));
      for (moved = r.state(0).given; r.used_up(0, moved, true).kind == Kind::more;) moved = r.state(0).given;
      sum += moved;
    }
    return sum;
  };
  EXPECT_EQ(moved_by({}), 10'000u);
  EXPECT_GT(moved_by(Rules().with_reclaim()), 35'000u); // 100 + 3 x 90 at most
}

TEST(BandwidthGuarantees, RegulatorAllocatesNothingAfterConstruction) {
  BandwidthRegulator r = regulator({100, 50, 20}, Rules().with_reclaim().sharing_by(BandwidthSharing::spare));
  const std::uint64_t before = rtexec::test::allocations();
  for (int n = 0; n < 100; ++n)
    for (std::size_t d = 0; d < 3; ++d) {
      static_cast<void>(r.begin_period(d, n == 0 ? 0 : 60, true));
      static_cast<void>(r.used_up(d, 60, true));
      r.set_budget(d, 20 + d);
    }
  EXPECT_EQ(rtexec::test::allocations(), before);
}

} // namespace
} // namespace rtexec::policies
