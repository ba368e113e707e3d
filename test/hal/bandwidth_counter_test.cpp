// Tests counters with stand-in events that every machine has, and the behaviour when the kernel refuses them.
#include "hal/bandwidth_counter.hpp"
#include "hal/perf/perf_event.hpp"
#include "hal/thread.hpp"
#include "test/hal/failing_system.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <linux/perf_event.h>
#include <map>
#include <sys/mman.h>
#include <thread>

namespace rtexec::hal {
namespace {

using namespace std::chrono_literals;
using test::Failing;
using testing::HasSubstr;

CounterEvent page_faults() { return *find_event("page-faults"); }

/// Pages that each fault once, in turn.
class Pages {
 public:
  Pages()
      : memory_(static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::madvise(memory_, size, MADV_NOHUGEPAGE);
  }
  ~Pages() { ::munmap(memory_, size); }
  void touch(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (next_ == 0) ::madvise(memory_, size, MADV_DONTNEED);
      static_cast<volatile char*>(memory_)[next_] = 1;
      next_ = (next_ + 4096) % size;
    }
  }

 private:
  static constexpr std::size_t size = 64 * 4096;
  char* memory_;
  std::size_t next_ = 0;
};

/// Runs `body` on the first core, which the counters of these tests count.
template <class Body> void on_core(unsigned core, Body body) {
  auto thread = Thread::start({.name = "test", .core = core, .reservation = {}}, body);
  ASSERT_TRUE(thread) << thread.error().what;
  thread->join();
}

unsigned a_core() { return Machine().online_cores().front(); }

CounterSettings settings(CounterBackEnd back_end) {
  return {.back_end = back_end, .reads = page_faults(), .writes = {}, .core = a_core(), .period = Duration(1ms)};
}

#define OPEN_OR_SKIP(counter, asked)                                       \
  auto counter##_opened = open_counter(asked);                             \
  if (!counter##_opened && counter##_opened.error().code == Errc::refused) \
    GTEST_SKIP() << counter##_opened.error().what;                         \
  ASSERT_TRUE(counter##_opened) << counter##_opened.error().what;          \
  BandwidthCounter& counter = **counter##_opened

TEST(CounterEvents, AreFoundByName) {
  EXPECT_EQ(find_event("page-faults")->config, 2u);
  EXPECT_EQ(find_event("r17")->type, 4u);
  EXPECT_EQ(find_event("r17")->config, 0x17u);
}

/// A PMU under a scratch root, as a driver publishes it.
class Pmu {
 public:
  Pmu(const std::string& name, const std::string& type) : folder_("sys/bus/event_source/devices/" + name) {
    set("type", type);
  }
  void set(const std::string& file, const std::string& content) const {
    rtexec::test::write_text(root_ / (folder_ + "/" + file), content + "\n");
  }
  [[nodiscard]] Machine machine() const { return Machine(root_.path()); }

 private:
  rtexec::test::ScratchFolder root_;
  std::string folder_;
};

TEST(CounterEvents, EventsOfOtherPmusAreFoundInSysfs) {
  const Pmu pmu("carmel_pmu", "11");
  const auto found = find_event("carmel_pmu/0x2a4", pmu.machine());
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->type, 11u);
  EXPECT_EQ(found->config, 0x2a4u);
  EXPECT_EQ(found->counted_on, std::nullopt);
  const auto absent = find_event("other_pmu/0x2a4", pmu.machine());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::unsupported);
  EXPECT_THAT(absent.error().what, HasSubstr("no PMU \"other_pmu\""));
}

/// NVIDIA's uncore PMUs publish no cpumask: the board says on which core they count.
TEST(CounterEvents, UseCoreOfDriverCpumaskElseOfBoard) {
  const Pmu pmu("l3_pmu", "12");
  EXPECT_EQ(find_event("l3_pmu/0x1", pmu.machine(), 0)->counted_on, 0u);
  pmu.set("cpumask", "3");
  EXPECT_EQ(find_event("l3_pmu/0x1", pmu.machine(), 0)->counted_on, 3u);
  EXPECT_EQ(find_event("page-faults", pmu.machine(), 0)->counted_on, std::nullopt) << "of the cores";
}

TEST(CounterEvents, EncodeFieldsInDriverFormat) {
  const Pmu pmu("carmel_pmu", "11");
  pmu.set("format/event", "config:4-15");
  pmu.set("format/unit", "config:0-3");
  EXPECT_EQ(find_event("carmel_pmu/event=0x17,unit=2", pmu.machine())->config, 0x172u);
  EXPECT_EQ(find_event("carmel_pmu/unit=4,event=17", pmu.machine())->config, 0x174u);
  const auto wide = find_event("carmel_pmu/event=0x17,unit=0x10", pmu.machine());
  EXPECT_THAT(rtexec::test::problem(wide), HasSubstr("has only bits config:0-3 for \"unit\""));
  for (const char* name : {"carmel_pmu/event", "carmel_pmu/event=", "carmel_pmu/event=x", "carmel_pmu/event=0x17,unit"})
    EXPECT_EQ(find_event(name, pmu.machine()).error().code, Errc::bad_input) << name;
}

/// A missing field means that the driver has only one unit.
TEST(CounterEvents, RefuseUnitThatDriverLacks) {
  const Pmu pmu("carmel_pmu", "11");
  pmu.set("format/event", "config:0-11");
  EXPECT_EQ(find_event("carmel_pmu/event=0x17,unit=0", pmu.machine())->config, 0x17u);
  const auto other = find_event("carmel_pmu/event=0x17,unit=1", pmu.machine());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::unsupported);
  EXPECT_THAT(other.error().what, HasSubstr("has no field \"unit\""));
}

TEST(CounterEvents, UnknownNameListsKnownEvents) {
  for (const char* name : {"cachemisses", "", "r", "rxyz", "carmel_pmu/", "carmel_pmu/zz"}) {
    const auto found = find_event(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, Errc::bad_input) << name;
    EXPECT_THAT(found.error().what, HasSubstr("page-faults")) << name;
  }
}

TEST(CounterProbe, CountsKnownSweepAndReceivesOverflow) {
  for (const bool whole_core : {true, false}) {
    auto probe = probe_counter(page_faults(), Bytes{4096}, a_core(), whole_core);
    for (int again = 0; again < 20 && probe && probe->accuracy >= 1.5; ++again) // other activity only adds to the count
      probe = probe_counter(page_faults(), Bytes{4096}, a_core(), whole_core);
    if (!probe && probe.error().code == Errc::refused) GTEST_SKIP() << probe.error().what;
    ASSERT_TRUE(probe) << probe.error().what;
    EXPECT_TRUE(probe->counts) << probe->what;
    EXPECT_TRUE(probe->overflows) << probe->what;
    EXPECT_GE(probe->accuracy, 1.0);
    EXPECT_LT(probe->accuracy, 1.5) << probe->what;
  }
}

/// An emulator's PMU may open events that never count.
TEST(CounterProbe, RejectsEventThatOpensButDoesNotCount) {
  static System deaf;
  deaf = linux_system();
  deaf.read = [](int file, void* to, std::size_t size) -> ssize_t {
    const ssize_t got = linux_system().read(file, to, size);
    if (size == sizeof(std::uint64_t) && got == sizeof(std::uint64_t)) std::memset(to, 0, size);
    return got;
  };
  const SystemOverride override_(deaf);
  const auto probe = probe_counter(page_faults(), Bytes{4096}, a_core(), false);
  if (!probe) GTEST_SKIP() << probe.error().what;
  EXPECT_FALSE(probe->counts);
  EXPECT_THAT(probe->what, HasSubstr("it opens, but does not count"));
}

/// A system whose PMU cannot sample, as Orin's scf_pmu.
const System& refuses_to_sample() {
  static System silent;
  silent = linux_system();
  silent.perf_event_open = [](perf_event_attr* attributes, pid_t thread, int core, unsigned long flags) {
    if (attributes->sample_period != 0) return errno = EINVAL, -1;
    return linux_system().perf_event_open(attributes, thread, core, flags);
  };
  return silent;
}

TEST(CounterProbe, CountsEvenIfPmuReportsNoOverflows) {
  const SystemOverride override_(refuses_to_sample());
  const auto probe = probe_counter(page_faults(), Bytes{4096}, a_core(), true);
  if (!probe && probe.error().code == Errc::refused) GTEST_SKIP() << probe.error().what;
  ASSERT_TRUE(probe) << probe.error().what;
  EXPECT_TRUE(probe->counts) << probe->what;
  EXPECT_FALSE(probe->overflows);
  EXPECT_THAT(probe->what, HasSubstr("overflow notifications are refused"));
}

TEST(CounterProbe, ReportsRemedyIfKernelRefuses) {
  static System strict;
  strict = linux_system();
  strict.perf_event_open = [](perf_event_attr*, pid_t, int, unsigned long) { return errno = EACCES, -1; };
  const SystemOverride override_(strict);
  const auto probe = probe_counter(page_faults(), Bytes{4096}, a_core(), true);
  ASSERT_FALSE(probe);
  EXPECT_EQ(probe.error().code, Errc::refused);
  EXPECT_THAT(probe.error().what, HasSubstr("perf_event_paranoid"));
}

TEST(CoreCounter, SignalsOverflowWhenBudgetIsExhausted) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(a_core(), [&] {
    Pages pages;
    ASSERT_TRUE(counter.arm(20, no_limit));
    const auto before = counter.count();
    pages.touch(30);
    EXPECT_EQ(counter.wait(now() + 1s).wake, BandwidthCounter::Wake::overflow);
    EXPECT_GE(counter.count()->reads - before->reads, 30u);
    EXPECT_EQ(counter.lost_overflows(), 0u);
    ASSERT_TRUE(counter.arm(1'000'000, no_limit));
    EXPECT_EQ(counter.wait(now() + 5ms).wake, BandwidthCounter::Wake::time);
    ASSERT_TRUE(counter.arm(no_limit, no_limit));
    pages.touch(100);
    EXPECT_EQ(counter.wait(now() + 5ms).wake, BandwidthCounter::Wake::time);
  });
}

/// A budget counts from the moment it is set, not from the next event. Other activity on the core counts too.
TEST(CoreCounter, CountsEachBudgetFromItsStart) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(a_core(), [&] {
    constexpr std::uint64_t budget = 1000;
    Pages pages;
    for (int period = 0; period < 50; ++period) {
      const std::uint64_t begin = counter.count()->reads;
      ASSERT_TRUE(counter.arm(budget, no_limit));
      pages.touch(10);
      const auto wake = counter.wait(now() + 200us).wake;
      if (counter.count()->reads - begin < budget) { EXPECT_EQ(wake, BandwidthCounter::Wake::time) << period; }
    }
  });
}

/// A display reads the counter concurrently with the regulating thread.
TEST(CoreCounter, CanBeReadByOtherThreadsConcurrently) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  std::atomic<bool> over{false};
  std::uint64_t backwards = 0, last = 0;
  std::thread other([&] {
    while (!over.load()) {
      const std::uint64_t seen = counter.count()->reads;
      backwards += seen < std::exchange(last, seen);
    }
  });
  on_core(a_core(), [&] {
    Pages pages;
    for (int period = 0; period < 50; ++period) {
      ASSERT_TRUE(counter.arm(20, no_limit));
      pages.touch(30);
      EXPECT_EQ(counter.wait(now() + 1s).wake, BandwidthCounter::Wake::overflow) << period;
    }
  });
  over.store(true);
  other.join();
  EXPECT_EQ(backwards, 0u);
  EXPECT_GE(counter.count()->reads, 50 * 30u);
}

/// aarch64 can lose an overflow (rr#3607).
TEST(CoreCounter, DetectsOverflowThatKernelLost) {
  static System deaf;
  deaf = linux_system();
  deaf.ppoll = [](pollfd*, std::size_t, const timespec* timeout) { return ::nanosleep(timeout, nullptr), 0; };
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  const SystemOverride override_(deaf);
  on_core(a_core(), [&] {
    Pages pages;
    ASSERT_TRUE(counter.arm(10, no_limit));
    pages.touch(20);
    EXPECT_EQ(counter.wait(now() + 2ms).wake, BandwidthCounter::Wake::overflow);
    EXPECT_EQ(counter.lost_overflows(), 1u);
  });
}

TEST(CoreCounter, ReportsLossIfThreadRunsOnAnotherCore) {
  const auto cores = Machine().online_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(cores[1], [&] {
    ASSERT_TRUE(counter.arm(1000, no_limit));
    EXPECT_EQ(counter.wait(now() + 2ms).wake, BandwidthCounter::Wake::lost) << "as after its core went offline";
  });
}

TEST(CoreCounter, HoldReturnsEarlyOnAnotherCore) {
  const auto cores = Machine().online_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(cores[1], [&] {
    const Instant far = now() + 100s;
    counter.hold(
        far, [](void*) noexcept { return false; }, nullptr);
    EXPECT_LT(now(), far);
    EXPECT_FALSE(counter.count()) << "it is lost";
  });
}

TEST(CoreCounter, ReportsLossIfReadFails) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(a_core(), [&] {
    ASSERT_TRUE(counter.arm(1000, no_limit));
    const Failing<&System::read> fails(EIO);
    EXPECT_EQ(counter.wait(now() + 2ms).wake, BandwidthCounter::Wake::lost);
  });
}

TEST(PollingCounter, DetectsExhaustedBudget) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::polling));
  on_core(a_core(), [&] {
    Pages pages;
    ASSERT_TRUE(counter.arm(10, no_limit));
    pages.touch(20);
    EXPECT_EQ(counter.wait(now() + 1s).wake, BandwidthCounter::Wake::overflow);
  });
}

TEST(CoreHold, EndsAtGivenTimeOrEarlierOnRequest) {
  OPEN_OR_SKIP(counter, settings(CounterBackEnd::core));
  on_core(a_core(), [&] {
    const Instant until = now() + 2ms;
    counter.hold(
        until, [](void*) noexcept { return false; }, nullptr);
    EXPECT_GE(now(), until);
    int asked = 0;
    const Instant far = now() + 10s;
    counter.hold(
        far, [](void* self) noexcept { return ++*static_cast<int*>(self) == 3; }, &asked);
    EXPECT_LT(now(), far);
  });
}

/// Runs threads under a budget that is set `periods` times. Returns the number of touches in each period.
std::vector<std::uint64_t> touches_in_periods(BandwidthCounter& counter, std::uint64_t budget, int periods,
                                              int threads) {
  std::atomic<std::uint64_t> touched{0};
  std::atomic<bool> stop{false};
  EXPECT_TRUE(counter.arm(budget, no_limit));
  std::vector<std::thread> greedy;
  for (int i = 0; i < threads; ++i)
    greedy.emplace_back([&] {
      Pages pages;
      if (const auto joined = counter.join(); !joined) ADD_FAILURE() << joined.error().what;
      while (!stop.load()) {
        pages.touch(1);
        touched.fetch_add(1);
      }
      counter.leave();
    });
  std::vector<std::uint64_t> seen;
  std::uint64_t before = 0;
  for (int period = 0; period < periods; ++period) {
    EXPECT_EQ(counter.wait(now() + 10s).wake, BandwidthCounter::Wake::overflow);
    // All threads are stopped when the number of touches no longer changes.
    std::uint64_t last = touched.load();
    for (;;) {
      std::this_thread::sleep_for(300us);
      if (touched.load() == last) break;
      last = touched.load();
    }
    seen.push_back(last - before);
    before = last;
    EXPECT_TRUE(counter.arm(budget, no_limit));
  }
  stop.store(true);
  EXPECT_TRUE(counter.arm(no_limit, no_limit));
  for (auto& thread : greedy) thread.join();
  return seen;
}

CounterSettings of_threads() {
  CounterSettings result = settings(CounterBackEnd::thread);
  result.period = 1min; // a thread waits for its next budget as long as this test needs
  return result;
}

TEST(ThreadCounter, StopsItsThreadAtTheBudget) {
  if (rtexec::test::sanitized) GTEST_SKIP() << "the sanitizer's own pages are counted";
  OPEN_OR_SKIP(counter, of_threads());
  for (const std::uint64_t touched : touches_in_periods(counter, 100, 20, 1)) {
    EXPECT_GE(touched, 98u);
    EXPECT_LE(touched, 102u);
  }
}

TEST(ThreadCounter, SharesOneBudgetBetweenThreads) {
  OPEN_OR_SKIP(counter, of_threads());
  std::uint64_t sum = 0;
  for (const std::uint64_t touched : touches_in_periods(counter, 300, 10, 3)) sum += touched;
  EXPECT_GE(sum, 10u * 150u);
  EXPECT_LE(sum, 10u * 400u) << "each of the threads may be a quarter of an even share beyond it";
}

/// Before Linux 5.13 counters cannot send SIGTRAP.
TEST(ThreadCounter, UsesOrdinarySignalOnKernelWithoutSigtrap) {
  if (rtexec::test::sanitized) GTEST_SKIP() << "the sanitizer's own pages are counted";
  static System old;
  old = linux_system();
  old.perf_event_open = [](perf_event_attr* attributes, pid_t thread, int core, unsigned long flags) {
    if (attributes->sigtrap) return errno = EINVAL, -1;
    return linux_system().perf_event_open(attributes, thread, core, flags);
  };
  const SystemOverride override_(old);
  OPEN_OR_SKIP(counter, of_threads());
  for (const std::uint64_t touched : touches_in_periods(counter, 100, 10, 1)) {
    EXPECT_GE(touched, 98u);
    EXPECT_LE(touched, 110u) << "the signal comes soon after the event";
  }
}

TEST(ThreadCounter, ResumesStoppedThreadWithoutNewBudget) {
  CounterSettings asked = of_threads();
  asked.period = 1ms;
  OPEN_OR_SKIP(counter, asked);
  ASSERT_TRUE(counter.arm(10, no_limit));
  std::thread greedy([&] {
    Pages pages;
    ASSERT_TRUE(counter.join());
    pages.touch(100); // more than the budget: it is stopped here
    counter.leave();
  });
  greedy.join();
  EXPECT_GE(counter.count()->reads, 100u);
}

TEST(ThreadCounter, LeaveFreesThreadSlot) {
  OPEN_OR_SKIP(counter, of_threads());
  for (int i = 0; i < 300; ++i)
    std::thread([&] {
      const auto joined = counter.join();
      EXPECT_TRUE(joined) << joined.error().what;
      counter.leave();
    }).join();
}

// ---- choice of the back end ----

Board board_of(std::vector<CounterFacts> counters) {
  Board board;
  board.name = "b";
  board.counters = std::move(counters);
  return board;
}

TEST(CounterChoice, SelectsBackEndVerifiedByProbe) {
  const std::vector cores{a_core()};
  const auto choices =
      choose_counters(board_of({{.event = "page-faults", .write_event = {}, .cores = {}}}), {}, cores, true);
  if (!choices && choices.error().code != Errc::bad_input) GTEST_SKIP() << choices.error().what;
  ASSERT_TRUE(choices) << choices.error().what;
  ASSERT_EQ(choices->size(), 1u);
  EXPECT_EQ(choices->front().line, Bytes{4096});
  EXPECT_EQ(choices->front().cores, cores);
  EXPECT_THAT(choices->front().reason, HasSubstr("counted over"));
}

TEST(CounterChoice, SelectsThreadCounterIfNoCoreCanBeHeld) {
  const std::vector cores{a_core()};
  const auto choices =
      choose_counters(board_of({{.event = "page-faults", .write_event = {}, .cores = {}}}), {}, cores, false);
  if (!choices) GTEST_SKIP() << choices.error().what;
  EXPECT_EQ(choices->front().settings.back_end, CounterBackEnd::thread);
  EXPECT_THAT(choices->front().reason, HasSubstr("no core can be stopped"));
}

TEST(CounterChoice, PrefersTheCounterThatNamesTheCore) {
  const Board board = board_of({{.event = "context-switches", .write_event = {}, .cores = {}},
                                {.event = "page-faults", .write_event = {}, .cores = {a_core()}}});
  const std::vector cores{a_core()};
  const auto choices = choose_counters(board, {}, cores, true);
  if (!choices) GTEST_SKIP() << choices.error().what;
  EXPECT_EQ(choices->front().settings.reads.name, "page-faults");
}

TEST(CounterChoice, PrefersEventOfTaskSetOverBoard) {
  BandwidthOptions options;
  options.event = "page-faults";
  const std::vector cores{a_core()};
  const auto choices =
      choose_counters(board_of({{.event = "r17", .write_event = {}, .cores = {}}}), options, cores, true);
  if (!choices) GTEST_SKIP() << choices.error().what;
  EXPECT_EQ(choices->front().settings.reads.name, "page-faults");
}

TEST(CounterChoice, CombinesClusterCoresIntoOneCounter) {
  const auto online = Machine().online_cores();
  if (online.size() < 2) GTEST_SKIP() << "one core";
  const std::vector cores{online[0], online[1]};
  const auto choices = choose_counters(
      board_of({{.event = "page-faults", .write_event = {}, .cores = cores, .cluster = true}}), {}, cores, true);
  if (!choices) GTEST_SKIP() << choices.error().what;
  ASSERT_EQ(choices->size(), 1u);
  EXPECT_EQ(choices->front().cores, cores);
}

TEST(CounterChoice, PollsIfPmuRefusesOverflowSampling) {
  const SystemOverride override_(refuses_to_sample());
  const std::vector cores{a_core()};
  const auto choices =
      choose_counters(board_of({{.event = "page-faults", .write_event = {}, .cores = {}}}), {}, cores, true);
  if (!choices) GTEST_SKIP() << choices.error().what;
  EXPECT_EQ(choices->front().settings.back_end, CounterBackEnd::polling);
  EXPECT_TRUE(open_counter(choices->front().settings));
}

/// A machine with uncore PMUs like NVIDIA's: no cpumask, queried on one core only, a unit for each cluster. The time of
/// the unit's core, which grows during a sweep, emulates the count. On other cores events open but count nothing.
struct UncoreMachine {
  UncoreMachine() {
    pmu.set("format/event", "config:4-15");
    pmu.set("format/unit", "config:0-3");
    table = linux_system();
    table.perf_event_open = [](perf_event_attr* attributes, pid_t thread, int core, unsigned long flags) {
      if (attributes->type != 11) return linux_system().perf_event_open(attributes, thread, core, flags);
      if (core < 0) return errno = ENOENT, -1;
      if (visited && sched_getcpu() != core) return errno = ENOENT, -1;
      const auto unit = attributes->config & 0xf;
      if (unit == sleeping) return errno = ENODEV, -1;
      attributes->type = PERF_TYPE_SOFTWARE;
      attributes->config = unsigned(core) == clusters.front() ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
      return linux_system().perf_event_open(attributes, thread, static_cast<int>(clusters.at(unit)), flags);
    };
  }
  static inline System table;
  static inline std::vector<unsigned> clusters; // one core in each
  static inline std::uint64_t sleeping = 99;
  static inline bool visited = false; // opens only for a thread that runs on the core
  Pmu pmu{"carmel_pmu", "11"};
};

TEST(CounterChoice, OpensUnitsOnBoardCoreAndSweepsEachCluster) {
  const auto online = Machine().online_cores();
  if (online.size() < 2) GTEST_SKIP() << "one core";
  UncoreMachine::clusters = {online[0], online[1]};
  const UncoreMachine machine;
  const auto units = [&](std::optional<unsigned> opened_on) {
    std::vector<CounterFacts> counters;
    for (unsigned unit = 0; unit < 2; ++unit)
      counters.push_back({.event = "carmel_pmu/event=0x17,unit=" + std::to_string(unit),
                          .write_event = {},
                          .line = Bytes{4096},
                          .cores = {online[unit]},
                          .cluster = true,
                          .opened_on = opened_on});
    return board_of(std::move(counters));
  };
  const SystemOverride override_(UncoreMachine::table);
  const std::vector cores{online[0], online[1]};
  const auto choices = choose_counters(units(online[0]), {}, cores, true, machine.pmu.machine());
  if (!choices && choices.error().code == Errc::refused) GTEST_SKIP() << choices.error().what;
  if (!choices && choices.error().what.contains("not in proportion")) GTEST_SKIP() << "others have the cores";
  ASSERT_TRUE(choices) << choices.error().what;
  EXPECT_EQ(choices->size(), 2u);
  for (const CounterChoice& choice : *choices) EXPECT_EQ(choice.settings.reads.counted_on, online[0]);
  const auto elsewhere = choose_counters(units(online[1]), {}, cores, true, machine.pmu.machine());
  ASSERT_FALSE(elsewhere) << "they open there, and count nothing";
  EXPECT_THAT(elsewhere.error().what, HasSubstr("it opens, but does not count"));
  UncoreMachine::sleeping = 1;
  const auto asleep = choose_counters(units(online[0]), {}, cores, true, machine.pmu.machine());
  UncoreMachine::sleeping = 99;
  ASSERT_FALSE(asleep);
  if (asleep.error().what.contains("not in proportion")) GTEST_SKIP() << "others have the cores";
  EXPECT_THAT(asleep.error().what, HasSubstr("core " + std::to_string(online[1])));
}

TEST(PerfEvent, OpensOnCoreRequiredByDriverAndRestoresAffinity) {
  const auto online = Machine().online_cores();
  if (online.size() < 2) GTEST_SKIP() << "one core";
  UncoreMachine::clusters = {online[0], online[1]};
  const UncoreMachine machine;
  const auto event = find_event("carmel_pmu/event=0x17,unit=0", machine.pmu.machine(), online[1]);
  ASSERT_TRUE(event) << event.error().what;
  const SystemOverride override_(UncoreMachine::table);
  UncoreMachine::visited = true;
  std::thread([&] {
    cpu_set_t home, after;
    CPU_ZERO(&home);
    CPU_SET(online[0], &home);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof home, &home), 0);
    const auto opened = PerfEvent::open(*event, online[0], PerfEvent::Tells::nothing);
    EXPECT_TRUE(opened) << opened.error().what;
    ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&home, &after)) << "it went back";
  }).join();
  UncoreMachine::visited = false;
}

TEST(CounterChoice, ReportsTriedEventsIfNothingCounts) {
  static System without;
  without = linux_system();
  without.perf_event_open = [](perf_event_attr*, pid_t, int, unsigned long) { return errno = ENOENT, -1; };
  const SystemOverride override_(without);
  const std::vector cores{a_core()};
  const auto choices = choose_counters(board_of({}), {}, cores, true);
  ASSERT_FALSE(choices);
  EXPECT_EQ(choices.error().code, Errc::unsupported);
  EXPECT_THAT(choices.error().what, HasSubstr("cache-misses"));
  EXPECT_THAT(choices.error().what, HasSubstr("page-faults counts everywhere"));
}

TEST(CounterChoice, FallsBackToPollingIfOverflowIsNotDelivered) {
  static System deaf;
  deaf = linux_system();
  deaf.ppoll = [](pollfd*, std::size_t, const timespec*) { return 0; };
  const SystemOverride override_(deaf);
  const std::vector cores{a_core()};
  const auto choices =
      choose_counters(board_of({{.event = "page-faults", .write_event = {}, .cores = {}}}), {}, cores, true);
  if (!choices) GTEST_SKIP() << choices.error().what;
  EXPECT_EQ(choices->front().settings.back_end, CounterBackEnd::polling);
  EXPECT_THAT(choices->front().reason, HasSubstr("overflow is not reported"));
}

// ---- PREEMPT_RT ----

TEST(OverflowPriority, RaisesIrqWorkThreadsOfCoresAndRestoresThem) {
  rtexec::test::ScratchFolder root;
  const auto add = [&](int id, const std::string& name) {
    std::filesystem::create_directories(root.path() / "proc" / std::to_string(id));
    std::ofstream(root.path() / "proc" / std::to_string(id) / "comm") << name << "\n";
  };
  add(21, "irq_work/0");
  add(22, "irq_work/1");
  add(23, "irq_work/2");
  add(24, "ksoftirqd/1");
  static std::map<pid_t, std::uint32_t> priorities;
  priorities = {{21, 1}, {22, 1}, {23, 1}};
  static System kernel;
  kernel = linux_system();
  kernel.sched_getattr = [](pid_t id, SchedulingAttributes* attributes, unsigned, unsigned) {
    *attributes = {};
    attributes->policy = SCHED_FIFO;
    attributes->priority = priorities.at(id);
    return 0;
  };
  kernel.sched_setattr = [](pid_t id, const SchedulingAttributes* attributes, unsigned) {
    return priorities.at(id) = attributes->priority, 0;
  };
  const SystemOverride override_(kernel);
  {
    const std::vector<unsigned> cores{1, 2};
    const auto raised = OverflowPriority::raise(cores, 99, Machine(root.path()));
    ASSERT_TRUE(raised) << raised.error().what;
    EXPECT_EQ(raised->threads(), 2u);
    EXPECT_EQ(priorities, (std::map<pid_t, std::uint32_t>{{21, 1}, {22, 99}, {23, 99}}));
  }
  EXPECT_EQ(priorities, (std::map<pid_t, std::uint32_t>{{21, 1}, {22, 1}, {23, 1}}));
}

TEST(OverflowPriority, RefusalReportsRequiredCapability) {
  rtexec::test::ScratchFolder root;
  std::filesystem::create_directories(root.path() / "proc/21");
  std::ofstream(root.path() / "proc/21/comm") << "irq_work/0\n";
  static System kernel;
  kernel = linux_system();
  kernel.sched_getattr = [](pid_t, SchedulingAttributes* attributes, unsigned, unsigned) {
    *attributes = {};
    attributes->policy = SCHED_FIFO;
    attributes->priority = 1;
    return 0;
  };
  kernel.sched_setattr = [](pid_t, const SchedulingAttributes*, unsigned) { return errno = EPERM, -1; };
  const SystemOverride override_(kernel);
  const std::vector<unsigned> cores{0};
  const auto raised = OverflowPriority::raise(cores, 99, Machine(root.path()));
  ASSERT_FALSE(raised);
  EXPECT_THAT(raised.error().what, HasSubstr("CAP_SYS_NICE"));
}

} // namespace
} // namespace rtexec::hal
