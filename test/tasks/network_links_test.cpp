// Tests networks whose inputs and outputs are linked, to others or as recurrent state. The bits that pass on the device
// must equal those that pass through the host. This holds for every type, on the host device, an emulated GPU and a
// real one.
#include "tasks/engine/graph/passes.hpp"
#include "hal/host/host_device.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace rtexec::tasks {
namespace {

using Bits = std::vector<std::byte>;

using Cuts = std::vector<std::uint32_t>;

constexpr MemoryPolicy policies[] = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
constexpr ElementType every_type[] = {ElementType::float32, ElementType::float16, ElementType::uint8,
                                      ElementType::int32, ElementType::int64};

/// Returns a network from [1, 3, 9, 7] to two outputs of [1, 5, 9, 7]: one of float32, and one of `type`.
Graph writing(ElementType type) {
  TestGraph g;
  const auto x = g.relu(g.conv(g.input({1, 3, 9, 7}), 5));
  g.output(g.conv(x, 5));
  g.output(x, type);
  optimise(g.graph);
  return g.graph;
}

/// Returns a network from the output of `type` to [1, 4, 9, 7].
Graph reading(ElementType type) {
  TestGraph g;
  g.output(g.conv(g.cast(g.input({1, 5, 9, 7}, type), ElementType::float32), 4));
  optimise(g.graph);
  return g.graph;
}

/// A runnable network with its device memory.
class Running {
 public:
  virtual ~Running() = default;
  virtual Network& network() = 0;
};

/// Makes networks for one kind of device.
class Maker {
 public:
  virtual ~Maker() = default;
  using Link = std::function<void(Network&)>; // called before it is bound
  virtual std::unique_ptr<Running> make(const Graph& graph, const Link& link) = 0;
  virtual std::byte* memory(std::size_t size) = 0;
};

/// Fills the first input.
void fill(const Network& network, int seed) {
  const std::span<float> values = network.inputs()[0].as<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(seed) * 13) % 64) * 1.7F - 20;
}

Bits bits(const Network::Port& port) { return {port.bytes.begin(), port.bytes.end()}; }

/// Writes three values, then reads them from the last to the first.
void expect_same_bits(Maker& maker, ElementType type, bool on_host) {
  constexpr int values = 3;
  const auto no_link = [](Network&) {};
  const auto writer = maker.make(writing(type), no_link), reader = maker.make(reading(type), no_link);
  const auto linked_writer = maker.make(writing(type), [&](Network&each) { each.link_output(1, on_host); }),
             linked_reader = maker.make(reading(type), [](Network&each) { each.link_input(0); });
  std::vector<std::byte*> slots;
  std::vector<Bits> expected;
  for (int value = 0; value < values; ++value) {
    fill(writer->network(), value);
    fill(linked_writer->network(), value);
    ASSERT_TRUE(writer->network().run());
    const auto& output = writer->network().outputs()[1];
    std::ranges::copy(output.bytes, reader->network().inputs()[0].bytes.begin());
    ASSERT_TRUE(reader->network().run());
    expected.push_back(bits(reader->network().outputs()[0]));

    slots.push_back(maker.memory(output.bytes.size()));
    linked_writer->network().give_output(1, slots.back());
    ASSERT_TRUE(linked_writer->network().run());
    const auto& linked = linked_writer->network().outputs();
    EXPECT_EQ(bits(linked[0]), bits(writer->network().outputs()[0])) << "the other output";
    if (on_host) { EXPECT_EQ(bits(linked[1]), bits(output)) << "what is on the host"; }
  }
  EXPECT_NE(expected[0], expected[1]);
  std::ranges::fill(linked_reader->network().inputs()[0].bytes, std::byte{0x33}); // no network reads it
  for (int value = values; value-- > 0;)
    for (int again = 0; again < 2; ++again) {
      linked_reader->network().take_input(0, slots[static_cast<std::size_t>(value)]);
      ASSERT_TRUE(linked_reader->network().run());
      EXPECT_EQ(bits(linked_reader->network().outputs()[0]), expected[static_cast<std::size_t>(value)]) << value;
    }
}

// ---- state

/// Returns a network from x [1, 3, 9, 7] of float32 and h [1, 5, 9, 7] of `type` to y [1, 5, 9, 7] of float32 and hn,
/// as h.
Graph step(ElementType type) {
  TestGraph g;
  const auto x = g.input({1, 3, 9, 7}), h = g.input({1, 5, 9, 7}, type);
  const auto sum = g.add(g.conv(x, 5), g.conv(g.cast(h, ElementType::float32), 5));
  const auto gate = g.node(Activation{Activation::Kind::sigmoid, 0, 0}, {sum}, {1, 5, 9, 7});
  const auto next = g.node(Activation{Activation::Kind::scale, 100, 0}, {gate}, {1, 5, 9, 7});
  g.output(g.conv(next, 5));
  g.output(next, type);
  optimise(g.graph);
  return g.graph;
}

constexpr Network::State step_state{.input = 1, .output = 1};

/// Runs jobs, some of which do not pass on their state: the next job must not see it.
void expect_same_state(Maker& maker, ElementType type, const Cuts& cuts) {
  const auto by_hand = maker.make(step(type), [](Network&) {});
  const auto keeping = maker.make(step(type), [&](Network& each) {
    each.keep({step_state});
    ASSERT_EQ(test::problem(each.cut(cuts)), "none");
  });
  Network& network = keeping->network();
  std::ranges::fill(network.inputs()[1].bytes, std::byte{0x33}); // no network reads it
  Bits state(by_hand->network().inputs()[1].bytes.size());       // zeros
  Bits first;
  for (int job = 0; job < 8; ++job) {
    fill(by_hand->network(), job);
    fill(network, job);
    std::ranges::copy(state, by_hand->network().inputs()[1].bytes.begin());
    ASSERT_TRUE(by_hand->network().run());
    for (std::uint32_t segment = 0; segment <= cuts.size(); ++segment) ASSERT_TRUE(network.run_segment(segment));
    for (std::size_t output = 0; output < 2; ++output)
      EXPECT_EQ(bits(network.outputs()[output]), bits(by_hand->network().outputs()[output])) << "job " << job;
    if (job < 2 || job == 5) continue; // a warm-up, and a job that failed
    state = bits(by_hand->network().outputs()[1]);
    network.hand_on();
    if (job == 2) first = state;
  }
  EXPECT_NE(state, first);
}

class TypedTensorPicture : public testing::TestWithParam<std::tuple<ElementType, bool>> {
 protected:
  void expect_same_bits(Maker& maker) {
    const auto [type, on_host] = GetParam();
    tasks::expect_same_bits(maker, type, on_host);
  }
  /// Runs in one piece, or in three.
  void expect_same_state(Maker& maker) {
    const auto [type, cut] = GetParam();
    tasks::expect_same_state(maker, type, cut ? Cuts{0, 2} : Cuts{});
  }
};

std::string name_of(const testing::TestParamInfo<std::tuple<ElementType, bool>>& info) {
  return std::string(name(std::get<0>(info.param))) + (std::get<1>(info.param) ? "AndHost" : "");
}

const auto every_way = testing::Combine(testing::ValuesIn(every_type), testing::Bool());

// ---- the host device

class OnHost final : public Maker {
  class Bound final : public Running {
   public:
    Bound(const Graph& graph, const Link& link, MemoryPolicy policy, Device& device)
        : network_(std::move(*HostNetwork::build(graph, policy))) {
      link(*network_);
      const MemoryDemand demand = network_->memory();
      scratch_ = filled(demand.scratch, 0xff);
      state_ = filled(demand.state, 0);
      carry_ = filled(demand.carry, 0xff);
      EXPECT_EQ(test::problem(
                    network_->bind(device, {network_->constants().data(), scratch_.get(), state_.get(), carry_.get()})),
                "none");
    }
    Network& network() override { return *network_; }

   private:
    static AlignedBytes filled(Bytes size, int value) {
      auto bytes = allocate_aligned(size.count);
      std::memset(bytes.get(), value, size.count);
      return bytes;
    }
    std::unique_ptr<HostNetwork> network_;
    AlignedBytes scratch_, state_, carry_;
  };

 public:
  explicit OnHost(MemoryPolicy policy) : policy_(policy) {}
  std::unique_ptr<Running> make(const Graph& graph, const Link& link) override {
    return std::make_unique<Bound>(graph, link, policy_, *device_);
  }
  std::byte* memory(std::size_t size) override { return memory_.emplace_back(allocate_aligned(size)).get(); }

 private:
  MemoryPolicy policy_;
  std::unique_ptr<hal::HostDevice> device_ = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  std::vector<AlignedBytes> memory_;
};

class NetworkLinks : public TypedTensorPicture {};
INSTANTIATE_TEST_SUITE_P(All, NetworkLinks, every_way, name_of);

TEST_P(NetworkLinks, GiveSameBitsAsCopies) {
  for (const MemoryPolicy policy : policies) {
    OnHost host(policy);
    expect_same_bits(host);
  }
}

TEST_P(NetworkLinks, KeepSameStateAsManualCopies) {
  for (const MemoryPolicy policy : policies) {
    OnHost host(policy);
    expect_same_state(host);
  }
}

TEST(NetworkState, AddsStateDemandToNetworkMemory) {
  const Graph graph = step(ElementType::float16);
  for (const MemoryPolicy policy : policies) {
    const auto network = std::move(*HostNetwork::build(graph, policy));
    const MemoryDemand without = network->memory();
    network->keep({step_state});
    const MemoryDemand with = network->memory();
    constexpr Bytes copies{2 * 768}; // of 5 * 9 * 7 elements of two bytes, each aligned to 256
    const bool swapped = policy == MemoryPolicy::device;
    EXPECT_EQ(without.state, Bytes{0});
    EXPECT_EQ(with.state, swapped ? copies : Bytes{0});
    EXPECT_EQ((with.outside + with.host) - (without.outside + without.host), swapped ? Bytes{0} : copies);
    EXPECT_EQ(with.scratch, without.scratch);
    EXPECT_EQ(std::ranges::count(with.objects, MemoryClass::state, &MemoryObject::kind), swapped ? 1 : 0);
  }
}

// ---- GPUs

class OnCuda final : public Maker {
  class Bound final : public Running {
   public:
    Bound(hal::CudaDevice& device, std::unique_ptr<CudaNetwork> network) : bound_(device, std::move(network)) {
      EXPECT_EQ(bound_.error(), "");
    }
    Network& network() override { return bound_.network(); }

   private:
    BoundNetwork bound_;
  };

 public:
  OnCuda(hal::CudaDevice& device, Precision precision, const CudaNetwork::Options& options)
      : device_(device), precision_(precision), options_(options) {}
  ~OnCuda() override {
    for (const Buffer& buffer : memory_) (void)device_.free(buffer);
  }
  std::unique_ptr<Running> make(const Graph& graph, const Link& link) override {
    auto network = CudaNetwork::build(graph, precision_, options_);
    EXPECT_TRUE(network) << network.error().what;
    link(**network);
    return std::make_unique<Bound>(device_, std::move(*network));
  }
  std::byte* memory(std::size_t size) override {
    memory_.push_back(*device_.allocate(BufferKind::device, Bytes{size}));
    return memory_.back().device;
  }

 private:
  hal::CudaDevice& device_;
  Precision precision_;
  CudaNetwork::Options options_;
  std::vector<Buffer> memory_;
};

constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16};

class CudaNetworkLinks : public TypedTensorPicture {};
INSTANTIATE_TEST_SUITE_P(All, CudaNetworkLinks, every_way, name_of);

TEST_P(CudaNetworkLinks, GiveSameBitsAsCopiesInEmulation) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects();
  for (const Precision precision : precisions)
    for (const MemoryPolicy policy : policies) {
      OnCuda cuda(gpu.device(), precision, {EmulatedGpu::launching(), true, policy});
      expect_same_bits(cuda);
    }
  EXPECT_EQ(gpu.driver().objects(), before) << "all is given back";
}

TEST_P(CudaNetworkLinks, KeepSameStateAsManualCopiesInEmulation) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  const auto before = gpu.driver().objects();
  for (const MemoryPolicy policy : policies) {
    OnCuda cuda(gpu.device(), Precision::fp16, {EmulatedGpu::launching(), true, policy});
    expect_same_state(cuda);
  }
  EXPECT_EQ(gpu.driver().objects(), before) << "all is given back";
}

class NetworkLinksOnGpu : public TypedTensorPicture {};
INSTANTIATE_TEST_SUITE_P(All, NetworkLinksOnGpu, every_way, name_of);

TEST_P(NetworkLinksOnGpu, GiveSameBitsAsCopies) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
  ASSERT_TRUE(device) << device.error().what;
  for (const Precision precision : precisions)
    for (const MemoryPolicy policy : policies) {
      OnCuda cuda(**device, precision, {{}, true, policy});
      expect_same_bits(cuda);
    }
}

TEST_P(NetworkLinksOnGpu, KeepSameStateAsManualCopies) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
  ASSERT_TRUE(device) << device.error().what;
  for (const Precision precision : precisions)
    for (const MemoryPolicy policy : policies) {
      OnCuda cuda(**device, precision, {{}, true, policy});
      expect_same_state(cuda);
    }
}

} // namespace
} // namespace rtexec::tasks
