#include "rtexec/runtime/planning/executive_setup.hpp"
#include "tasks/media/input.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <thread>

namespace rtexec {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

TaskSet three_tasks(Duration duration) {
  return set_of({synthetic("fast", 20ms, {.before = 200us, .device = 1ms, .after = 200us}),
                 synthetic("middle", 40ms, {.before = 300us, .device = 2ms, .after = 100us}),
                 synthetic("slow", 80ms, {.before = 1ms, .device = 4ms, .after = 1ms})},
                duration);
}

Executive created(TaskSet set, executive::Setup setup = {}) {
  auto executive = executive::create(std::move(set), std::move(setup));
  if (!executive) throw std::runtime_error(executive.error().what);
  return std::move(*executive);
}

Report run(Executive& executive) {
  if (const auto started = executive.start(); !started) throw std::runtime_error(started.error().what);
  executive.wait();
  return executive.stop();
}

executive::Setup recording(std::size_t jobs) {
  executive::Setup setup;
  setup.record_jobs = jobs;
  return setup;
}

class SchedulingOrder : public testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, SchedulingOrder, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

TEST_P(SchedulingOrder, ReleasesJobInEveryPeriod) {
  TaskSet set = three_tasks(1s);
  set.executive.order = GetParam();
  // Every grid point of a run is a release, or a skipped one if the machine was delayed.
  const auto points = [&](std::size_t i) { return static_cast<double>(1s / set.tasks[i].period); };
  const auto answered = [](const TaskReport& task) { return static_cast<double>(task.released + task.skipped); };
  Report report;
  bool all = false;
  // A thread delayed at the end of a run may miss its last release, but not in each of five runs.
  for (int tries = 0; tries < 5 && !all; ++tries) {
    Executive executive = created(set);
    EXPECT_TRUE(executive.plan().proved);
    report = run(executive);
    EXPECT_EQ(to_string(report.stopped_by), "duration");
    ASSERT_EQ(report.tasks.size(), 3u);
    all = true;
    for (std::size_t i = 0; i < 3; ++i) all = all && answered(report.tasks[i]) >= points(i) * 0.9 - 1;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const TaskReport& task = report.tasks[i];
    EXPECT_NEAR(answered(task), points(i), 1 + points(i) * 0.1) << task.name;
    EXPECT_LE(task.completed + task.aborted + task.failed, task.released) << task.name;
    EXPECT_GE(task.completed + task.aborted + task.failed + task.unfinished, task.released) << task.name;
    EXPECT_GE(task.response.min, set.tasks[i].wcet->device * 9 / 10) << task.name;
  }
}

// Checks the real-time rules on every thread of the executive, from start() on.
TEST(Executive, ThreadsNeitherAllocateNorLockNorFault) {
  Executive executive = created(three_tasks(1h), recording(10));
  ASSERT_TRUE(executive.start());
  (void)expect_real_time(
      executive, [&] { EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed > 30; })); });
}

TEST(Executive, RefusesToStartUnprovedPlan) {
  Executive executive = created(set_of({synthetic("heavy", 10ms, {.before = {}, .device = 9ms, .after = {}}),
                                        synthetic("light", 10ms, {.before = {}, .device = 5ms, .after = {}})},
                                       1s));
  EXPECT_FALSE(executive.plan().proved);
  const auto started = executive.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::not_proved);
}

TEST(Executive, KeepsRecordOfEachJob) {
  Executive executive = created(three_tasks(500ms), recording(1000));
  EXPECT_TRUE(executive.job_records().jobs.empty());
  const Report report = run(executive);
  const JobRecords records = executive.job_records();
  EXPECT_EQ(records.lost, 0u);
  for (std::size_t i = 0; i < 3; ++i) {
    const TaskReport& task = report.tasks[i];
    Duration longest{0};
    std::uint64_t jobs = 0, completed = 0, missed = 0;
    std::optional<JobRecord> before;
    for (const JobRecord& job : records.jobs) {
      if (job.task != i) continue;
      ++jobs;
      missed += job.missed;
      if (!job.failure) ++completed, longest = std::max(longest, job.end - job.nominal);
      EXPECT_LE(job.nominal, job.requested);
      EXPECT_LE(job.requested, job.device_begin);
      EXPECT_LE(job.device_begin, job.device_end);
      EXPECT_LE(job.device_end, job.end);
      if (before) {
        EXPECT_LT(before->number, job.number);
        EXPECT_LE(before->end, job.requested);
        EXPECT_EQ((job.nominal - before->nominal) % executive.set().tasks.tasks[i].period, 0ns);
      }
      before = job;
    }
    EXPECT_EQ(jobs, task.released) << task.name;
    EXPECT_EQ(completed, task.completed) << task.name;
    EXPECT_LE(missed, task.missed) << task.name; // and releases that never got the core
    EXPECT_EQ(longest, task.response.max) << task.name;
  }
}

TEST(Executive, CountsJobsWithoutRecordWhenRecordsAreFull) {
  Executive executive = created(three_tasks(500ms), recording(2));
  const Report report = run(executive);
  const JobRecords records = executive.job_records();
  std::uint64_t released = 0;
  for (const TaskReport& task : report.tasks) released += task.released;
  EXPECT_GT(records.lost, 0u);
  EXPECT_EQ(records.jobs.size() + records.lost, released);
  EXPECT_EQ(records.jobs.size(), 6u);
}

TEST(Executive, RefusesToRunTwice) {
  Executive executive = created(set_of({synthetic("one", 20ms, {.before = {}, .device = 1ms, .after = {}})}, 50ms));
  run(executive);
  EXPECT_FALSE(executive.start());
}

TEST(Executive, RejectsWorkloadOfUnknownTaskAndNullWorkload) {
  executive::Setup setup;
  setup.workloads["nobody"] = nullptr;
  setup.workloads["fast"] = nullptr;
  const auto executive = executive::create(three_tasks(1s), std::move(setup));
  ASSERT_FALSE(executive);
  EXPECT_THAT(executive.error().what, HasSubstr("nobody"));
  EXPECT_THAT(executive.error().what, HasSubstr("task 'fast': no workload was given"));
}

TEST(Executive, StopsOnRequestFromAnotherThread) {
  TaskSet set = three_tasks(1h);
  Executive executive = created(set);
  ASSERT_TRUE(executive.start());
  EXPECT_FALSE(executive.wait(100ms));
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed > 0; }));
  EXPECT_EQ(executive.progress().stopped_by, Stop{}) << "it goes on";
  std::jthread other([&] { executive.request_stop(); });
  EXPECT_TRUE(executive.wait());
  const Report report = executive.stop();
  EXPECT_EQ(to_string(report.stopped_by), "request");
  EXPECT_GT(report.tasks[0].completed, 0u);
}

TEST(Executive, ReportsRequestAsCauseWhenStopped) {
  Executive executive = created(three_tasks(1h));
  EXPECT_EQ(executive.stop().elapsed, Duration(0));
  EXPECT_FALSE(executive.start()) << "it was stopped before it ran";
  Executive running = created(three_tasks(1h));
  ASSERT_TRUE(running.start());
  EXPECT_EQ(to_string(running.stop().stopped_by), "request");
}

/// Returns a set in which one task holds the core for longer than the run of 700 ms, so that the other never gets it.
TaskSet with_a_hog() {
  TaskSet set = set_of({synthetic("hog", 900ms, {.before = 800ms, .device = 1ms, .after = {}}),
                        synthetic("victim", 1s, {.before = 1ms, .device = 1ms, .after = {}})},
                       700ms);
  set.tasks[1].period = set.tasks[1].deadline = 100ms;
  set.tasks[1].offset = 5ms; // by then the core is taken
  set.executive.priorities = PriorityAssignment::explicit_priorities;
  set.tasks[0].priority = 2;
  set.tasks[1].priority = 1;
  return set;
}

// Lost releases of the other task must not look like a success.
TEST(Executive, ReleasesThatNeverGetCoreCountAsMissed) {
  executive::Setup setup;
  setup.force = true;
  Executive executive = created(with_a_hog(), std::move(setup));
  const Report report = run(executive);
  if (!report.degraded.empty())
    GTEST_SKIP() << "without real-time priorities nobody starves: " << report.degraded.front();
  EXPECT_GE(report.tasks[1].missed, 5u);
  EXPECT_FALSE(report.deadlines_kept());
}

// The thread that stops the run may be late, and find the core free again.
TEST(Executive, StartsNoJobAfterEndOfRun) {
  executive::Setup setup;
  setup.force = true;
  Executive executive = created(with_a_hog(), std::move(setup));
  ASSERT_TRUE(executive.start());
  std::this_thread::sleep_for(1s);
  const Report report = executive.stop();
  if (!report.degraded.empty())
    GTEST_SKIP() << "without real-time priorities nobody starves: " << report.degraded.front();
  EXPECT_EQ(report.tasks[1].released, 0u);
  EXPECT_GE(report.tasks[1].missed, 5u);
}

/// Returns the report of the thread that runs a task's first part.
ThreadReport thread_of(const Report& report, const std::string& task) {
  const auto thread = std::ranges::find(report.threads, task, &ThreadReport::name);
  if (thread == report.threads.end()) throw std::runtime_error("no thread " + task);
  return *thread;
}

TEST(Executive, ReportsThreadWhoseSchedulingClassWasChanged) {
  Executive executive = created(three_tasks(10s));
  ASSERT_TRUE(executive.start());
  const auto before = executive.progress().degraded;
  const ThreadReport thread = thread_of(executive.progress(), "middle");
  const sched_param normal{};
  ASSERT_EQ(::sched_setscheduler(thread.kernel_id, SCHED_OTHER, &normal), 0);
  const Report report = executive.stop();
  if (thread.scheduling.kind == SchedulingClass::Kind::other) GTEST_SKIP() << "it had no other class before";
  ASSERT_EQ(report.degraded.size(), before.size() + 1);
  EXPECT_THAT(report.degraded.back(), AllOf(HasSubstr("thread middle ran as OTHER on core"),
                                            HasSubstr("instead of " + to_string(thread.scheduling))));
}

TEST(Executive, ReportsThreadWhoseAffinityWasChangedTemporarily) {
  Executive executive = created(three_tasks(20s));
  ASSERT_TRUE(executive.start());
  const int thread = thread_of(executive.progress(), "fast").kernel_id;
  cpu_set_t before, all;
  ASSERT_EQ(::sched_getaffinity(thread, sizeof before, &before), 0);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_EQUAL(&before, &all)) GTEST_SKIP() << "there is one core";
  ASSERT_EQ(::sched_setaffinity(thread, sizeof all, &all), 0);
  const auto told = [&] {
    return !executive.progress().degraded.empty() &&
           executive.progress().degraded.back().find("thread fast") != std::string::npos;
  };
  for (int tries = 0; tries < 1000 && !told(); ++tries) executive.wait(20ms);
  EXPECT_TRUE(told());
  ASSERT_EQ(::sched_setaffinity(thread, sizeof before, &before), 0);
  executive.wait(1200ms); // it is checked twice a second
  EXPECT_THAT(executive.stop().degraded.back(), AllOf(HasSubstr("thread fast ran as"), HasSubstr("until ")));
}

TEST(Executive, RecordsNothingWhenAnotherRunUsesItsCores) {
  Executive first = created(three_tasks(10s));
  ASSERT_TRUE(first.start());
  bool recorded = false;
  executive::Setup setup;
  setup.record = [&]() -> Result<> { return recorded = true, Result<>(); };
  TaskSet set = three_tasks(1s);
  set.executive.allow_degraded = false;
  Executive second = created(std::move(set), std::move(setup));
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().what, HasSubstr("another run of rtexec, process "));
  EXPECT_FALSE(recorded);
}

TEST(Executive, ExclusiveRunRefusesCoresOfAnotherRun) {
  Executive first = created(three_tasks(10s));
  ASSERT_TRUE(first.start());
  executive::Setup setup;
  setup.exclusive = true;
  TaskSet set = three_tasks(1s);
  set.executive.allow_degraded = true;
  EXPECT_FALSE(created(std::move(set), std::move(setup)).start());
}

TEST(Executive, MayBeDestroyedWhileItRuns) {
  Executive executive = created(three_tasks(1h));
  ASSERT_TRUE(executive.start());
  executive.wait(50ms);
}

// ---- user-defined workloads ----

/// Counts its parts, and fails as the test demands.
class Counting final : public Workload {
 public:
  struct Counts {
    std::atomic<std::uint64_t> before{0}, execute{0}, after{0};
    std::atomic<bool> fail_before{false}, fail_execute{false}, fail_after{false};
    std::atomic<std::uint64_t> spared{0}; // the first calls of each part, which do not fail
    std::atomic<std::int64_t> device_ns{0};
  };
  explicit Counting(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) {}

  MemoryDemand memory() const override { return {.constant = Bytes{16}, .scratch = Bytes{64}, .state = Bytes{8}}; }
  std::span<const std::byte> constants() const override { return constants_; }
  std::string fingerprint() const override { return "counting"; }
  Result<> bind(Device&, const Memory& memory) override {
    memory_ = memory;
    return {};
  }

  Status before(std::uint64_t) noexcept override { return part(counts_->before, counts_->fail_before); }
  Status execute() noexcept override {
    if (!std::ranges::equal(std::span(memory_.constant, constants_.size()), constants_))
      return Unexpected(Errc::device_fault);
    memory_.scratch[0] = std::byte{1};
    memory_.state[0] = std::byte{1};
    const auto end = std::chrono::steady_clock::now() + Duration(counts_->device_ns.load());
    while (std::chrono::steady_clock::now() < end) {}
    return part(counts_->execute, counts_->fail_execute);
  }
  Status after(std::uint64_t) noexcept override { return part(counts_->after, counts_->fail_after); }

 private:
  Status part(std::atomic<std::uint64_t>& count, const std::atomic<bool>& fails) const noexcept {
    const bool spared = count.fetch_add(1) < counts_->spared.load();
    if (fails.load() && !spared) return Unexpected(Errc::device_fault);
    return {};
  }
  std::shared_ptr<Counts> counts_;
  std::vector<std::byte> constants_ = std::vector<std::byte>(16, std::byte{42});
  Memory memory_;
};

struct UserWorkload : testing::Test {
  std::shared_ptr<Counting::Counts> counts = std::make_shared<Counting::Counts>();
  std::mutex mutex;
  std::vector<Miss> misses;
  std::vector<WcetExcess> excesses;

  Executive executive_of(Task task, Duration duration) {
    executive::Setup setup;
    setup.force = true;
    setup.workloads[task.name] = std::make_unique<Counting>(counts);
    setup.on_miss = [this](const Miss& miss) {
      const std::scoped_lock lock(mutex);
      misses.push_back(miss);
    };
    setup.on_wcet_exceeded = [this](const WcetExcess& excess) {
      const std::scoped_lock lock(mutex);
      excesses.push_back(excess);
    };
    return created(set_of({std::move(task)}, duration), std::move(setup));
  }
};

/// Records its input as before() finds it.
class Fed final : public Workload {
 public:
  static constexpr std::size_t size = 6, most = 64;
  using Seen = std::array<std::array<std::uint8_t, size>, most>; // by job
  explicit Fed(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}

  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "fed"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  std::span<const Tensor> inputs() const override { return {&input_, 1}; }
  Status before(std::uint64_t job) noexcept override {
    if (job < most) std::ranges::copy(input_.as<const std::uint8_t>(), (*seen_)[job].begin());
    std::ranges::fill(bytes_, std::byte{0xa5}); // filled again for each job
    return {};
  }
  Status execute() noexcept override { return Unexpected(Errc::unsupported); }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  std::shared_ptr<Seen> seen_;
  std::array<std::byte, size> bytes_{};
  Tensor input_{.name = "x", .type = ElementType::uint8, .shape = {2, 3}, .bytes = bytes_};
};

TEST(FedWorkload, FindsItsInputFilledInEachJob) {
  const auto seen = std::make_shared<Fed::Seen>();
  executive::Setup setup;
  setup.force = true;
  setup.workloads["fed"] = std::make_unique<Fed>(seen);
  Task task = synthetic("fed", 10ms, {.before = 1ms, .device = {}, .after = 1ms});
  task.workload = WorkloadKind::custom;
  task.footprint.reset();
  Executive executive = created(set_of({std::move(task)}, 1h), std::move(setup));
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed > 6; }));
  (void)executive.stop();
  std::array<std::byte, Fed::size> bytes;
  const Tensor tensor{.name = "x", .type = ElementType::uint8, .shape = {2, 3}, .bytes = bytes};
  const auto noise = tasks::make_input({}, tensor);
  ASSERT_TRUE(noise);
  int compared = 0;
  for (std::uint64_t job = 0; job < Fed::most; ++job) {
    if ((*seen)[job] == std::array<std::uint8_t, Fed::size>{}) continue; // skipped, or after the end
    ASSERT_TRUE((*noise)->fetch(job, tensor));
    EXPECT_TRUE(std::ranges::equal((*seen)[job], tensor.as<std::uint8_t>())) << job;
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

TEST_F(UserWorkload, RunsThreePartsInEachJob) {
  Executive executive = executive_of(synthetic("own", 10ms, {.before = {}, .device = 1ms, .after = {}}), 500ms);
  const Report report = run(executive);
  // One warm-up before the first job.
  EXPECT_EQ(counts->before.load(), report.tasks[0].released + 1);
  EXPECT_EQ(counts->after.load(), report.tasks[0].completed + 1);
  EXPECT_EQ(report.tasks[0].failed, 0u);
}

TEST_F(UserWorkload, CountsPartsAboveWcet) {
  counts->device_ns = std::chrono::nanoseconds(3ms).count();
  Executive executive = executive_of(synthetic("own", 20ms, {.before = 8ms, .device = 1ms, .after = 8ms}), 1h);
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed > 5; }));
  const TaskReport task = executive.stop().tasks[0];
  EXPECT_EQ(task.above_wcet.device, task.completed);
  EXPECT_EQ(task.above_wcet.all(), task.above_wcet.device);
  EXPECT_EQ(task.wcet.device, 1ms);
  EXPECT_GT(task.observed.device, task.wcet.device);
  ASSERT_EQ(excesses.size(), task.above_wcet.all());
  for (const WcetExcess& excess : excesses) {
    EXPECT_EQ(excess.job, static_cast<std::uint64_t>(&excess - excesses.data()));
    EXPECT_EQ(excess.part, Part::device);
    EXPECT_EQ(excess.wcet, 1ms);
    EXPECT_GT(excess.took, excess.wcet);
  }
}

TEST_F(UserWorkload, ExceptionInMissCallbackIsReportedAndEndsCallbacks) {
  executive::Setup setup;
  setup.force = true;
  setup.workloads["own"] = std::make_unique<Counting>(counts);
  std::atomic<int> calls{0};
  setup.on_miss = [&](const Miss&) {
    ++calls;
    throw std::runtime_error("nobody is told any more");
  };
  Executive executive =
      created(set_of({synthetic("own", 10ms, {.before = {}, .device = 1ms, .after = {}})}, 500ms), std::move(setup));
  ASSERT_TRUE(executive.start());
  counts->fail_execute.store(true); // from now on each job is a miss
  executive.wait();
  const Report report = executive.stop();
  EXPECT_GT(report.tasks[0].missed, 2u);
  EXPECT_EQ(calls.load(), 1);
  EXPECT_EQ(report.callback_failure, "nobody is told any more");
  // A release whose job did not begin before the end counts as missed, but calls no callback.
  EXPECT_GE(report.lost_callbacks, report.tasks[0].failed - 1);
  EXPECT_LE(report.lost_callbacks, report.tasks[0].missed - 1);
}

TEST_F(UserWorkload, FaultInWarmUpRefusesStart) {
  for (auto* fails : {&counts->fail_before, &counts->fail_execute, &counts->fail_after}) {
    fails->store(true);
    Executive executive = executive_of(synthetic("own", 10ms, {.before = {}, .device = 1ms, .after = {}}), 200ms);
    const auto started = executive.start();
    fails->store(false);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, Errc::device_fault);
    EXPECT_THAT(started.error().what, HasSubstr("'own'"));
    EXPECT_TRUE(executive.wait());
    EXPECT_EQ(executive.stop().tasks[0].released, 0u);
  }
}

TEST_F(UserWorkload, FaultInAnyPartFailsJobAndCallsMissCallback) {
  using Counts = Counting::Counts;
  for (const auto fails : {&Counts::fail_before, &Counts::fail_execute, &Counts::fail_after}) {
    misses.clear();
    counts = std::make_shared<Counts>();
    counts->spared = 1; // the warm-up
    ((*counts).*fails).store(true);
    Executive executive = executive_of(synthetic("own", 10ms, {.before = {}, .device = 1ms, .after = {}}), 1h);
    ASSERT_TRUE(executive.start());
    EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].failed > 5; }));
    const Report report = executive.stop();
    EXPECT_EQ(report.tasks[0].completed, 0u);
    // A late release whose job did not begin before the end counts as missed, but calls no callback.
    EXPECT_GE(report.tasks[0].missed, report.tasks[0].failed);
    EXPECT_GE(misses.size() + report.lost_callbacks, report.tasks[0].failed);
    EXPECT_LE(misses.size() + report.lost_callbacks, report.tasks[0].missed);
    EXPECT_FALSE(report.deadlines_kept());
  }
}

// ---- parts above their WCETs: a device part of 3 ms at a period of 20 ms, its WCET 1 ms ----

struct WcetExceededRun : UserWorkload {
  Report excess(OnWcetExceeded policy, OnOverrun on_overrun = OnOverrun::skip, Duration device = 3ms) {
    counts->device_ns = std::chrono::nanoseconds(device).count();
    Task task = synthetic("own", 20ms, {.before = 8ms, .device = 1ms, .after = 8ms});
    task.on_wcet_exceeded = policy;
    task.on_overrun = on_overrun;
    Executive executive = executive_of(task, 600ms);
    return run(executive);
  }
};

TEST_F(WcetExceededRun, SkipNextDropsReleaseAfterEachJob) {
  const Report report = excess(OnWcetExceeded::skip_next);
  const TaskReport& task = report.tasks[0];
  EXPECT_GT(task.completed, 1u);
  EXPECT_EQ(task.above_wcet.device, task.completed);
  EXPECT_GE(task.skipped + 1, task.released); // the run may have ended after the last one
  EXPECT_EQ(to_string(report.stopped_by), "duration");
}

TEST_F(WcetExceededRun, ThreadsNeitherAllocateNorLockNorFault) {
  counts->device_ns = std::chrono::nanoseconds(3ms).count();
  Task task = synthetic("own", 20ms, {.before = 8ms, .device = 1ms, .after = 8ms});
  task.on_wcet_exceeded = OnWcetExceeded::skip_next;
  Executive executive = executive_of(task, 1h);
  ASSERT_TRUE(executive.start());
  (void)expect_real_time(
      executive, [&] { EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].above_wcet.device > 5; })); });
}

TEST_F(WcetExceededRun, SkipNextLetsTaskCatchUpOnHalfOfItsReleases) {
  TaskReport task;
  // It takes 25 ms every 40 ms. It must not fall behind in each of ten runs, however busy the machine is in some.
  for (int run = 0; run < 10 && (run == 0 || task.response.p50 >= 60ms); ++run) {
    task = excess(OnWcetExceeded::skip_next, OnOverrun::catch_up, 25ms).tasks[0];
    EXPECT_GT(task.completed, 1u);
    EXPECT_GE(task.skipped + 1, task.released);
  }
  EXPECT_LT(task.response.p50, 60ms);
}

TEST_F(WcetExceededRun, SkipNextDropsNothingWhenJobsKeepWcet) {
  // A delayed machine makes jobs late, which are caught up: no release is skipped because of them.
  const TaskReport task = excess(OnWcetExceeded::skip_next, OnOverrun::catch_up, 10us).tasks[0];
  EXPECT_GE(task.above_wcet.all(), task.skipped);
  EXPECT_GT(task.released, task.skipped);
}

TEST_F(WcetExceededRun, StopEndsRunWhenPartExceedsWcet) {
  counts->device_ns = std::chrono::nanoseconds(3ms).count();
  // The thread that stops the run may be late, but not later than the next release.
  Task task = synthetic("own", 2s, {.before = 8ms, .device = 1ms, .after = 8ms});
  task.on_wcet_exceeded = OnWcetExceeded::stop;
  Executive executive = executive_of(task, 5s);
  const Report report = run(executive);
  EXPECT_EQ(report.stopped_by, (Stop{.cause = StopCause::wcet_exceeded, .task = "own"}));
  EXPECT_EQ(to_string(report.stopped_by), "WCET exceeded by own");
  EXPECT_EQ(report.tasks[0].released, 1u);
  EXPECT_EQ(report.tasks[0].above_wcet.device, 1u);
}

TEST_F(WcetExceededRun, PolicyAppliesToBestEffortTask) {
  counts->device_ns = std::chrono::nanoseconds(3ms).count();
  Task task = synthetic("own", 20ms, {.before = 8ms, .device = 1ms, .after = 8ms});
  task.on_wcet_exceeded = OnWcetExceeded::stop;
  task.criticality = Criticality::best_effort;
  Executive executive = executive_of(task, 600ms);
  EXPECT_EQ(run(executive).stopped_by.cause, StopCause::wcet_exceeded);
}

// ---- overrun policies, for real: a device part of 25 ms at a period of 10 ms ----

struct OverrunPolicy : UserWorkload {
  Report overrun(OnOverrun policy) {
    counts->device_ns = std::chrono::nanoseconds(25ms).count();
    Task task = synthetic("late", 10ms, {.before = {}, .device = 1ms, .after = {}});
    task.on_overrun = policy;
    Executive executive = executive_of(task, 500ms);
    return run(executive);
  }
};

TEST_F(OverrunPolicy, SkipDropsReleasesThatLateJobOverlaps) {
  const TaskReport task = overrun(OnOverrun::skip).tasks[0];
  EXPECT_GT(task.skipped, task.released);
  EXPECT_GE(task.missed, task.completed); // and those that waited at the end of the run
  // Its job starts on the grid, so its response time is that of one job.
  EXPECT_GE(task.response.min, 25ms);
  EXPECT_LT(task.response.p50, 40ms);
}

TEST_F(OverrunPolicy, CatchUpDropsNoReleaseAndFallsBehind) {
  const TaskReport task = overrun(OnOverrun::catch_up).tasks[0];
  EXPECT_EQ(task.skipped, 0u);
  EXPECT_GE(task.missed, task.completed); // and those that waited at the end of the run
  EXPECT_GT(task.unfinished, 10u);
  EXPECT_GT(task.response.max, 150ms); // relative to nominal releases: 15 ms more for each job
}

TEST_F(OverrunPolicy, RePhaseRestartsReleaseGrid) {
  const TaskReport task = overrun(OnOverrun::re_phase).tasks[0];
  EXPECT_EQ(task.skipped, 0u);
  EXPECT_LT(task.response.p50, 40ms); // each job counts from its own release
}

TEST_F(OverrunPolicy, AbortJobAbandonsLateJob) {
  const TaskReport task = overrun(OnOverrun::abort_job).tasks[0];
  EXPECT_GT(task.aborted, 1u);
  // The last job, if the run ends before the release that would abandon it.
  EXPECT_LT(task.completed, task.aborted);
  EXPECT_GE(task.missed, task.aborted + task.completed); // and those that waited at the end of the run
  // Including the warm-up; results of abandoned jobs are dropped.
  EXPECT_EQ(counts->after.load(), task.completed + 1);
}

TEST_F(OverrunPolicy, StopEndsRun) {
  const Report report = overrun(OnOverrun::stop);
  EXPECT_EQ(to_string(report.stopped_by), "overrun of late");
  EXPECT_EQ(report.tasks[0].released, 1u);
  EXPECT_FALSE(report.deadlines_kept());
}

} // namespace
} // namespace rtexec
