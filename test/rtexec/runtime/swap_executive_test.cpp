// Tests the executive with less device memory than its tasks need. Evicted memory comes back with its contents, and an
// access to evicted memory is a fault.
#include "tasks/engine/dnn_workload.hpp"
#include "tasks/engine/models/graph_writer.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/sanitized.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rtexec {
namespace {

using namespace test;

constexpr std::array policies{SwapPolicy::pipelined, SwapPolicy::rt_swap,  SwapPolicy::mo_vmm,
                              SwapPolicy::min,       SwapPolicy::pageable, SwapPolicy::lru};

class SwappingExecutive : public testing::TestWithParam<SwapPolicy> {};
INSTANTIATE_TEST_SUITE_P(Policies, SwappingExecutive, testing::ValuesIn(policies),
                         [](const auto& policy) { return name_of(policy.param); });

class SwapTransfers : public testing::TestWithParam<SwapPolicy> {};
INSTANTIATE_TEST_SUITE_P(Rules, SwapTransfers, testing::ValuesIn(rules),
                         [](const auto& policy) { return name_of(policy.param); });

/// Returns the memory that the plan of `set` would use if there were enough.
Bytes demand_of(TaskSet set, executive::Setup setup) {
  set.device.capacity = Bytes{1 << 30};
  return made(std::move(set), std::move(setup)).plan().demand;
}

Bytes half(Bytes demand) { return round_up({demand.count / 2}, small_chunk); }

// ---- outputs ----

/// A network whose outputs are recorded.
class WatchedNetwork final : public Workload {
 public:
  WatchedNetwork(const std::filesystem::path& model, std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {
    auto network = tasks::DnnWorkload::load(model);
    if (!network) throw std::runtime_error(network.error().what);
    network_ = std::move(*network);
  }
  MemoryDemand memory() const override { return network_->memory(); }
  std::span<const std::byte> constants() const override { return network_->constants(); }
  std::string fingerprint() const override { return network_->fingerprint(); }
  Result<> bind(Device& device, const Memory& memory) override { return network_->bind(device, memory); }
  std::span<const Tensor> inputs() const override { return network_->inputs(); }
  Status before(std::uint64_t job) noexcept override {
    job_ = job;
    return network_->before(job);
  }
  Status execute() noexcept override {
    const Status outcome = network_->execute();
    std::uint64_t digest = 0;
    for (const auto& output : network_->outputs())
      for (const float value : output.as<const float>()) mix(digest, std::bit_cast<std::uint32_t>(value));
    seen_->add(digest, job_);
    return outcome;
  }
  Status after(std::uint64_t job) noexcept override { return network_->after(job); }

 private:
  std::unique_ptr<tasks::DnnWorkload> network_;
  std::shared_ptr<Seen> seen_;
  std::uint64_t job_ = 0;
};

/// Writes a network with half a megabyte of weights.
std::filesystem::path write_network(const ScratchFolder& folder, std::uint64_t seed) {
  const std::filesystem::path file = folder / ("net-" + std::to_string(seed) + ".onnx");
  tasks::GraphWriter graph("small", seed);
  const auto features = graph.relu(graph.conv(graph.relu(graph.conv(graph.input(3, 16), {16, 3, 2})), {32, 3}));
  graph.output(graph.linear(graph.flatten(features), 64));
  if (const auto saved = graph.save(file); !saved) throw std::runtime_error(saved.error().what);
  return file;
}

/// Two networks and two tasks with state.
class Mixed {
 public:
  TaskSet set(SwapPolicy policy, Bytes capacity) const {
    std::vector<Task> all = hashing_.tasks;
    for (std::size_t i = 0; i < networks_.size(); ++i)
      all.push_back(swapping_task("net-" + std::to_string(i), HashingTasks::period,
                                  HashingTasks::period / 4 * (2 * static_cast<int>(i) + 1)));
    return swapping_set(std::move(all), endless, policy, capacity);
  }
  executive::Setup setup() const {
    executive::Setup setup = hashing_.setup();
    for (std::size_t i = 0; i < networks_.size(); ++i)
      setup.workloads["net-" + std::to_string(i)] = std::make_unique<WatchedNetwork>(networks_[i], seen_[i]);
    return setup;
  }
  std::vector<std::vector<std::uint64_t>> outputs() const {
    std::vector<std::vector<std::uint64_t>> all;
    for (const auto* each : {&hashing_.seen, &seen_})
      for (const auto& seen : *each) all.push_back(seen->all());
    return all;
  }
  /// Runs until each task has executed at least ten times.
  Report run(Executive executive) const {
    begun(executive);
    run_until(executive,
              [&] { return std::ranges::all_of(outputs(), [](const auto& of_task) { return of_task.size() > 10; }); });
    return executive.stop();
  }
  bool state_is_as_expected() const { return hashing_.all_as_expected(); }

 private:
  ScratchFolder folder_;
  HashingTasks hashing_{{{.constant = Bytes{500'000}, .scratch = Bytes{200'000}, .state = Bytes{300'000}},
                         {.constant = Bytes{0}, .scratch = Bytes{100'000}, .state = Bytes{600'000}}}};
  std::vector<std::filesystem::path> networks_{write_network(folder_, 1), write_network(folder_, 2)};
  std::vector<std::shared_ptr<Seen>> seen_{std::make_shared<Seen>(), std::make_shared<Seen>()};
};

TEST_P(SwappingExecutive, GivesSameOutputsAsRunWithEnoughMemory) {
  const Mixed roomy, tight;
  EXPECT_FALSE(roomy.run(made(roomy.set(GetParam(), Bytes{1 << 30}), roomy.setup())).swap) << "everything fits";

  const Bytes capacity = half(demand_of(tight.set(GetParam(), {}), tight.setup()));
  const Report report = tight.run(made(tight.set(GetParam(), capacity), tight.setup()));
  EXPECT_EQ(failed_jobs(report), 0u);
  expect_balanced(report);
  ASSERT_TRUE(report.swap);
  EXPECT_EQ(report.swap->policy, GetParam());
  EXPECT_GT(report.swap->in, capacity) << "it swapped again and again";
  EXPECT_GT(report.swap->out, Bytes{0});
  EXPECT_EQ(report.swap->dropped > Bytes{0}, GetParam() == SwapPolicy::pipelined)
      << "the baselines do not know what is constant";
  EXPECT_EQ(report.swap->skipped, Bytes{0});
  EXPECT_LE(report.device->demand, capacity * 2);

  const auto all = roomy.outputs(), same = tight.outputs();
  for (std::size_t task = 0; task < all.size(); ++task) {
    const std::size_t both = std::min(all[task].size(), same[task].size());
    ASSERT_GT(both, 10u) << "task " << task;
    EXPECT_TRUE(std::ranges::equal(std::span(all[task]).first(both), std::span(same[task]).first(both)))
        << "task " << task;
  }
  EXPECT_TRUE(roomy.state_is_as_expected());
  EXPECT_TRUE(tight.state_is_as_expected());
}

// ---- swapped-out memory ----

class EvictedMemory : public testing::TestWithParam<SwapPolicy> {
 protected:
  /// Calls `beside` in each execution of a task, with the memory of both tasks available.
  Executive executive(const std::function<void(std::size_t task, std::size_t execution)>& beside) const {
    executive::Setup setup;
    for (std::size_t i = 0; i < 2; ++i)
      setup.workloads[hashing.tasks[i].name] = std::make_unique<Hashing>(
          hashing.shapes[i], hashing.seen[i], [=](std::size_t execution) { beside(i, execution); });
    return made(swapping_set(hashing.tasks, endless, GetParam(), small_chunk * frames), std::move(setup));
  }
  static constexpr unsigned frames = own_chunks + 2; // pipelined needs free frames in addition to one task's
  HashingTasks hashing = two_tasks();
};
INSTANTIATE_TEST_SUITE_P(Rules, EvictedMemory, testing::ValuesIn(rules),
                         [](const auto& policy) { return name_of(policy.param); });

TEST_P(EvictedMemory, IsNotReadableWhileOtherTaskExecutes) {
  const Probe probe;
  std::atomic<unsigned> own_missing{0}, others_present{0}, looks{0};
  Executive swapping = executive([&](std::size_t task, std::size_t) {
    own_missing += own_chunks - probe.readable_chunks(hashing.seen[task]->memory.state, own_chunks);
    const unsigned present = probe.readable_chunks(hashing.seen[1 - task]->memory.state, own_chunks);
    others_present = std::max(others_present.load(), present);
    ++looks;
  });
  begun(swapping);
  run_until(swapping, [&] { return looks.load() > 20; });
  swapping.stop();
  EXPECT_GT(looks.load(), 20u);
  EXPECT_EQ(own_missing.load(), 0u);
  EXPECT_LE(others_present.load(), frames - own_chunks);
  EXPECT_TRUE(hashing.all_as_expected());
}

TEST_P(EvictedMemory, ReadAccessEndsProgram) {
  const Probe probe;
  const auto reads = [&] {
    Executive swapping = executive([&](std::size_t task, std::size_t execution) {
      if (execution != 2) return;
      const std::byte* const other = hashing.seen[1 - task]->memory.state;
      for (std::size_t i = 0; i < own_chunks; ++i) {
        const std::byte* const at = other + i * small_chunk.count;
        if (probe.readable(at)) continue;
        static_cast<void>(::write(STDERR_FILENO, "reads it\n", 9));
        static_cast<void>(*static_cast<const volatile std::byte*>(at));
      }
    });
    begun(swapping);
    run_until(swapping, [&] { return hashing.executions() > 4; });
    std::_Exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (sanitized) EXPECT_DEATH(reads(), "reads it");
  else EXPECT_EXIT(reads(), testing::KilledBySignal(SIGSEGV), "reads it");
}

// ---- transfers ----

TEST_P(SwapTransfers, AreReportedExcludingConcurrentExtraCopies) {
  struct Told {
    std::atomic<std::uint64_t> in{0}, out{0};
  } told;
  const HashingTasks hashing = two_tasks();
  const auto store = std::make_shared<StoreOrders>();
  executive::Setup setup = hashing.setup();
  setup.open_store = store_opener(store);
  setup.background_copies = true;
  setup.observe_transfers = {
      .ended =
          [](void* self, const policies::Action& transfer, Instant begin, Instant end) noexcept {
            if (begin > end) return;
            auto& counts = *static_cast<Told*>(self);
            (transfer.kind == policies::Action::Kind::copy_in ? counts.in : counts.out).fetch_add(1);
          },
      .self = &told};
  Executive executive = made(swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 6), std::move(setup));
  begun(executive);
  const std::uint64_t in = told.in.load(), out = told.out.load(), loads = store->loads.load(),
                      saves = store->saves.load();
  run_until(executive, [&] { return hashing.executions() > 10; });
  const SwapReport swap = *executive.stop().swap;
  EXPECT_GT(swap.in, Bytes{0});
  EXPECT_EQ(small_chunk * (told.in.load() - in), swap.in);
  EXPECT_EQ(small_chunk * (told.out.load() - out), swap.out);
  EXPECT_GT(small_chunk * (store->loads.load() - loads), swap.in) << "nothing was copied beside";
  EXPECT_GT(small_chunk * (store->saves.load() - saves), swap.out);
  EXPECT_TRUE(hashing.all_as_expected());
}

// ---- real-time rules ----

class SwappingRun : public testing::TestWithParam<std::pair<SwapPolicy, bool>> {};
INSTANTIATE_TEST_SUITE_P(Swapping, SwappingRun,
                         testing::Values(std::pair(SwapPolicy::pipelined, false), std::pair(SwapPolicy::rt_swap, false),
                                         std::pair(SwapPolicy::pipelined, true)),
                         [](const auto& kind) {
                           return name_of(kind.param.first) + (kind.param.second ? "_to_a_file" : "");
                         });

TEST_P(SwappingRun, ThreadsNeitherAllocateNorLockNorFault) {
  const auto [policy, to_file] = GetParam();
  const ScratchFolder folder;
  const Hashing::Shape shape{.constant = small_chunk, .scratch = small_chunk, .state = small_chunk * 4};
  const HashingTasks hashing({shape, shape, shape});
  TaskSet set = swapping_set(hashing.tasks, endless, policy, small_chunk * 11);
  set.swap.skip_unchanged = set.swap.verify = true;
  if (to_file) set.swap.store = SwapStore{.file = folder / "chunks"};
  Executive executive = made(std::move(set), hashing.setup());
  begun(executive);
  const Report report = expect_real_time(
      executive, [&] { run_until(executive, [&] { return executive.progress().swap->operations > 200; }); });
  EXPECT_GT(report.swap->operations, 200u);
  EXPECT_TRUE(hashing.all_as_expected());
}

// ---- jobs that end before their memory is loaded ----

TEST_P(SwapTransfers, JobsAreAbortedDuringLoadWithoutDataLoss) {
  HashingTasks hashing = two_tasks();
  for (Task& task : hashing.tasks) task.on_overrun = OnOverrun::abort_job;
  const auto store = std::make_shared<StoreOrders>();
  executive::Setup setup = hashing.setup();
  setup.open_store = store_opener(store);
  Executive executive = made(swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 6), std::move(setup));
  begun(executive);
  store->each = Duration(15ms).count(); // at a period of 20 ms
  const auto sum = [&](std::uint64_t TaskReport::*counter) {
    const Report so_far = executive.progress();
    return so_far.tasks[0].*counter + so_far.tasks[1].*counter;
  };
  run_until(executive, [&] { return sum(&TaskReport::aborted) > 10; });
  store->each = 0;
  const std::size_t executed = hashing.executions();
  run_until(executive, [&] { return hashing.executions() > executed + 5; });
  const Report report = executive.stop();
  expect_balanced(report);
  EXPECT_EQ(failed_jobs(report), 0u);
  EXPECT_GT(report.tasks[0].aborted + report.tasks[1].aborted, 10u);
  EXPECT_GT(hashing.executions(), executed + 5) << "both are served once the store is fast again";
  EXPECT_TRUE(hashing.all_as_expected()) << "an abandoned job takes no memory with it";
}

TEST_P(SwapTransfers, StopRequestEndsRunDuringLoad) {
  const HashingTasks hashing = two_tasks();
  const auto store = std::make_shared<StoreOrders>();
  executive::Setup setup = hashing.setup();
  setup.open_store = store_opener(store);
  Executive executive = made(swapping_set(hashing.tasks, endless, GetParam(), small_chunk * 6), std::move(setup));
  begun(executive);
  run_until(executive, [&] { return hashing.executions() > 3; });
  store->each = Duration(50ms).count();
  const std::uint64_t loads = store->loads.load();
  run_until(executive, [&] { return store->loads.load() > loads + 1; });
  executive.request_stop(); // while the second one sleeps
  EXPECT_TRUE(executive.wait());
  const Report report = executive.stop();
  EXPECT_EQ(to_string(report.stopped_by), "request");
  expect_balanced(report);
  EXPECT_EQ(failed_jobs(report), 0u);
  EXPECT_TRUE(hashing.all_as_expected());
}

} // namespace
} // namespace rtexec
