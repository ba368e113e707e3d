// Tests the Winograd micro-benchmark: its results, and the algorithm that it uses.
#include "tasks/make/make_workload.hpp"
#include "tasks/loads/winograd/winograd_workload.hpp"

#include "hal/host/host_device.hpp"
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/conv.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace rtexec::tasks {
namespace {

constexpr auto channels = WinogradWorkload::channels;

/// Computes the definition in double precision.
std::vector<float> convolved(std::span<const float> x, std::span<const float> filters, std::int64_t n) {
  std::vector<float> y(x.size());
  const auto at = [](auto values, std::int64_t i) { return static_cast<double>(values[static_cast<std::size_t>(i)]); };
  for (std::int64_t k = 0; k < channels; ++k)
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t i = std::max<std::int64_t>(row - 1, 0); i <= std::min(row + 1, n - 1); ++i)
            for (std::int64_t j = std::max<std::int64_t>(column - 1, 0); j <= std::min(column + 1, n - 1); ++j)
              sum +=
                  at(x, (c * n + i) * n + j) * at(filters, ((k * channels + c) * 3 + i - row + 1) * 3 + j - column + 1);
        y[static_cast<std::size_t>((k * n + row) * n + column)] = static_cast<float>(sum);
      }
  return y;
}

/// A workload on the host device, with its own memory.
class Placed {
 public:
  explicit Placed(unsigned resolution) : workload_(std::move(*WinogradWorkload::make(resolution, DeviceKind::host))) {
    const auto demand = workload_->memory();
    constants_ = allocate_aligned(demand.constant.count);
    scratch_ = allocate_aligned(demand.scratch.count);
    std::ranges::copy(workload_->constants(), constants_.get());
    std::fill_n(scratch_.get(), demand.scratch.count, std::byte{0xff});
    EXPECT_TRUE(workload_->bind(*device_, {constants_.get(), scratch_.get(), nullptr}));
  }
  [[nodiscard]] WinogradWorkload& workload() { return *workload_; }

 private:
  std::unique_ptr<hal::HostDevice> device_ = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  std::unique_ptr<WinogradWorkload> workload_;
  AlignedBytes constants_, scratch_;
};

TEST(WinogradWorkload, MatchesReferenceConvolution) {
  for (const unsigned resolution : {16U, 17U, 40U}) {
    Placed placed(resolution);
    auto& workload = placed.workload();
    const auto before = test::allocations();
    EXPECT_TRUE(workload.before(0));
    EXPECT_TRUE(workload.execute());
    EXPECT_TRUE(workload.after(0));
    EXPECT_EQ(test::allocations(), before);
    const auto graph = winograd_graph(resolution);
    const auto input = workload.network().inputs().front().as<float>();
    const auto output = workload.network().outputs().front().as<float>();
    EXPECT_TRUE(std::ranges::any_of(input, [](float value) { return value > 0; }));
    EXPECT_LT(relative_error({output.begin(), output.end()}, convolved(input, graph.tensors[1].values, resolution)),
              1e-5)
        << resolution;
  }
}

TEST(WinogradWorkload, UsesWinogradOnHostAtEveryResolution) {
  for (const unsigned resolution : {WinogradWorkload::min_resolution, 256U, 2048U}) {
    const auto graph = winograd_graph(resolution);
    EXPECT_TRUE(kernels::winograd_applies(kernels::conv_geometry(graph, graph.nodes.front()))) << resolution;
  }
  const auto workload = WinogradWorkload::make(16, DeviceKind::host);
  ASSERT_TRUE(workload);
  EXPECT_EQ((*workload)->constants().size(), static_cast<std::size_t>(16 * channels * channels) * sizeof(float))
      << "16 points of each filter, not 9";
}

TEST(WinogradWorkload, ScratchHoldsPictureResultAndWorkspace) {
  const auto demand = WinogradWorkload::make(256, DeviceKind::host).value()->memory();
  const Bytes picture{static_cast<std::uint64_t>(channels) * 256 * 256 * sizeof(float)};
  EXPECT_GE(demand.scratch, picture * 2);
  EXPECT_LT(demand.scratch, picture * 2 + Bytes{64 << 20});
  EXPECT_EQ(demand.state + demand.fixed, Bytes{0});
}

TEST(WinogradWorkload, CountsFlopsOfDirectConvolution) {
  EXPECT_DOUBLE_EQ(WinogradWorkload::make(100, DeviceKind::host).value()->flops(),
                   2.0 * 9 * channels * channels * 100 * 100);
}

TEST(WinogradWorkload, FingerprintDependsOnResolutionAndDevice) {
  const auto print = [](unsigned resolution, DeviceKind kind) {
    return WinogradWorkload::make(resolution, kind).value()->fingerprint();
  };
  EXPECT_EQ(print(32, DeviceKind::host), print(32, DeviceKind::host));
  EXPECT_NE(print(32, DeviceKind::host), print(33, DeviceKind::host));
  EXPECT_NE(print(32, DeviceKind::host), print(32, DeviceKind::cuda));
}

TEST(WinogradWorkload, LargestPictureFitsATensor) {
  const auto elements = [](std::int64_t side) { return channels * side * side; };
  EXPECT_LE(elements(WinogradWorkload::max_resolution), max_elements);
  EXPECT_GT(elements(WinogradWorkload::max_resolution + 1), max_elements);
}

TEST(WinogradWorkload, IsCreatedFromTask) {
  Task task;
  task.name = "layer";
  task.workload = WorkloadKind::winograd;
  task.resolution = 64;
  EXPECT_EQ(test::problem(make_workload(task, DeviceKind::host)), "none");
  task.resolution = 4096;
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "task 'layer': resolution = 4096"));
  task.resolution = 15;
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "resolution = 15"));
  task.resolution = 64;
  task.footprint = Bytes{1 << 30};
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "footprint"));
}

TEST(WinogradWorkload, HasNothingToTuneOnTheHost) {
  const auto device = hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20});
  const auto workload = WinogradWorkload::make(16, DeviceKind::host);
  ASSERT_TRUE(device && workload);
  const auto lines = (*workload)->tune(**device, {});
  ASSERT_TRUE(lines);
  EXPECT_TRUE(lines->empty());
  EXPECT_TRUE(test::fails(WinogradWorkload::make(16, DeviceKind::cuda).value()->tune(**device, {}), Errc::unsupported,
                          "NVIDIA"));
}

// ---- on a GPU

TEST(WinogradOnGpu, GivesHostResult) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  const auto graph = winograd_graph(16);
  const auto got = run_on(gpu.device(), graph, Precision::fp32, EmulatedGpu::launching());
  ASSERT_EQ(got.error, "");
  EXPECT_LT(relative_error(got.outputs, run(graph)), 1e-5);
}

/// A cuDNN that supports some algorithms, and records its arguments.
struct Cudnn {
  std::vector<int> had;
  std::size_t needed = 0;
  int objects = 0, calls = 0, failing = 0; // the call numbered `failing` fails
  std::array<int, 4> strides{};
  int format = -1, math = -1, algorithm = -1;
  const void *x = nullptr, *filters = nullptr, *workspace = nullptr;
  void* y = nullptr;
  std::size_t workspace_bytes = 0;
};
Cudnn given;

int answer() { return ++given.calls == given.failing ? 4000 : 0; }

const cuda::CudnnFunctions& cudnn() {
  static const cuda::CudnnFunctions functions = [] {
    const auto make = [](void** handle) {
      if (const int failed = answer()) return failed;
      return ++given.objects, *handle = &given, 0;
    };
    const auto destroy = [](void*) { return --given.objects, 0; };
    cuda::CudnnFunctions f{};
    f.version = [] { return std::size_t{91900}; };
    f.error_text = [](int) { return "SOME_STATUS"; };
    f.create = f.create_tensor = f.create_filter = f.create_convolution = make;
    f.destroy = f.destroy_tensor = f.destroy_filter = f.destroy_convolution = destroy;
    f.set_stream = [](void*, hal::cuda::Stream) { return answer(); };
    f.set_tensor = [](void*, int, int, int, int, int, int n, int c, int h, int w) {
      return given.strides = {n, c, h, w}, answer();
    };
    f.set_filter = [](void*, int, int format, int, int, int, int) { return given.format = format, answer(); };
    f.set_convolution = [](void*, int, int, int, int, int, int, int, int) { return answer(); };
    f.set_math = [](void*, int math) { return given.math = math, answer(); };
    f.workspace = [](void*, void*, void*, void*, void*, int algorithm, std::size_t* bytes) {
      *bytes = given.needed;
      return std::ranges::find(given.had, algorithm) == given.had.end() ? 3000 : 0;
    };
    f.forward = [](void*, const void*, void*, const void* x, void*, const void* filters, void*, int algorithm,
                   void* workspace, std::size_t bytes, const void*, void*, void* y) {
      given.algorithm = algorithm;
      given.x = x;
      given.filters = filters;
      given.y = y;
      given.workspace = workspace;
      given.workspace_bytes = bytes;
      return 0;
    };
    return f;
  }();
  return functions;
}

class CudnnWinograd : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
    given = {};
    gpu_ = std::make_unique<EmulatedGpu>();
    workload_ = std::move(*WinogradWorkload::make(32, DeviceKind::cuda, {EmulatedGpu::launching(), &cudnn()}));
  }
  void TearDown() override {
    workload_.reset();
    EXPECT_EQ(given.objects, 0) << "all that was made is given back";
  }
  [[nodiscard]] std::string tuned(std::vector<int> algorithms, std::size_t workspace = 4096) {
    given.had = std::move(algorithms);
    given.needed = workspace;
    const auto lines = workload_->tune(gpu_->device(), {});
    EXPECT_EQ(test::problem(lines), "none");
    EXPECT_EQ(lines->size(), 1U);
    return lines->front();
  }
  [[nodiscard]] Result<> bound() {
    auto& device = gpu_->device();
    const auto constants = device.allocate(BufferKind::device, {workload_->constants().size()});
    const auto scratch = device.allocate(BufferKind::device, workload_->memory().scratch);
    EXPECT_TRUE(device.copy(constants->device, workload_->constants().data(), {workload_->constants().size()}));
    memory_ = {constants->device, scratch->device, nullptr};
    return workload_->bind(device, memory_);
  }

  std::unique_ptr<EmulatedGpu> gpu_;
  std::unique_ptr<WinogradWorkload> workload_;
  Memory memory_;
};

TEST_F(CudnnWinograd, PrefersFusedOverNonFusedAlgorithm) {
  EXPECT_EQ(tuned({0, 1, 6, 7}), "winograd 32 = cudnn 6 workspace 4096");
  EXPECT_EQ(tuned({0, 1, 7}), "winograd 32 = cudnn 7 workspace 4096");
}

TEST_F(CudnnWinograd, ExplainsFallbackToEngineConvolution) {
  const auto own = workload_->memory().scratch;
  const auto line = tuned({0, 1});
  EXPECT_TRUE(line.starts_with("# computed by the engine's own convolution")) << line;
  for (const auto* part : {"algorithm 6", "algorithm 7", "SOME_STATUS"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_NE(tuned({6, 7}, std::size_t{5} << 30).find("workspace of 5"), std::string::npos);
  given.failing = given.calls + 1;
  EXPECT_TRUE(tuned({6}).starts_with("# ")) << "no handle";
  EXPECT_EQ(workload_->memory().scratch, own);
}

TEST_F(CudnnWinograd, PassesPlanarTensorsInScratch) {
  const auto fingerprint = workload_->fingerprint();
  (void)tuned({7});
  EXPECT_EQ(workload_->fingerprint(), fingerprint);
  const Bytes picture{static_cast<std::uint64_t>(channels) * 32 * 32 * sizeof(float)};
  EXPECT_EQ(workload_->memory().scratch, picture * 2 + Bytes{4096});
  EXPECT_EQ(workload_->constants().size(), static_cast<std::size_t>(9 * channels * channels) * sizeof(float));
  ASSERT_EQ(test::problem(bound()), "none");
  EXPECT_EQ(given.strides, (std::array<int, 4>{channels * 32 * 32, 32 * 32, 32, 1}));
  EXPECT_EQ(given.format, 0);
  EXPECT_EQ(given.math, cuda::CudnnFunctions::multiply_add);
  EXPECT_EQ(given.algorithm, 7);
  EXPECT_EQ(given.filters, memory_.constant);
  EXPECT_EQ(given.x, memory_.scratch);
  EXPECT_EQ(given.y, memory_.scratch + picture.count);
  EXPECT_EQ(given.workspace, memory_.scratch + 2 * picture.count);
  EXPECT_EQ(given.workspace_bytes, 4096U);
  EXPECT_TRUE(workload_->before(0) && workload_->execute() && workload_->after(0));
  // cuDNN computed nothing: the output has the contents of y, and the picture is in x.
  const auto input = workload_->network().inputs().front().as<float>();
  const auto output = workload_->network().outputs().front().as<float>();
  std::vector<float> at_x(input.size()), at_y(output.size());
  ASSERT_TRUE(gpu_->device().copy(reinterpret_cast<std::byte*>(at_x.data()), memory_.scratch, picture));
  ASSERT_TRUE(gpu_->device().copy(reinterpret_cast<std::byte*>(at_y.data()), memory_.scratch + picture.count, picture));
  EXPECT_TRUE(std::ranges::equal(at_x, input));
  EXPECT_EQ(std::memcmp(at_y.data(), output.data(), picture.count), 0);
  EXPECT_TRUE(std::ranges::any_of(input, [](float value) { return value < 0; }));
}

TEST_F(CudnnWinograd, ReportsItsLayerToObserver) {
  struct Told {
    int begun = 0, ended = 0;
  } told;
  workload_->observe({[](void* self, std::uint32_t, Instant) noexcept { ++static_cast<Told*>(self)->begun; },
                      [](void* self, std::uint32_t, Instant) noexcept { ++static_cast<Told*>(self)->ended; }, &told});
  (void)tuned({6}, 0);
  ASSERT_EQ(test::problem(bound()), "none");
  EXPECT_EQ(given.workspace, nullptr);
  EXPECT_TRUE(workload_->execute());
  EXPECT_EQ(told.begun, 1);
  EXPECT_EQ(told.ended, 1);
  EXPECT_EQ(workload_->layers().size(), 1U);
}

TEST_F(CudnnWinograd, BindRejectsAlgorithmThatIsNoLongerAvailable) {
  const auto line = tuned({7});
  given.had = {0};
  EXPECT_TRUE(test::fails(bound(), Errc::refused, "cuDNN"));
  given.had = {7};
  given.needed = 8192;
  EXPECT_TRUE(test::fails(bound(), Errc::refused, "profile the task set again"));
}

TEST_F(CudnnWinograd, AppliesChoiceOfProfile) {
  const auto use = [&](const std::string& line) { return workload_->use(std::vector{line}); };
  const auto own = workload_->memory().scratch;
  EXPECT_EQ(test::problem(use("# a note")), "none");
  for (const auto* line : {"winograd 33 = cudnn 7 workspace 0", "winograd 32 = cudnn 1 workspace 0",
                           "winograd 32 = cublas workspace 0", "nonsense"})
    EXPECT_TRUE(test::fails(use(line), Errc::bad_input, "no choice")) << line;
  EXPECT_EQ(workload_->memory().scratch, own);
  EXPECT_EQ(test::problem(use("winograd 32 = cudnn 7 workspace 1048576")), "none");
  EXPECT_NE(workload_->memory().scratch, own);
}

} // namespace
} // namespace rtexec::tasks
