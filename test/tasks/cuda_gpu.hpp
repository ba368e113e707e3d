// Networks on a GPU for tests: a driver in software that runs the kernels on this machine's processor, or a real one.
#pragma once

#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/cuda_network.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// Kernels of this build, run by the emulation; 0xff in device memory that nobody wrote.
class EmulatedGpu {
 public:
  explicit EmulatedGpu(const hal::test::FakeCudaProperties& properties = {.memory = {512 << 20}});
  [[nodiscard]] hal::CudaDevice& device() { return *device_; }
  [[nodiscard]] hal::test::FakeCudaDriver& driver() { return driver_; }
  [[nodiscard]] static cuda::Executor::Options launching();

 private:
  hal::test::FakeCudaDriver driver_;
  std::unique_ptr<hal::CudaDevice> device_;
};

/// Tests on one; skipped where this build has no emulation.
class EmulatedGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
    gpu_ = std::make_unique<EmulatedGpu>();
  }
  [[nodiscard]] hal::CudaDevice& device() { return gpu_->device(); }
  [[nodiscard]] hal::test::FakeCudaDriver& driver() { return gpu_->driver(); }

  std::unique_ptr<EmulatedGpu> gpu_;
};

/// A network with device memory of its own.
class BoundNetwork {
 public:
  /// What went wrong is in error().
  BoundNetwork(hal::CudaDevice& device, std::unique_ptr<CudaNetwork> network);
  ~BoundNetwork();
  BoundNetwork(const BoundNetwork&) = delete;
  BoundNetwork& operator=(const BoundNetwork&) = delete;

  [[nodiscard]] CudaNetwork& network() { return *network_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Outputs one behind the other, for inputs as fill_inputs() has them. Scratch starts as NaN.
  [[nodiscard]] std::vector<float> run(const std::vector<float>& input = {});
  /// The same for inputs that are set.
  [[nodiscard]] std::vector<float> run_as_set();

 private:
  Result<> place();
  hal::CudaDevice& device_;
  std::unique_ptr<CudaNetwork> network_;
  std::vector<Buffer> buffers_; // constants, scratch, state, carry
  std::string error_;
};

struct GpuRun {
  std::vector<float> outputs;
  std::string error;
};
/// Builds, binds and runs.
[[nodiscard]] GpuRun run_on(hal::CudaDevice& device, const Graph& graph, Precision precision,
                            const cuda::Executor::Options& launching = {}, const std::vector<float>& input = {});

/// Largest distance as a share of the largest value; infinite where one is no number and the other is, or sizes differ.
[[nodiscard]] double relative_error(const std::vector<float>& values, const std::vector<float>& reference);

} // namespace rtexec::tasks
