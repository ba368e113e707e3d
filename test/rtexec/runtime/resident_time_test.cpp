// Tests device parts in the device's own memory, and the values that `profile` derives from them on a simulated GPU.
#include "rtexec/runtime/measuring/resident_time.hpp"

#include "config/base/must.hpp"
#include "hal/cuda/cuda_device.hpp"
#include "hal/host/host_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/measuring/profiling.hpp"
#include "tasks/engine/cuda/network_kernel_images.hpp"
#include "tasks/loads/benchmarks/cuda/benchmark_arguments.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/rtexec/runtime/linked_networks.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/expected_result.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace rtexec::executive {
namespace {

using namespace std::chrono_literals;

Task benchmark(const std::string& name, MemoryPolicy policy, unsigned size) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::vector_add;
  task.size = size;
  task.memory_policy = policy;
  task.period = task.deadline = 100ms;
  task.wcet = Wcet{.before = 1ms, .device = 45ms, .after = 1ms};
  return task;
}

/// Returns the set-up of a slow host, on which copying a byte takes 20 ns, and mapping one takes 80 ns.
Setup on_slow_host() {
  Setup setup;
  setup.tunings.emplace();
  setup.open_device = [](Bytes capacity, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    MemoryCosts costs;
    costs.copy_start = 1ms;
    costs.copied_in = costs.copied_out = 20;
    costs.mapped = 80;
    auto opened = hal::HostDevice::open(std::min(capacity, Bytes{64 << 20}), chunk, costs);
    if (!opened) return Unexpected(opened.error());
    return std::move(*opened);
  };
  return setup;
}

TEST(ResidentTime, ExcludesCopiesAndMapping) {
  const TaskSet set = test::set_of({benchmark("sum", MemoryPolicy::managed, 20'000)}, 1s);
  auto took = longest_resident(set, 0, on_slow_host());
  // Other load on this machine only makes it longer.
  for (int again = 0; again < 10 && took && *took >= 8ms; ++again) took = longest_resident(set, 0, on_slow_host());
  ASSERT_TRUE(took.has_value());
  EXPECT_GT(*took, Duration(0));
  EXPECT_LT(*took, 8ms) << "either would take that";
}

/// A workload whose first job takes longest, then the eighth.
class Told final : public Workload {
 public:
  Told(Bytes fixed, Status outcome) : fixed_(fixed), outcome_(outcome) {}
  MemoryDemand memory() const override { return {.fixed = fixed_}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "told"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t job) noexcept override { return job_ = job, Status(); }
  Status execute() noexcept override {
    const Duration until = hal::execution_time() + (job_ == 0 ? 30ms : job_ == 7 ? 9ms : 3ms);
    while (hal::execution_time() < until) {}
    return outcome_;
  }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  Bytes fixed_;
  Status outcome_;
  std::uint64_t job_ = 0;
};

std::optional<Duration> told(Bytes fixed, Status outcome) {
  const TaskSet set =
      test::set_of({benchmark("other", MemoryPolicy::device, 1), benchmark("told", MemoryPolicy::host, 1)}, 1s);
  Setup setup = on_slow_host();
  for (const Task& task : set.tasks) setup.workloads[task.name] = std::make_unique<Told>(fixed, outcome);
  return longest_resident(set, 1, std::move(setup));
}

TEST(ResidentTime, IsLongestJobExceptWarmUp) {
  auto took = told(Bytes{4096}, {});
  for (int again = 0; again < 10 && took && *took >= 30ms; ++again) took = told(Bytes{4096}, {}); // repeated as above
  ASSERT_TRUE(took.has_value());
  EXPECT_GE(*took, 9ms);
  EXPECT_LT(*took, 30ms) << "the first one warms up";
}

TEST(ResidentTime, IsUnknownWhenDeviceMemoryIsTooSmall) { EXPECT_EQ(told(Bytes{256 << 20}, {}), std::nullopt); }

TEST(ResidentTime, NamesTaskThatFailed) {
  const auto failed = caught([] { return told(Bytes{4096}, Unexpected(Errc::io_error)).has_value(); });
  EXPECT_TRUE(test::fails(failed, Errc::io_error, "task 'told': a job failed under D"));
}

TEST(ResidentTime, OfLinkedNetworkIsMeasuredWithoutItsWriter) {
  const test::LinkedModels models;
  Task writer = benchmark("writer", MemoryPolicy::device, 1), reader = benchmark("reader", MemoryPolicy::host, 1);
  for (const auto& [task, model] : {std::pair(&writer, models.writer), std::pair(&reader, models.reader)}) {
    task->workload = WorkloadKind::dnn;
    task->size.reset();
    task->model = model;
  }
  reader.inputs = {{.tensor = {}, .source = SourceKind::task, .from = "writer"}};
  const TaskSet set = test::set_of({writer, reader}, 1s);
  EXPECT_GT(longest_resident(set, 1, on_slow_host()).value(), Duration(0)) << "without who feeds it";
}

/// A GPU whose kernel takes 40 ms, and 60 ms more if pages come from the host.
class FakeGpu {
 public:
  FakeGpu() : driver_({.memory = Bytes{512 << 20}}) {
    driver_.accept_unknown_kernels(true);
    driver_.add_kernel<tasks::cuda::AddArguments>("benchmark_add", [this](auto, auto, const auto&) {
      const int prefetches = driver_.calls<&hal::cuda::Driver::prefetch_async>();
      hal::sleep_until(hal::now() + (prefetches_.exchange(prefetches) == prefetches ? 40ms : 100ms));
    });
  }
  Setup setup() {
    Setup setup;
    setup.open_device = [](Bytes, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
      auto opened = hal::CudaDevice::open({.capacity = Bytes{64 << 20}, .chunk = chunk});
      if (!opened) return Unexpected(opened.error());
      return std::move(*opened);
    };
    return setup;
  }

 private:
  hal::test::FakeCudaDriver driver_;
  std::atomic<int> prefetches_{0};
};

TEST(ResidentTime, ProfileDerivesIdleTimeOfGpu) {
  if (tasks::cuda::kernel_images().empty()) GTEST_SKIP() << "built without device kernels";
  FakeGpu gpu;
  TaskSet set = test::set_of(
      {benchmark("copied", MemoryPolicy::device, 1000), benchmark("paged", MemoryPolicy::managed, 1000)}, 1s);
  set.board = "rtx";
  set.device.capacity = Bytes{64 << 20};
  set.device.co_run = true;
  set.executive.duration.reset();
  const auto measured = [&] {
    return measure(set, {.jobs = 10, .margin = 1}, {}, [&]() -> Result<executive::Setup> { return gpu.setup(); });
  };
  auto profile = measured();
  // Other load on this machine makes the kernels alone longer, and the rest shorter.
  for (int again = 0; again < 5 && profile && profile->entries.at(1).mapping_idle < 5ms; ++again) profile = measured();
  ASSERT_EQ(test::problem(profile), "none");
  const auto &copied = profile->entries.at(0), &paged = profile->entries.at(1);
  EXPECT_TRUE(copied.co_run_wcet.has_value());
  EXPECT_EQ(copied.mapping_idle, std::nullopt);
  ASSERT_TRUE(paged.mapping_idle.has_value());
  EXPECT_GE(*paged.mapping_idle, 5ms);
  EXPECT_LE(*paged.mapping_idle, 85ms) << "less than all of it";
}

} // namespace
} // namespace rtexec::executive
