// Tests the operators of the oracle on a GPU: this machine's if there is one, else the emulation of its kernels.
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/host/kernels/elements.hpp"
#include "test/tasks/port_values.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/onnx_oracle/agreement.hpp"
#include "test/tasks/test_gpu.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace rtexec::test {
namespace {

void set_inputs(const tasks::Network& network, const Model& model) {
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const auto& port = network.inputs()[i];
    const Array& value = model.value(model.inputs()[i]);
    const std::vector<float> floats(value.values.begin(), value.values.end());
    tasks::set_elements(port, floats);
  }
}

/// Returns the error of the operator on the GPU relative to the oracle, or nullopt if a GPU refuses the operator.
std::optional<double> error_on_gpu(const Model& model, Precision precision) {
  auto graph = parsed(model);
  if (!graph) return std::nullopt; // the host's test checks if it may be refused
  tasks::optimise(*graph);
  auto built = tasks::CudaNetwork::build(*graph, precision, {tasks::test_gpu().launching(), true});
  if (!built) {
    EXPECT_EQ(built.error().code, Errc::unsupported);
    EXPECT_TRUE(built.error().what.contains("not supported on a GPU")) << built.error().what;
    return std::nullopt;
  }
  tasks::BoundNetwork bound(tasks::test_gpu().device(), std::move(*built));
  EXPECT_EQ(bound.error(), "");
  set_inputs(bound.network(), model);
  const auto got = bound.run_as_set();
  std::vector<float> right;
  for (const auto& output : model.outputs()) {
    const Array& value = model.value(output);
    right.insert(right.end(), value.values.begin(), value.values.end());
  }
  return tasks::relative_error(got, right);
}

TEST_P(OnnxOperator, MatchesOnnxSpecificationOnGpu) {
  if (const auto* why = tasks::test_gpu().unavailable()) GTEST_SKIP() << why;
  const Model model = GetParam().make();
  const auto error = error_on_gpu(model, Precision::fp32);
  if (!error) GTEST_SKIP() << "not computed on a GPU";
  EXPECT_LT(*error, GetParam().tolerance) << model.description();
}

/// True if rounding to half precision changes the result by more than the tolerance, or leaves its range.
bool leaves_half_precision(const std::string& name) {
  static constexpr std::string_view beginnings[] = {
      "Ceil", "Dequantize", "Exp",        "Floor", "Hardmax",         "IsInf",    "Log",
      "Lp",   "Mod",        "QLinearMul", "Round", "ThresholdedRelu", "largest_", "smallest_"};
  return name.contains("int16") ||
         std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

TEST_P(OnnxOperator, MatchesOnnxSpecificationInHalfPrecisionOnGpu) {
  if (leaves_half_precision(GetParam().name)) GTEST_SKIP() << "its values are not those of half precision";
  if (const auto* why = tasks::test_gpu().unavailable()) GTEST_SKIP() << why;
  constexpr double bound = 3e-2;
  const Model model = GetParam().make();
  const auto error = error_on_gpu(model, Precision::fp16);
  if (!error) GTEST_SKIP() << "not computed on a GPU";
  EXPECT_LT(*error, bound) << model.description();
}

} // namespace
} // namespace rtexec::test
