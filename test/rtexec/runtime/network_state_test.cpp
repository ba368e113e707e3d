// Tests networks with recurrent state in runs. Each job finds the state that the last successful job left, whatever is
// swapped, cut or streamed, and whichever jobs fail, are dropped or aborted.
#include <rtexec/profile.hpp>
#include "tasks/engine/models/graph_writer.hpp"
#include "tasks/make/make_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace rtexec {
namespace {

using namespace test;

constexpr int channels = 16, side = 32;
constexpr Bytes state_copy{channels * side * side * sizeof(float)};

/// A network that maps x and h to their sum, and has a part with weights.
class Counter {
 public:
  /// A smaller `stride` makes it take longer.
  explicit Counter(int stride = 4) {
    tasks::GraphWriter graph("counter", 1);
    const auto x = graph.input(channels, side), h = graph.input(channels, side);
    const auto sum = graph.add(x, h);
    auto features = graph.relu(graph.conv(x, {.channels = 64, .kernel = 3, .stride = stride}));
    for (int layer = 0; layer < 3; ++layer) features = graph.relu(graph.conv(features, {.channels = 64, .kernel = 3}));
    graph.output(sum);
    graph.output(graph.linear(graph.flatten(features), 10));
    if (const auto saved = graph.save(file_); !saved) throw std::runtime_error(saved.error().what);
    state_ = {{h.name, sum.name}};
  }

  Task task(const std::string& name, Duration offset = {}) const {
    Task task;
    task.name = name;
    task.model = file_;
    task.state = state_;
    task.inputs = {{.tensor = {}, .source = SourceKind::program, .from = {}, .on_stale = OnStale::skip}};
    task.period = task.deadline = 20ms;
    task.offset = offset;
    task.wcet = Wcet{.before = 1ms, .device = 5ms, .after = 1ms};
    return task;
  }

 private:
  ScratchFolder folder_;
  std::filesystem::path file_ = folder_ / "counter.onnx";
  std::map<std::string, std::string> state_;
};

/// Feeds 1 into each job, so that its output counts the successful jobs. It runs on the task's threads; other threads
/// read it.
class Count {
 public:
  TaskCallbacks callbacks() {
    return {.on_input = [this](InputJob& job) -> Status { return give(job); },
            .on_output = [this](const OutputJob& job) { take(job); }};
  }
  std::size_t succeeded() const { return succeeded_.load(); }
  std::size_t failed() const { return failed_.load(); }
  /// Returns the number of jobs that did not find the state of the previous one.
  std::size_t wrong() const { return wrong_.load(); }

 private:
  /// Feeds a job. Some jobs fail, and some have no new input.
  Status give(InputJob& job) noexcept {
    std::ranges::fill(job.inputs[0].as<float>(), 1.0F);
    const unsigned turn = ++asked_ % 7;
    if (turn != 3 && turn != 5) return {};
    ++failed_;
    return Unexpected(turn == 3 ? Errc::io_error : Errc::stale);
  }
  void take(const OutputJob& job) noexcept {
    if (std::exchange(warm_up_, false)) return;
    const auto expected = static_cast<float>(++succeeded_);
    for (const float value : job.outputs[0].as<const float>())
      if (value != expected) return static_cast<void>(++wrong_);
  }

  bool warm_up_ = true;
  unsigned asked_ = 0;
  std::atomic<std::size_t> succeeded_{0}, failed_{0}, wrong_{0};
};

constexpr std::size_t enough = 25;

executive::Setup with_callbacks(const TaskSet& set, std::vector<Count>& counts, executive::Setup setup = {}) {
  for (std::size_t i = 0; i < counts.size(); ++i) setup.callbacks[set.tasks[i].name] = counts[i].callbacks();
  return setup;
}

/// Runs until each task has succeeded often and `done` returns true for the report so far.
Report run(
    TaskSet set, std::vector<Count>& counts, bool (*done)(const Report&) = [](const Report&) { return true; }) {
  executive::Setup setup = with_callbacks(set, counts);
  Executive executive = made(std::move(set), std::move(setup));
  begun(executive);
  run_until(executive, [&] {
    return std::ranges::all_of(counts, [](const Count& each) { return each.succeeded() > enough; }) &&
           done(executive.progress());
  });
  return executive.stop();
}

void expect_kept(const std::vector<Count>& counts) {
  for (const Count& each : counts) {
    EXPECT_GT(each.succeeded(), enough);
    EXPECT_GT(each.failed(), 0U);
    EXPECT_EQ(each.wrong(), 0U);
  }
}

/// Writes a profile with the time of each layer, as `rtexec profile` does. Without it nothing is cut or streamed.
void know_layers(TaskSet& set, std::size_t index, const std::filesystem::path& file) {
  const Task& task = set.tasks[index];
  const auto workload = tasks::make_workload(task, DeviceKind::host).value();
  const auto count = static_cast<std::uint32_t>(workload->layers().size());
  MeasuredLayers layers{.pieces = count, .sum = task.wcet->device};
  for (std::uint32_t layer = 0; layer < count; ++layer) layers.each.push_back({layer, task.wcet->device / count});
  const ProfileEntry entry{.task = task.name,
                           .workload = workload->fingerprint(),
                           .wcet = *task.wcet,
                           .observed = *task.wcet,
                           .samples = 1,
                           .layers = layers,
                           .tuning = {}};
  const Profile profile{.file = {}, .machine = "m", .device = "host", .entries = {entry}};
  if (const auto written = write_profile(profile, file); !written) throw std::runtime_error(written.error().what);
  set.executive.profile = file;
}

TEST(NetworkState, IsIncludedInPlannedMemory) {
  const Counter counter;
  std::vector<Count> counts(1);
  executive::Setup setup;
  setup.callbacks["alone"] = counts[0].callbacks();
  const Plan& plan =
      made(swapping_set({counter.task("alone")}, endless, SwapPolicy::none, Bytes{1 << 30}), std::move(setup)).plan();
  EXPECT_EQ(plan.tasks[0].memory.state, state_copy * 2);
  EXPECT_EQ(plan.tasks[0].arena.state, 2U);
}

TEST(NetworkState, PersistsFromJobToJob) {
  const Counter counter;
  for (const MemoryPolicy policy : {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}) {
    std::vector<Count> counts(1);
    Task task = counter.task("alone");
    task.memory_policy = policy;
    run(swapping_set({task}, endless, SwapPolicy::none, Bytes{1 << 30}), counts);
    expect_kept(counts);
  }
}

class SwappedNetworkState : public testing::TestWithParam<SwapPolicy> {};
INSTANTIATE_TEST_SUITE_P(Policies, SwappedNetworkState,
                         testing::Values(SwapPolicy::pipelined, SwapPolicy::rt_swap, SwapPolicy::mo_vmm,
                                         SwapPolicy::min, SwapPolicy::pageable, SwapPolicy::lru),
                         [](const auto& policy) { return name_of(policy.param); });

/// Returns the plan with memory for all tasks.
Plan roomy_plan(TaskSet set, std::vector<Count>& counts) {
  set.device.capacity = Bytes{1 << 30};
  executive::Setup setup = with_callbacks(set, counts);
  return made(std::move(set), std::move(setup)).plan();
}

/// Returns two tasks. Each has its constants and state on the device only while it executes.
TaskSet tight(const Counter& counter, SwapPolicy policy, std::vector<Count>& counts) {
  TaskSet set = swapping_set({counter.task("first"), counter.task("second", 10ms)}, endless, policy, {});
  const Plan plan = roomy_plan(set, counts);
  const Arena& arena = plan.tasks[0].arena;
  const Bytes own = small_chunk * (arena.constant + arena.state);
  if (policy == SwapPolicy::pipelined)
    for (Task& task : set.tasks) task.swap_volume = own;
  set.device.capacity = plan.demand - own + small_chunk;
  return set;
}

TEST_P(SwappedNetworkState, SurvivesSwapping) {
  const Counter counter;
  std::vector<Count> counts(2);
  TaskSet set = tight(counter, GetParam(), counts);
  const Report report = run(std::move(set), counts);
  expect_kept(counts);
  ASSERT_TRUE(report.swap);
  EXPECT_GT(report.swap->out, state_copy * 2 * enough) << "state left and came back";
}

TEST(NetworkState, SurvivesPreemptionBetweenSegments) {
  const Counter counter, longer(1);
  std::vector<Count> counts(2);
  TaskSet set =
      swapping_set({longer.task("longer"), counter.task("urgent")}, endless, SwapPolicy::pipelined, Bytes{1 << 30});
  set.tasks[0].period = set.tasks[0].deadline = 50ms;
  set.tasks[0].wcet->device = 30ms;
  set.tasks[0].segments = 6;
  set.tasks[0].device_class = 2;
  set.tasks[1].period = set.tasks[1].deadline =
      12100us; // at other times in each cycle of 50 ms, so that one falls into a long job
  set.tasks[1].device_class = 1;
  const ScratchFolder folder;
  know_layers(set, 0, folder / "profile.toml");
  EXPECT_GT(roomy_plan(set, counts).tasks[0].segments, 1U);
  const auto preempted = [](const Report& report) { return report.tasks[0].preempted.value_or(0) > 0; };
  const Report report = run(std::move(set), counts, preempted);
  expect_kept(counts);
  EXPECT_TRUE(preempted(report));
}

TEST(NetworkState, StaysResidentWhileConstantsAreStreamed) {
  const Counter counter;
  std::vector<Count> counts(1);
  Task task = counter.task("streamed");
  task.constants = Constants::streamed;
  task.stream_chunks = 6;
  task.period = task.deadline = 60ms;
  TaskSet set = swapping_set({task}, endless, SwapPolicy::pipelined, Bytes{1 << 30});
  const ScratchFolder folder;
  know_layers(set, 0, folder / "profile.toml");
  const Report report = run(std::move(set), counts);
  expect_kept(counts);
  ASSERT_TRUE(report.swap);
  EXPECT_GT(report.swap->in, Bytes{0});
  EXPECT_EQ(report.swap->out, Bytes{0});
}

TEST(NetworkState, IgnoresAbortedJobs) {
  const Counter counter;
  std::vector<Count> counts(2);
  TaskSet set = tight(counter, SwapPolicy::pipelined, counts);
  for (Task& task : set.tasks) task.on_overrun = OnOverrun::abort_job;
  const auto store = std::make_shared<StoreOrders>();
  executive::Setup setup = with_callbacks(set, counts);
  setup.open_store = store_opener(store);
  Executive executive = made(std::move(set), std::move(setup));
  begun(executive);
  const auto aborted = [&] {
    const Report so_far = executive.progress();
    return so_far.tasks[0].aborted + so_far.tasks[1].aborted;
  };
  const auto succeeded = [&] { return std::min(counts[0].succeeded(), counts[1].succeeded()); };
  for (int round = 1; round <= 3; ++round) {
    run_until(executive, [&] { return succeeded() > enough / 3 * static_cast<std::size_t>(round); });
    store->each = Duration(15ms).count(); // per chunk, at a period of 20 ms
    run_until(executive, [&] { return aborted() > 5 * static_cast<std::uint64_t>(round); });
    store->each = 0;
  }
  run_until(executive, [&] { return succeeded() > enough + 5; });
  EXPECT_GT(executive.stop().tasks[0].aborted, 0U);
  expect_kept(counts);
}

} // namespace
} // namespace rtexec
