// Tests how long a profile measures: a number of jobs, a time, or until the WCETs of one half of the executions hold
// for the other.
#include "rtexec/runtime/measuring/measured_run.hpp"
#include "hal/machine_files.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_class.hpp"
#include <rtexec/profiler.hpp>

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace rtexec {
namespace {

using namespace test;

/// Computes on its core only. Each job takes `more` longer than the previous one.
class Slowing final : public Workload {
 public:
  explicit Slowing(Duration more) : more_(more) {}

  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "slowing"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override {
    const Duration end = hal::execution_time() + 100us + more_ * jobs_++;
    while (hal::execution_time() < end) {}
    return {};
  }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  Duration more_;
  int jobs_ = 0;
};

struct MeasuredRun : testing::Test {
  Duration more{0};
  TaskSet set = [] {
    Task task = control(10ms);
    task.wcet = {.before = 1ms, .device = 0ns, .after = 10us};
    return set_of({task}, 1s);
  }();

  static Task control(Duration period) {
    Task task;
    task.name = "control";
    task.workload = WorkloadKind::custom;
    task.period = task.deadline = period;
    return task;
  }

  ExecutiveSetup setup() const {
    ExecutiveSetup made;
    made.workloads["control"] = std::make_unique<Slowing>(more);
    return made;
  }

  /// Returns the longest time that it said it needs.
  Duration wanted(const executive::Enough& enough) {
    Duration most{0};
    executive::Setup made;
    static_cast<ExecutiveSetup&>(made) = setup();
    set.executive.duration.reset();
    const auto watch = [&](std::uint64_t, Duration, Duration wanted) { most = std::max(most, wanted); };
    const auto seen = executive::measured_run(set, std::move(made), enough, watch);
    EXPECT_GE(seen.of_task(0).size(), 5u) << "of 40 or more, but for those that the machine held up";
    return most;
  }
};

TEST_F(MeasuredRun, EndsAtFirstCheckWhenWcetOfOneHalfCoversOther) {
  // Delays by the machine may keep a part from settling, but not in each of five runs.
  Duration least = Duration::max();
  for (int tries = 0; tries < 5 && least > 400ms; ++tries)
    least = std::min(least, wanted({.time = 400ms, .settled = traces::WcetOptions{.margin = 100}}));
  EXPECT_EQ(least, 400ms);
}

TEST_F(MeasuredRun, DoublesItsTimeWhenExecutionTimesKeepGrowing) {
  more = 100us;
  // Delays of an early part by the machine may make its WCET hold for all, but not in each of five runs.
  Duration most{0};
  for (int tries = 0; tries < 5 && most < 800ms; ++tries)
    most = std::max(most, wanted({.time = 400ms, .settled = traces::WcetOptions{}}));
  EXPECT_EQ(most, 800ms);
}

TEST_F(MeasuredRun, EndsAtRequestedTimeEvenWhenExecutionTimesGrow) {
  more = 100us;
  EXPECT_EQ(wanted({.time = 400ms}), 400ms);
}

TEST_F(MeasuredRun, ProfileMeasuresForRequestedTime) {
  Duration last{0};
  const ProfileObserver observer{.measuring_for = [&](Duration done, Duration wanted) {
    EXPECT_EQ(wanted, 600ms);
    EXPECT_GE(done, last);
    last = done;
    return true;
  }};
  const auto measured = profile(set, {.time = 600ms}, observer, [&] { return setup(); });
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_EQ(last, 600ms);
  EXPECT_GE(measured->entries[0].samples, 20u);
}

TEST_F(MeasuredRun, ProfileMeasuresAloneFirstAndThenUnderInterferenceLoad) {
  std::vector<bool> used;
  const ProfileObserver observer{.measuring_for = [&](Duration done, Duration wanted) {
    if (done == wanted) return true; // all executions are recorded
    used.push_back(std::ranges::any_of(hal::Machine().online_cores(), [](unsigned core) {
      return class_of("beside/" + std::to_string(core)) == SCHED_IDLE;
    }));
    return true;
  }};
  ASSERT_TRUE(profile(set, {.time = 1s}, observer, [&] { return setup(); }));
  EXPECT_TRUE(std::ranges::is_sorted(used));
  EXPECT_FALSE(used.front());
  EXPECT_TRUE(used.back());
}

TEST_F(MeasuredRun, ProfileStopsWhenCancelled) {
  const ProfileObserver observer{.measuring_for = [](Duration done, Duration) { return done < 200ms; }};
  EXPECT_TRUE(fails(profile(set, {}, observer, [&] { return setup(); }), Errc::cancelled, "measuring was cancelled"));
}

} // namespace
} // namespace rtexec
