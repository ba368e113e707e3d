// Tests runs in which jobs execute concurrently, on the host device.
#include <rtexec/profiler.hpp>

#include "rtexec/runtime/measuring/pair_profiler.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>

namespace rtexec {
namespace {

using namespace test;

constexpr Duration computes = 8ms, waits = 30ms;

/// The observations of a run's workloads.
struct Seen {
  std::atomic<int> executing{0}, at_once{0}, wrong{0};
  std::array<std::atomic<int>, 5> as{}; // executions by policy
};

/// Computes under D. Under other policies it first waits for pages, which uses no core. Its data go through its
/// "device".
class Paged final : public Workload {
 public:
  explicit Paged(Seen& seen) : seen_(seen) {}
  MemoryDemand memory() const override { return {.scratch = Bytes{4096}}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "paged"; }
  Result<> bind(Device&, const Memory& memory) override {
    scratch_ = memory.scratch;
    return {};
  }
  Status before(std::uint64_t job) noexcept override {
    const Duration until = hal::execution_time() + first_part;
    while (hal::execution_time() < until) {}
    if (sleeps > 0ms) hal::sleep_until(hal::now() + sleeps);
    job_ = job;
    input_ = job * 3 + 1;
    return {};
  }
  Status execute() noexcept override { return execute_as(policy); }
  Status execute_as(MemoryPolicy as) noexcept override {
    ++seen_.as[static_cast<std::size_t>(as)];
    if (seen_.executing.fetch_add(1) > 0) ++seen_.at_once;
    auto* const word = reinterpret_cast<volatile std::uint64_t*>(scratch_);
    *word = input_;
    if (as != MemoryPolicy::device) hal::sleep_until(hal::now() + waits);
    const Duration until = hal::execution_time() + (job_ == slow ? 4 * computes : computes);
    while (hal::execution_time() < until) {}
    output_ = *word * 2;
    --seen_.executing;
    return job_ == fails ? Status(Unexpected(Errc::io_error)) : Status();
  }
  Status after(std::uint64_t) noexcept override {
    seen_.wrong += output_ != input_ * 2;
    return {};
  }

  MemoryPolicy policy = MemoryPolicy::device;
  Duration first_part{0}, sleeps{0}; // in before()
  std::optional<std::uint64_t> fails, slow;

 private:
  Seen& seen_;
  std::byte* scratch_ = nullptr;
  std::uint64_t job_ = 0, input_ = 0, output_ = 0;
};

Task paged(const std::string& name, MemoryPolicy policy, Duration deadline) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::vector_add; // a kind that supports every policy
  task.size = 1;
  task.memory_policy = policy;
  task.period = 200ms;
  task.deadline = deadline;
  const bool idles = policy != MemoryPolicy::device;
  task.wcet =
      Wcet{.before = 1ms, .device = (policy == MemoryPolicy::managed ? waits : 0ms) + computes + 4ms, .after = 1ms};
  task.co_run_wcet = idles ? 60ms : 25ms;
  if (idles) task.mapping_idle = waits;
  return task;
}

/// The waiting task is more urgent. Both tasks are released while a third one has the device.
struct Pair {
  explicit Pair(MemoryPolicy waiting, bool co_run, Duration duration = 2s)
      : set(set_of({paged("waiting", waiting, 150ms), paged("computing", MemoryPolicy::device, 190ms),
                    paged("third", MemoryPolicy::device, 100ms)},
                   duration)) {
    set.device.co_run = co_run;
    for (Task& task : set.tasks) task.offset = 2ms;
    set.tasks[2].offset = 0ms;
    set.tasks[2].co_run_wcet.reset();
    for (const Task& task : set.tasks) {
      auto workload = std::make_unique<Paged>(seen);
      workload->policy = task.memory_policy;
      if (task.name != "third") (task.name == "waiting" ? first : second) = workload.get();
      setup.workloads[task.name] = std::move(workload);
    }
    setup.record_jobs = 100;
  }
  Executive made() {
    auto executive = executive::create(set, std::move(setup));
    if (!executive) throw std::runtime_error(executive.error().what);
    return std::move(*executive);
  }
  Report run() {
    Executive executive = made();
    if (const auto started = executive.start(); !started) throw std::runtime_error(started.error().what);
    executive.wait();
    const Report report = executive.stop();
    records = executive.job_records().jobs;
    return report;
  }

  Seen seen;
  TaskSet set;
  executive::Setup setup;
  Paged *first = nullptr, *second = nullptr;
  std::vector<JobRecord> records{};
};

TEST(CoRun, ShortensResponseOfJobThatComputesWhileAnotherWaits) {
  Pair apart(MemoryPolicy::managed, false);
  const Report one_after_the_other = apart.run();
  std::optional<Pair> tried;
  Report at_once;
  const auto sooner = [&] {
    return at_once.tasks[1].response.p50 < waits &&
           at_once.tasks[0].response.p50 < one_after_the_other.tasks[0].response.p50 + computes;
  };
  // Other load on this machine may separate pairs and make jobs late, but not most of them in each of five runs.
  for (int tries = 0; tries < 5 && (!tried || tried->seen.at_once <= 5 || !sooner()); ++tries) {
    tried.emplace(MemoryPolicy::managed, true);
    at_once = tried->run();
  }
  Pair& beside = *tried;
  EXPECT_EQ(apart.seen.at_once, 0);
  EXPECT_GT(beside.seen.at_once, 5);
  EXPECT_GE(one_after_the_other.tasks[1].response.p50, waits + 3 * computes - 2ms) << "behind the one that waits";
  EXPECT_LT(at_once.tasks[1].response.p50, waits) << "while it waits";
  EXPECT_LT(at_once.tasks[0].response.p50, one_after_the_other.tasks[0].response.p50 + computes);
  for (const Pair* each : {&apart, &beside}) EXPECT_EQ(each->seen.wrong, 0);
  EXPECT_TRUE(std::ranges::any_of(beside.records, &JobRecord::concurrent));
  EXPECT_TRUE(std::ranges::none_of(apart.records, &JobRecord::concurrent));
  for (const JobRecord& record : beside.records)
    if (record.concurrent) { EXPECT_EQ(record.executed.device, record.device_end - record.device_begin); }
}

TEST(CoRun, CountsPairedJobs) {
  Pair pair(MemoryPolicy::managed, true);
  const ScratchFolder folder;
  pair.setup.status_folder = folder.path();
  pair.second->fails = 2; // it counts
  Executive executive = pair.made();
  ASSERT_TRUE(executive.start());
  const auto page = executive::StatusPage::open(executive.progress().status_page->file);
  ASSERT_TRUE(page.has_value());
  executive.wait();
  const Report report = executive.stop();
  const auto records = executive.job_records().jobs;
  const auto shown = page->read();
  ASSERT_TRUE(shown.has_value());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto paired =
        std::ranges::count_if(records, [&](const JobRecord& record) { return record.task == i && record.concurrent; });
    EXPECT_GT(paired, 0);
    EXPECT_EQ(report.tasks[i].paired, static_cast<std::uint64_t>(paired));
    EXPECT_EQ(shown->tasks[i].may_pair, 1u);
    EXPECT_EQ(shown->tasks[i].paired, report.tasks[i].paired);
  }
  EXPECT_EQ(report.tasks[2].paired, std::nullopt);
  EXPECT_EQ(shown->tasks[2].may_pair, 0u);
}

TEST(CoRun, ThreadsNeitherAllocateNorLockNorFault) {
  Pair pair(MemoryPolicy::switching, true, 1h);
  Executive executive = pair.made();
  EXPECT_TRUE(executive.plan().proved);
  ASSERT_TRUE(executive.start());
  const Report report = expect_real_time(
      executive, [&] { EXPECT_TRUE(eventually([&] { return executive.progress().tasks[1].completed > 2; })); });
  EXPECT_EQ(report.threads[3].name, "beside");
}

TEST(CoRun, SwitchesMemoryPolicyWhenAnotherJobCoRuns) {
  Pair pair(MemoryPolicy::switching, true, 1h);
  pair.set.tasks[1].period = 400ms; // every other job runs alone
  const auto executed = [&](MemoryPolicy as) { return pair.seen.as[static_cast<std::size_t>(as)].load(); };
  Executive executive = pair.made();
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(
      eventually([&] { return executed(MemoryPolicy::host) > 3 && executive.progress().tasks[0].completed > 5; }));
  (void)executive.stop();
  EXPECT_GT(executed(MemoryPolicy::device), executed(MemoryPolicy::host)) << "and the neighbour";
  EXPECT_EQ(pair.seen.wrong, 0);
}

TEST(CoRun, ErrorOfOneJobLeavesCoRunningJobAndRunUnaffected) {
  for (const bool first : {true, false}) {
    Pair pair(MemoryPolicy::managed, true, 1h);
    (first ? pair.first : pair.second)->fails = 2;
    Executive executive = pair.made();
    ASSERT_TRUE(executive.start());
    EXPECT_TRUE(eventually([&] {
      const auto tasks = executive.progress().tasks;
      return tasks[first ? 0 : 1].failed > 0 &&
             std::ranges::all_of(tasks, [](const TaskReport& task) { return task.completed >= 3; });
    }));
    const Report report = executive.stop();
    EXPECT_EQ(report.tasks[first ? 0 : 1].failed, 1u);
    EXPECT_EQ(report.tasks[first ? 1 : 0].failed, 0u);
  }
}

TEST(CoRun, CountsPartsAboveCoRunWcet) {
  Pair pair(MemoryPolicy::managed, true, 1s);
  pair.second->slow = 2; // 4 * 8 ms are more than 25 ms
  const Report report = pair.run();
  EXPECT_GE(report.tasks[1].above_wcet.device, 1u);
}

TEST(CoRun, StopEndsRunWhilePairExecutes) {
  for (int i = 0; i < 3; ++i) {
    Pair pair(MemoryPolicy::managed, true, 10s);
    Executive executive = pair.made();
    ASSERT_TRUE(executive.start());
    const int before = pair.seen.at_once;
    while (pair.seen.at_once == before && !executive.wait(1ms)) {}
    const Report report = executive.stop();
    EXPECT_EQ(to_string(report.stopped_by), "request");
    EXPECT_EQ(pair.seen.executing, 0);
    EXPECT_EQ(pair.seen.wrong, 0);
  }
}

/// Measures what profile() measures, without earlier pairs.
struct MeasuredPair {
  MeasuredPair(MemoryPolicy policy, const std::optional<executive::ResidentTimes>& resident,
               Duration first_part_of_computing = 0ms, Duration computing_sleeps = 0ms)
      : pair(policy, true) {
    pair.set.executive.duration.reset();
    std::vector<Wcet> observed;
    for (const Task& task : pair.set.tasks) observed.push_back(*task.wcet);
    observed[1].before += first_part_of_computing;
    EXPECT_EQ(executive::runs_of_pairs(pair.set, read_board("host").value()), 3u) << "two under D with one, and alone";
    pair.set.device.co_run = false;
    for (Task& task : pair.set.tasks) {
      task.co_run_wcet.reset();
      task.mapping_idle.reset();
    }
    const auto make_setup = [&] {
      executive::Setup setup;
      for (const Task& task : pair.set.tasks) {
        auto workload = std::make_unique<Paged>(pair.seen);
        // In the last run the task is alone and no policy is set: the workload starts with that of its task.
        workload->policy = task.memory_policy;
        if (task.name == "computing") workload->first_part = first_part_of_computing;
        if (task.name == "computing") workload->sleeps = computing_sleeps;
        setup.workloads[task.name] = std::move(workload);
      }
      return setup;
    };
    tasks = executive::measure_pairs(pair.set, read_board("host").value(), observed, resident, make_setup,
                                     {.jobs = 4, .time = {}}, [](std::uint64_t, Duration, Duration) {});
    EXPECT_EQ(tasks.size(), 3u);
    EXPECT_EQ(pair.seen.wrong, 0);
  }
  Pair pair;
  std::vector<executive::MeasuredCoRun> tasks;
};

TEST(CoRun, MeasuresWcetAndIdleTimeInPairs) {
  for (const auto policy : {MemoryPolicy::managed, MemoryPolicy::switching}) {
    auto measured = MeasuredPair(policy, std::nullopt).tasks;
    // Other load on this machine only makes executions and waits longer. In some try, an execution must not exceed the
    // other's wait.
    const auto disturbed = [&] {
      return measured[1].longest >= waits + computes || measured[0].idle.value() > waits + 5ms;
    };
    for (int again = 0; again < 5 && disturbed(); ++again) measured = MeasuredPair(policy, std::nullopt).tasks;
    EXPECT_GE(measured[0].longest, waits + computes);
    EXPECT_GE(measured[1].longest, computes);
    EXPECT_LT(measured[1].longest, waits + computes) << "it executes while the other one waits";
    // There are 8 or more jobs. On a busy machine some come too late for their partner.
    EXPECT_GE(measured[0].executions.samples().size(), 3u);
    EXPECT_GE(measured[0].idle.value(), waits - 1ms);
    EXPECT_LE(measured[0].idle.value(), waits + 5ms);
    EXPECT_EQ(measured[1].idle, std::nullopt);
  }
}

TEST(CoRun, MeasuresPairsWhenPartnerHasLongFirstPart) {
  const auto measured = MeasuredPair(MemoryPolicy::managed, std::nullopt, 40ms).tasks;
  EXPECT_GE(measured[2].executions.samples().size(), 2u) << "whose first part comes after that of the one between";
}

TEST(CoRun, MeasuresPairsWhenFirstPartSleeps) {
  const auto measured = MeasuredPair(MemoryPolicy::managed, std::nullopt, 0ms, 60ms).tasks;
  EXPECT_GE(measured[1].executions.samples().size(), 2u);
}

/// No run with one policy for all tasks has a pair.
TEST(CoRun, MeasuresTasksWithOpenPolicyInPairsUnderEachPolicy) {
  TaskSet set = set_of({}, 1s);
  set.executive.duration.reset();
  for (const char* const name : {"first", "second"}) {
    Task& task = set.tasks.emplace_back();
    task.name = name;
    task.workload = WorkloadKind::vector_add;
    task.size = 1000;
    task.period = task.deadline = 20ms;
    task.memory_policy = MemoryPolicy::automatic;
  }
  set.device.co_run = true;
  // Numbers of jobs: one task under D, the other under M or H.
  constexpr std::uint64_t own = 3 * 10, waits_alone = 2, pairs = 4;
  std::uint64_t told = 0;
  ProfileObserver observer;
  observer.measuring = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GE(done, told);
    EXPECT_EQ(of, own + waits_alone + pairs);
    told = done;
    return true;
  };
  const auto profile = rtexec::profile(set, {.jobs = 10, .margin = 1}, observer);
  ASSERT_EQ(problem(profile), "none");
  EXPECT_EQ(told, own + waits_alone + pairs);
  ASSERT_EQ(profile->entries.size(), 6u);
  for (const ProfileEntry& entry : profile->entries) {
    EXPECT_TRUE(entry.co_run_wcet.has_value()) << entry.task << " under " << name(entry.memory_policy);
    EXPECT_EQ(entry.mapping_idle.has_value(), entry.memory_policy != MemoryPolicy::device) << entry.task;
  }
}

/// The device of this GPU does not report waits.
TEST(CoRun, DerivesGpuIdleTimeFromResidentTime) {
  using Times = executive::ResidentTimes;
  const auto measure = [] {
    return MeasuredPair(MemoryPolicy::managed, Times{Duration(1ms), std::nullopt, std::nullopt}).tasks;
  };
  auto measured = measure();
  // Other load on this machine only makes waits longer.
  for (int again = 0; again < 5 && measured[0].idle.value() > waits + computes + 5ms; ++again) measured = measure();
  EXPECT_GE(measured[0].idle.value(), waits + computes - 1ms);
  EXPECT_LE(measured[0].idle.value(), waits + computes + 5ms);
  EXPECT_EQ(measured[1].idle, std::nullopt);
  EXPECT_EQ(MeasuredPair(MemoryPolicy::managed, Times{Duration(1s), Duration(1s), Duration(1s)}).tasks[0].idle, 0ms)
      << "it never waits";
  EXPECT_EQ(MeasuredPair(MemoryPolicy::managed, Times(3)).tasks[0].idle, std::nullopt) << "not known";
}

} // namespace
} // namespace rtexec
