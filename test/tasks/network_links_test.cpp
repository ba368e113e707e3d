// Networks whose inputs and outputs are linked: the bits that pass on the device are those that pass through the host,
// for every type, on the host device, on an emulated GPU and on a real one.
#include "tasks/dnn/graph/passes.hpp"
#include "hal/host/host_device.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/result.hpp"
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

constexpr MemoryPolicy policies[] = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
constexpr ElementType every_type[] = {ElementType::float32, ElementType::float16, ElementType::uint8,
                                      ElementType::int32, ElementType::int64};

/// [1, 3, 9, 7] -> one output of float32, and one of `type`, both [1, 5, 9, 7].
Graph writing(ElementType type) {
  TestGraph g;
  const auto x = g.relu(g.conv(g.input({1, 3, 9, 7}), 5));
  g.output(g.conv(x, 5));
  g.output(x, type);
  optimise(g.graph);
  return g.graph;
}

/// That of `type` -> [1, 4, 9, 7].
Graph reading(ElementType type) {
  TestGraph g;
  g.output(g.conv(g.input({1, 5, 9, 7}, type), 4));
  optimise(g.graph);
  return g.graph;
}

/// A network that runs, with its device memory.
class Running {
 public:
  virtual ~Running() = default;
  virtual Network& network() = 0;
};

/// Networks of one kind of device.
class Maker {
 public:
  virtual ~Maker() = default;
  using Link = std::function<void(Network&)>; // before it is bound
  virtual std::unique_ptr<Running> make(const Graph& graph, const Link& link) = 0;
  virtual std::byte* memory(std::size_t size) = 0;
};

void fill(const Network& network, int seed) {
  std::vector<float> values(static_cast<std::size_t>(element_count(network.inputs()[0].shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(seed) * 13) % 64) * 1.7F - 20;
  fill_inputs(network, values);
}

Bits bits(const Network::Port& port) { return {port.bytes.begin(), port.bytes.end()}; }

/// Three values are written, and then read from the last to the first.
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
  std::ranges::fill(linked_reader->network().inputs()[0].bytes, std::byte{0x33}); // which nobody reads
  for (int value = values; value-- > 0;)
    for (int again = 0; again < 2; ++again) {
      linked_reader->network().take_input(0, slots[static_cast<std::size_t>(value)]);
      ASSERT_TRUE(linked_reader->network().run());
      EXPECT_EQ(bits(linked_reader->network().outputs()[0]), expected[static_cast<std::size_t>(value)]) << value;
    }
}

class EachType : public testing::TestWithParam<std::tuple<ElementType, bool>> {
 protected:
  void expect_same_bits(Maker& maker) {
    const auto [type, on_host] = GetParam();
    tasks::expect_same_bits(maker, type, on_host);
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
      scratch_ = allocate_aligned(network_->scratch().count);
      std::memset(scratch_.get(), 0xff, network_->scratch().count);
      EXPECT_EQ(test::problem(network_->bind(device, {network_->constants().data(), scratch_.get(), nullptr})), "none");
    }
    Network& network() override { return *network_; }

   private:
    std::unique_ptr<HostNetwork> network_;
    AlignedBytes scratch_;
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

class NetworkLinks : public EachType {};
INSTANTIATE_TEST_SUITE_P(All, NetworkLinks, every_way, name_of);

TEST_P(NetworkLinks, PassTheSameBits) {
  for (const MemoryPolicy policy : policies) {
    OnHost host(policy);
    expect_same_bits(host);
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

class CudaNetworkLinks : public EachType {};
INSTANTIATE_TEST_SUITE_P(All, CudaNetworkLinks, every_way, name_of);

TEST_P(CudaNetworkLinks, PassTheSameBitsEmulated) {
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

class NetworkLinksOnGpu : public EachType {};
INSTANTIATE_TEST_SUITE_P(All, NetworkLinksOnGpu, every_way, name_of);

TEST_P(NetworkLinksOnGpu, PassTheSameBits) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
  ASSERT_TRUE(device) << device.error().what;
  for (const Precision precision : precisions)
    for (const MemoryPolicy policy : policies) {
      OnCuda cuda(**device, precision, {{}, true, policy});
      expect_same_bits(cuda);
    }
}

} // namespace
} // namespace rtexec::tasks
