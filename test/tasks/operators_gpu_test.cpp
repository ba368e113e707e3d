// The operators of the oracle on a GPU: on this machine's where there is one, else by the emulation of its kernels.
#include "tasks/dnn/cuda/cuda_network.hpp"
#include "tasks/dnn/kernels/elements.hpp"
#include "test/tasks/port_values.hpp"
#include "tasks/dnn/graph/passes.hpp"
#include "test/hal/gpu.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

namespace rtexec::test {
namespace {

/// One for all cases: opening one takes longer than most of them.
class GpuOfCases : public testing::Environment {
 public:
  [[nodiscard]] bool is_emulated() const { return !why_no_gpu_.empty(); }
  [[nodiscard]] hal::CudaDevice& device() {
    if (is_emulated() && !emulated_) emulated_ = std::make_unique<tasks::EmulatedGpu>();
    if (is_emulated()) return emulated_->device();
    if (!device_) device_ = std::move(*hal::CudaDevice::open({.capacity = Bytes{64 << 20}}));
    return *device_;
  }
  [[nodiscard]] tasks::cuda::Executor::Options launching() const {
    return is_emulated() ? tasks::EmulatedGpu::launching() : tasks::cuda::Executor::Options{};
  }
  void TearDown() override {
    device_.reset();
    emulated_.reset();
  }

 private:
  std::string why_no_gpu_ = hal::test::why_no_gpu();
  std::unique_ptr<tasks::EmulatedGpu> emulated_;
  std::unique_ptr<hal::CudaDevice> device_;
};
GpuOfCases& gpu() {
  static GpuOfCases& only = *new GpuOfCases; // owned by GoogleTest
  return only;
}
const testing::Environment* const registered = testing::AddGlobalTestEnvironment(&gpu());

void set_inputs(const tasks::Network& network, const Model& model) {
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const auto& port = network.inputs()[i];
    const Array& value = model.value(model.inputs()[i]);
    const std::vector<float> floats(value.values.begin(), value.values.end());
    tasks::set_elements(port, floats);
  }
}

/// How far the operator is from the oracle on the GPU; nothing where a GPU does not compute it, and says so.
std::optional<double> error_on_gpu(const Model& model, Precision precision) {
  auto graph = parsed(model);
  if (!graph) return std::nullopt; // the host's test says whether it may be refused
  tasks::optimise(*graph);
  auto built = tasks::CudaNetwork::build(*graph, precision, {gpu().launching(), true});
  if (!built) {
    EXPECT_EQ(built.error().code, Errc::unsupported);
    EXPECT_TRUE(built.error().what.contains("not supported on a GPU")) << built.error().what;
    return std::nullopt;
  }
  tasks::BoundNetwork bound(gpu().device(), std::move(*built));
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

TEST_P(OnnxOperator, IsComputedLikewiseOnAGpu) {
  if (gpu().is_emulated() && emulation::unavailable()) GTEST_SKIP() << emulation::unavailable();
  const Model model = GetParam().make();
  const auto error = error_on_gpu(model, Precision::fp32);
  if (!error) GTEST_SKIP() << "not computed on a GPU";
  EXPECT_LT(*error, GetParam().tolerance) << model.description();
}

/// Where rounding to half a value moves the result by more than that, or beyond what half precision has.
bool leaves_half_precision(const std::string& name) {
  static constexpr std::string_view beginnings[] = {
      "Ceil", "Dequantize", "Exp",        "Floor", "Hardmax",         "IsInf",    "Log",
      "Lp",   "Mod",        "QLinearMul", "Round", "ThresholdedRelu", "largest_", "smallest_"};
  return name.contains("int16") ||
         std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

TEST_P(OnnxOperator, IsComputedInHalfPrecisionOnAGpu) {
  if (leaves_half_precision(GetParam().name)) GTEST_SKIP() << "its values are not those of half precision";
  if (gpu().is_emulated() && emulation::unavailable()) GTEST_SKIP() << emulation::unavailable();
  constexpr double bound = 3e-2;
  const Model model = GetParam().make();
  const auto error = error_on_gpu(model, Precision::fp16);
  if (!error) GTEST_SKIP() << "not computed on a GPU";
  EXPECT_LT(*error, bound) << model.description();
}

} // namespace
} // namespace rtexec::test
