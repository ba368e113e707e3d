// Tests networks under memory policies. Managed and host memory give the same bits as device memory, for every
// operation, type and precision. They need no copies, and half the memory.
#include "hal/host/host_device.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/loads/winograd/winograd_workload.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/cuda_cases.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/cuda_random_networks.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::tasks {
namespace {

using hal::cuda::Code;
using testing::HasSubstr;
using Bits = std::vector<std::vector<std::byte>>;

constexpr std::array policies{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
constexpr std::array shared{MemoryPolicy::managed, MemoryPolicy::host};

std::unique_ptr<hal::HostDevice> host_device() {
  return std::move(*hal::HostDevice::open(Bytes{16 << 20}, Bytes{4096}));
}

Bits bits(std::span<const Network::Port> ports) {
  Bits all;
  for (const auto& port : ports) all.emplace_back(port.bytes.begin(), port.bytes.end());
  return all;
}

std::unique_ptr<HostNetwork> on_host(const Graph& graph, MemoryPolicy policy) {
  auto built = HostNetwork::build(graph, policy);
  EXPECT_EQ(test::problem(built), "none");
  return built ? std::move(*built) : nullptr;
}

/// A network bound to the device, under D with memory of the device.
class Placed {
 public:
  Placed(std::unique_ptr<Network> network, hal::Device& device) : device_(device), network_(std::move(network)) {
    bound_ = test::problem(place());
  }
  ~Placed() {
    network_.reset();
    for (const Buffer& buffer : given_) (void)device_.free(buffer);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  [[nodiscard]] const std::string& bound() const { return bound_; }
  [[nodiscard]] Network& network() { return *network_; }
  /// Runs with the inputs for `seed`.
  [[nodiscard]] Bits run(int seed) {
    for (const auto& port : network_->inputs()) fill(port, seed);
    const auto before = bits(network_->inputs());
    EXPECT_TRUE(network_->run());
    EXPECT_TRUE(bits(network_->inputs()) == before) << "inputs are as they were";
    return bits(network_->outputs());
  }

 private:
  static void fill(const Network::Port& port, int seed) {
    std::vector<float> values(port.bytes.size() / size_of(port.type));
    const bool floats = port.type == ElementType::float32 || port.type == ElementType::float16;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<float>((i * 7 + static_cast<std::size_t>(seed) * 13 + 5) % 32);
      values[i] = floats ? number / 8 - 1 : number;
    }
    set_elements(port, values);
  }
  Result<> place() {
    Memory memory;
    const auto demand = network_->memory();
    EXPECT_EQ(network_->constants().size(), demand.constant.count);
    if (demand.constant > Bytes{0}) {
      memory.constant = given(demand.constant);
      EXPECT_TRUE(device_.copy(const_cast<std::byte*>(memory.constant), network_->constants().data(), demand.constant));
    }
    if (demand.scratch > Bytes{0}) memory.scratch = given(demand.scratch);
    return network_->bind(device_, memory);
  }
  std::byte* given(Bytes size) {
    const auto buffer = device_.allocate(BufferKind::device, size);
    EXPECT_EQ(test::problem(buffer), "none");
    return given_.emplace_back(*buffer).device;
  }

  hal::Device& device_;
  std::unique_ptr<Network> network_;
  std::vector<Buffer> given_;
  std::string bound_;
};

/// Runs job 3 after another one, and the same again.
Bits third_job(std::unique_ptr<Network> network, hal::Device& device) {
  Placed placed(std::move(network), device);
  EXPECT_EQ(placed.bound(), "none");
  if (placed.bound() != "none") return {};
  (void)placed.run(2);
  const auto outputs = placed.run(3);
  EXPECT_TRUE(placed.run(3) == outputs) << "the same again";
  return outputs;
}

void expect_same_on_host(const Graph& graph) {
  const auto device = host_device();
  const auto expected = third_job(on_host(graph, MemoryPolicy::device), *device);
  for (const auto policy : shared) EXPECT_TRUE(third_job(on_host(graph, policy), *device) == expected);
  EXPECT_EQ(device->memory_use().value().own, Bytes{0}) << "all is given back";
}

std::unique_ptr<Network> on_gpu(const Graph& graph, Precision precision, MemoryPolicy policy,
                                const cuda::Executor::Options& launching = EmulatedGpu::launching()) {
  auto built = CudaNetwork::build(graph, precision, {launching, true, policy});
  EXPECT_EQ(test::problem(built), "none");
  return built ? std::move(*built) : nullptr;
}

void expect_same_on_gpu(const Graph& graph, hal::CudaDevice& device, const cuda::Executor::Options& launching) {
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
    const auto expected = third_job(on_gpu(graph, precision, MemoryPolicy::device, launching), device);
    for (const auto policy : shared)
      EXPECT_TRUE(third_job(on_gpu(graph, precision, policy, launching), device) == expected)
          << "precision " << static_cast<int>(precision);
  }
}

// ---- the same bits

class OperationMemoryPolicy : public testing::TestWithParam<GpuCase> {
 protected:
  static void for_each_graph(const std::function<void(const Graph&)>& expect) {
    TestGraph g;
    GetParam().build(g);
    expect(g.graph);
    optimise(g.graph);
    expect(g.graph);
  }
};

TEST_P(OperationMemoryPolicy, GivesSameBits) { for_each_graph(expect_same_on_host); }

TEST_P(OperationMemoryPolicy, GivesSameBitsInEmulation) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects();
  for_each_graph([&](const Graph& graph) { expect_same_on_gpu(graph, gpu.device(), EmulatedGpu::launching()); });
  EXPECT_EQ(gpu.driver().objects(), before) << "all is given back";
}

TEST_P(OperationMemoryPolicy, GivesSameBitsOnGpu) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
  ASSERT_EQ(test::problem(device), "none");
  for_each_graph([&](const Graph& graph) { expect_same_on_gpu(graph, **device, {}); });
}

INSTANTIATE_TEST_SUITE_P(All, OperationMemoryPolicy, testing::ValuesIn(gpu_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(NetworkPolicies, RandomNetworksGiveTheSameBits) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomNetwork random(seed);
    if (seed % 2) optimise(random.graph());
    expect_same_on_host(random.graph());
  }
}

TEST(NetworkPolicies, RandomNetworksGiveTheSameBitsInEmulation) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomNetwork random(seed);
    if (seed % 2) optimise(random.graph());
    expect_same_on_gpu(random.graph(), gpu.device(), EmulatedGpu::launching());
  }
}

/// An input or output that shares memory with another one must still be copied.
TEST(NetworkPolicies, SharedInputsAndOutputsGiveTheSameBits) {
  TestGraph g;
  const auto x = g.input({2, 6}), y = g.relu(x), image = g.input({1, 2, 3, 4});
  g.output(reshape(g, x, {12}));
  g.output(x);
  g.output(y);
  g.output(reshape(g, y, {3, 4}));
  g.output(g.constant({3}, {1, 2, 3}));
  g.output(image);
  g.output(g.concat({image, g.relu(image)}));
  expect_same_on_host(g.graph);
  if (test::emulation::unavailable()) return;
  EmulatedGpu gpu;
  expect_same_on_gpu(g.graph, gpu.device(), EmulatedGpu::launching());
}

TEST(NetworkPolicies, WinogradGivesTheSameBits) {
  const auto device = host_device();
  for (const auto policy : shared)
    EXPECT_TRUE(third_job(on_host(winograd_graph(32), policy), *device) ==
                third_job(on_host(winograd_graph(32), MemoryPolicy::device), *device));
}

// ---- omitted copies and memory

/// Returns a network with weights, an input and an output, and nothing else.
Graph heavy() {
  TestGraph g;
  g.output(g.node(Gemm{false, true, 1, 1}, {g.input({64, 512}), g.random({512, 512}), g.random({512})}, {64, 512}));
  optimise(g.graph);
  return g.graph;
}

/// Returns the work of a job on the emulated GPU, without the network's kernels and recorded events.
std::vector<std::string> moved(EmulatedGpu& gpu, MemoryPolicy policy) {
  Placed placed(on_gpu(heavy(), Precision::fp32, policy), gpu.device());
  EXPECT_EQ(placed.bound(), "none");
  gpu.driver().watch_work();
  (void)placed.run(1);
  std::vector<std::string> found;
  for (const auto& each : gpu.driver().work()) {
    EXPECT_FALSE(each.behind) << each.what;
    if (each.what == "copy" || each.what.starts_with("from_") || each.what.starts_with("to"))
      found.push_back(each.what);
  }
  return found;
}

TEST(NetworkPolicies, FloatPortsAreUsedInPlaceInSharedMemory) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  EXPECT_THAT(moved(gpu, MemoryPolicy::device), testing::ElementsAre("from_f32", "to_f32"));
  EXPECT_THAT(moved(gpu, MemoryPolicy::host), testing::ElementsAre());
  EXPECT_THAT(moved(gpu, MemoryPolicy::managed), testing::ElementsAre("to device 0", "to device 0", "to host"))
      << "the input and the output, and the output back";
}

TEST(NetworkPolicies, ConstantImageIsReleasedWhenMemoryIsShared) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  for (const auto policy : policies) {
    Placed placed(on_gpu(heavy(), Precision::fp32, policy), gpu.device());
    ASSERT_EQ(placed.bound(), "none");
    const auto& image = dynamic_cast<const CudaNetwork&>(placed.network()).program().constants;
    if (policy == MemoryPolicy::device) EXPECT_GT(image.size(), std::size_t{1} << 20);
    else EXPECT_EQ(image.capacity(), 0U);
  }
}

TEST(NetworkPolicies, NoPrefetchIsIssuedWhenDeviceCannotPrefetch) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu({.concurrent_managed = false, .memory = {512 << 20}});
  EXPECT_THAT(moved(gpu, MemoryPolicy::managed), testing::ElementsAre());
}

TEST(NetworkPolicies, FailedPrefetchEndsJob) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  Placed placed(on_gpu(heavy(), Precision::fp32, MemoryPolicy::managed), gpu.device());
  for (const int nth : {1, 3}) {
    gpu.driver().fail<&hal::cuda::Driver::prefetch_async>(Code::invalid_value, nth);
    EXPECT_EQ(placed.network().run().error(), Errc::device_fault) << nth;
  }
  EXPECT_TRUE(placed.network().run());
}

/// Compares constants on the device plus their image, and inputs and outputs on both sides, with a single copy of each.
TEST(NetworkPolicies, SharedMemoryHalvesMemoryUse) {
  const auto graph = heavy();
  const auto taken = [&](MemoryPolicy policy) {
    const auto device = host_device();
    Placed placed(on_host(graph, policy), *device);
    EXPECT_EQ(placed.bound(), "none");
    auto all = static_cast<double>(device->memory_use().value().own.count);
    all += static_cast<double>(placed.network().constants().size());
    if (policy == MemoryPolicy::device)
      for (const auto ports : {placed.network().inputs(), placed.network().outputs()})
        for (const auto& port : ports) all += static_cast<double>(port.bytes.size());
    return all;
  };
  for (const auto policy : shared) EXPECT_NEAR(taken(MemoryPolicy::device) / taken(policy), 2, 0.1);
}

/// Scratch does not contain inputs and outputs.
TEST(NetworkPolicies, SharedMemoryLeavesOnlyScratchDemandOnDevice) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 4, 8, 8}), 16);
  g.output(g.conv(x, 4));
  const auto copied = on_host(g.graph, MemoryPolicy::device)->memory();
  const Bytes ports{(4 + 4) * 8 * 8 * sizeof(float)};
  EXPECT_EQ(copied.host, copied.constant + ports) << "the host's copies";
  EXPECT_EQ(copied.outside, Bytes{0});
  for (const auto policy : shared) {
    const auto network = on_host(g.graph, policy);
    const auto demand = network->memory();
    EXPECT_EQ(demand.constant + demand.state + demand.fixed, Bytes{0});
    EXPECT_EQ(demand.outside + demand.host, copied.host) << "in place";
    EXPECT_GT(demand.scratch, Bytes{0});
    EXPECT_LT(demand.scratch, copied.scratch);
    EXPECT_TRUE(
        std::ranges::all_of(demand.objects, [](const auto& each) { return each.kind == MemoryClass::scratch; }));
    EXPECT_TRUE(network->constants().empty());
  }
}

TEST(NetworkPolicies, JobsRunWithoutAllocating) {
  const auto device = host_device();
  for (const auto policy : policies) {
    Placed placed(on_host(heavy(), policy), *device);
    const auto before = test::allocations();
    for (int job = 0; job < 2; ++job) EXPECT_TRUE(placed.network().run());
    EXPECT_EQ(test::allocations(), before);
  }
}

// ---- failures

/// To request more memory than is free could hang a real GPU: the driver must not be called.
TEST(NetworkPolicies, ManagedMemoryIsNotRequestedAboveFreeMemory) {
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects();
  const auto asked = [&] { return gpu.driver().calls<&hal::cuda::Driver::allocate_managed>(); };
  const auto use = gpu.device().memory_use().value().own;
  gpu.driver().set_others(Bytes{512 << 20} - use - Bytes{1 << 20});
  const auto bind = [&](MemoryPolicy policy) {
    return test::problem(on_gpu(heavy(), Precision::fp32, policy)->bind(gpu.device(), {}));
  };
  const int first = asked();
  EXPECT_THAT(bind(MemoryPolicy::managed), HasSubstr("its constants: 1.00 MiB of managed memory were requested"));
  EXPECT_EQ(asked(), first);
  EXPECT_EQ(gpu.driver().objects(), before) << "all is given back";
  if (test::emulation::unavailable() == nullptr) { EXPECT_EQ(bind(MemoryPolicy::host), "none"); }
}

TEST(NetworkPolicies, BindReportsEachFailingDriverCall) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  TestGraph g;
  g.output(g.relu(g.conv(g.input({1, 3, 4, 4}), 4)));
  g.output(g.conv(g.cast(g.input({1, 3, 4, 4}, ElementType::uint8), ElementType::float32), 4));
  for (const auto policy : shared) {
    int failures = 0;
    for (int nth = 1; nth < 200; ++nth) {
      EmulatedGpu gpu;
      const auto network = on_gpu(g.graph, Precision::fp32, policy);
      network->link_input(0);
      const auto before = gpu.driver().objects();
      std::vector<std::byte> scratch(network->scratch().count + 256);
      gpu.driver().fail_any(Code::out_of_memory, nth);
      const auto bound = network->bind(gpu.device(), {nullptr, scratch.data(), nullptr});
      if (!gpu.driver().failed()) {
        EXPECT_EQ(test::problem(bound), "none");
        break;
      }
      if (bound) continue; // a call that releases something failed
      ++failures;
      EXPECT_THAT(bound.error().what, testing::AnyOf(HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("out of memory")))
          << gpu.driver().failed();
      EXPECT_EQ(gpu.driver().objects(), before) << gpu.driver().failed() << ": " << bound.error().what;
    }
    EXPECT_GT(failures, 15);
  }
}

} // namespace
} // namespace rtexec::tasks
