// Tests which layers of quantized networks the GPU computes in bytes, and which operations remain between them. No GPU
// is needed.
#include "tasks/engine/cuda/gpu_lowering.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/onnx_oracle/agreement.hpp"
#include "test/tasks/onnx_oracle/cases.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace rtexec::test {
namespace {

using tasks::cuda::ConvCall;
using tasks::cuda::KernelCall;
using tasks::cuda::Storage;

/// Returns the kernels of a network in order, without those of inputs and outputs. Convolutions are "bytes to bytes" or
/// "bytes to int32".
Names kernels_of(const Model& model, Precision precision = Precision::fp16) {
  auto graph = parsed(model);
  EXPECT_TRUE(graph.has_value());
  if (!graph) return {};
  tasks::optimise(*graph);
  const auto program = tasks::cuda::lower(*graph, precision);
  EXPECT_TRUE(program.has_value());
  if (!program) return {};
  Names names;
  for (const auto& call : program->calls) {
    if (call.layer == tasks::cuda::Call::no_layer) continue;
    if (const auto* kernel = std::get_if<KernelCall>(&call.what)) names.emplace_back(kernel->launch.name);
    else if (const auto& a = std::get<ConvCall>(call.what).arguments; a.is_int8 == 0) names.emplace_back("floats");
    else if (a.y_storage == Storage::s32) names.emplace_back("bytes to int32");
    else names.emplace_back(size_of(a.y_storage) == 1 ? "bytes to bytes" : "bytes to floats");
  }
  return names;
}

struct QuantisedModel {
  Model m;
  std::string scale = m.floats({}, {0.0625F}), zero = m.constant(integers_of({}, {121}, Kind::uint8));

  std::string quantised(const std::string& x) { return m.node("QuantizeLinear", {x, scale, zero}); }
  std::string dequantised(const std::string& x) { return m.node("DequantizeLinear", {x, scale, zero}); }
  std::string through(const std::string& x) { return dequantised(quantised(x)); }
  std::string conv(const std::string& x, Index out, Index in) {
    const auto numbers = m.integer_constant({out, in, 3, 3}, {-127, 127}, Kind::int8);
    const auto weights = m.node("DequantizeLinear", {numbers, m.floats({}, {0.01F})});
    return m.node("Conv", {x, weights}, {{"pads", Ints{1, 1, 1, 1}}});
  }
  std::string image() { return m.input({1, 5, 8, 8}); }
};

class Int8Plan : public testing::Test, protected QuantisedModel {};

TEST_F(Int8Plan, PassesInt8DataBetweenConvolutions) {
  const auto x = through(m.node("Relu", {conv(through(image()), 8, 5)}));
  m.output(conv(x, 6, 8));
  EXPECT_EQ(kernels_of(m), (Names{"rescale_fb", "bytes to bytes", "bytes to floats"}));
  EXPECT_EQ(kernels_of(m, Precision::fp32), (Names{"rescale_fb", "bytes to bytes", "bytes to floats"}));
}

TEST_F(Int8Plan, FusesOperationsBetweenInt8TensorsIntoOneKernel) {
  const auto x = through(conv(through(image()), 8, 5)), y = through(conv(x, 8, 8));
  m.output(conv(through(m.node("Relu", {m.node("Add", {x, y})})), 6, 8));
  EXPECT_EQ(kernels_of(m), (Names{"rescale_fb", "bytes to bytes", "bytes to bytes", "rescale_bb", "bytes to floats"}));
}

TEST_F(Int8Plan, ReadsResidualsAsInt8) {
  const auto x = through(conv(through(image()), 8, 5));
  m.output(m.node("Add", {conv(x, 8, 8), x}));
  EXPECT_EQ(kernels_of(m), (Names{"rescale_fb", "bytes to bytes", "bytes to floats"}));
}

TEST_F(Int8Plan, DequantisesTensorsReadByFloatLayers) {
  const auto x = through(conv(through(image()), 8, 5));
  m.output(conv(x, 8, 8));
  m.output(m.node("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}}));
  EXPECT_EQ(kernels_of(m), (Names{"rescale_fb", "bytes to bytes", "rescale_bh", "bytes to floats", "pool_h"}));
}

TEST_F(Int8Plan, RoundsInputsToHalfPrecisionWhenFloatLayersReadThem) {
  const auto x = image();
  m.output(conv(through(x), 8, 5));
  m.output(m.node("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}}));
  EXPECT_EQ(kernels_of(m), (Names{"rescale_hb", "bytes to floats", "pool_h"}));
}

TEST_F(Int8Plan, UsesFloatsForNonIntegerWeights) {
  m.output(m.node("Conv", {through(image()), m.constant({4, 5, 3, 3})}));
  EXPECT_EQ(kernels_of(m).back(), "floats");
}

TEST_F(Int8Plan, UsesFloatsForWeightsScaledByBatchNormalisation) {
  const auto y = conv(through(image()), 8, 5);
  m.output(
      m.node("BatchNormalization", {y, m.constant({8}), m.constant({8}), m.constant({8}), m.constant({8}, {0.5, 2})}));
  const auto kernels = kernels_of(m);
  EXPECT_EQ(std::ranges::count(kernels, "floats"), 1);
}

TEST_F(Int8Plan, ComputesConvIntegerOnBytesWithoutRescaling) {
  const auto x = m.integer_input({1, 5, 8, 8}, {0, 255}, Kind::uint8);
  const auto weights = m.integer_constant({4, 5, 3, 3}, {-127, 127}, Kind::int8);
  m.output(m.node("ConvInteger", {x, weights, zero}));
  EXPECT_EQ(kernels_of(m), (Names{"copy_bb", "bytes to int32"})); // channels last
}

TEST_F(Int8Plan, AcceptsComputedZeroPoints) {
  const auto all = m.nodes("DynamicQuantizeLinear", {m.input({4, 32}, {-3, 5})}, 3);
  const auto weights = m.integer_constant({32, 16}, {-127, 127}, Kind::int8);
  m.output(m.node("MatMulInteger", {all[0], weights, all[2]}));
  EXPECT_EQ(kernels_of(m).back(), "bytes to int32");
}

TEST_F(Int8Plan, UsesIntegerConvolutionForWeightsOutsideInt8) {
  const auto x = m.integer_input({1, 5, 8, 8}, {0, 255}, Kind::uint8);
  const auto weights = m.integer_constant({4, 5, 3, 3}, {0, 255}, Kind::uint8);
  m.output(m.node("ConvInteger", {x, weights, zero}));
  EXPECT_EQ(kernels_of(m).back(), "conv_i");
}

class Int8Tuning : public tasks::EmulatedGpuTest, protected QuantisedModel {
 protected:
  std::unique_ptr<tasks::CudaNetwork> build(const tasks::Graph& graph) {
    auto network = tasks::CudaNetwork::build(graph, Precision::fp16, {tasks::EmulatedGpu::launching(), true});
    return network ? std::move(*network) : nullptr;
  }
};

TEST_F(Int8Tuning, EveryKernelGivesSameBits) {
  const auto x = through(m.node("Relu", {conv(through(image()), 8, 5)}));
  m.output(conv(x, 6, 8));
  auto graph = parsed(m);
  ASSERT_TRUE(graph.has_value());
  tasks::optimise(*graph);
  const auto outputs_by = [&](std::vector<std::string> lines) {
    auto network = build(*graph);
    EXPECT_TRUE(network->use(lines).has_value());
    tasks::BoundNetwork bound(device(), std::move(network));
    EXPECT_EQ(bound.error(), "");
    return bound.run();
  };
  const auto shape = build(*graph);
  const auto expected = outputs_by({});
  int tried = 0;
  for (const auto& call : shape->program().calls) {
    const auto* conv = std::get_if<ConvCall>(&call.what);
    if (!conv) continue;
    for (const auto& variant : tasks::cuda::conv_variants()) {
      const tasks::cuda::ConvMethod own{tasks::cuda::ConvMethod::Kind::own, {&variant, 1, false}};
      if (!tasks::cuda::computes(own, Precision::fp16, *conv)) continue;
      ++tried;
      const auto line = tasks::cuda::geometry_of(*conv) + " = " + tasks::cuda::to_text(own);
      EXPECT_EQ(outputs_by({line}), expected) << line;
    }
  }
  EXPECT_EQ(tried, 2 * 20) << "those of bytes, for both";
  const auto lines = build(*graph)->tune(device(), {});
  ASSERT_TRUE(lines.has_value()) << lines.error().what;
  EXPECT_EQ(std::ranges::count_if(*lines, [](const auto& line) { return line.contains(" int8 to "); }), 2);
}

} // namespace
} // namespace rtexec::test
