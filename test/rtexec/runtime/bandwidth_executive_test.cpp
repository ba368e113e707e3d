// Tests runs whose cores have memory bandwidth budgets. Page faults, which every machine can count, stand in for memory
// lines.
#include "hal/bandwidth_counter.hpp"
#include "hal/core_claim.hpp"
#include "hal/machine_files.hpp"
#include "hal/system.hpp"
#include "hal/thread.hpp"
#include <rtexec/bandwidth_lock.hpp>
#include "tasks/loads/traffic/generator.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "traces/analysis/analyzer.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

namespace rtexec {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

constexpr Bytes page{4096};

/// Touches a number of new pages before each of its executions.
class Toucher final : public Workload {
 public:
  explicit Toucher(std::uint64_t pages) : pages_(pages) {
    auto made = tasks::PageGenerator::make(page * 64);
    if (!made) throw std::runtime_error(made.error().what);
    generator_ = std::move(*made);
  }
  MemoryDemand memory() const override { return {.constant = Bytes{0}, .scratch = Bytes{64}, .state = Bytes{8}}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "toucher"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override {
    static_cast<void>(generator_->run(page * pages_));
    return {};
  }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  std::uint64_t pages_;
  std::unique_ptr<tasks::PageGenerator> generator_;
};

std::vector<std::string> names_of_threads() {
  std::vector<std::string> names;
  std::error_code ended;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    std::string name;
    if (std::ifstream comm(task.path() / "comm"); std::getline(comm, name)) names.push_back(name);
  }
  return names;
}

/// The last core runs the compute engine and the service threads; the first one runs the limited tasks.
struct BandwidthBudgets : testing::Test {
  void SetUp() override {
    if (cores.size() < 2) GTEST_SKIP() << "one core";
    const auto probe = hal::probe_counter(*hal::find_event("page-faults"), page, first, true);
    if (!probe) GTEST_SKIP() << probe.error().what;
    const auto fifo = hal::Thread::start({.name = "try", .core = {}, .fifo_priority = 1, .reservation = {}}, [] {});
    if (!fifo) GTEST_SKIP() << fifo.error().what;
    write_text(folder / "board.toml",
               "name = \"two\"\ndevice = \"host\"\ncapacity = \"256MiB\"\nchunk = \"2MiB\"\nmemory_policies = [\"D\"]\n"
               "context_switch = \"10us\"\ndispatch = \"60us\"\nrelease_latency = \"100us\"\n"
               "compute_core = " +
                   std::to_string(last) + "\nservice_core = " + std::to_string(last) + "\n");
    locks.emplace(*BandwidthLocks::open());
  }

  /// Returns a real-time task that keeps the device busy, and a greedy task, with `budget` pages in each period of 10
  /// ms.
  TaskSet set(std::uint64_t budget, Duration duration = 1s) const {
    Task front = synthetic("front", 20ms, {.before = 100us, .device = 12ms, .after = 100us});
    front.core = last;
    Task greedy = synthetic("greedy", 50ms, {.before = 1ms, .device = 100us, .after = {}});
    greedy.core = first;
    greedy.criticality = Criticality::best_effort;
    TaskSet set = set_of({front, greedy}, duration);
    set.board = folder / "board.toml";
    set.bandwidth.event = "page-faults";
    set.bandwidth.period = 10ms;
    set.bandwidth.best_effort = Bandwidth{budget * page.count * 100};
    return set;
  }
  executive::Setup greedy(std::uint64_t pages = 200) const {
    executive::Setup setup;
    setup.workloads["greedy"] = std::make_unique<Toucher>(pages);
    return setup;
  }
  static Report run(Executive& executive) {
    begun(executive);
    executive.wait();
    return executive.stop();
  }
  const DomainReport* of_first(const Report& report) const {
    if (!report.bandwidth) return nullptr;
    const auto found = std::ranges::find(report.bandwidth->domains, std::vector{first}, &DomainReport::cores);
    return found == report.bandwidth->domains.end() ? nullptr : &*found;
  }
  /// Succeeds once no process holds a lock. Other runs on this machine may hold locks for the length of a job; a leaked
  /// lock would stay.
  testing::AssertionResult nobody_holds() const {
    return eventually([&] {
      const BandwidthHolders held = locks->holders();
      return held.locks == 0 && held.busy == 0;
    });
  }

  const std::vector<unsigned> cores = hal::Machine().online_cores();
  const unsigned first = cores.front(), last = cores.back();
  ScratchFolder folder;
  std::optional<BandwidthLocks> locks;
};

TEST_F(BandwidthBudgets, ThrottleBestEffortTaskWhileDeviceWorks) {
  const bool locked = hal::lock_memory().has_value();
  for (const auto regulate_while : {RegulateWhile::device_works, RegulateWhile::device_busy, RegulateWhile::always}) {
    TaskSet asked = set(20);
    asked.bandwidth.regulate_while = regulate_while;
    Executive executive = made(asked, greedy());
    const Report report = run(executive);
    EXPECT_TRUE(nobody_holds());
    const DomainReport* domain = of_first(report);
    ASSERT_NE(domain, nullptr) << testing::PrintToString(report.degraded);
    EXPECT_EQ(report.bandwidth->period, asked.bandwidth.period);
    EXPECT_EQ(report.bandwidth->limit, asked.bandwidth.best_effort);
    EXPECT_THAT(report.bandwidth->reasons, Contains(HasSubstr("page-faults")));
    EXPECT_EQ(domain->line, page);
    EXPECT_GT(domain->throttled_periods, 5u);
    EXPECT_LE(domain->throttled_periods, domain->periods);
    EXPECT_GT(domain->throttled, Duration(0));
    EXPECT_GT(domain->reads, 200u);
    EXPECT_FALSE(domain->lost);
    if (regulate_while == RegulateWhile::always) {
      EXPECT_GT(report.tasks[1].response.max, 50ms) << "200 pages, of which a period has 20";
      // While the kernel's fair server takes time from the regulating thread, other programs fault without a limit.
      if (domain->missed_periods == 0) {
        EXPECT_LT(domain->reads, (domain->periods + 5) * 20 * 2) << "of other programs on this core, too";
      }
    }
    for (const ThreadReport& thread : report.threads) {
      if (thread.name == "greedy" && regulate_while == RegulateWhile::always) {
        // Jobs that run while the fair server has the core are charged later.
        const long at_a_stretch = domain->missed_periods == 0 ? 0 : 2 * 200;
        const std::uint64_t periods = domain->periods + domain->missed_periods + 1;
        EXPECT_LE(thread.page_faults, static_cast<long>(periods) * 20 + at_a_stretch);
      }
      if (locked && thread.name != "greedy" && thread.scheduling.kind == SchedulingClass::Kind::fifo) {
        EXPECT_EQ(thread.page_faults, 0) << thread.name;
      }
    }
  }
}

TEST_F(BandwidthBudgets, ThrottleNothingBelowLimit) {
  TaskSet asked = set(100'000);
  asked.bandwidth.regulate_while = RegulateWhile::always;
  Executive executive = made(asked, greedy());
  const Report report = run(executive);
  const DomainReport* domain = of_first(report);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(domain->throttled_periods, 0u);
  EXPECT_GT(domain->reads, 1000u);
}

TEST_F(BandwidthBudgets, KeepInterferenceLoadOffRegulatedCores) {
  TaskSet asked = set(100'000, 200ms);
  for (const bool regulated : {true, false}) {
    if (!regulated) asked.bandwidth = {};
    executive::Setup setup = greedy();
    setup.interference = true;
    Executive executive = made(asked, std::move(setup));
    begun(executive);
    EXPECT_EQ(std::ranges::count(names_of_threads(), "beside/" + std::to_string(first)), regulated ? 0 : 1);
    static_cast<void>(executive.stop());
  }
}

TEST_F(BandwidthBudgets, ApplyExplicitBudgetToDeviceCoreOnly) {
  TaskSet asked = set(20, 300ms);
  asked.bandwidth.best_effort.reset();
  asked.bandwidth.regulate_while = RegulateWhile::device_works;
  asked.core_budgets = {{.core = last, .budget = Bandwidth{page.count * 100 * 100'000}}};
  Executive executive = made(asked, greedy());
  const Report report = run(executive);
  ASSERT_TRUE(report.bandwidth) << testing::PrintToString(report.degraded);
  ASSERT_EQ(report.bandwidth->domains.size(), 1u);
  EXPECT_EQ(report.bandwidth->domains[0].cores, std::vector{last});
  EXPECT_FALSE(report.bandwidth->limit);
}

TEST_F(BandwidthBudgets, LeaveCoreOfAnotherRunUnregulated) {
  const auto other = hal::CoreClaim::take(std::array{first});
  ASSERT_TRUE(other) << problem(other);
  TaskSet asked = set(20, 200ms);
  asked.tasks.pop_back();
  Executive beside = made(asked, {});
  const Report without = run(beside);
  ASSERT_TRUE(without.bandwidth) << testing::PrintToString(without.degraded);
  EXPECT_EQ(of_first(without), nullptr);
  EXPECT_EQ(without.bandwidth->domains.size(), cores.size() - 2) << "the last one serves";
  EXPECT_THAT(
      without.bandwidth->reasons,
      Contains(testing::ContainsRegex(
          "not regulated: another run of rtexec, process [0-9]+ of user [0-9]+, uses core " + std::to_string(first))));

  asked.core_budgets = {{.core = first, .budget = *asked.bandwidth.best_effort}};
  Executive insisting = made(asked, {});
  const Report refused = run(insisting);
  EXPECT_FALSE(refused.bandwidth);
  EXPECT_THAT(refused.degraded, Contains(HasSubstr("no memory bandwidth budget is in force: another run")));
}

TEST_F(BandwidthBudgets, ClaimRegulatedCoreAgainstOtherRuns) {
  TaskSet asked = set(20, 200ms);
  asked.tasks.pop_back();
  Executive executive = made(asked, {});
  begun(executive);
  EXPECT_FALSE(hal::CoreClaim::take(std::array{first}));
  executive.wait();
  EXPECT_TRUE(executive.stop().bandwidth);
}

TEST_F(BandwidthBudgets, ThrottleThreadsWithPerThreadCounters) {
  TaskSet asked = set(20);
  asked.bandwidth.regulate_while = RegulateWhile::always;
  asked.bandwidth.counter = CounterBackEnd::thread;
  Executive executive = made(asked, greedy());
  const Report report = run(executive);
  const DomainReport* domain = of_first(report);
  if (domain == nullptr) GTEST_SKIP() << testing::PrintToString(report.degraded);
  EXPECT_THAT(domain->counter, HasSubstr("threads"));
  EXPECT_GT(domain->throttled_periods, 5u);
  EXPECT_GT(domain->reads, 200u);
  EXPECT_LT(domain->reads, (domain->periods + 5) * 40);
  EXPECT_GT(report.tasks[1].response.max, 50ms);
  EXPECT_GE(report.tasks[1].completed, 1u);
  EXPECT_TRUE(nobody_holds());
}

TEST_F(BandwidthBudgets, KeepLimitAboveFloorWithSlowdownTarget) {
  TaskSet asked = set(20, 500ms);
  asked.bandwidth.slowdown = 1.5;
  asked.bandwidth.floor = Bandwidth{page.count * 100 * 10};
  Executive executive = made(asked, greedy());
  const Report report = run(executive);
  ASSERT_TRUE(report.bandwidth) << testing::PrintToString(report.degraded);
  ASSERT_TRUE(report.bandwidth->limit);
  EXPECT_GE(*report.bandwidth->limit, asked.bandwidth.floor);
}

// ---- the end of a run ----

TEST_F(BandwidthBudgets, EndThrottlingWhenRunStops) {
  TaskSet asked = set(20, 1h);
  asked.bandwidth.regulate_while = RegulateWhile::always;
  Executive executive = made(asked, greedy());
  begun(executive);
  ASSERT_TRUE(eventually([&] {
    const Report now = executive.progress();
    return of_first(now) != nullptr && of_first(now)->throttled_periods > 3;
  }));
  EXPECT_THAT(names_of_threads(), Contains("regulate-" + std::to_string(first)));
  const Report report = executive.stop();
  EXPECT_THAT(names_of_threads(), testing::Not(Contains("regulate-" + std::to_string(first))));
  EXPECT_TRUE(nobody_holds());
  ASSERT_NE(of_first(report), nullptr);
  EXPECT_GT(of_first(report)->throttled_periods, 3u);
  ASSERT_NE(of_first(executive.progress()), nullptr) << "its report stays";
  EXPECT_EQ(of_first(executive.progress())->periods, of_first(report)->periods);
}

TEST_F(BandwidthBudgets, EndThrottlingWhenExecutiveIsDestroyed) {
  for (int i = 0; i < 3; ++i) {
    TaskSet asked = set(1, 1h);
    asked.bandwidth.regulate_while = RegulateWhile::always;
    asked.bandwidth.period = 1s;
    asked.bandwidth.best_effort = Bandwidth{page.count * 500};
    Executive executive = made(asked, greedy(50));
    begun(executive);
    executive.wait(20ms);
  }
  EXPECT_THAT(names_of_threads(), testing::Not(Contains(testing::StartsWith("regulate"))));
  EXPECT_TRUE(nobody_holds());
}

TEST_F(BandwidthBudgets, ReleaseLocksAndThreadsAfterFailedWarmUp) {
  TaskSet asked = set(20);
  const auto device = std::make_shared<DeviceState>();
  const auto workload = std::make_shared<WorkloadState>();
  workload->faults = 0;
  executive::Setup setup = greedy();
  setup.workloads["front"] = std::make_unique<WorkloadDouble>(device, workload);
  setup.open_device = opener(device);
  {
    Executive executive = made(asked, std::move(setup));
    EXPECT_FALSE(executive.start());
    EXPECT_TRUE(nobody_holds());
  }
  EXPECT_THAT(names_of_threads(), testing::Not(Contains(testing::StartsWith("regulate"))));
}

/// Checks that a job's announcement as working is withdrawn, in whichever way the job ends.
struct JobBandwidthLock : BandwidthBudgets {
  /// Makes two tasks whose executions check the locks and then call `execution`.
  executive::Setup looking(std::function<void()> execution) {
    executive::Setup setup = greedy();
    for (const char* name : {"front", "other"}) {
      const Hashing::Shape shape{.constant = {}, .scratch = {}, .state = small_chunk, .kind = Hashing::State::changes};
      setup.workloads[name] =
          std::make_unique<Hashing>(shape, std::make_shared<test::Seen>(), [this, execution](std::size_t) {
            const BandwidthHolders held = locks->holders();
            if (held.busy > 0 && held.locks > 0) ++held_in_executions;
            execution();
          });
    }
    return setup;
  }
  Report run_held(TaskSet asked, executive::Setup setup) {
    held_in_executions = 0;
    Executive executive = made(std::move(asked), std::move(setup));
    const Report report = run(executive);
    EXPECT_GT(held_in_executions, 0u);
    EXPECT_TRUE(nobody_holds());
    return report;
  }
  TaskSet with_another(TaskSet set) const {
    Task other = set.tasks[0];
    other.name = "other";
    set.tasks.push_back(other);
    return set;
  }

  std::atomic<std::uint64_t> held_in_executions = 0;
};

TEST_F(JobBandwidthLock, IsReleasedUnderEveryOverrunPolicy) {
  for (const auto policy :
       {OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase, OnOverrun::abort_job, OnOverrun::stop}) {
    TaskSet asked = set(1000, 300ms);
    asked.tasks[0].period = asked.tasks[0].deadline = 5ms; // shorter than the 12 ms that it takes
    asked.tasks[0].wcet->device = 1ms;
    asked.tasks[0].on_overrun = policy;
    const Report report = run_held(with_another(asked), looking([] {
                                     for (const Instant end = hal::now() + 12ms; hal::now() < end;) {}
                                   }));
    if (policy == OnOverrun::abort_job) { EXPECT_GT(report.tasks[0].aborted + report.tasks[2].aborted, 0u); }
  }
}

/// One of two tasks that always need the device waits for it when the run ends.
TEST_F(JobBandwidthLock, IsReleasedWhenJobIsWithdrawn) {
  TaskSet asked = set(1000, 250ms);
  asked.tasks[0].on_overrun = OnOverrun::catch_up;
  const Report report = run_held(with_another(asked), looking([] { hal::sleep_until(hal::now() + 60ms); }));
  EXPECT_GT(report.tasks[0].unfinished + report.tasks[2].unfinished, 0u);
}

TEST_F(JobBandwidthLock, IsReleasedAfterFaultOrDeviceLoss) {
  for (const bool lost : {false, true}) {
    TaskSet asked = set(1000, endless);
    const auto device = std::make_shared<DeviceState>();
    const auto workload = std::make_shared<WorkloadState>();
    (lost ? workload->loses_device : workload->faults) = 5;
    executive::Setup setup = greedy();
    setup.workloads["front"] = std::make_unique<WorkloadDouble>(device, workload);
    setup.open_device = opener(device);
    Executive executive = made(asked, std::move(setup));
    begun(executive);
    run_until(executive, [&] { return executive.progress().tasks[0].failed > 0; });
    const Report report = executive.stop();
    EXPECT_TRUE(nobody_holds());
    EXPECT_GT(report.tasks[0].failed, 0u);
    EXPECT_EQ(report.device_fault.has_value(), lost);
  }
}

TEST_F(JobBandwidthLock, IsReleasedAfterSwapTransfersAndFailedTransfers) {
  for (const int failing : {0, 3}) {
    const HashingTasks hashing = two_tasks();
    const auto store = std::make_shared<StoreOrders>();
    TaskSet asked = swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 5);
    asked.bandwidth = set(1000).bandwidth;
    asked.board = folder / "board.toml";
    for (Task& task : asked.tasks) task.core = last;
    executive::Setup setup = hashing.setup();
    setup.open_store = store_opener(store);
    Executive executive = made(asked, std::move(setup));
    begun(executive);
    store->failing_loads = failing;
    run_until(executive, [&] { return hashing.executions() > 10 && store->failing_loads == 0; });
    const Report report = executive.stop();
    EXPECT_TRUE(nobody_holds());
    EXPECT_EQ(failed_jobs(report) > 0, failing > 0);
    EXPECT_TRUE(report.bandwidth);
  }
}

// ---- budgets that are refused ----

TEST_F(BandwidthBudgets, RejectInvalidSettingsInsteadOfRunningDegraded) {
  TaskSet asked = set(20);
  asked.bandwidth.event = "cachemisses";
  EXPECT_TRUE(fails(executive::create(asked, greedy()), Errc::bad_input, "\"cachemisses\" is not known"));
  asked = set(20);
  asked.core_budgets = {{.core = 999, .budget = Bandwidth{100'000'000}}};
  EXPECT_FALSE(executive::create(asked, greedy()) && made(asked, greedy()).start());
  asked = set(20);
  asked.bandwidth.period = 100us;
  asked.bandwidth.best_effort = Bandwidth{10'000'000};
  EXPECT_TRUE(fails(executive::create(asked, greedy()), Errc::bad_input, "less than one line"));
}

/// A kernel that cannot count, during a test.
struct MissingCounters : BandwidthBudgets {
  void SetUp() override {
    BandwidthBudgets::SetUp();
    strict.perf_event_open = [](perf_event_attr*, pid_t, int, unsigned long) { return errno = EACCES, -1; };
    if (!IsSkipped()) override_.emplace(strict);
  }
  hal::System strict = hal::linux_system();
  std::optional<hal::SystemOverride> override_;
};

TEST_F(MissingCounters, DegradeRunWhenAllowed) {
  Executive executive = made(set(20, endless), greedy());
  begun(executive);
  run_until(executive, [&] { return executive.progress().tasks[0].completed > 0; });
  const Report report = executive.stop();
  EXPECT_FALSE(report.bandwidth);
  EXPECT_THAT(report.degraded, Contains(HasSubstr("memory traffic cannot be counted")));
  EXPECT_GT(report.tasks[0].completed, 0u);
}

TEST_F(MissingCounters, RefuseStartWhenDegradedRunIsForbidden) {
  if (const auto locked = hal::lock_memory(); !locked) GTEST_SKIP() << "refused before that: " << locked.error().what;
  TaskSet asked = set(20, 200ms);
  asked.executive.allow_degraded = false;
  asked.tasks.erase(asked.tasks.begin()); // the task on the device's core
  Executive refused = made(asked, greedy());
  const auto started = refused.start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().what, HasSubstr("memory traffic cannot be counted"));
  EXPECT_THAT(started.error().what, HasSubstr("rtexec probe"));
}

// ---- the trace ----

TEST_F(BandwidthBudgets, TraceThrottledIntervalsAndDelaysOfTasks) {
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  TaskSet asked = set(20);
  asked.bandwidth.regulate_while = RegulateWhile::always;
  Executive executive = made(asked, greedy());
  const Report report = run(executive);
  const auto summary = session->stop();
  ASSERT_TRUE(summary) << problem(summary);
  ASSERT_NE(of_first(report), nullptr) << testing::PrintToString(report.degraded);

  std::map<std::string, int> seen;
  bool held = false;
  const auto read = traces::read_trace(session->folder(), [&](const traces::RecordedEvent& event) {
    if (event.integer("core") != first) return;
    const std::string name(event.name().substr(std::string_view("rtexec:").size()));
    ++seen[name];
    if (name == "throttle_begin" || name == "throttle_end") {
      EXPECT_EQ(held, name == "throttle_end");
      held = name == "throttle_begin";
    }
    if (name == "bandwidth_budget") {
      EXPECT_EQ(event.integer("bytes"), 20 * page.count);
      EXPECT_EQ(event.integer("period"), Duration(asked.bandwidth.period).count());
    }
  });
  ASSERT_TRUE(read) << problem(read);
  EXPECT_FALSE(held) << "a stretch that never ended";
  EXPECT_EQ(seen["bandwidth_budget"], 1);
  EXPECT_GE(seen["throttle_begin"], static_cast<int>(of_first(report)->throttled_periods));
  EXPECT_EQ(seen["throttle_begin"], seen["throttle_end"]);

  traces::RunSetup setup;
  traces::Analyzer analyzer(setup);
  const auto records = traces::read_records(session->folder(), setup, analyzer);
  ASSERT_TRUE(records) << problem(records);
  const traces::Analysis analysis = analyzer.finish(*records);
  const auto core =
      std::ranges::find(analysis.resources, "core " + std::to_string(first), &traces::ResourceAnalysis::name);
  ASSERT_NE(core, analysis.resources.end());
  EXPECT_GT(core->throttled, Duration(0));
  EXPECT_LE(core->throttled, of_first(report)->throttled);
  const traces::TaskAnalysis& task = analysis.tasks.at(1);
  const auto share = [&](traces::Cause cause) { return task.breakdown.at(static_cast<std::size_t>(cause)).total; };
  EXPECT_GT(share(traces::Cause::throttled), share(traces::Cause::execution)) << "most of its response time";
  EXPECT_GT(share(traces::Cause::throttled), share(traces::Cause::overhead));
}

} // namespace
} // namespace rtexec
