// Tests networks in segments on the host device: outputs, live state across cuts, and refusals. For GPUs see
// cuda_network_segments_test.cpp.
#include "hal/host/host_device.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/support/test_files.hpp"
#include "test/support/rounds.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/cuda_cases.hpp"
#include "test/tasks/cuda_random_networks.hpp"
#include "test/tasks/cut_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <iostream>

namespace rtexec::tasks {
namespace {

constexpr std::array policies{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

std::unique_ptr<hal::HostDevice> host_device() {
  return std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
}

std::unique_ptr<HostNetwork> on_host(const Graph& graph, MemoryPolicy policy = MemoryPolicy::device) {
  auto built = HostNetwork::build(graph, policy);
  EXPECT_EQ(test::problem(built), "none");
  return built ? std::move(*built) : nullptr;
}

Graph model(std::string_view name, const ModelOptions& options) {
  const test::ScratchFolder folder;
  EXPECT_TRUE(write_model(name, options, folder / "model.onnx"));
  auto graph = read_onnx(folder / "model.onnx");
  EXPECT_EQ(test::problem(graph), "none");
  optimise(*graph);
  return std::move(*graph);
}

// ---- outputs

TEST(NetworkSegments, EveryOperationGivesSameResultAtAnyCutPoint) {
  const auto device = host_device();
  for (const auto& each : gpu_cases()) {
    TestGraph g;
    each.build(g);
    for (const MemoryPolicy policy : policies)
      expect_same_when_cut(
          *device, [&] { return on_host(g.graph, policy); }, each.name);
  }
}

TEST(NetworkSegments, RandomNetworksGiveSameResultAtAnyCutPoint) {
  const auto device = host_device();
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomNetwork random(seed);
    const MemoryPolicy policy = policies[seed % 3];
    const auto make = [&] { return on_host(random.graph(), policy); };
    expect_same_when_cut(*device, make, "seed " + std::to_string(seed));
    optimise(random.graph());
    expect_same_when_cut(*device, make, "optimised, seed " + std::to_string(seed));
  }
}

class ModelSegments : public testing::TestWithParam<ModelInfo> {};
INSTANTIATE_TEST_SUITE_P(All, ModelSegments, testing::ValuesIn(models().begin(), models().end()), [](const auto& of) {
  std::string name(of.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

/// RTEXEC_EVERY_CUT=1 tries every single cut of each network.
TEST_P(ModelSegments, GiveSameResultAtAnyCutPoint) {
  const auto device = host_device();
  const Graph graph = model(GetParam().name, {.size = 32, .classes = 7});
  CutSets sets;
  if (std::getenv("RTEXEC_EVERY_CUT") == nullptr) sets.single = test::rounds<std::size_t>(16);
  expect_same_when_cut(
      *device, [&] { return on_host(graph); }, std::string(GetParam().name), sets);
}

/// If changes of the live state had no effect, the tests above would prove nothing.
TEST(NetworkSegments, ResultChangesWhenLiveStateIsLost) {
  const auto device = host_device();
  for (const std::string name : {"resnet18", "mobilenet_v3"}) {
    CutNetwork network(*device, on_host(model(name, {.size = 32, .classes = 7})));
    const auto expected = network.run();
    for (const std::uint32_t layer : all_cuts(network.network())) {
      network.cut({layer});
      EXPECT_TRUE(network.run_without_carry() != expected) << name << " behind layer " << layer;
    }
  }
}

// ---- memory

/// Returns the maximum number of bytes that are live at once, among the buffers live across a cut.
Bytes min_carry(const Network& network, const Cuts& cuts) {
  Bytes most{0};
  const auto ranges = network.live_ranges();
  for (std::uint32_t layer = 0; layer < network.layers().size(); ++layer) {
    Bytes sum{0};
    for (const LiveRange& range : ranges)
      if (range.first <= layer && layer <= range.last &&
          std::ranges::any_of(cuts, [&](std::uint32_t cut) { return range.first <= cut && cut < range.last; }))
        sum += range.size;
    most = std::max(most, sum);
  }
  return most;
}

TEST(NetworkSegments, LiveStateHoldsTensorsLiveAcrossCutPoints) {
  std::mt19937 engine(7);
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomNetwork random(seed);
    if (seed % 2 == 0) optimise(random.graph());
    const auto network = on_host(random.graph(), policies[seed % 3]);
    for (unsigned each = 1; each < 6; ++each) {
      const Cuts cuts = random_cuts(*network, engine, each);
      const Bytes least = min_carry(*network, cuts);
      ASSERT_EQ(test::problem(network->cut(cuts)), "none");
      EXPECT_EQ(Bytes{network->plan().carry.lower_bound}, least);
      EXPECT_GE(network->carry(), least);
      EXPECT_EQ(network->memory().carry, network->carry());
      EXPECT_EQ(min_carry(*network, cuts), least) << "cuts do not change what lives";
    }
  }
}

/// Tries random lifetimes, including those that begin before all layers or end after them.
TEST(SegmentPlan, LiveBuffersNeverOverlap) {
  std::mt19937 engine(5);
  const auto up_to = [&](std::uint32_t most) { return static_cast<std::uint32_t>(engine() % (most + 1)); };
  unsigned carried = 0, exempt = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> begins{1};
    while (begins.size() < 12) begins.push_back(begins.back() + 1 + up_to(2));
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 40; ++i) {
      const std::uint32_t first = up_to(begins.back());
      lifetimes.push_back({1 + engine() % 1000, first, first + up_to(9), engine() % 20 > 0});
    }
    const auto whole = plan_segments(lifetimes, begins, {});
    EXPECT_EQ(whole.scratch.offsets, plan_memory(lifetimes).offsets) << "in one piece as if there were no segments";
    EXPECT_EQ(whole.carry.size, 0U);
    Cuts cuts;
    for (std::uint32_t layer = 0; layer + 1 < begins.size(); ++layer)
      if (engine() % 4 == 0) cuts.push_back(layer);
    const auto plan = plan_segments(lifetimes, begins, cuts);
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      const Lifetime& a = lifetimes[i];
      const bool crosses = std::ranges::any_of(
          cuts, [&](std::uint32_t cut) { return a.first < begins[cut + 1] && a.last >= begins[cut + 1]; });
      EXPECT_EQ(plan.carried[i], crosses && a.kept);
      carried += plan.carried[i];
      exempt += crosses && !a.kept;
      EXPECT_LE(plan.offset(i) + a.size, plan.carried[i] ? plan.carry.size : plan.scratch.size);
      for (std::size_t j = 0; j < i; ++j) {
        const Lifetime& b = lifetimes[j];
        if (plan.carried[i] != plan.carried[j] || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(plan.offset(i) + a.size <= plan.offset(j) || plan.offset(j) + b.size <= plan.offset(i));
      }
    }
  }
  EXPECT_GT(carried, 1000U);
  EXPECT_GT(exempt, 50U);
}

TEST(NetworkSegments, LiveStateOfChainIsOneTensor) {
  TestGraph g;
  auto x = g.input({1, 4, 8, 8});
  for (const std::int64_t channels : {8, 16, 4, 2}) x = g.conv(x, channels);
  g.output(x);
  const auto network = on_host(g.graph);
  EXPECT_EQ(network->live_ranges(),
            (std::vector<LiveRange>{{Bytes{8 * 256}, 0, 1}, {Bytes{16 * 256}, 1, 2}, {Bytes{4 * 256}, 2, 3}}));
  ASSERT_TRUE(network->cut(Cuts{1}));
  EXPECT_EQ(network->carry(), Bytes{16 * 256});
  EXPECT_GE(network->scratch(), Bytes{(4 + 8) * 256}) << "the input beside the first layer's output";
  ASSERT_TRUE(network->cut(Cuts{0, 2}));
  EXPECT_EQ(network->carry(), Bytes{8 * 256}) << "the two do not live at once";
}

/// Checks how much more the planned memory takes than the bytes live at once.
TEST(NetworkSegments, LiveStateOfKnownNetworksIsNearLowerBound) {
  for (const std::string name : {"yolov3-tiny", "resnet50", "densenet201", "resnext50"}) {
    const auto network = on_host(model(name, {}));
    const std::size_t layers = network->layers().size();
    const Bytes whole = network->scratch();
    for (const std::size_t segments : {2U, 4U, 8U, 16U, 1000U}) {
      Cuts cuts;
      for (std::size_t i = 1; i < std::min(segments, layers); ++i)
        cuts.push_back(static_cast<std::uint32_t>(i * layers / std::min(segments, layers)) - 1);
      ASSERT_EQ(test::problem(network->cut(cuts)), "none");
      const auto& plan = network->plan();
      const double ratio = static_cast<double>(plan.carry.size) / static_cast<double>(plan.carry.lower_bound);
      std::cout << std::setw(12) << name << std::setw(5) << cuts.size() + 1 << " segments: carry " << std::setw(9)
                << plan.carry.size << " bytes, " << std::fixed << std::setprecision(3) << ratio
                << " of the least; scratch " << std::setw(9) << plan.scratch.size << ", in one piece " << whole.count
                << '\n';
      EXPECT_LE(ratio, 1.05) << name << " in " << cuts.size() + 1;
    }
  }
}

// ---- properties that a cut does not change

TEST(NetworkSegments, RunWithoutAllocating) {
  const auto device = host_device();
  CutNetwork network(*device, on_host(model("resnet18", {.size = 32})));
  network.cut({3, 9});
  const auto before = test::allocations();
  for (std::uint32_t segment = 0; segment < 3; ++segment) EXPECT_TRUE(network.network().run_segment(segment));
  EXPECT_EQ(test::allocations(), before);
}

TEST(NetworkSegments, ObserverSeesEachLayerOnceInOrder) {
  const auto device = host_device();
  std::vector<std::uint32_t> begun, ended;
  struct Seen {
    std::vector<std::uint32_t>&begun, &ended;
  } seen{begun, ended};
  auto made = on_host(model("lenet5", {}));
  made->observe(
      {[](void* self, std::uint32_t layer, Instant) noexcept { static_cast<Seen*>(self)->begun.push_back(layer); },
       [](void* self, std::uint32_t layer, Instant) noexcept { static_cast<Seen*>(self)->ended.push_back(layer); },
       &seen});
  CutNetwork network(*device, std::move(made));
  Cuts layers = all_cuts(network.network());
  network.cut({0, 2});
  layers.push_back(static_cast<std::uint32_t>(layers.size()));
  (void)network.run_segments();
  EXPECT_EQ(begun, layers);
  EXPECT_EQ(ended, layers);
}

TEST(NetworkSegments, InvalidCutPointsAreRejectedWithoutEffect) {
  TestGraph g;
  g.output(g.relu(g.conv(g.conv(g.input({1, 2, 4, 4}), 3), 5)));
  const auto network = on_host(g.graph);
  ASSERT_TRUE(network->cut(Cuts{0}));
  const Bytes carry = network->carry();
  EXPECT_TRUE(test::fails(network->cut(Cuts{2}), Errc::bad_input, "after layer 2 of 3"));
  EXPECT_TRUE(test::fails(network->cut(Cuts{7}), Errc::bad_input, "after layer 7 of 3"));
  EXPECT_TRUE(test::fails(network->cut(Cuts{0, 0}), Errc::bad_input, "must ascend: after layer 0 comes layer 0"));
  EXPECT_TRUE(test::fails(network->cut(Cuts{1, 0}), Errc::bad_input, "must ascend: after layer 1 comes layer 0"));
  EXPECT_EQ(network->carry(), carry);
}

TEST(NetworkSegments, NetworkWithoutLayersCannotBeCut) {
  TestGraph g;
  g.output(g.input({2}));
  const auto network = on_host(g.graph);
  EXPECT_TRUE(network->live_ranges().empty());
  EXPECT_TRUE(network->cut({}));
  EXPECT_TRUE(test::fails(network->cut(Cuts{0}), Errc::bad_input, "after layer 0 of 0"));
  const auto device = host_device();
  CutNetwork placed(*device, on_host(g.graph));
  EXPECT_TRUE(placed.run_segments() == placed.run());
}

} // namespace
} // namespace rtexec::tasks
