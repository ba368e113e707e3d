// Tests measured layers of device parts: their statistics, and the WCET that a profile computes from them.
#include "rtexec/runtime/observation/layer_times.hpp"
#include "hal/thread.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/expected_result.hpp"
#include <rtexec/profiler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace rtexec {
namespace {

using namespace test;
using executive::LayerTimes;

/// Reports the layers of one execution, one after the other, in virtual time.
void tell(LayerTimes& times, std::initializer_list<Duration> layers) {
  const LayerObserver observer = times.observer();
  Instant at = hal::now();
  std::uint32_t layer = 0;
  for (const Duration took : layers) {
    observer.begin(observer.self, layer, at);
    observer.end(observer.self, layer++, at += took);
  }
}

/// Simulates an execution with `outside` additional time outside of all layers.
void execute(LayerTimes& times, std::initializer_list<Duration> layers, Duration outside = 0ns) {
  times.execution_begins();
  tell(times, layers);
  times.execution_ends(std::accumulate(layers.begin(), layers.begin() + 2, outside));
}

TEST(LayerTimes, SumsLongestTimeOfEachLayerOverAllJobs) {
  LayerTimes times(2, LayerTimes::Clock::told);
  EXPECT_EQ(times.sum_of_longest(), 0ns);
  EXPECT_FALSE(times.shortest());
  execute(times, {1h, 5h}, 1min);
  execute(times, {4h, 2h}, 3min);
  execute(times, {3h, 2h}, 2min);
  EXPECT_EQ(times.sum_of_longest(), 9h + 3min) << "and the longest time outside of them";
  EXPECT_EQ(times.shortest(), 5h + 2min);
}

TEST(LayerTimes, GroupsShortLayersByFirstExecution) {
  LayerTimes times(5, LayerTimes::Clock::told);
  const auto execute_all = [&](std::initializer_list<Duration> layers) {
    times.execution_begins();
    tell(times, layers);
    times.execution_ends(std::accumulate(layers.begin(), layers.end(), Duration(0)));
  };
  execute_all({60us, 40us, 200us, 10us, 20us});
  using Pieces = std::vector<MeasuredLayers::Piece>;
  EXPECT_EQ(times.pieces(), (Pieces{{1, 100us}, {2, 200us}, {4, 30us}}));
  execute_all({10us, 80us, 300us, 50us, 10us});
  EXPECT_EQ(times.sum_of_longest(), 100us + 300us + 60us) << "not 60 and 80, nor 50 and 20";
  EXPECT_EQ(times.pieces(), (Pieces{{1, 100us}, {2, 300us}, {4, 60us}}));
}

TEST(LayerTimes, IgnoresReportsOutsideExecutionOrOfUnknownLayer) {
  LayerTimes times(2, LayerTimes::Clock::told);
  tell(times, {1h, 1h});
  execute(times, {1h, 1h, 7h});
  tell(times, {9h, 9h});
  EXPECT_EQ(times.sum_of_longest(), 2h);
}

void spin(Duration time) {
  const Duration end = hal::execution_time() + time;
  while (hal::execution_time() < end) {}
}

TEST(LayerTimes, MeasureProcessorTimeOnHost) {
  LayerTimes times(2, LayerTimes::Clock::thread);
  const LayerObserver observer = times.observer();
  times.execution_begins();
  for (std::uint32_t layer = 0; layer < times.layers(); ++layer) {
    observer.begin(observer.self, layer, {});
    spin(100us);
    observer.end(observer.self, layer, {});
  }
  times.execution_ends(0ns);
  EXPECT_GE(times.sum_of_longest(), 200us);
}

/// Two layers take 4.5 ms together in every job. Alternately, one or the other takes 4 ms.
class Alternating final : public Workload {
 public:
  explicit Alternating(bool tells) : tells_(tells) {}

  MemoryDemand memory() const override { return {.state = Bytes{8}}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "alternating"; }
  std::span<const std::string> layers() const override {
    return tells_ ? std::span<const std::string>(names_) : std::span<const std::string>();
  }
  Result<> bind(Device&, const Memory&) override { return {}; }
  void observe(const LayerObserver& observer) override { observer_ = observer; }
  Status before(std::uint64_t) noexcept override { return {}; }
  Status execute() noexcept override {
    ++jobs_;
    for (std::uint32_t layer = 0; layer < names_.size(); ++layer) {
      if (observer_.begin) observer_.begin(observer_.self, layer, hal::now());
      spin(jobs_ % 2 == layer ? Duration(4ms) : Duration(500us));
      if (observer_.end) observer_.end(observer_.self, layer, hal::now());
    }
    return {};
  }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  bool tells_;
  std::array<std::string, 2> names_{"one", "other"};
  LayerObserver observer_;
  std::uint32_t jobs_ = 0;
};

struct ProfiledLayers : testing::Test {
  std::vector<std::string> names{"net", "plain"};
  std::uint64_t told = 0, wanted = 0; // numbers of jobs

  Result<Profile> measure(const std::optional<Profile>& before = {}) {
    std::vector<Task> tasks;
    for (const std::string& name : names) {
      Task& task = tasks.emplace_back();
      task.name = name;
      task.workload = WorkloadKind::custom;
      task.period = task.deadline = 20ms;
    }
    const ProfileObserver observer{.measuring = [&](std::uint64_t done, std::uint64_t of) {
      told = done;
      wanted = of;
      return true;
    }};
    return profile(set_of(tasks, 1s), {.jobs = 20, .before = before}, observer, [&] {
      ExecutiveSetup setup;
      for (const std::string& name : names) setup.workloads[name] = std::make_unique<Alternating>(name == "net");
      return setup;
    });
  }
};

TEST_F(ProfiledLayers, YieldWcetFromLongestLayersOfDifferentJobs) {
  auto measured = measure();
  // On a shared machine layers only get longer.
  for (int again = 0; again < 5 && measured && measured->entries[0].layers.sum >= 12ms; ++again) measured = measure();
  ASSERT_TRUE(measured) << measured.error().what;
  const ProfileEntry& entry = measured->entries[0];
  EXPECT_EQ(entry.layers.pieces, 2u);
  ASSERT_EQ(entry.layers.each.size(), 2u);
  EXPECT_EQ(entry.layers.each[1].last_layer, 1u);
  EXPECT_GE(entry.layers.each[1].longest, 4ms) << "whichever job it was longest in";
  EXPECT_GE(entry.layers.sum, 8ms);
  EXPECT_LT(entry.layers.sum, 12ms);
  EXPECT_GE(entry.wcet.device, entry.layers.sum);
  EXPECT_EQ(entry.device.method == WcetMethod::layers, entry.wcet.device == entry.layers.sum);
  EXPECT_EQ(measured->entries[1].layers.pieces, 0u);
  EXPECT_EQ(measured->entries[1].layers.sum, 0ns);
  EXPECT_EQ(told, wanted) << "the last run is told of as part of all";
  EXPECT_EQ(wanted, 20u + 8u);
}

TEST_F(ProfiledLayers, AreOmittedWhenWorkloadHasNoLayers) {
  names = {"plain"};
  const auto measured = measure();
  ASSERT_TRUE(measured) << measured.error().what;
  const ProfileEntry& entry = measured->entries[0];
  EXPECT_EQ(entry.layers.pieces, 0u);
  EXPECT_EQ(entry.layers.sum, 0ns);
  EXPECT_EQ(entry.device.method, WcetMethod::growth);
  EXPECT_EQ(wanted, 20u);
}

TEST_F(ProfiledLayers, IncludeTimesOfPreviousProfile) {
  auto before = measure();
  ASSERT_TRUE(before) << before.error().what;
  before->entries[0].layers.sum = 1min;
  const auto measured = measure(*before);
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_EQ(measured->entries[0].layers.sum, 1min);
  EXPECT_EQ(measured->entries[0].wcet.device, 1min);
  EXPECT_EQ(measured->entries[0].device.method, WcetMethod::layers);
}

TEST(ProfiledNetworks, HaveLayersTimedOnHost) {
  Task task;
  task.name = "net";
  task.workload = WorkloadKind::winograd;
  task.resolution = 64;
  task.period = task.deadline = 50ms;
  const auto measured = profile(set_of({task}, 1s), {.jobs = 20});
  ASSERT_TRUE(measured) << measured.error().what;
  const ProfileEntry& entry = measured->entries[0];
  EXPECT_EQ(entry.layers.pieces, 1u);
  EXPECT_GT(entry.layers.sum, 0ns);
  EXPECT_GE(entry.wcet.device, entry.layers.sum);
}

} // namespace
} // namespace rtexec
