// Tests backing stores of a running executive. A fault of a store fails one job and loses no data. Unchanged chunks are
// not copied. A file leaves nothing behind.
#include "test/hal/failing_system.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

namespace rtexec {
namespace {

using namespace test;
using testing::HasSubstr;

// ---- faults of a store ----

class BackingStoreTest : public testing::TestWithParam<SwapPolicy> {
 protected:
  /// Runs, and sets the store's faults in the middle of the run.
  Report run(std::atomic<int> StoreOrders::*orders, int count, bool verify = false) {
    TaskSet set = swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 10);
    set.swap.verify = verify;
    executive::Setup setup = hashing.setup();
    setup.open_store = store_opener(store);
    setup.on_miss = [this](const Miss& miss) {
      const std::scoped_lock lock(mutex);
      misses.push_back(miss);
    };
    Executive executive = made(std::move(set), std::move(setup));
    begun(executive);
    run_until(executive, [&] { return hashing.executions() > 3; });
    std::atomic<int>& left = (*store).*orders;
    left.store(count);
    run_until(executive, [&] { return left.load() == 0; });
    const std::size_t executed = hashing.executions();
    run_until(executive, [&] { return hashing.executions() > executed + 5; });
    return executive.stop();
  }
  /// Checks that one job failed because of `why`, that its task continues, and that no memory contents changed.
  void expect_one_failure(const Report& report, Errc why) {
    expect_balanced(report);
    ASSERT_EQ(failed_jobs(report), 1u);
    const auto task =
        static_cast<std::size_t>(std::ranges::find(report.tasks, 1u, &TaskReport::failed) - report.tasks.begin());
    EXPECT_EQ(report.tasks[task].failure, why);
    EXPECT_GE(report.tasks[task].missed, 1u);
    EXPECT_FALSE(report.deadlines_kept());
    EXPECT_FALSE(report.device_fault);
    EXPECT_EQ(report.swap->failure.empty(), why != Errc::io_error) << "what failed is told";
    EXPECT_EQ(report.swap->fallback, "");
    for (std::size_t i = 0; i < report.tasks.size(); ++i)
      EXPECT_EQ(report.tasks[i].failure.has_value(), i == task) << report.tasks[i].name;
    // Each completed job has executed, and so has the warm-up before them; the failed job has not.
    EXPECT_GE(hashing.seen[task]->count.load(), report.tasks[task].completed + 1);
    EXPECT_LE(hashing.seen[task]->count.load(), report.tasks[task].released);
    EXPECT_TRUE(hashing.all_as_expected());
    const auto miss = std::ranges::find(misses, task, &Miss::task);
    ASSERT_NE(miss, misses.end());
    EXPECT_GT(hashing.seen[task]->last_job.load(), miss->job) << "its next jobs execute";
  }

  std::shared_ptr<StoreOrders> store = std::make_shared<StoreOrders>();
  HashingTasks hashing{{{.constant = small_chunk * 2, .scratch = small_chunk, .state = small_chunk * 3},
                        {.constant = small_chunk * 3, .scratch = small_chunk, .state = small_chunk * 2},
                        {.constant = {}, .scratch = {}, .state = small_chunk * 5}}};
  std::mutex mutex;
  std::vector<Miss> misses;
};
INSTANTIATE_TEST_SUITE_P(Rules, BackingStoreTest, testing::ValuesIn(rules),
                         [](const auto& policy) { return name_of(policy.param); });

TEST_P(BackingStoreTest, BitFlipFailsOnlyItsJobWhenVerified) {
  expect_one_failure(run(&StoreOrders::flips, 1, true), Errc::corrupted);
}

TEST_P(BackingStoreTest, BitFlipReachesTaskWithoutVerification) {
  EXPECT_EQ(failed_jobs(run(&StoreOrders::flips, 8)), 0u); // some of the flips are not in scratch
  EXPECT_FALSE(hashing.all_as_expected()) << "these tests would not notice";
}

TEST_P(BackingStoreTest, FailedLoadFailsOnlyItsJob) {
  expect_one_failure(run(&StoreOrders::failing_loads, 1), Errc::io_error);
}

TEST_P(BackingStoreTest, FailedSaveFailsJobThatNeedsSpaceAndKeepsData) {
  expect_one_failure(run(&StoreOrders::failing_saves, 1), Errc::io_error);
}

TEST_P(BackingStoreTest, ManyFailuresLoseNoData) {
  for (const auto orders : {&StoreOrders::failing_loads, &StoreOrders::failing_saves, &StoreOrders::flips}) {
    HashingTasks fresh(hashing.shapes);
    std::swap(hashing, fresh);
    const Report report = run(orders, 15, true);
    expect_balanced(report);
    EXPECT_GT(failed_jobs(report), 3u);
    EXPECT_TRUE(hashing.all_as_expected());
  }
}

TEST_P(BackingStoreTest, TornCopyIsNotMistakenForUnchangedData) {
  // The state changes from A to B, its save fails half-way, and it changes back to A. The store's copy is no longer A.
  hashing = two_tasks(Hashing::State::toggles);
  TaskSet set = swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 5);
  set.swap.skip_unchanged = true;
  executive::Setup setup = hashing.setup();
  setup.open_store = store_opener(store);
  Executive executive = made(std::move(set), std::move(setup));
  begun(executive);
  for (int i = 0; i < 4; ++i) {
    store->failing_saves.store(1);
    const std::size_t executed = hashing.executions();
    run_until(executive, [&] { return store->failing_saves.load() == 0 && hashing.executions() > executed + 3; });
  }
  EXPECT_EQ(failed_jobs(executive.stop()), 4u);
  EXPECT_TRUE(hashing.all_as_expected());
}

// ---- unchanged state ----

TEST_P(BackingStoreTest, UnchangedStateIsNotCopiedAgain) {
  const auto swapped = [&](bool skip_unchanged) {
    hashing = two_tasks(Hashing::State::half_changes);
    TaskSet set = swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 6);
    set.swap.skip_unchanged = skip_unchanged;
    Executive executive = made(std::move(set), hashing.setup());
    begun(executive);
    run_until(executive, [&] { return hashing.executions() > 12; });
    const Report report = executive.stop();
    EXPECT_EQ(failed_jobs(report), 0u);
    EXPECT_TRUE(hashing.all_as_expected());
    return *report.swap;
  };
  const SwapReport all = swapped(false), changed = swapped(true);
  EXPECT_EQ(all.skipped, Bytes{0});
  EXPECT_GT(changed.skipped, Bytes{0});
  EXPECT_GT(changed.out, Bytes{0});
  // Half of the evicted chunks had changed.
  const double share =
      static_cast<double>(changed.out.count) / static_cast<double>((changed.out + changed.skipped).count);
  EXPECT_NEAR(share, 0.5, 0.2);
}

// ---- a file as the store ----

struct FileStore : testing::Test {
  Executive executive() {
    TaskSet set = swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 6);
    set.swap.store = SwapStore{.file = file};
    return made(std::move(set), hashing.setup());
  }
  std::string refusal() {
    Executive refused = executive();
    return problem(refused.start());
  }
  ScratchFolder folder;
  std::filesystem::path file = folder / "chunks";
  HashingTasks hashing = two_tasks();
};

TEST_F(FileStore, IsUnlinkedAsSoonAsItIsOpen) {
  Executive swapping = executive();
  EXPECT_FALSE(std::filesystem::exists(file));
  begun(swapping);
  EXPECT_FALSE(std::filesystem::exists(file)) << "nothing is left of it, however the program ends";
  run_until(swapping, [&] { return hashing.executions() > 4; });
  const Report report = swapping.stop();
  EXPECT_EQ(failed_jobs(report), 0u);
  EXPECT_THAT(report.swap->store, HasSubstr(file.string()));
  EXPECT_GT(report.swap->out, Bytes{0});
  EXPECT_GT(hashing.executions(), 4u);
  EXPECT_TRUE(hashing.all_as_expected());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(FileStore, ReportsFallbackWhenIoUringIsMissing) {
  Executive swapping = executive();
  const hal::test::Failing<&hal::System::ring_open> no_io_uring(ENOSYS);
  begun(swapping);
  EXPECT_THAT(swapping.progress().swap->fallback,
              HasSubstr("the kernel has no io_uring (ENOSYS): pread and pwrite instead"));
  EXPECT_EQ(swapping.stop().swap->fallback, swapping.progress().swap->fallback);
}

TEST_F(FileStore, ErrorNamesFileThatCannotBeCreated) {
  file = folder / "no such folder" / "chunks";
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr(file.string()), HasSubstr("folder")));
  file = folder / "taken";
  write_text(file, "somebody's");
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr(file.string()), HasSubstr("never overwritten")));
  EXPECT_EQ(read_text(file), "somebody's");
}

} // namespace
} // namespace rtexec
