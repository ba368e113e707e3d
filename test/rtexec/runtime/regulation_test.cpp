// Tests regulation with counters that follow a script, so that counts and the exhaustion of budgets are known. Also
// tests how budgets are planned for a machine's cores.
#include "rtexec/runtime/regulation/regulation.hpp"

#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/resolved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::regulation {
namespace {

using namespace std::chrono_literals;
using namespace rtexec::test;
using hal::BandwidthCounter;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t budget = 100; // lines of 64 bytes in a period
constexpr Duration period = 10ms;

Bandwidth lines_per_period(std::uint64_t lines, Duration of = period) {
  return {policies::bandwidth_of(lines, Bytes{64}, of).bytes_per_second + 1};
}

bool fifo_is_given() {
  return hal::Thread::start({.name = "try", .core = {}, .fifo_priority = 1, .reservation = {}}, [] {}).has_value();
}

// ---- a scripted counter ----

/// The behaviour of a core, and what happened to its counter.
struct Script {
  std::atomic<std::uint64_t> pace{0};    // lines in each step in which it is not held
  std::atomic<std::uint64_t> at_once{0}; // additional lines, once, with the next step
  std::atomic<bool> writes{false};       // they are writes
  std::atomic<bool> broken{false};       // it can no longer be read
  std::atomic<bool> deaf{false};         // it reports an overflow only at the end
  std::atomic<bool> refuses{false};      // it refuses to open
  std::atomic<std::uint64_t> reads{0}, written{0};
  std::atomic<std::uint64_t> holds{0}, let_go{0};         // let_go: before the end
  std::atomic<std::uint64_t> waits{0}, arms{0};           // numbers of calls
  std::array<std::atomic<std::uint64_t>, 10'000> armed{}; // the number of lines armed, each time
  std::uint64_t last_armed() const { return arms == 0 ? 0 : armed[(arms - 1) % armed.size()].load(); }
  std::atomic<bool> held{false};
  std::atomic<int> open{0}, joined{0};
};

constexpr Duration step = 200us;

/// A counter whose traffic flows while it waits, and stops while it holds. It sleeps, and so leaves the core to others.
class Scripted final : public BandwidthCounter {
 public:
  explicit Scripted(Script& script) : script_(script) { ++script_.open; }
  ~Scripted() override { --script_.open; }

  Status arm(std::uint64_t reads, std::uint64_t writes) noexcept override {
    if (script_.broken) return Unexpected(Errc::io_error);
    script_.armed[script_.arms % script_.armed.size()] = reads;
    ++script_.arms;
    reads_limit_ = reads == hal::no_limit ? hal::no_limit : script_.reads + reads;
    writes_limit_ = writes == hal::no_limit ? hal::no_limit : script_.written + writes;
    return {};
  }
  Expected<hal::TrafficCount, Errc> count() noexcept override {
    if (script_.broken) return Unexpected(Errc::io_error);
    return hal::TrafficCount{.reads = script_.reads, .writes = script_.written};
  }
  Waited wait(Instant until) noexcept override {
    ++script_.waits;
    for (;;) {
      const auto counted = count();
      if (!counted) return {};
      const bool over = hal::now() >= until;
      if ((counted->reads >= reads_limit_ || counted->writes >= writes_limit_) && (over || !script_.deaf))
        return {Wake::overflow, *counted};
      if (over) return {Wake::time, *counted};
      hal::sleep_until(std::min(until, hal::now() + step));
      (script_.writes ? script_.written : script_.reads) += script_.pace + script_.at_once.exchange(0);
    }
  }
  void hold(Instant until, bool (*over)(void*) noexcept, void* self) noexcept override {
    ++script_.holds;
    script_.held = true;
    while (hal::now() < until && !over(self)) hal::sleep_until(std::min(until, hal::now() + step));
    script_.held = false;
    if (hal::now() < until) ++script_.let_go;
  }
  Result<> join() override { return ++script_.joined, Result<>(); }
  void leave() noexcept override { --script_.joined; }
  std::string description() const override { return "script"; }
  std::uint64_t lost_overflows() const noexcept override { return 0; }

 private:
  Script& script_;
  std::uint64_t reads_limit_ = hal::no_limit, writes_limit_ = hal::no_limit;
};

/// The reports for each core: 'b' and 'e' for begin and end of throttling, 'l' for a lost counter.
struct Told {
  struct Of {
    std::array<std::atomic<char>, 100'000> events{};
    std::atomic<std::size_t> count{0};
    std::atomic<std::uint64_t> bytes{UINT64_MAX}; // the last budget; 0: none
    std::string text() const {
      std::string text;
      for (std::size_t i = 0; i < events.size() && events[i] != 0; ++i) text += events[i];
      return text;
    }
  };
  std::array<Of, 64> cores;
  std::atomic<int> threads{0};

  void add(unsigned core, char event) noexcept {
    const std::size_t at = cores[core].count.fetch_add(1);
    if (at < cores[core].events.size()) cores[core].events[at] = event;
  }
  RegulationObserver observer() {
    return {
        .thread_begins = [](void* self) noexcept { ++static_cast<Told*>(self)->threads; },
        .budget = [](void* self, unsigned core, Instant, Bytes bytes,
                     Duration) noexcept { static_cast<Told*>(self)->cores[core].bytes = bytes.count; },
        .throttle_begin = [](void* self, unsigned core, Instant) noexcept { static_cast<Told*>(self)->add(core, 'b'); },
        .throttle_end = [](void* self, unsigned core, Instant) noexcept { static_cast<Told*>(self)->add(core, 'e'); },
        .lost = [](void* self, unsigned core) noexcept { static_cast<Told*>(self)->add(core, 'l'); },
        .self = this};
  }
};

struct ScriptedRegulation : testing::Test {
  void SetUp() override {
    if (cores.size() < 2) GTEST_SKIP() << "one core";
    if (!fifo_is_given()) GTEST_SKIP() << "SCHED_FIFO is not allowed";
    auto opened = BandwidthLocks::open(folder.path());
    ASSERT_TRUE(opened) << problem(opened);
    locks.emplace(std::move(*opened));
    settings.period = period;
    settings.rules.overshoot = Overshoot::forgive;
    settings.observer = told->observer();
    settings.open_counter = [this](const hal::CounterSettings& asked) -> Result<std::unique_ptr<BandwidthCounter>> {
      Script& script = scripts[asked.core == cores[0] ? 0 : 1];
      if (script.refuses) return fail(Errc::refused, "as the script says");
      return std::make_unique<Scripted>(script);
    };
  }
  /// Cleans up after any test.
  void TearDown() override {
    regulation.reset();
    for (const Script& script : scripts) EXPECT_EQ(script.open, 0);
    for (const auto& core : told->cores) {
      std::string events = core.text();
      std::erase(events, 'l');
      for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i], i % 2 == 0 ? 'b' : 'e') << "event " << i;
      EXPECT_EQ(events.size() % 2, 0u) << "a stretch that never ended";
    }
  }

  RegulatedDomain domain(std::size_t which, std::optional<Bandwidth> of = lines_per_period(budget)) const {
    RegulatedDomain planned{.cores = {cores[which]}, .counter = {}, .budget = of};
    planned.counter.core = cores[which];
    planned.counter.period = settings.period;
    return planned;
  }
  void start(std::vector<RegulatedDomain> domains) {
    auto started = Regulation::start(domains, settings, *locks);
    ASSERT_TRUE(started) << problem(started);
    regulation = std::move(*started);
  }
  DomainReport report(std::size_t which = 0) const { return regulation->report().at(which); }
  bool goes_on(std::size_t which, std::uint64_t periods) const {
    const std::uint64_t begun = report(which).periods;
    return bool(eventually([&] { return report(which).periods >= begun + periods; }));
  }

  const std::vector<unsigned> cores = hal::Machine().online_cores();
  ScratchFolder folder;
  std::optional<BandwidthLocks> locks;
  std::array<Script, 2> scripts;
  std::unique_ptr<Told> told = std::make_unique<Told>();
  RegulationSettings settings;
  std::unique_ptr<Regulation> regulation;
};

TEST_F(ScriptedRegulation, ThrottlesCoreForRestOfPeriodWhenBudgetIsExhausted) {
  scripts[0].pace = 10;
  start({domain(0)});
  ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 10; }));
  const DomainReport seen = report();
  EXPECT_EQ(seen.cores, std::vector{cores[0]});
  EXPECT_EQ(seen.counter, "script");
  EXPECT_LE(seen.throttled_periods, seen.periods);
  EXPECT_GT(seen.throttled, Duration(0));
  EXPECT_GE(seen.overshoot.samples, 9u);
  EXPECT_LE(seen.overshoot.max, 10) << "a step beyond it at most";
  EXPECT_LE(seen.reads, (seen.periods + 1) * (budget + 10));
  EXPECT_EQ(scripts[0].let_go, 0u);
  EXPECT_EQ(told->threads, 1);
  EXPECT_EQ(told->cores[cores[0]].bytes, budget * 64);
}

TEST_F(ScriptedRegulation, DoesNotThrottleBelowBudget) {
  scripts[0].pace = 1;
  start({domain(0)});
  ASSERT_TRUE(goes_on(0, 10));
  EXPECT_EQ(report().throttled_periods, 0u);
  EXPECT_EQ(report().overshoot.samples, 0u);
  EXPECT_GT(report().reads, 0u);
}

struct PausedRegulation : ScriptedRegulation {
  void SetUp() override {
    ScriptedRegulation::SetUp();
    settings.period = 1ms;
  }
  void start_paused(RegulatedDomain planned) {
    start({std::move(planned)});
    ASSERT_TRUE(eventually([&] { return scripts[0].last_armed() == budget / 2; }));
  }
  RegulatedDomain first() const { return domain(0, lines_per_period(budget, 1ms)); }
  /// Moves `lines` lines at once, and waits until the core is unlimited again.
  void burst(std::uint64_t lines) {
    const std::uint64_t arms = scripts[0].arms;
    scripts[0].at_once = lines;
    ASSERT_TRUE(eventually([&] {
      return scripts[0].at_once == 0 && scripts[0].arms >= arms + 3 && scripts[0].last_armed() == budget / 2;
    }));
  }
  struct Reading {
    Instant asked;
    std::uint64_t periods, waits;
    Instant taken;
  };
  Reading read() const {
    const Instant asked = hal::now();
    const DomainReport seen = report();
    return {asked, seen.periods + seen.missed_periods, scripts[0].waits, hal::now()};
  }
  /// Returns a reading taken just after a change.
  Reading read_fresh() const {
    EXPECT_TRUE(goes_on(0, 1));
    return read();
  }
  /// Checks that periods kept their time. A report is up to a pause old, and older if the machine delays its thread.
  void expect_kept_time(const Reading& before) const {
    EXPECT_TRUE(eventually([&] {
      const Reading after = read();
      const auto periods = static_cast<std::int64_t>(after.periods - before.periods);
      return periods >= (after.asked - before.taken) / 1ms - 17 && periods <= (after.taken - before.asked) / 1ms + 17;
    }));
  }
};

TEST_F(PausedRegulation, SkipsSixteenPeriodsForCoreWithLittleTraffic) {
  start_paused(first());
  const Reading before = read_fresh();
  ASSERT_TRUE(goes_on(0, 320));
  const Reading after = read();
  expect_kept_time(before);
  EXPECT_LE(static_cast<std::int64_t>(after.waits - before.waits), (after.taken - before.asked) / 16ms + 2);
  EXPECT_EQ(report().throttled_periods, 0u);
}

TEST_F(PausedRegulation, KeepsPeriodCountWhenPausesEndEarly) {
  start_paused(first());
  const Reading before = read_fresh();
  for (int i = 0; i < 60; ++i) burst(budget * 3 / 5);
  EXPECT_EQ(report().reads, 60 * budget * 3 / 5);
  expect_kept_time(before);
  EXPECT_EQ(scripts[0].holds, 0u);
}

/// An overflow that is not reported before the end of the pause: the moved lines count for all of its periods.
TEST_F(PausedRegulation, LostOverflowCausesNoDebt) {
  settings.rules.overshoot = Overshoot::carry;
  start_paused(first());
  scripts[0].deaf = true;
  scripts[0].at_once = 8 * budget;
  ASSERT_TRUE(eventually([&] { return report().reads == 8 * budget; }));
  scripts[0].deaf = false;
  ASSERT_TRUE(goes_on(0, 20));
  EXPECT_EQ(scripts[0].holds, 0u);
  EXPECT_EQ(report().overshoot.samples, 0u);
}

TEST_F(PausedRegulation, FinalReportIncludesLastPause) {
  start_paused(first());
  scripts[0].pace = 1;
  regulation->end();
  EXPECT_EQ(report().reads, scripts[0].reads);
}

TEST_F(PausedRegulation, ChargesTrafficOfPauseToCurrentPeriod) {
  start_paused(first());
  std::uint64_t at = 0, moved = 0;
  const auto in_time = [&] {
    return scripts[0].armed[at] == budget - budget * 3 / 4 && scripts[0].armed[at + 1] == budget; // the next period
  };
  // Lines that come as a pause ends, or while the machine delays the thread, are noticed when the pause is over.
  for (int tries = 0; tries < 20 && !in_time(); ++tries) {
    at = scripts[0].arms - 1;
    burst(budget * 3 / 4);
    moved += budget * 3 / 4;
    while (at + 1 < scripts[0].arms && scripts[0].armed[at] == budget / 2) ++at;
  }
  EXPECT_TRUE(in_time());
  EXPECT_EQ(report().reads, moved);
  EXPECT_EQ(scripts[0].holds, 0u);
  for (int tries = 0; tries < 20 && scripts[0].holds == 0; ++tries) {
    burst(budget);
    moved += budget;
  }
  EXPECT_EQ(scripts[0].holds, 1u);
  EXPECT_EQ(report().overshoot.max, 0);
  EXPECT_EQ(report().reads, moved);
}

/// A device that begins to work meanwhile finds the limit armed.
TEST_F(PausedRegulation, LimitsCoreWhenDeviceBeginsToWorkDuringPause) {
  settings.regulate_while = RegulateWhile::device_works;
  start_paused(first());
  {
    const BandwidthLock lock(*locks);
    const DomainReport before = report();
    scripts[0].pace = 60; // in each of its steps, several in a period
    ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 20; }));
    const DomainReport after = report();
    EXPECT_LE(after.reads - before.reads,
              (after.periods + after.missed_periods - before.periods - before.missed_periods + 5) * (budget + 60));
  }
  ASSERT_TRUE(goes_on(0, 5));
}

TEST_F(PausedRegulation, DoesNotPauseOnCoreWithRealTimeWork) {
  RegulatedDomain planned = first();
  planned.donates = false;
  start({planned});
  ASSERT_TRUE(goes_on(0, 100));
  EXPECT_EQ(scripts[0].last_armed(), budget);
  EXPECT_GE(2 * scripts[0].waits, report().periods);
}

TEST_F(PausedRegulation, EndsPausesPermanentlyWhenLimitChanges) {
  start_paused(first());
  regulation->set_limit(lines_per_period(2 * budget, 1ms));
  ASSERT_TRUE(eventually([&] { return scripts[0].last_armed() == 2 * budget; }));
  ASSERT_TRUE(goes_on(0, 50));
  EXPECT_EQ(scripts[0].last_armed(), 2 * budget);
}

TEST_F(ScriptedRegulation, AppliesSameBudgetToSeparatelyCountedWrites) {
  scripts[0].pace = 10;
  scripts[0].writes = true;
  RegulatedDomain both = domain(0);
  both.counter.writes = hal::CounterEvent{.name = "writes"};
  start({both});
  ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 5; }));
  EXPECT_EQ(report().reads, 0u);
  EXPECT_GT(report().writes, 0u);
}

TEST_F(ScriptedRegulation, LimitsOnlyWhileBandwidthLockIsHeld) {
  settings.regulate_while = RegulateWhile::device_works;
  scripts[0].pace = 10;
  start({domain(0)});
  ASSERT_TRUE(goes_on(0, 10));
  EXPECT_EQ(report().throttled_periods, 0u);
  EXPECT_EQ(told->cores[cores[0]].bytes, 0u);
  {
    const GpuBusy busy(*locks);
    ASSERT_TRUE(goes_on(0, 5));
    EXPECT_EQ(report().throttled_periods, 0u) << "the coarse lock is for while = \"device-busy\"";
  }
  {
    const BandwidthLock lock(*locks);
    ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 3; }));
    EXPECT_EQ(told->cores[cores[0]].bytes, budget * 64);
  }
  ASSERT_TRUE(goes_on(0, 2));
  const std::uint64_t throttled = report().throttled_periods;
  ASSERT_TRUE(goes_on(0, 5));
  EXPECT_EQ(report().throttled_periods, throttled);
}

TEST_F(ScriptedRegulation, LimitsWhileDeviceIsBusyWhenConfigured) {
  settings.regulate_while = RegulateWhile::device_busy;
  scripts[0].pace = 10;
  start({domain(0)});
  const GpuBusy busy(*locks);
  EXPECT_TRUE(eventually([&] { return report().throttled_periods >= 3; }));
}

TEST_F(ScriptedRegulation, EndsThrottlingAtUnlockBeforePeriodEnds) {
  settings.period = 1s;
  settings.regulate_while = RegulateWhile::device_works;
  scripts[0].pace = 10;
  locks->lock();
  start({domain(0, lines_per_period(budget, 1s))});
  ASSERT_TRUE(eventually([&] { return scripts[0].held.load(); }));
  locks->unlock();
  ASSERT_TRUE(eventually([&] { return scripts[0].let_go > 0; }));
  const std::uint64_t before = scripts[0].reads;
  EXPECT_TRUE(eventually([&] { return scripts[0].reads > before + 5 * budget; })) << "it goes on";
}

TEST_F(ScriptedRegulation, EnforcesExplicitCoreBudgetAlways) {
  settings.regulate_while = RegulateWhile::device_works;
  for (Script& script : scripts) script.pace = 10;
  RegulatedDomain own = domain(0);
  own.always = true;
  start({own, domain(1)});
  ASSERT_TRUE(eventually([&] { return report(0).throttled_periods >= 5 && report(1).periods >= 5; }));
  EXPECT_EQ(report(1).throttled_periods, 0u);
}

TEST_F(ScriptedRegulation, NewLimitAppliesOnlyToDomainsWithoutExplicitBudget) {
  for (Script& script : scripts) script.pace = 10;
  RegulatedDomain own = domain(0);
  own.always = true;
  start({own, domain(1)});
  ASSERT_TRUE(eventually([&] { return report(0).throttled_periods >= 3 && report(1).throttled_periods >= 3; }));
  regulation->set_limit(std::nullopt);
  ASSERT_TRUE(goes_on(1, 2));
  const std::uint64_t throttled = report(1).throttled_periods, others = report(0).throttled_periods;
  ASSERT_TRUE(goes_on(1, 5));
  EXPECT_EQ(report(1).throttled_periods, throttled);
  EXPECT_TRUE(eventually([&] { return report(0).throttled_periods > others; }));
  EXPECT_EQ(told->cores[cores[1]].bytes, 0u);
  regulation->set_limit(lines_per_period(2 * budget));
  ASSERT_TRUE(eventually([&] { return report(1).throttled_periods > throttled; }));
  EXPECT_EQ(told->cores[cores[1]].bytes, 2 * budget * 64);
  EXPECT_EQ(told->cores[cores[0]].bytes, budget * 64);
  regulation->set_limit(Bandwidth{0});
  ASSERT_TRUE(eventually([&] { return told->cores[cores[1]].bytes == 64u; })) << "the least there is, not none";
}

TEST_F(ScriptedRegulation, CarriesOvershootIntoLaterPeriods) {
  settings.rules.overshoot = Overshoot::carry;
  start({domain(0)});
  ASSERT_TRUE(goes_on(0, 2));
  scripts[0].at_once = 5 * budget;
  ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 1; }));
  ASSERT_TRUE(goes_on(0, 10));
  // The period in which it happened, and four for its debt. Nothing is known about periods that its thread missed.
  EXPECT_LE(report().throttled_periods, 5u);
  EXPECT_GE(report().throttled_periods + report().missed_periods, 5u);
}

TEST_F(ScriptedRegulation, ForgivesOvershootWhenConfigured) {
  start({domain(0)});
  ASSERT_TRUE(goes_on(0, 2));
  scripts[0].at_once = 5 * budget;
  ASSERT_TRUE(eventually([&] { return report().throttled_periods >= 1; }));
  ASSERT_TRUE(goes_on(0, 10));
  EXPECT_EQ(report().throttled_periods, 1u);
}

// ---- sharing ----

TEST_F(ScriptedRegulation, NeverEndsThrottlingEarlyWithoutSharing) {
  for (Script& script : scripts) script.pace = 10;
  start({domain(0), domain(1)});
  ASSERT_TRUE(eventually([&] { return report(0).throttled_periods >= 5 && report(1).throttled_periods >= 5; }));
  for (const Script& script : scripts) EXPECT_EQ(script.let_go, 0u);
}

TEST_F(ScriptedRegulation, SharesSpareBandwidthOnceAllBudgetsAreExhausted) {
  settings.period = 1s;
  settings.rules.sharing = BandwidthSharing::spare;
  const Bandwidth each = lines_per_period(budget, 1s);
  scripts[0].pace = 10;
  start({domain(0, each), domain(1, each)});
  ASSERT_TRUE(eventually([&] { return scripts[0].held.load(); }));
  EXPECT_LE(scripts[0].reads, budget + 10);
  scripts[1].pace = 10;
  ASSERT_TRUE(eventually([&] { return scripts[0].reads > 3 * budget && scripts[1].reads > 3 * budget; }));
  EXPECT_GE(scripts[0].let_go, 1u);
  EXPECT_EQ(report(0).missed_periods, 0u);
}

TEST_F(ScriptedRegulation, ProportionalSharingRestartsPeriodOnceAllAreExhausted) {
  settings.period = 1s;
  settings.rules.sharing = BandwidthSharing::proportional;
  scripts[0].pace = 10;
  scripts[1].pace = 20;
  start({domain(0, lines_per_period(budget, 1s)), domain(1, lines_per_period(2 * budget, 1s))});
  const Instant begun = hal::now();
  ASSERT_TRUE(eventually([&] { return report(0).periods >= 200 && report(1).periods >= 200; }));
  EXPECT_GT(200 * settings.period, hal::now() - begun) << "many periods in the time of a few";
  const double ratio = static_cast<double>(scripts[1].reads) / static_cast<double>(scripts[0].reads);
  EXPECT_NEAR(ratio, 2, 0.5);
  EXPECT_GE(scripts[0].let_go + scripts[1].let_go, 100u);
  EXPECT_EQ(report(0).missed_periods + report(1).missed_periods, 0u);
  scripts[1].pace = 0; // a core that has not used up its budget keeps the others waiting
  ASSERT_TRUE(eventually([&] { return scripts[0].held.load(); }));
  std::this_thread::sleep_for(100ms);
  const std::uint64_t before = scripts[0].reads;
  std::this_thread::sleep_for(100ms);
  EXPECT_LE(scripts[0].reads - before, 2 * (budget + 10));
}

// ---- ends and faults ----

TEST_F(ScriptedRegulation, ReportsLostCounterAndKeepsRegulatingOthers) {
  for (Script& script : scripts) script.pace = 10;
  start({domain(0), domain(1)});
  ASSERT_TRUE(eventually([&] { return report(0).throttled_periods >= 3 && report(1).throttled_periods >= 3; }));
  scripts[0].broken = true;
  ASSERT_TRUE(eventually([&] { return told->cores[cores[0]].text().ends_with('l'); }));
  EXPECT_TRUE(report(0).lost);
  EXPECT_FALSE(report(1).lost);
  EXPECT_EQ(told->cores[cores[0]].bytes, 0u) << "no limit is in force there";
  const std::uint64_t throttled = report(1).throttled_periods;
  EXPECT_TRUE(eventually([&] { return report(1).throttled_periods >= throttled + 3; }));
}

/// It is not waited for, since only the other one is left.
TEST_F(ScriptedRegulation, SharingDoesNotWaitForLostCounter) {
  settings.period = 100ms;
  settings.rules.sharing = BandwidthSharing::spare;
  const Bandwidth each = lines_per_period(budget, 100ms);
  start({domain(0, each), domain(1, each)});
  scripts[1].pace = 10;
  ASSERT_TRUE(eventually([&] { return report(1).throttled_periods >= 2; }));
  scripts[0].broken = true;
  ASSERT_TRUE(eventually([&] { return report(0).lost; }));
  ASSERT_TRUE(goes_on(1, 2));
  const std::uint64_t throttled = report(1).throttled_periods;
  ASSERT_TRUE(goes_on(1, 5));
  EXPECT_EQ(report(1).throttled_periods, throttled);
}

TEST_F(ScriptedRegulation, EndsImmediatelyWhileThrottling) {
  settings.period = 1s;
  for (Script& script : scripts) script.pace = 10;
  start({domain(0, lines_per_period(budget, 1s)), domain(1, lines_per_period(budget, 1s))});
  ASSERT_TRUE(eventually([&] { return scripts[0].held && scripts[1].held; }));
  regulation.reset();
  for (const Script& script : scripts) {
    EXPECT_FALSE(script.held);
    EXPECT_EQ(script.let_go, 1u);
  }
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

TEST_F(ScriptedRegulation, FailedCounterOpenLeavesNoThreadOrCounter) {
  scripts[1].refuses = true;
  const std::size_t threads = threads_of_this_process();
  const std::vector domains{domain(0), domain(1)};
  const auto started = Regulation::start(domains, settings, *locks);
  EXPECT_TRUE(fails(started, Errc::refused, "as the script says"));
  EXPECT_EQ(scripts[0].open, 0);
  EXPECT_EQ(threads_of_this_process(), threads);
}

TEST_F(ScriptedRegulation, FailedThreadStartLeavesNoThreadOrCounter) {
  scripts[0].pace = 10;
  const std::size_t threads = threads_of_this_process();
  RegulatedDomain elsewhere = domain(1);
  elsewhere.cores = {1000};
  const std::vector domains{domain(0), elsewhere};
  EXPECT_FALSE(Regulation::start(domains, settings, *locks));
  EXPECT_EQ(scripts[0].open + scripts[1].open, 0);
  EXPECT_TRUE(eventually([&] { return threads_of_this_process() == threads; }))
      << "/proc lists a thread for a moment after it was joined";
  EXPECT_EQ(scripts[0].holds, 0u);
}

TEST_F(ScriptedRegulation, StartsAndEndsRepeatedly) {
  for (Script& script : scripts) script.pace = 1000;
  settings.period = 100us;
  for (int i = 0; i < 30; ++i) {
    start({domain(0), domain(1)});
    if (i % 2 == 0) std::this_thread::sleep_for(2ms);
    regulation.reset();
  }
}

TEST_F(ScriptedRegulation, ThreadsJoinAndLeaveCounterOfTheirCore) {
  start({domain(0)});
  EXPECT_TRUE(regulation->join(cores[0]));
  EXPECT_EQ(scripts[0].joined, 1);
  EXPECT_TRUE(regulation->join(cores[1])) << "not regulated: nothing to do";
  regulation->leave(cores[1]);
  regulation->leave(cores[0]);
  EXPECT_EQ(scripts[0].joined, 0);
}

TEST_F(ScriptedRegulation, RunsWithoutDomains) {
  start({});
  regulation->set_limit(Bandwidth{1});
  EXPECT_THAT(regulation->report(), IsEmpty());
}

/// The other core of a cluster is held together with the first: a program there makes no progress in that time.
TEST_F(ScriptedRegulation, ThrottlesAllCoresOfCluster) {
  RegulatedDomain cluster = domain(0);
  cluster.cores = {cores[0], cores[1]};
  settings.period = 50ms;
  cluster.budget = lines_per_period(budget, 50ms);
  scripts[0].pace = 10;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> progress{0};
  auto busy = hal::Thread::start({.name = "busy", .core = cores[1], .reservation = {}}, [&] {
    while (!stop) progress.fetch_add(1, std::memory_order_relaxed);
  });
  ASSERT_TRUE(busy) << problem(busy);
  std::uint64_t in_holds = 0, beside = 0;
  auto watching = hal::Thread::start({.name = "watch", .core = cores[0], .fifo_priority = 50, .reservation = {}}, [&] {
    std::uint64_t before = progress;
    bool held = false;
    while (!stop) {
      hal::sleep_until(hal::now() + 500us);
      const bool now = scripts[0].held;
      const std::uint64_t more = progress - std::exchange(before, progress.load());
      if (now && held) in_holds += more;
      if (!now && !held) beside += more;
      held = now;
    }
  });
  ASSERT_TRUE(watching) << problem(watching);
  start({cluster});
  EXPECT_TRUE(eventually([&] { return report().throttled_periods >= 10; }));
  stop = true;
  watching->join();
  busy->join();
  EXPECT_EQ(report().cores, (std::vector{cores[0], cores[1]}));
  EXPECT_GT(beside, 20 * in_holds);
  regulation.reset();
  EXPECT_GE(told->cores[cores[1]].count, 20u) << "its core is told of too";
  EXPECT_EQ(told->cores[cores[0]].text(), told->cores[cores[1]].text());
}

// ---- a real counter ----

/// Touches pages that fault again, in turn, until `over`.
template <class Over> void fault_until(Over over) {
  constexpr std::size_t size = 64 * 4096;
  auto* memory = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(memory, size, MADV_NOHUGEPAGE);
  ::munlock(memory, size); // an earlier test in this process may have locked all memory
  while (!over()) {
    ::madvise(memory, size, MADV_DONTNEED);
    for (std::size_t at = 0; at < size; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  }
  ::munmap(memory, size);
}

/// A sum that decreased would look like 2^64 lines, and the core would be held forever.
TEST(Regulation, ThreadCounterNeverDecreasesWhenThreadLeaves) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's own pages are counted";
  const unsigned core = hal::Machine().online_cores().front();
  const hal::CounterEvent event = *hal::find_event("page-faults");
  auto opened = hal::open_counter(
      {.back_end = CounterBackEnd::thread, .reads = event, .writes = {}, .core = core, .period = 10ms});
  if (!opened) GTEST_SKIP() << opened.error().what;
  BandwidthCounter& counter = **opened;
  std::atomic<bool> over{false};
  std::thread comes_and_goes([&] {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(counter.join());
      fault_until([touched = 0]() mutable { return touched++ > 3; });
      counter.leave();
    }
    over = true;
  });
  std::uint64_t before = 0, fell = 0;
  while (!over) {
    const auto counted = counter.count();
    ASSERT_TRUE(counted);
    fell += counted->reads < before;
    before = counted->reads;
  }
  comes_and_goes.join();
  EXPECT_EQ(fell, 0u);
  EXPECT_GE(counter.count()->reads, 300u * 4 * 64);
  EXPECT_LE(counter.count()->reads, 300u * 4 * 64 + 300u * 20) << "and counts no page twice";
}

/// The main function of a process that holds a core most of the time, and does not end by itself.
[[noreturn]] void regulate_greedily(unsigned core, const std::filesystem::path& folder, int ready) {
  auto locks = BandwidthLocks::open(folder);
  auto event = hal::find_event("page-faults");
  const hal::CounterSettings counter{.reads = *event, .writes = {}, .core = core, .period = 10ms};
  RegulatedDomain domain{.cores = {core}, .counter = counter, .line = Bytes{4096}, .budget = {}};
  domain.budget = Bandwidth{policies::bandwidth_of(1, domain.line, 10ms).bytes_per_second + 1};
  const std::vector domains{domain};
  RegulationSettings settings;
  settings.period = 10ms;
  auto greedy = hal::Thread::start({.name = "greedy", .core = core, .reservation = {}},
                                   [] { fault_until([] { return false; }); });
  auto regulation = Regulation::start(domains, settings, *locks);
  locks->lock();
  char state = locks && greedy && regulation ? 'r' : 'x';
  while (state == 'r' && (*regulation)->report()[0].throttled_periods < 20) std::this_thread::sleep_for(1ms);
  if (::write(ready, &state, 1) != 1) ::_exit(1);
  for (;;) ::pause();
}

TEST(Regulation, EndsWhenProcessIsKilled) {
  if (sanitized) GTEST_SKIP() << "a forked process with threads of its own";
  if (!fifo_is_given()) GTEST_SKIP() << "SCHED_FIFO is not allowed";
  const unsigned core = hal::Machine().online_cores().back();
  if (const auto probe = hal::probe_counter(*hal::find_event("page-faults"), Bytes{4096}, core, true); !probe)
    GTEST_SKIP() << probe.error().what;
  const ScratchFolder folder;
  auto locks = BandwidthLocks::open(folder.path());
  ASSERT_TRUE(locks) << problem(locks);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) regulate_greedily(core, folder.path(), ready[1]);
  ::close(ready[1]);
  char state = 0;
  EXPECT_EQ(::read(ready[0], &state, 1), 1);
  ::close(ready[0]);
  EXPECT_EQ(locks->holders().locks, 1u);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(state, 'r') << "it did not come to regulate";

  // Another program gets that core.
  std::atomic<std::uint64_t> progress{0};
  std::atomic<bool> stop{false};
  auto other = hal::Thread::start({.name = "other", .core = core, .reservation = {}}, [&] {
    while (!stop) progress.fetch_add(1, std::memory_order_relaxed);
  });
  ASSERT_TRUE(other) << problem(other);
  EXPECT_TRUE(eventually([&] { return progress > 1'000'000; }));
  stop = true;
  locks->forget_dead();
  EXPECT_EQ(locks->holders().locks, 0u);
}

// ---- the plan ----

constexpr Bandwidth megabyte{1'000'000};

bool has(const std::vector<unsigned>& cores, unsigned core) { return std::ranges::find(cores, core) != cores.end(); }

/// Four cores, each with its own counter.
struct RegulationPlanning : testing::Test {
  RegulationPlanning() {
    tasks.bandwidth.best_effort = Bandwidth{100 * megabyte.bytes_per_second};
    board.name = "b";
    board.memory = {.core_bandwidth = {4'000 * megabyte.bytes_per_second},
                    .saturation = {14'400 * megabyte.bytes_per_second}};
    machine.online = {0, 1, 2, 3};
    machine.holds = true;
    machine.choose = [this](const Board&, const BandwidthOptions&, std::span<const unsigned> cores,
                            bool) -> Result<std::vector<hal::CounterChoice>> {
      asked.assign(cores.begin(), cores.end());
      std::vector<hal::CounterChoice> choices;
      for (const unsigned core : cores) {
        if (std::ranges::any_of(choices, [&](const auto& choice) { return has(choice.cores, core); })) continue;
        hal::CounterChoice choice{
            .settings = {}, .line = line, .cores = {core}, .reason = "core " + std::to_string(core) + ": as asked"};
        for (const auto& cluster : clusters)
          if (has(cluster, core)) choice.cores = cluster;
        choice.settings.core = core;
        choice.settings.back_end = back_end;
        choices.push_back(choice);
      }
      return choices;
    };
  }

  Result<RegulationPlan> plan() const {
    if (const auto checked = check_budgets(test::resolved(tasks, board)); !checked) return Unexpected(checked.error());
    return plan_regulation(tasks, board, own, machine);
  }
  std::map<std::vector<unsigned>, RegulatedDomain> domains() const {
    std::map<std::vector<unsigned>, RegulatedDomain> by_cores;
    const auto planned = plan();
    EXPECT_TRUE(planned) << problem(planned);
    if (planned)
      for (const RegulatedDomain& each : planned->domains) by_cores[each.cores] = each;
    return by_cores;
  }

  TaskSet tasks;
  Board board;
  RegulatedMachine machine;
  std::vector<unsigned> own;
  std::vector<std::vector<unsigned>> clusters;
  CounterBackEnd back_end = CounterBackEnd::core;
  Bytes line{64};
  std::vector<unsigned> asked;
};

TEST_F(RegulationPlanning, LimitsEveryCoreWithoutRealTimeParts) {
  own = {0, 3};
  const auto planned = domains();
  ASSERT_THAT(planned, SizeIs(2));
  for (const unsigned core : {1u, 2u}) {
    const RegulatedDomain& domain = planned.at({core});
    EXPECT_EQ(domain.budget, tasks.bandwidth.best_effort);
    EXPECT_FALSE(domain.always);
    EXPECT_TRUE(domain.donates);
    EXPECT_EQ(domain.counter.core, core);
    EXPECT_EQ(domain.counter.period, tasks.bandwidth.period);
  }
}

TEST_F(RegulationPlanning, ExplicitBudgetIsPermanentAndNotDonatedByRealTimeCore) {
  own = {0};
  tasks.core_budgets = {{.core = 0, .budget = {10 * megabyte.bytes_per_second}},
                        {.core = 2, .budget = {20 * megabyte.bytes_per_second}}};
  const auto planned = domains();
  ASSERT_THAT(planned, SizeIs(4));
  EXPECT_TRUE(planned.at({0}).always);
  EXPECT_FALSE(planned.at({0}).donates);
  EXPECT_EQ(planned.at({0}).budget, Bandwidth{10 * megabyte.bytes_per_second});
  EXPECT_TRUE(planned.at({2}).always);
  EXPECT_TRUE(planned.at({2}).donates);
  EXPECT_FALSE(planned.at({1}).always);
}

TEST_F(RegulationPlanning, CoreBudgetsAloneRegulateNoOtherCore) {
  tasks.bandwidth.best_effort.reset();
  tasks.core_budgets = {{.core = 1, .budget = megabyte}};
  EXPECT_THAT(domains(), SizeIs(1));
  EXPECT_THAT(asked, ElementsAre(1u));
}

TEST_F(RegulationPlanning, PlansNothingWithoutBudgets) {
  tasks.bandwidth.best_effort.reset();
  const auto planned = plan();
  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->domains, IsEmpty());
  EXPECT_THAT(planned->reasons, IsEmpty());
}

TEST_F(RegulationPlanning, ReportsThatNoCoreIsLeftToRegulate) {
  own = {0, 1, 2, 3};
  const auto planned = plan();
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_THAT(planned->domains, IsEmpty());
  EXPECT_THAT(planned->reasons, ElementsAre(HasSubstr("no core is regulated")));
}

TEST_F(RegulationPlanning, ReportsKernelLimitsOnlyWhenWholeCoresAreThrottled) {
  machine.limits = [](unsigned) { return std::vector<std::string>{"RT throttling"}; };
  EXPECT_THAT(plan()->reasons, testing::Contains(HasSubstr("RT throttling")).Times(1));
  EXPECT_THAT(plan()->degraded, IsEmpty()) << "nothing was proved of these cores";
  back_end = CounterBackEnd::thread;
  EXPECT_THAT(plan()->reasons, testing::Not(Contains(HasSubstr("RT throttling"))));
}

TEST_F(RegulationPlanning, KernelLimitsDegradeProofOfRealTimeCoreWithBudget) {
  own = {1};
  tasks.core_budgets = {{.core = 1, .budget = megabyte}};
  EXPECT_THAT(plan()->degraded, IsEmpty());
  machine.limits = [](unsigned core) { return std::vector<std::string>(core == 1 ? 2 : 0, "fair server"); };
  EXPECT_THAT(plan()->degraded, testing::SizeIs(2));
  EXPECT_THAT(plan()->degraded, testing::Each(HasSubstr("fair server")));
  own = {1, 2};
  tasks.core_budgets = {{.core = 2, .budget = megabyte}};
  EXPECT_THAT(plan()->degraded, IsEmpty()) << "that core loses nothing";
  tasks.core_budgets = {{.core = 1, .budget = megabyte}};
  tasks.executive.threads = ThreadPolicy::deadline;
  EXPECT_THAT(plan()->degraded, IsEmpty()) << "reservations are not held";
}

TEST_F(RegulationPlanning, WarnsThatSpareSharingOfOneDomainLimitsNothing) {
  tasks.bandwidth.sharing = BandwidthSharing::spare;
  EXPECT_THAT(plan()->reasons, testing::Not(Contains(HasSubstr("has no effect"))));
  own = {0, 1, 2};
  EXPECT_THAT(plan()->reasons, Contains(HasSubstr("has no effect")));
}

TEST_F(RegulationPlanning, RejectsUnknownEvent) {
  for (const char* event : {"nonsense", "rZZ", "../../etc/0x1"}) {
    tasks.bandwidth.event = event;
    EXPECT_TRUE(fails(check_budgets(test::resolved(tasks, board)), Errc::bad_input, "is not known")) << event;
    EXPECT_TRUE(fails(plan(), Errc::bad_input, "is not known")) << event;
  }
  tasks.bandwidth.event = "pmu_of_another_machine/0x17";
  EXPECT_TRUE(check_budgets(test::resolved(tasks, board)));
}

TEST_F(RegulationPlanning, RejectsBudgetAboveCoreBandwidth) {
  tasks.bandwidth.best_effort = Bandwidth{4'001 * megabyte.bytes_per_second};
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "[bandwidth] best_effort = "));
  tasks.bandwidth.best_effort = Bandwidth{4'000 * megabyte.bytes_per_second};
  EXPECT_TRUE(plan());
  tasks.core_budgets = {{.core = 2, .budget = {5'000 * megabyte.bytes_per_second}}};
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "core = 2: budget = "));
  board.memory = {};
  EXPECT_TRUE(plan()) << "what the board's memory gives is not known";
}

TEST_F(RegulationPlanning, RejectsBudgetBelowOneLinePerPeriod) {
  tasks.bandwidth.period = 100us;
  tasks.bandwidth.event = "page-faults"; // one page each
  tasks.bandwidth.best_effort = Bandwidth{40'959'999};
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "less than one line"));
  tasks.bandwidth.best_effort = Bandwidth{40'960'000};
  EXPECT_TRUE(plan());
}

TEST_F(RegulationPlanning, RejectsBudgetsWhoseSumExceedsMemoryBandwidth) {
  for (unsigned core = 0; core < 4; ++core)
    tasks.core_budgets.push_back({.core = core, .budget = {3'600 * megabyte.bytes_per_second}});
  EXPECT_TRUE(plan());
  ++tasks.core_budgets[2].budget.bytes_per_second;
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "add up to"));
}

TEST_F(RegulationPlanning, RejectsMissingCore) {
  tasks.core_budgets = {{.core = 7, .budget = megabyte}};
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "core = 7: this process cannot use the core"));
}

TEST_F(RegulationPlanning, ReportsAllErrorsTogether) {
  tasks.core_budgets = {{.core = 1, .budget = {5'000 * megabyte.bytes_per_second}}, {.core = 2, .budget = {1}}};
  const auto planned = plan();
  EXPECT_TRUE(fails(planned, Errc::bad_input, "core = 1: "));
  EXPECT_TRUE(fails(planned, Errc::bad_input, "core = 2: "));
}

TEST_F(RegulationPlanning, WeakerCounterDegradesProofOfRealTimeCoreWithBudget) {
  own = {1};
  tasks.core_budgets = {{.core = 1, .budget = megabyte}};
  for (const auto weaker : {CounterBackEnd::thread, CounterBackEnd::polling}) {
    back_end = weaker;
    EXPECT_THAT(plan()->degraded, ElementsAre(HasSubstr("core 1 has real-time parts and a budget")));
  }
  back_end = CounterBackEnd::core;
  EXPECT_THAT(plan()->degraded, IsEmpty());
}

TEST_F(RegulationPlanning, ReturnsErrorOfCounterChoice) {
  machine.choose = [](const Board&, const BandwidthOptions&, std::span<const unsigned>,
                      bool) -> Result<std::vector<hal::CounterChoice>> {
    return fail(Errc::unsupported, "core 1: nothing counts");
  };
  EXPECT_TRUE(fails(plan(), Errc::unsupported, "core 1: nothing counts"));
}

TEST_F(RegulationPlanning, ClusterIsOneDomainWithOneBudget) {
  clusters = {{0, 1}, {2, 3}};
  tasks.core_budgets = {{.core = 3, .budget = megabyte}};
  const auto planned = domains();
  ASSERT_THAT(planned, SizeIs(2));
  EXPECT_FALSE(planned.at({0, 1}).always);
  EXPECT_TRUE(planned.at({2, 3}).always);
  EXPECT_EQ(planned.at({2, 3}).budget, megabyte);
  tasks.core_budgets.push_back({.core = 2, .budget = megabyte});
  EXPECT_TRUE(fails(plan(), Errc::bad_input, "cores 2-3 share one counter"));
}

TEST_F(RegulationPlanning, ClusterWithRealTimeCoreNeedsExplicitBudget) {
  clusters = {{0, 1}, {2, 3}};
  own = {0};
  EXPECT_THAT(domains(), SizeIs(1));
  EXPECT_THAT(plan()->reasons, Contains(HasSubstr("core 0 runs real-time parts")));
  tasks.core_budgets = {{.core = 1, .budget = megabyte}};
  const auto planned = domains();
  ASSERT_THAT(planned, SizeIs(2));
  const RegulatedDomain& domain = planned.at({0, 1});
  EXPECT_FALSE(domain.donates);
  EXPECT_EQ(domain.counter.core, domain.cores.front())
      << "the thread on the first core reads the counter, and it is lost to one elsewhere";
}

TEST_F(RegulationPlanning, OfflineCoreOfClusterIsNotRegulated) {
  clusters = {{0, 1}, {2, 3}};
  machine.online = {1, 2, 3};
  const auto planned = domains();
  ASSERT_THAT(planned, SizeIs(2));
  EXPECT_EQ(planned.at({1}).counter.core, 1u);
}

} // namespace
} // namespace rtexec::regulation
