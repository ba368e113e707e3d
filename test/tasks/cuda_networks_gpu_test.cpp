// Tests every operation and well-known networks on this machine's GPU against the host device. Skipped if there is
// none.
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/test_files.hpp"
#include "test/tasks/cuda_cases.hpp"
#include "test/tasks/cuda_gpu.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <thread>

namespace rtexec::tasks {
namespace {

/// All tests share one device, because opening one takes longer than most tests.
class OnGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!hal::test::why_no_gpu().empty()) return;
    auto device = hal::CudaDevice::open({.capacity = Bytes{64 << 20}});
    ASSERT_TRUE(device.has_value()) << device.error().what;
    device_ = std::move(*device);
  }
  static void TearDownTestSuite() { device_.reset(); }
  void SetUp() override {
    if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    ASSERT_TRUE(device_);
  }

  static double bound(Precision precision) {
    switch (precision) {
    case Precision::fp32: return 1e-4;
    case Precision::tf32: return 1e-2;
    case Precision::fp16: return 3e-2;
    }
    return 0;
  }

  static inline std::unique_ptr<hal::CudaDevice> device_;
};

class OperationOnGpu : public OnGpu, public testing::WithParamInterface<GpuCase> {};

TEST_P(OperationOnGpu, GivesHostResult) {
  TestGraph g;
  GetParam().build(g);
  optimise(g.graph);
  const auto expected = run(g.graph);
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16})
    for (const bool overlap : {false, true}) {
      cuda::Executor::Options launching;
      launching.overlap_launches = overlap;
      const auto got = run_on(*device_, g.graph, precision, launching);
      ASSERT_EQ(got.error, "");
      EXPECT_LT(relative_error(got.outputs, expected), bound(precision)) << "precision " << static_cast<int>(precision);
    }
}

INSTANTIATE_TEST_SUITE_P(Cuda, OperationOnGpu, testing::ValuesIn(gpu_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

/// Tries every library and every way of it: with bias, residual and activation included or separate.
TEST_F(OnGpu, LibrariesGiveHostResult) {
  TestGraph g;
  const auto x = conv(g, g.input({1, 8, 12, 12}), 32, 1);
  const auto y = activated(g, conv(g, x, 32, 3), {Activation::Kind::leaky_relu, 0.1F, 0});
  g.output(g.relu(g.add(conv(g, y, 32, 1), x)));
  optimise(g.graph);
  const auto expected = run(g.graph);
  int computed = 0;
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
    const auto shape = CudaNetwork::build(g.graph, precision);
    ASSERT_TRUE(shape.has_value());
    for (const auto& each : (*shape)->program().calls) {
      const auto* call = std::get_if<cuda::ConvCall>(&each.what);
      for (const std::string method :
           {"cudnn 0", "cudnn 1", "cudnn 1 fused", "cudnn 2", "cudnn 6", "cudnn 7", "cublas"}) {
        const auto parsed = cuda::parse_conv_method(method + " workspace 67108864");
        if (!call || !cuda::computes(*parsed, precision, *call)) continue;
        auto network = CudaNetwork::build(g.graph, precision);
        const std::string line = cuda::geometry_of(*call) + " = " + cuda::to_text(*parsed);
        ASSERT_TRUE((*network)->use({{line}}).has_value()) << line;
        BoundNetwork bound(*device_, std::move(*network));
        if (!bound.error().empty()) continue; // absent, or it does not support this
        ++computed;
        EXPECT_LT(relative_error(bound.run(), expected), OnGpu::bound(precision)) << line;
      }
    }
  }
  if (computed == 0) GTEST_SKIP() << "neither cuDNN nor cuBLAS can be used";
}

/// Copies chunks in one direction without a pause, as a swap does.
class Copying {
 public:
  Copying(hal::CudaDevice& device, hal::EngineKind engine) : device_(device) {
    for (const auto kind : {BufferKind::device, BufferKind::host}) buffers_.push_back(*device.allocate(kind, size));
    auto *to = buffers_[0].device, *from = buffers_[1].device;
    if (engine == hal::EngineKind::copy_out) std::swap(to, from);
    thread_ = std::thread([this, engine, to, from] {
      const auto& driver = device_.driver();
      const auto stream = device_.stream(engine);
      std::array<hal::cuda::Event, 2> events{};
      bool good = device_.enter().has_value();
      for (auto& event : events)
        good = good && driver.event_create(&event, hal::cuda::event_disable_timing) == hal::cuda::Code::success;
      for (std::size_t i = 0; good && !ending_; ++i) {
        if (i >= 2) good = driver.event_synchronize(events[i % 2]) == hal::cuda::Code::success;
        good = good && driver.copy_async(reinterpret_cast<hal::cuda::DevicePointer>(to),
                                         reinterpret_cast<hal::cuda::DevicePointer>(from), size.count,
                                         stream) == hal::cuda::Code::success;
        good = good && driver.event_record(events[i % 2], stream) == hal::cuda::Code::success;
      }
      good = good && driver.stream_synchronize(stream) == hal::cuda::Code::success;
      for (auto& event : events) good = good && driver.event_destroy(event) == hal::cuda::Code::success;
      EXPECT_TRUE(good);
    });
  }
  ~Copying() {
    ending_ = true;
    thread_.join();
    for (const auto& buffer : buffers_) EXPECT_TRUE(device_.free(buffer).has_value());
  }

 private:
  static constexpr Bytes size{64 << 20};
  hal::CudaDevice& device_;
  std::vector<Buffer> buffers_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

/// With copies in the graph, an execution took up to 6 s instead of 16 ms.
TEST_F(OnGpu, ExecutionDoesNotWaitForCopyEngines) {
  constexpr Duration timeout = std::chrono::milliseconds(100);
  TestGraph g;
  g.output(conv(g, g.input({1, 64, 64, 64}), 64, 3));
  optimise(g.graph);
  auto network = CudaNetwork::build(g.graph, Precision::fp32);
  ASSERT_TRUE(network.has_value());
  BoundNetwork bound(*device_, std::move(*network));
  ASSERT_EQ(bound.error(), "");
  const Copying in(*device_, hal::EngineKind::copy_in), out(*device_, hal::EngineKind::copy_out);
  std::vector<Duration> times;
  for (int i = 0; i < 101; ++i) {
    const Instant begin = hal::now();
    ASSERT_TRUE(bound.network().run().has_value());
    times.push_back(hal::now() - begin);
  }
  std::ranges::nth_element(times, times.begin() + 90);
  EXPECT_LT(times[90], timeout);
}

class NetworkOnGpu : public OnGpu, public testing::WithParamInterface<ModelInfo> {};

/// Returns the smallest possible version of the network.
Result<Graph> small_model(const ModelInfo& model) {
  const test::ScratchFolder folder;
  Result<> written;
  for (const int size : {64, 96, 128, 160, 0}) {
    written = write_model(model.name, {.size = size}, folder / "model.onnx");
    if (!written) continue;
    auto graph = read_onnx(folder / "model.onnx");
    if (graph) optimise(*graph);
    return graph;
  }
  return Unexpected(written.error());
}

/// Returns noise in the value range of a picture.
std::vector<float> picture(const Shape& shape) {
  std::mt19937 engine(7);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (auto& value : values) value = std::uniform_real_distribution<float>(-1, 1)(engine);
  return values;
}

TEST_P(NetworkOnGpu, GivesHostResultWithAndWithoutTuning) {
  const auto graph = small_model(GetParam());
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  const auto input = picture(graph->tensors[graph->inputs[0]].shape);
  const auto expected = run(*graph, input);
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
    const auto plain = run_on(*device_, *graph, precision, {}, input);
    ASSERT_EQ(plain.error, "");
    EXPECT_LT(relative_error(plain.outputs, expected), bound(precision)) << "precision " << static_cast<int>(precision);
    auto network = CudaNetwork::build(*graph, precision);
    ASSERT_TRUE(network.has_value()) << network.error().what;
    const auto lines = (*network)->tune(*device_, {});
    ASSERT_TRUE(lines.has_value()) << lines.error().what;
    BoundNetwork tuned(*device_, std::move(*network));
    ASSERT_EQ(tuned.error(), "");
    const auto outputs = tuned.run(input);
    EXPECT_LT(relative_error(outputs, expected), bound(precision))
        << "tuned, precision " << static_cast<int>(precision);
    EXPECT_EQ(tuned.run(input), outputs) << "a second run gives other bits";
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, NetworkOnGpu, testing::ValuesIn(models().begin(), models().end()), [](const auto& each) {
  std::string name(each.param.name);
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

} // namespace
} // namespace rtexec::tasks
