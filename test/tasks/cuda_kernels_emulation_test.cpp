// Tests the emulation itself. Operations on which kernels may rely work as on a device, and errors are detected. Also
// tests the accuracy of the element functions over their whole range.
#define RTEXEC_EMULATION
#include "test/tasks/cuda_emulation/primitives.hpp"

#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/half.cuh"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

namespace rtexec::tasks::cuda {
namespace {

struct ProbeArguments {
  float* y = nullptr;
  const float* x = nullptr;
  int mode = 0;
};

} // namespace

KERNEL(probe_sum, 256, ProbeArguments) {
  wait_for_previous();
  using Parts = float[256];
  auto& parts = shared_memory<Parts>();
  parts[thread_index()] = static_cast<float>(thread_index() + 1000 * block_x());
  if (arguments.mode == 0) barrier(); // otherwise each thread sees arbitrary contents
  float sum = 0;
  for (int i = 0; i < block_threads(); ++i) sum += parts[i];
  arguments.y[block_x() * block_threads() + thread_index()] = sum;
}

KERNEL(probe_faults, 64, ProbeArguments) {
  if (arguments.mode != 0) wait_for_previous();
  if (arguments.mode == 1 && thread_index() == 3) return;
  if (arguments.mode == 1) barrier();
  if (arguments.mode == 2 && thread_index() % 2 == 0) exchange(0, 1);
  if (arguments.mode == 3) copy16(shared_address(dynamic_shared()) + 4, arguments.x, true);
  if (arguments.mode == 4) copy16(shared_address(dynamic_shared()), arguments.x + 1, true);
  if (arguments.mode == 5) copy16(shared_address(dynamic_shared()) + 64, arguments.x, true);
  if (arguments.mode == 6) dynamic_shared()[64] = 0;
}

KERNEL(probe_copies, 32, ProbeArguments) {
  wait_for_previous();
  const auto* shared = reinterpret_cast<const float*>(dynamic_shared());
  const SharedAddress to = shared_address(dynamic_shared());
  if (thread_index() == 0) {
    copy16(to, arguments.x, true);
    commit_copies();
    copy16(to + 16, nullptr, false);
    commit_copies();
    await_copies<1>();
    for (int i = 0; i < 8; ++i) arguments.y[i] = shared[i];
    await_copies<0>();
    for (int i = 0; i < 8; ++i) arguments.y[8 + i] = shared[i];
  }
}

/// Computes the product of two matrices, [16][8 words] and [8 columns][8 words], from the fragments that
/// load_matrices() returns.
KERNEL(probe_product, 32, ProbeArguments) {
  wait_for_previous();
  auto* shared = reinterpret_cast<float*>(dynamic_shared());
  for (int i = thread_index(); i < 24 * 8; i += 32) shared[i] = arguments.x[i];
  barrier();
  const int lane = thread_index();
  unsigned a[4], b[4];
  load_matrices(a, shared_address(shared + lane % 16 * 8 + lane / 16 * 4));
  load_matrices(b, shared_address(shared + (16 + lane % 8) * 8 + lane / 8 % 2 * 4));
  float d[4] = {1, 1, 1, 1};
  const unsigned both[2] = {b[0], b[1]};
  if (arguments.mode == 0) multiply_tf32(d, a, both);
  else multiply_half(d, a, both);
  for (int i = 0; i < 4; ++i) arguments.y[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

/// Each block of a cluster adds up the values in the shared memory of all its blocks.
KERNEL(probe_cluster, 32, ProbeArguments) {
  wait_for_previous();
  auto* shared = reinterpret_cast<float*>(dynamic_shared());
  for (int i = 0; i < 4; ++i) shared[thread_index() * 4 + i] = static_cast<float>(block_z() * 1000 + thread_index());
  cluster_barrier();
  float sum = 0;
  for (int rank = 0; rank < 3; ++rank) {
    float other[4];
    load_from_cluster(other, in_block_of_cluster(shared_address(shared + thread_index() * 4), rank));
    sum += other[3];
  }
  if (arguments.mode == 0) cluster_barrier(); // otherwise a block may have ended
  arguments.y[block_z() * 32 + thread_index()] = sum;
}

} // namespace rtexec::tasks::cuda

namespace rtexec::test {
namespace {

using namespace tasks::cuda;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void run(const char* kernel, unsigned blocks, unsigned threads, ProbeArguments arguments, unsigned shared = 64,
         unsigned cluster = 1) {
  void* pointers[] = {&arguments};
  Launch launch{kernel, blocks, 1, 1, threads, shared, cluster};
  if (cluster > 1) std::swap(launch.grid_x, launch.grid_z);
  emulation::launch(launch, pointers);
}

TEST(CudaEmulation, SynchronisesThreadsAtBarriers) {
  SKIP_WITHOUT_EMULATION();
  std::vector<float> y(3 * 256);
  run("probe_sum", 3, 256, {y.data(), nullptr, 0});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 255 * 128 + 256000 * static_cast<float>(i / 256));
}

TEST(CudaEmulation, DetectsMissingBarrier) {
  SKIP_WITHOUT_EMULATION();
  for (const auto order : {emulation::Order::forward, emulation::Order::reverse}) {
    std::vector<float> y(256);
    emulation::set_order(order);
    run("probe_sum", 1, 256, {y.data(), nullptr, 1});
    emulation::set_order(emulation::Order::forward);
    EXPECT_TRUE(std::isnan(y[order == emulation::Order::forward ? 0 : 255])) << "shared memory was not poisoned";
  }
}

TEST(CudaEmulation, ReportsKernelFaults) {
  SKIP_WITHOUT_EMULATION();
  alignas(16) std::array<float, 8> x{};
  const auto fault = [&](int mode, unsigned threads = 64) {
    return [&, mode, threads] { run("probe_faults", 1, threads, {nullptr, x.data(), mode}); };
  };
  EXPECT_THAT(fault(0), ThrowsMessage<std::logic_error>(HasSubstr("has not waited for the kernel before")));
  EXPECT_THAT(fault(1), ThrowsMessage<std::logic_error>(HasSubstr("63 of 64 are at a barrier, 1 have ended")));
  EXPECT_THAT(fault(2), ThrowsMessage<std::logic_error>(HasSubstr("wait for others that never come")));
  EXPECT_THAT(fault(3), ThrowsMessage<std::logic_error>(HasSubstr("not aligned")));
  EXPECT_THAT(fault(4), ThrowsMessage<std::logic_error>(HasSubstr("not aligned")));
  EXPECT_THAT(fault(5), ThrowsMessage<std::logic_error>(HasSubstr("beyond shared memory")));
  EXPECT_THAT(fault(7, 65), ThrowsMessage<std::logic_error>(HasSubstr("more threads")));
  fault(7)();
}

TEST(CudaEmulation, CrashesOnWriteBeyondSharedMemory) {
  SKIP_WITHOUT_EMULATION();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run("probe_faults", 1, 1, {nullptr, nullptr, 6}), "");
}

TEST(CudaEmulation, CompletesAsyncCopiesOnlyWhenAwaited) {
  SKIP_WITHOUT_EMULATION();
  alignas(16) std::array<float, 4> x{1, 2, 3, 4};
  std::array<float, 16> y{};
  run("probe_copies", 1, 32, {y.data(), x.data(), 0});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(y[i], x[i]);
    EXPECT_TRUE(std::isnan(y[4 + i])) << "a copy arrived before it was awaited";
    EXPECT_EQ(y[8 + i], x[i]);
    EXPECT_EQ(y[12 + i], 0);
  }
}

TEST(CudaEmulation, MatrixInstructionsGiveExactProducts) {
  SKIP_WITHOUT_EMULATION();
  Random random(3);
  for (const int mode : {0, 1}) {
    const int terms = mode == 0 ? 8 : 16;
    std::vector<float> a(static_cast<std::size_t>(24 * terms)), x(24 * 8), y(16 * 8);
    for (auto& value : a) value = static_cast<float>(random.whole(-32, 32)); // exact in tf32 and half
    if (mode == 0) x = a;
    else
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = bits_float(two_halves(a[2 * i], a[2 * i + 1]));
    run("probe_product", 1, 32, {y.data(), x.data(), mode}, 24 * 32);
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        float sum = 1;
        for (int k = 0; k < terms; ++k)
          sum += a[static_cast<std::size_t>(row * terms + k)] * a[static_cast<std::size_t>((16 + column) * terms + k)];
        EXPECT_EQ(y[static_cast<std::size_t>(row * 8 + column)], sum) << row << " " << column << " " << mode;
      }
  }
}

TEST(CudaEmulation, BlocksOfClusterShareMemory) {
  SKIP_WITHOUT_EMULATION();
  std::array<float, 6 * 32> y{};
  run("probe_cluster", 6, 32, {y.data(), nullptr, 0}, 512, 3);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], (i < 96 ? 3000 : 12000) + 3 * static_cast<float>(i % 32));
  EXPECT_THAT(
      [&] {
        run("probe_cluster", 3, 32, {y.data(), nullptr, 1}, 512, 3);
      },
      ThrowsMessage<std::logic_error>(HasSubstr("has ended")));
}

TEST(CudaEmulation, HalfConversionsFollowIeee754) {
  Buffer buffer(Storage::f16, 1); // converts without code shared with the kernels
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<unsigned short>(bits);
    const float value = half_bits_to_float(half);
    if (std::isnan(value)) {
      EXPECT_GT(bits & 0x7fffU, 0x7c00U);
      EXPECT_TRUE(std::isnan(half_bits_to_float(float_to_half_bits(value))));
      continue;
    }
    ASSERT_EQ(float_to_half_bits(value), half);
    std::memcpy(buffer.data(), &half, sizeof half);
    ASSERT_EQ(static_cast<double>(value), buffer.get(0));
  }
  Random random(5);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::ldexp(random.real(-2, 2), random.whole(-28, 16));
    buffer.set(0, static_cast<double>(static_cast<float>(value)));
    ASSERT_EQ(static_cast<double>(half_bits_to_float(float_to_half_bits(static_cast<float>(value)))), buffer.get(0))
        << value;
  }
}

double relative_error(float got, double want) {
  return want == 0 ? std::abs(static_cast<double>(got)) : std::abs(static_cast<double>(got) / want - 1);
}

/// Returns the worst relative error of f over [low, high], where results are normal numbers.
template <class F, class G> double worst_error(F f, G exact, double low, double high, int steps = 200000) {
  double worst = 0;
  for (int i = 0; i <= steps; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / steps);
    const double want = exact(static_cast<double>(x));
    if (std::abs(want) >= 1.2e-38 && std::abs(want) < 3.4e38) worst = std::max(worst, relative_error(f(x), want));
  }
  return worst;
}

float activate(float x, ActivationArguments::Kind kind) {
  return tasks::cuda::activated(x, ActivationArguments{kind, 0, 0});
}

TEST(CudaActivations, StayWithinErrorBound) {
  constexpr double bound = 3e-7;
  const auto exp = [](float x) { return activate(x, ActivationArguments::exp); };
  const auto sigmoid = [](float x) { return activate(x, ActivationArguments::sigmoid); };
  const auto tanh = [](float x) { return activate(x, ActivationArguments::tanh); };
  EXPECT_LT(worst_error(
                exp, [](double x) { return std::exp(x); }, -87, 88.7),
            bound);
  EXPECT_LT(worst_error(
                exp, [](double x) { return std::exp(x); }, -1e-3, 1e-3),
            bound);
  EXPECT_LT(worst_error(
                sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -85, 85),
            bound);
  EXPECT_LT(worst_error(
                tanh, [](double x) { return std::tanh(x); }, -10, 10),
            bound);
  EXPECT_LT(worst_error(
                tanh, [](double x) { return std::tanh(x); }, -1e-3, 1e-3),
            bound);
}

TEST(CudaActivations, HandleInfinitiesNansAndSubnormals) {
  const float inf = HUGE_VALF;
  EXPECT_EQ(activate(inf, ActivationArguments::exp), inf);
  EXPECT_EQ(activate(89.0F, ActivationArguments::exp), inf);
  EXPECT_LT(activate(-inf, ActivationArguments::exp), 1e-44F);
  // Subnormal.
  EXPECT_NEAR(static_cast<double>(activate(-95.0F, ActivationArguments::exp)), std::exp(-95.0), 2e-45);
  EXPECT_EQ(activate(inf, ActivationArguments::sigmoid), 1);
  EXPECT_LT(activate(-inf, ActivationArguments::sigmoid), 1e-38F);
  EXPECT_EQ(activate(inf, ActivationArguments::tanh), 1);
  EXPECT_EQ(activate(-inf, ActivationArguments::tanh), -1);
  for (const auto& f : all_activations()) {
    EXPECT_TRUE(std::isnan(tasks::cuda::activated(std::nanf(""), f))) << f.kind;
    for (const float x : {-3.5F, -0.25F, 0.0F, 0.1F, 2.75F, 7.0F}) {
      if (f.kind == ActivationArguments::sqrt && x < 0) continue;
      const double want = activated(static_cast<double>(x), f);
      EXPECT_NEAR(static_cast<double>(tasks::cuda::activated(x, f)), want, 3e-7 * std::max(1.0, want))
          << f.kind << " " << x;
    }
    const float x = 1.75F;
    EXPECT_EQ(tasks::cuda::activated(x, f), activated_quickly(x, f)) << f.kind;
  }
}

TEST(CudaActivations, PowersAreAccurate) {
  double worst = 0;
  for (const float y : {-3.0F, -0.75F, -0.5F, 0.33F, 0.5F, 0.74F, 0.75F, 1.0F, 2.0F, 5.5F})
    for (const auto& [low, high] : {std::pair{1e-6, 1e-3}, {1e-3, 4.0}, {4.0, 1e5}, {1e-40, 1e-37}})
      worst =
          std::max(worst, worst_error([=](float x) { return power(x, y); },
                                      [=](double x) { return std::pow(x, static_cast<double>(y)); }, low, high, 20000));
  EXPECT_LT(worst, 5e-7);
  for (const float y : {-0.6F, 0.6F})
    for (const float x : {0.0F, 1.0F, HUGE_VALF}) EXPECT_EQ(power(x, y), std::pow(x, y)) << x << " " << y;
  EXPECT_EQ(power(1e30F, 5.0F), HUGE_VALF);
  EXPECT_EQ(power(1e30F, -5.0F), 0);
  EXPECT_TRUE(std::isnan(power(-1.0F, 0.5F)));
  EXPECT_TRUE(std::isnan(power(std::nanf(""), 0.5F)));
  EXPECT_EQ(power(3.0F, 0.0F), 1);
}

} // namespace
} // namespace rtexec::test
