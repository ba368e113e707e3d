// Tests properties of every network on a GPU, whichever way it is computed: random networks with random methods,
// kernels that start while the previous one runs, choices applied to another network, and failures at every call of the
// driver.
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/cuda_random_networks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

namespace rtexec::tasks {
namespace {

using hal::cuda::Code;
using testing::HasSubstr;

constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16};

double bound(Precision precision) { return precision == Precision::fp32 ? 2e-5 : 2e-2; }

class CudaNetworkExecution : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
    gpu_ = std::make_unique<EmulatedGpu>();
  }
  void TearDown() override { test::emulation::set_others({}); }
  [[nodiscard]] hal::CudaDevice& device() { return gpu_->device(); }
  [[nodiscard]] hal::test::FakeCudaDriver& driver() { return gpu_->driver(); }

  std::unique_ptr<CudaNetwork> build(const Graph& graph, Precision precision = Precision::fp32) {
    auto network = CudaNetwork::build(graph, precision, {EmulatedGpu::launching(), true});
    EXPECT_TRUE(network.has_value()) << (network ? "" : network.error().what);
    return network ? std::move(*network) : nullptr;
  }

  std::unique_ptr<EmulatedGpu> gpu_;
};

/// A network in memory that the test can inspect. Its kernels use the test's scratch.
class SeenNetwork {
 public:
  SeenNetwork(hal::CudaDevice& device, std::unique_ptr<CudaNetwork> network)
      : network_(std::move(network)), scratch_(network_->scratch().count + 256, std::byte{0xff}) {
    constants_ = allocate_aligned(network_->constants().size() + 1);
    std::ranges::copy(network_->constants(), constants_.get());
    auto* begin = scratch_.data() + (256 - reinterpret_cast<std::uintptr_t>(scratch_.data()) % 256) % 256;
    others_ = {begin, network_->scratch().count};
    const auto bound = network_->bind(device, {constants_.get(), begin, nullptr});
    EXPECT_TRUE(bound.has_value()) << (bound ? "" : bound.error().what);
  }
  ~SeenNetwork() { test::emulation::set_others({}); }
  SeenNetwork(const SeenNetwork&) = delete;
  SeenNetwork& operator=(const SeenNetwork&) = delete;

  std::vector<float> run_too_early() {
    fill_inputs(*network_, {});
    test::emulation::set_others(others_);
    EXPECT_TRUE(network_->run().has_value());
    test::emulation::set_others({});
    return outputs_of(*network_);
  }

 private:
  std::unique_ptr<CudaNetwork> network_;
  AlignedBytes constants_;
  std::vector<std::byte> scratch_;
  std::span<std::byte> others_;
};

// ---- random networks

TEST_F(CudaNetworkExecution, RandomNetworksWithRandomKernelsGiveHostResult) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomNetwork random(seed);
    if (seed % 3 != 0) optimise(random.graph());
    const auto expected = run(random.graph());
    for (const auto precision : precisions) {
      auto network = build(random.graph(), precision);
      const auto lines = random_choices(network->program(), seed);
      const auto used = network->use(lines);
      ASSERT_TRUE(used.has_value()) << "seed " << seed << ": " << used.error().what;
      BoundNetwork placed(device(), std::move(network));
      ASSERT_EQ(placed.error(), "") << "seed " << seed;
      const auto first = placed.run();
      EXPECT_LT(relative_error(first, expected), bound(precision))
          << "seed " << seed << ", precision " << static_cast<int>(precision) << "\n"
          << testing::PrintToString(lines);
      EXPECT_EQ(placed.run(), first) << "seed " << seed;
    }
  }
}

/// Kernels may start before the previous one has ended. Until they wait for it, they must not depend on its results.
TEST_F(CudaNetworkExecution, KernelsOfRandomNetworksWaitForPreviousKernel) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    RandomNetwork random(seed + 1000);
    if (seed % 2 != 0) optimise(random.graph());
    const auto expected = run(random.graph());
    for (const auto precision : precisions) {
      auto network = build(random.graph(), precision);
      ASSERT_TRUE(network->use(random_choices(network->program(), seed)).has_value());
      EXPECT_LT(relative_error(SeenNetwork(device(), std::move(network)).run_too_early(), expected), bound(precision))
          << "seed " << seed;
    }
  }
}

TEST_F(CudaNetworkExecution, KernelsOfEveryOperationWaitForPreviousKernel) {
  for (const auto& each : gpu_cases()) {
    TestGraph g;
    each.build(g);
    const auto expected = run(g.graph);
    for (const auto precision : {Precision::fp32, Precision::fp16})
      EXPECT_LT(relative_error(SeenNetwork(device(), build(g.graph, precision)).run_too_early(), expected),
                bound(precision))
          << each.name;
  }
}

// ---- several networks

TEST_F(CudaNetworkExecution, NetworksOfSameGraphAreIndependent) {
  RandomNetwork random(7);
  const auto expected = run(random.graph());
  BoundNetwork one(device(), build(random.graph())), other(device(), build(random.graph(), Precision::fp16));
  ASSERT_EQ(one.error() + other.error(), "");
  const auto first = one.run();
  EXPECT_LT(relative_error(other.run(), expected), bound(Precision::fp16));
  EXPECT_EQ(one.run(), first);
  EXPECT_LT(relative_error(first, expected), bound(Precision::fp32));
}

TEST_F(CudaNetworkExecution, RebindingMovesNetworkToNewMemory) {
  RandomNetwork random(8);
  const auto expected = run(random.graph());
  auto network = build(random.graph());
  const auto before = driver().objects();
  std::vector<Buffer> buffers;
  const auto place = [&] {
    for (const auto size : {network->constants().size(), static_cast<std::size_t>(network->scratch().count)})
      buffers.push_back(*device().allocate(BufferKind::device, Bytes{size + 256}));
    const auto &constants = buffers[buffers.size() - 2], &scratch = buffers.back();
    ASSERT_TRUE(
        device().copy(constants.device, network->constants().data(), Bytes{network->constants().size()}).has_value());
    ASSERT_TRUE(network->bind(device(), {constants.device, scratch.device, nullptr}).has_value());
  };
  place();
  const auto once = driver().objects();
  place();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<std::byte> garbage(static_cast<std::size_t>(buffers[i].size.count), std::byte{0xff});
    ASSERT_TRUE(device().copy(buffers[i].device, garbage.data(), buffers[i].size).has_value());
  }
  fill_inputs(*network, {});
  ASSERT_TRUE(network->run().has_value());
  EXPECT_LT(relative_error(outputs_of(*network), expected), bound(Precision::fp32));
  auto twice = driver().objects();
  twice.buffers -= 2;
  EXPECT_EQ(twice, once) << "nothing of the first binding is left";
  network.reset();
  for (const auto& buffer : buffers) EXPECT_TRUE(device().free(buffer).has_value());
  EXPECT_EQ(driver().objects(), before);
}

TEST_F(CudaNetworkExecution, BindFailsOnLostDevice) {
  RandomNetwork random(9);
  auto network = build(random.graph());
  auto bound = std::make_unique<BoundNetwork>(device(), std::move(network));
  driver().break_device(Code::illegal_address);
  EXPECT_FALSE(bound->network().run().has_value());
  const auto again = bound->network().bind(device(), {});
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Errc::device_lost);
  bound.reset();
  gpu_.reset();
}

// ---- choices

/// Returns two convolutions that differ only in which operand begins at an odd address.
Graph oddly_placed() {
  TestGraph g;
  const auto whole = conv(g, g.input({1, 4, 4, 4}), 16, 1);
  const auto even = slice(g, whole, 4, 8), odd = slice(g, whole, 2, 8);
  g.output(g.add(conv(g, even, 8, 3), odd));
  g.output(g.add(conv(g, odd, 8, 3), even));
  optimise(g.graph);
  return g.graph;
}

TEST_F(CudaNetworkExecution, GeometryDistinguishesMisalignedOperands) {
  const auto graph = oddly_placed();
  auto network = build(graph);
  std::set<std::string> geometries;
  for (const auto& call : network->program().calls)
    if (const auto* conv = std::get_if<cuda::ConvCall>(&call.what)) geometries.insert(cuda::geometry_of(*conv));
  EXPECT_EQ(geometries.size(), 3U) << "what computes the one may not compute the other";
  const auto lines = network->tune(device(), {});
  ASSERT_TRUE(lines.has_value()) << lines.error().what;
  const auto used = build(graph)->use(*lines);
  EXPECT_TRUE(used.has_value()) << used.error().what;
  BoundNetwork tuned(device(), std::move(network));
  ASSERT_EQ(tuned.error(), "");
  EXPECT_LT(relative_error(tuned.run(), run(graph)), 1e-5);
}

TEST_F(CudaNetworkExecution, RejectsTuningForNewerDevice) {
  TestGraph g;
  g.output(conv(g, g.input({1, 16, 8, 8}), 64, 3));
  gpu_.reset();
  gpu_ = std::make_unique<EmulatedGpu>(hal::test::FakeCudaProperties{.architecture = 75, .memory = {512 << 20}});
  for (const auto* method : {"own conv_tf32_64x64_2x2 splits 1", "own conv_simt_f_64x64 splits 2 clustered"}) {
    auto network = build(g.graph, Precision::tf32);
    const auto& call = std::get<cuda::ConvCall>(std::ranges::find_if(network->program().calls, [](const auto& each) {
                                                  return std::holds_alternative<cuda::ConvCall>(each.what);
                                                })->what);
    ASSERT_TRUE(network->use({{cuda::geometry_of(call) + " = " + method}}).has_value());
    BoundNetwork bound(device(), std::move(network));
    EXPECT_THAT(bound.error(), testing::AllOf(HasSubstr("sm_75"), HasSubstr("profile")));
  }
}

TEST_F(CudaNetworkExecution, RecurrentNetworkGivesHostResultWithAndWithoutClusters) {
  TestGraph g;
  g.output(fused_lstm(g, g.input({200, 2, 5}), {6, 9, 3}));
  const auto expected = run(g.graph);
  for (const int architecture : {75, 90}) {
    gpu_.reset();
    gpu_ = std::make_unique<EmulatedGpu>(hal::test::FakeCudaProperties{.architecture = architecture});
    for (const auto precision : {Precision::fp32, Precision::fp16}) {
      const auto got = run_on(device(), g.graph, precision, EmulatedGpu::launching());
      ASSERT_EQ(got.error, "");
      EXPECT_LT(relative_error(got.outputs, expected), precision == Precision::fp32 ? 1e-5 : 1e-2) << architecture;
    }
  }
}

TEST_F(CudaNetworkExecution, RejectsTruncatedOrExtendedTuningLines) {
  const auto graph = oddly_placed();
  auto network = build(graph, Precision::fp32);
  for (const auto& line : random_choices(network->program(), 3)) {
    const auto method = line.substr(line.rfind(" = ") + 3);
    EXPECT_FALSE(network->use({{line + " and more"}}).has_value()) << line;
    for (std::size_t length = 0; length < line.size(); ++length) {
      const auto part = line.substr(0, length);
      const auto used = network->use({{part}});
      const bool names_a_method =
          length > line.rfind(" = ") + 2 && cuda::parse_conv_method(part.substr(line.rfind(" = ") + 3)).has_value();
      EXPECT_EQ(used.has_value(), names_a_method) << part;
    }
  }
}

/// A pure computation: networks of this size are not run here.
TEST(CudaGrids, StayWithinBlockLimitOfDevice) {
  cuda::ConvArguments conv;
  conv.height = conv.out_height = 64;
  conv.channels = conv.x_stride = 4;
  const auto expect_all_fit = [&] {
    const auto fits = [](unsigned y, unsigned z) { return y <= cuda::max_blocks && z <= cuda::max_blocks; };
    const auto simple = cuda::launch_of(conv, cuda::Storage::f32);
    EXPECT_TRUE(fits(simple.grid_y, simple.grid_z)) << simple.name;
    auto choices = cuda::conv_candidates(Precision::fp32, 90, 132, conv);
    if (const auto standard = cuda::default_conv(Precision::fp32, conv); standard.variant) choices.push_back(standard);
    for (const auto& choice : choices) {
      const auto launch = cuda::plan_conv(choice, conv).kernel;
      EXPECT_TRUE(fits(launch.grid_y, launch.grid_z)) << cuda::to_string(choice);
    }
    for (const auto& variant : cuda::conv_variants()) {
      // A split that a profile may choose.
      const int splits = cuda::applies(variant, conv) ? cuda::max_splits(variant, conv) : 0;
      EXPECT_LE(conv.groups * splits, cuda::max_blocks) << variant.kernel;
    }
    return choices.size();
  };
  conv.out_channels = conv.y_stride = 5'000'000;
  expect_all_fit();
  conv.out_channels = 2;
  conv.groups = 70'000;
  conv.x_stride = conv.channels * conv.groups;
  EXPECT_EQ(expect_all_fit(), 0U);
  conv.groups = 20'000;
  conv.out_channels = 8;
  conv.kernel_h = conv.kernel_w = 16;
  conv.x_stride = conv.channels * conv.groups;
  EXPECT_GT(expect_all_fit(), 0U);
  conv.kernel_h = conv.kernel_w = 1;
  conv.channels = conv.out_channels = 1;
  conv.groups = conv.x_stride = 20'000'000;
  expect_all_fit();
}

// ---- robustness of tuning

class TuningSafety : public CudaNetworkExecution {
 protected:
  using Also = std::function<void(const cuda::ConvArguments&)>;

  /// Makes a kernel run as usual and then call `then`.
  void also(const std::string& name, const Also& then) {
    const auto kernel = test::emulation::find_kernel(name);
    driver().add_kernel(name, {sizeof(cuda::ConvArguments)}, [kernel, then](auto grid, auto block, void** arguments) {
      const auto& conv = *static_cast<const cuda::ConvArguments*>(arguments[0]);
      kernel({"", grid.x, grid.y, grid.z, block.x, 227 << 10, conv.in_cluster ? static_cast<unsigned>(conv.splits) : 1},
             arguments);
      then(conv);
    });
  }

  /// Tunes a convolution whose result is a slice, while all other tiles do `harm`. Returns true if tuning keeps the
  /// slow default.
  bool keeps_the_default(const Also& harm) {
    TestGraph g;
    const auto x = g.input({1, 8, 6, 6});
    g.output(g.concat({conv(g, x, 16, 3), conv(g, x, 16, 1)}));
    auto network = build(g.graph);
    const auto& call = std::get<cuda::ConvCall>(std::ranges::find_if(network->program().calls, [](const auto& each) {
                                                  return std::holds_alternative<cuda::ConvCall>(each.what);
                                                })->what);
    const auto standard = cuda::default_conv_method(Precision::fp32, call);
    const Also slow = [](const cuda::ConvArguments&) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
    for (const auto& variant : cuda::conv_variants())
      also(variant.kernel, &variant == standard.own.variant ? slow : harm);
    also("conv_direct_f", slow);
    const auto lines = network->tune(device(), {});
    EXPECT_TRUE(lines.has_value()) << lines.error().what;
    const auto line =
        std::ranges::find_if(*lines, [&](const auto& each) { return each.starts_with(cuda::geometry_of(call)); });
    return line->contains(standard.own.variant->kernel) || line->ends_with(" = simple");
  }
};

TEST_F(TuningSafety, AcceptsCorrectKernel) {
  EXPECT_FALSE(keeps_the_default([](const cuda::ConvArguments&) {}));
}

TEST_F(TuningSafety, RejectsKernelWithWrongSum) {
  EXPECT_TRUE(keeps_the_default(
      [](const cuda::ConvArguments& conv) { static_cast<float*>(conv.y)[35 * conv.y_stride + 15] += 1; }));
}

TEST_F(TuningSafety, RejectsKernelThatWritesIntoAdjacentSlice) {
  EXPECT_TRUE(keeps_the_default(
      [](const cuda::ConvArguments& conv) { static_cast<float*>(conv.y)[12 * conv.y_stride + 16] = 0; }));
}

// ---- failures

/// A device whose kernels do nothing. It needs no emulation, so the sanitizers can be used.
class TuningFailures : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void start() {
    device_.reset();
    driver_.reset();
    driver_ = std::make_unique<hal::test::FakeCudaDriver>(hal::test::FakeCudaProperties{.memory = {64 << 20}});
    driver_->accept_unknown_kernels(true);
    device_ = *hal::CudaDevice::open({});
  }
  static std::unique_ptr<CudaNetwork> build() {
    TestGraph g;
    g.output(conv(g, g.input({1, 8, 6, 6}), 16, 3));
    return *CudaNetwork::build(g.graph, Precision::fp32, {EmulatedGpu::launching(), true});
  }

  std::unique_ptr<hal::test::FakeCudaDriver> driver_;
  std::unique_ptr<hal::CudaDevice> device_;
};

TEST_F(TuningFailures, LeaveNoDriverObjectsAndKeepNetworkUnchanged) {
  int failures = 0, nth = 1;
  for (;; nth += nth < 100 ? 1 : 37) {
    auto network = build();
    const auto before = driver_->objects();
    const auto scratch = network->scratch();
    driver_->fail_any(Code::out_of_memory, nth);
    const auto lines = network->tune(*device_, {});
    if (!driver_->failed()) {
      EXPECT_TRUE(lines.has_value()) << lines.error().what;
      break;
    }
    const auto after = driver_->objects();
    EXPECT_FALSE(device_->fault().has_value());
    if (!lines) {
      ++failures;
      EXPECT_THAT(lines.error().what,
                  testing::AnyOf(HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr(name(Errc::out_of_memory))))
          << driver_->failed();
      EXPECT_EQ(network->scratch(), scratch) << driver_->failed();
    }
    const std::string failed = driver_->failed();
    const auto gives_back = [&](const char* what) { return failed.contains(what); };
    // One object remains.
    if (gives_back("free") || gives_back("destroy") || gives_back("unload") || gives_back("end_capture")) start();
    else if (gives_back("context_set_current") && after != before) {
      auto but_a_buffer = after; // the previous allocation is freed
      --but_a_buffer.buffers;
      EXPECT_EQ(but_a_buffer, before) << failed << ", call " << nth;
      start();
    } else EXPECT_EQ(after, before) << failed << ", call " << nth;
  }
  EXPECT_GT(failures, 10);
  EXPECT_GT(nth, 500);
}

TEST_F(TuningFailures, LostDeviceEndsTuningAtAnyDriverCall) {
  int failures = 0;
  for (int nth = 1;; nth += nth < 40 ? 1 : 97) {
    start();
    auto network = build();
    driver_->fail_any(Code::illegal_address, nth);
    const auto lines = network->tune(*device_, {});
    if (!driver_->failed()) break;
    const std::string failed = driver_->failed();
    const bool gives_back = failed == "free" || failed.contains("destroy");
    if (!device_->fault() || (gives_back && lines)) continue; // the tuning was already over
    ++failures;
    ASSERT_FALSE(lines.has_value()) << failed << ", call " << nth;
    EXPECT_TRUE(lines.error().code == Errc::device_fault || lines.error().code == Errc::device_lost)
        << lines.error().what;
  }
  EXPECT_GT(failures, 20);
}

} // namespace
} // namespace rtexec::tasks
