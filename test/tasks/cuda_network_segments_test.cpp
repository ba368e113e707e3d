// Tests networks in segments on an emulated GPU: one graph per segment, outputs as in one piece, and the effects of
// launching ahead. For the host device see network_segments_test.cpp.
#include "tasks/engine/cuda/cuda_network.hpp"

#include "tasks/engine/graph/passes.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/cuda_random_networks.hpp"
#include "test/tasks/cut_network.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rtexec::tasks {
namespace {

using hal::cuda::Code;
using hal::cuda::Driver;

constexpr std::array policies{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
constexpr std::array precisions{Precision::fp32, Precision::tf32, Precision::fp16};

std::unique_ptr<CudaNetwork> on_gpu(const Graph& graph, Precision precision, MemoryPolicy policy = MemoryPolicy::device,
                                    const cuda::Executor::Options& launching = EmulatedGpu::launching()) {
  auto built = CudaNetwork::build(graph, precision, {launching, true, policy});
  EXPECT_EQ(test::problem(built), "none");
  return built ? std::move(*built) : nullptr;
}

class CudaSegments : public EmulatedGpuTest {};

/// Returns a network in which each layer is a product.
Graph chain(int layers = 4) {
  TestGraph g;
  auto x = g.input({1, 3, 6, 6});
  for (int i = 0; i < layers; ++i) x = g.conv(x, 4 + i);
  g.output(x);
  return g.graph;
}

// ---- outputs

TEST_F(CudaSegments, EveryOperationGivesSameResultAtAnyCutPoint) {
  unsigned number = 0;
  for (const auto& each : gpu_cases()) {
    TestGraph g;
    each.build(g);
    const Precision precision = precisions[number++ % 3];
    for (const MemoryPolicy policy : policies)
      expect_same_when_cut(
          device(), [&] { return on_gpu(g.graph, precision, policy); }, each.name);
  }
}

TEST_F(CudaSegments, RandomNetworksGiveSameResultAtAnyCutPoint) {
  for (unsigned seed = 0; seed < 18; ++seed) {
    RandomNetwork random(seed);
    if (seed % 2 == 0) optimise(random.graph());
    const auto make = [&] { return on_gpu(random.graph(), precisions[seed % 3], policies[seed / 3 % 3]); };
    expect_same_when_cut(device(), make, "seed " + std::to_string(seed));
  }
}

/// These convolutions write their sums in parts and count to find the last block. They need workspaces, and counters
/// that start at zero.
TEST_F(CudaSegments, SplitConvolutionsGiveSameResultAtAnyCutPoint) {
  unsigned split = 0;
  for (unsigned seed = 0; split < 5; ++seed) {
    ASSERT_LT(seed, 100U);
    RandomNetwork random(seed);
    const auto make = [&] {
      auto network = on_gpu(random.graph(), Precision::fp32);
      EXPECT_EQ(test::problem(network->use(random_choices(network->program(), seed))), "none");
      return network;
    };
    if (make()->plan().counters == 0) continue;
    ++split;
    expect_same_when_cut(device(), make, "seed " + std::to_string(seed), {.single = 6, .random = 3});
  }
}

TEST_F(CudaSegments, ResultChangesWhenLiveStateIsLost) {
  CutNetwork network(device(), on_gpu(chain(), Precision::fp32));
  const auto expected = network.run();
  for (const std::uint32_t layer : {0U, 1U, 2U}) {
    network.cut({layer});
    EXPECT_TRUE(network.run_without_carry() != expected) << "behind layer " << layer;
  }
}

TEST_F(CudaSegments, CutPointsSurviveTuningAndInvalidCuts) {
  const auto network = on_gpu(chain(), Precision::fp32);
  ASSERT_TRUE(network->cut(Cuts{1}));
  const Bytes carry = network->carry();
  EXPECT_GT(carry, Bytes{0});
  ASSERT_TRUE(network->use({}));
  EXPECT_EQ(network->carry(), carry);
  EXPECT_TRUE(test::fails(network->cut(Cuts{3}), Errc::bad_input, "after layer 3 of 4"));
  EXPECT_EQ(network->carry(), carry);
}

// ---- launching

TEST_F(CudaSegments, UseOneGraphEachAndReleaseAllObjects) {
  const auto before = driver().objects();
  {
    CutNetwork network(device(), on_gpu(chain(), Precision::fp32));
    const auto whole = driver().objects().executables;
    network.cut({0, 2});
    EXPECT_EQ(driver().objects().executables, whole + 2);
    const int launches = driver().calls<&Driver::graph_launch>();
    const auto outputs = network.run_segments(2);
    EXPECT_EQ(driver().calls<&Driver::graph_launch>(), launches + 3);
    EXPECT_TRUE(network.run() == outputs);
    EXPECT_EQ(driver().calls<&Driver::graph_launch>(), launches + 6);
  }
  EXPECT_EQ(driver().objects(), before);
}

TEST_F(CudaSegments, LaunchedSegmentsEndAfterLaunchError) {
  CutNetwork network(device(), on_gpu(chain(), Precision::fp32));
  const auto expected = network.run();
  network.cut({0, 1, 2});
  ASSERT_TRUE(network.network().launch_segment(0));
  ASSERT_TRUE(network.network().launch_segment(1));
  driver().fail<&Driver::graph_launch>(Code::out_of_memory);
  EXPECT_TRUE(test::fails(network.network().launch_segment(2), Errc::out_of_memory));
  EXPECT_TRUE(test::fails(device().end_run(GpuGraph()), Errc::bad_input)) << "nothing is under way";
  EXPECT_TRUE(network.run_segments() == expected) << "the next job";
  EXPECT_TRUE(network.run_segments(3) == expected);
}

/// The limit is the number that the device keeps apart: the executing one, and three behind it.
TEST_F(CudaSegments, LaunchFailsAboveLimitOfPendingSegments) {
  CutNetwork network(device(), on_gpu(chain(6), Precision::fp32));
  const auto expected = network.run();
  network.cut({0, 1, 2, 3, 4});
  for (std::uint32_t segment = 0; segment < 4; ++segment) ASSERT_TRUE(network.network().launch_segment(segment));
  EXPECT_TRUE(test::fails(network.network().launch_segment(4), Errc::out_of_memory));
  EXPECT_TRUE(network.run_segments(3) == expected);
}

TEST_F(CudaSegments, ReportDeviceFaultAndThenLostDevice) {
  CutNetwork network(device(), on_gpu(chain(), Precision::fp32));
  network.cut({1});
  ASSERT_TRUE(network.network().launch_segment(0));
  driver().break_device(Code::illegal_address);
  EXPECT_TRUE(test::fails(network.network().run_segment(0), Errc::device_fault));
  EXPECT_TRUE(test::fails(network.network().run_segment(1), Errc::device_lost));
}

TEST_F(CudaSegments, ObserverSeesEachLayerOnceInOrder) {
  struct Seen {
    std::vector<std::uint32_t> begun, ended;
    std::vector<Instant> at;
  } seen;
  auto made = on_gpu(chain(), Precision::fp32);
  made->observe({[](void* self, std::uint32_t layer, Instant at) noexcept {
                   static_cast<Seen*>(self)->begun.push_back(layer);
                   static_cast<Seen*>(self)->at.push_back(at);
                 },
                 [](void* self, std::uint32_t layer, Instant at) noexcept {
                   static_cast<Seen*>(self)->ended.push_back(layer);
                   static_cast<Seen*>(self)->at.push_back(at);
                 },
                 &seen});
  CutNetwork network(device(), std::move(made));
  const std::vector<std::uint32_t> layers{0, 1, 2, 3};
  for (const Cuts& cuts : {Cuts{}, Cuts{0}, Cuts{1, 2}, Cuts{0, 1, 2}}) {
    network.cut(cuts);
    for (const std::uint32_t ahead : {0U, 1U}) {
      seen = {};
      (void)network.run_segments(ahead);
      EXPECT_EQ(seen.begun, layers);
      EXPECT_EQ(seen.ended, layers);
      // Times of segments launched ahead are late by the delay of the host's query.
      EXPECT_TRUE(ahead > 0 || std::ranges::is_sorted(seen.at));
    }
  }
}

} // namespace
} // namespace rtexec::tasks
