// Tests networks on an emulated GPU: every operation gives the host device's results, at every precision and with every
// kernel.
#include "tasks/engine/cuda/cuda_network.hpp"

#include "hal/host/host_device.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/cuda_cases.hpp"
#include "test/tasks/cuda_gpu.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace rtexec::tasks {
namespace {

using hal::cuda::Code;
using testing::HasSubstr;

class EmulatedGpuNetwork : public EmulatedGpuTest {
 protected:
  std::unique_ptr<CudaNetwork> build(const Graph& graph, Precision precision = Precision::fp32) {
    auto network = CudaNetwork::build(graph, precision, {EmulatedGpu::launching(), true});
    EXPECT_TRUE(network.has_value()) << (network ? "" : network.error().what);
    return network ? std::move(*network) : nullptr;
  }
};

double bound(Precision precision) {
  switch (precision) {
  case Precision::fp32: return 1e-5;
  case Precision::tf32: return 2e-3; // weights are rounded, whichever unit multiplies them
  case Precision::fp16: return 1e-2;
  }
  return 0;
}

class CudaOperation : public EmulatedGpuNetwork, public testing::WithParamInterface<GpuCase> {
 protected:
  void expect_agreement(const Graph& graph) {
    const auto expected = run(graph);
    for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
      const auto got = run_on(device(), graph, precision, EmulatedGpu::launching());
      ASSERT_EQ(got.error, "");
      EXPECT_LT(relative_error(got.outputs, expected), bound(precision)) << "precision " << static_cast<int>(precision);
    }
  }
};

TEST_P(CudaOperation, GivesHostResult) {
  TestGraph g;
  GetParam().build(g);
  expect_agreement(g.graph);
}

TEST_P(CudaOperation, GivesHostResultAfterOptimisation) {
  TestGraph g;
  GetParam().build(g);
  optimise(g.graph);
  expect_agreement(g.graph);
}

TEST_P(CudaOperation, ReleasesAllDriverObjects) {
  TestGraph g;
  GetParam().build(g);
  const auto before = driver().objects();
  (void)run_on(device(), g.graph, Precision::fp16, EmulatedGpu::launching());
  EXPECT_EQ(driver().objects(), before);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOperation, testing::ValuesIn(gpu_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- resources of a run

/// Returns two convolutions of the same geometry, one of another, and a product.
Graph small_network() {
  TestGraph g;
  auto x = g.relu(conv(g, g.input({1, 4, 6, 6}), 16, 3));
  x = g.relu(conv(g, g.relu(conv(g, x, 16, 3)), 16, 3));
  x = g.node(Reduce{Reduce::Kind::mean, 16, 36, 1}, {x}, {1, 16, 1, 1});
  g.output(g.node(Gemm{false, true, 1, 1}, {reshape(g, x, {1, 16}), g.random({10, 16}), g.random({10})}, {1, 10}));
  optimise(g.graph);
  return g.graph;
}

TEST_F(EmulatedGpuNetwork, RepeatsItsResultInSecondRun) {
  BoundNetwork bound(device(), build(small_network(), Precision::fp16));
  ASSERT_EQ(bound.error(), "");
  const auto first = bound.run();
  EXPECT_EQ(bound.run(), first);
}

/// Another task uses a copy engine for as long as it swaps.
TEST_F(EmulatedGpuNetwork, RunsWithoutCopyEngine) {
  TestGraph g;
  g.output(g.relu(g.input({1, 3, 8, 8})));
  auto network = build(g.graph);
  ASSERT_TRUE(network->constants().empty());
  const int copies = driver().calls<&hal::cuda::Driver::copy_async>();
  BoundNetwork bound(device(), std::move(network));
  ASSERT_EQ(bound.error(), "");
  ASSERT_TRUE(bound.network().run().has_value());
  EXPECT_EQ(driver().calls<&hal::cuda::Driver::copy_async>(), copies);
}

TEST_F(EmulatedGpuNetwork, GivesHostResultForRandomGraphs) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 engine(seed);
    TestGraph g;
    std::vector<TensorId> ids{conv(g, g.input({1, 3, 4, 4}), 8, 1)};
    const auto channels = [&](TensorId id) { return g.graph.tensors[id].shape[1]; };
    const auto pick = [&] { return ids[engine() % ids.size()]; };
    for (int i = 0; i < 14; ++i) {
      const auto a = pick(), b = pick();
      switch (engine() % 7) {
      case 0: ids.push_back(g.relu(a)); break;
      case 1: ids.push_back(conv(g, a, 4 + static_cast<std::int64_t>(engine() % 3) * 2, engine() % 2 ? 1 : 3)); break;
      case 2:
        ids.push_back(channels(a) == channels(b) ? g.add(a, b) : activated(g, a, {Activation::Kind::tanh, 0, 0}));
        break;
      case 3:
        ids.push_back(channels(a) + channels(b) <= 48 ? g.concat({a, b})
                                                      : activated(g, b, {Activation::Kind::clip, -1, 1}));
        break;
      case 4: ids.push_back(slice(g, a, channels(a) / 2, channels(a) - channels(a) / 2)); break;
      case 5: ids.push_back(channels(a) % 2 == 0 ? shuffle(g, a, 2) : g.relu(a)); break;
      default: ids.push_back(activated(g, a, {Activation::Kind::sigmoid, 0, 0})); break;
      }
    }
    g.output(ids.back());
    g.output(pick());
    if (seed % 2) optimise(g.graph);
    const auto got = run_on(device(), g.graph, Precision::fp32, EmulatedGpu::launching());
    ASSERT_EQ(got.error, "") << "seed " << seed;
    EXPECT_LT(relative_error(got.outputs, run(g.graph)), 1e-5) << "seed " << seed;
  }
}

TEST_F(EmulatedGpuNetwork, ObserverSeesEachLayerWithItsTime) {
  const auto graph = small_network();
  auto network = build(graph);
  struct Seen {
    std::vector<int> layers;
    std::vector<Instant> at;
    void note(int layer, Instant when) {
      layers.push_back(layer);
      at.push_back(when);
    }
  } seen;
  network->observe({[](void* self, std::uint32_t layer, Instant at) noexcept {
                      static_cast<Seen*>(self)->note(static_cast<int>(layer) + 1, at);
                    },
                    [](void* self, std::uint32_t layer, Instant at) noexcept {
                      static_cast<Seen*>(self)->note(-static_cast<int>(layer) - 1, at);
                    },
                    &seen});
  BoundNetwork bound(device(), std::move(network));
  ASSERT_EQ(bound.error(), "");
  EXPECT_LT(relative_error(bound.run(), run(graph)), 1e-5);
  std::vector<int> expected;
  for (int layer = 1; layer <= static_cast<int>(bound.network().layers().size()); ++layer)
    expected.insert(expected.end(), {layer, -layer});
  EXPECT_EQ(seen.layers, expected);
  EXPECT_TRUE(std::ranges::is_sorted(seen.at));
  EXPECT_LE(seen.at.back(), hal::now());
}

TEST_F(EmulatedGpuNetwork, BindReportsEachFailingDriverCall) {
  const auto graph = small_network();
  int failures = 0;
  for (int nth = 1; nth < 500; ++nth) {
    gpu_.reset();
    gpu_ = std::make_unique<EmulatedGpu>();
    auto network = build(graph);
    network->observe({[](void*, std::uint32_t, Instant) noexcept {}, nullptr, nullptr});
    network->link_input(0);
    const auto before = driver().objects();
    std::vector<std::byte> constants(network->constants().size() + 256), scratch(network->scratch().count + 256);
    driver().fail_any(Code::out_of_memory, nth);
    const auto bound = network->bind(device(), {constants.data(), scratch.data(), nullptr});
    if (!driver().failed()) {
      EXPECT_TRUE(bound.has_value()) << bound.error().what;
      break;
    }
    if (bound) continue; // a call that releases something failed
    ++failures;
    EXPECT_THAT(bound.error().what, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")) << driver().failed();
    EXPECT_EQ(driver().objects(), before) << driver().failed() << ": " << bound.error().what;
  }
  EXPECT_GT(failures, 30);
}

TEST_F(EmulatedGpuNetwork, RunReportsDeviceFaultAndThenLostDevice) {
  BoundNetwork bound(device(), build(small_network()));
  ASSERT_EQ(bound.error(), "");
  driver().break_device(Code::illegal_address);
  const auto first = bound.network().run();
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error(), Errc::device_fault);
  const auto second = bound.network().run();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), Errc::device_lost);
}

TEST_F(EmulatedGpuNetwork, BindRejectsOtherDevices) {
  auto network = build(small_network());
  const auto host = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  ASSERT_TRUE(host.has_value());
  const auto bound = network->bind(**host, {});
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().code, Errc::unsupported);
  EXPECT_THAT(bound.error().what, HasSubstr("'host'"));
}

TEST_F(EmulatedGpuNetwork, ReportsBuildWithoutMatchingKernels) {
  auto options = EmulatedGpu::launching();
  options.images = {};
  EXPECT_THAT(run_on(device(), small_network(), Precision::fp32, options).error,
              HasSubstr("built without a compiler for GPU kernels"));
  static constexpr cuda::KernelImage newer{"newer", 100, true, "", 1};
  options.images = {&newer, 1};
  EXPECT_THAT(run_on(device(), small_network(), Precision::fp32, options).error, HasSubstr("sm_90"));
}

// ---- tuning

class Tuning : public EmulatedGpuNetwork, public testing::WithParamInterface<Precision> {};

TEST_P(Tuning, ChoosesOnceForEachGeometryAndRepeatsResults) {
  const auto graph = small_network();
  auto network = build(graph, GetParam());
  const auto before = driver().objects();
  std::vector<std::pair<std::size_t, std::size_t>> steps;
  const auto lines = network->tune(
      device(), [&](std::size_t done, std::size_t wanted) { return steps.emplace_back(done, wanted), true; });
  ASSERT_TRUE(lines.has_value()) << lines.error().what;
  EXPECT_EQ(driver().objects(), before) << "nothing is left on the device";
  EXPECT_EQ(std::ranges::count_if(*lines, [](const auto& line) { return line.starts_with("conv "); }), 3)
      << "two convolutions of one geometry, another, and the product";
  EXPECT_EQ(std::ranges::count_if(*lines, [](const auto& line) { return line.starts_with("# not measured: cu"); }), 2)
      << "the libraries";
  EXPECT_EQ(steps.front(), (std::pair<std::size_t, std::size_t>(0, 3)));
  EXPECT_EQ(steps.back(), (std::pair<std::size_t, std::size_t>(3, 3)));
  const auto scratch = network->scratch();

  auto again = build(graph, GetParam());
  ASSERT_TRUE(again->use(*lines).has_value());
  EXPECT_EQ(again->scratch(), scratch);
  BoundNetwork tuned(device(), std::move(network)), used(device(), std::move(again));
  ASSERT_EQ(tuned.error() + used.error(), "");
  const auto outputs = tuned.run();
  EXPECT_EQ(used.run(), outputs) << "the same choices give the same bits";
  EXPECT_LT(relative_error(outputs, run(graph)), GetParam() == Precision::fp32 ? 1e-5 : 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Cuda, Tuning, testing::Values(Precision::fp32, Precision::tf32, Precision::fp16));

TEST_F(EmulatedGpuNetwork, EveryConvolutionKernelGivesHostResult) {
  const auto graph = small_network();
  const auto expected = run(graph);
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
    const auto shape = build(graph, precision);
    const cuda::ConvCall* conv = nullptr;
    for (const auto& call : shape->program().calls)
      if (const auto* found = std::get_if<cuda::ConvCall>(&call.what);
          found && found->arguments.kernel_h == 3 && found->arguments.channels == 16)
        conv = found;
    ASSERT_TRUE(conv);
    int tried = 0;
    for (const auto& variant : cuda::conv_variants())
      for (const auto& choice : {cuda::ConvChoice{&variant, 1, false}, cuda::ConvChoice{&variant, 2, false},
                                 cuda::ConvChoice{&variant, 2, true}}) {
        cuda::ConvMethod method;
        method.kind = cuda::ConvMethod::Kind::own;
        method.own = choice;
        if (!cuda::computes(method, precision, *conv)) continue;
        ++tried;
        auto network = build(graph, precision);
        const std::string line = cuda::geometry_of(*conv) + " = " + cuda::to_text(method);
        const auto used = network->use({{line}});
        ASSERT_TRUE(used.has_value()) << used.error().what;
        BoundNetwork bound(device(), std::move(network));
        ASSERT_EQ(bound.error(), "") << line;
        EXPECT_LT(relative_error(bound.run(), expected), precision == Precision::fp32 ? 1e-5 : 1e-2) << line;
      }
    EXPECT_GT(tried, 10);
  }
}

TEST_F(EmulatedGpuNetwork, TuningCanBeCancelled) {
  const auto lines = build(small_network())->tune(device(), [](std::size_t done, std::size_t) { return done < 1; });
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().code, Errc::cancelled);
}

TEST_F(EmulatedGpuNetwork, RejectsForeignTuningAndKeepsDefaults) {
  const auto graph = small_network();
  const auto network = build(graph);
  const auto scratch = network->scratch();
  const auto geometry =
      cuda::geometry_of(std::get<cuda::ConvCall>(std::ranges::find_if(network->program().calls, [](const auto& call) {
                                                   return std::holds_alternative<cuda::ConvCall>(call.what);
                                                 })->what));
  for (const auto& line :
       {std::string("nonsense"), geometry + " = nonsense", std::string("conv of another network = simple"),
        geometry + " = own conv_half_64x64 splits 1", geometry + " = cublas workspace 1000000"}) {
    const auto used = network->use({{line}});
    ASSERT_FALSE(used.has_value()) << line;
    EXPECT_EQ(used.error().code, Errc::bad_input) << line;
    EXPECT_EQ(network->scratch(), scratch);
  }
  EXPECT_TRUE(network->use({}).has_value());
}

TEST_F(EmulatedGpuNetwork, ReportsMissingLibraryThatProfileChose) {
  const auto graph = small_network();
  auto network = build(graph);
  const auto& call = std::get<cuda::ConvCall>(std::ranges::find_if(network->program().calls, [](const auto& each) {
                                                return std::holds_alternative<cuda::ConvCall>(each.what);
                                              })->what);
  const auto scratch = network->scratch();
  ASSERT_TRUE(network->use({{cuda::geometry_of(call) + " = cudnn 1 workspace 1048576"}}).has_value());
  EXPECT_GE(network->scratch(), Bytes{1048576}) << "the workspace is scratch";
  EXPECT_GT(network->scratch(), scratch);
  BoundNetwork bound(device(), std::move(network));
  EXPECT_THAT(bound.error(), HasSubstr("cuDNN"));
  EXPECT_THAT(bound.error(), HasSubstr("profile"));
}

} // namespace
} // namespace rtexec::tasks
