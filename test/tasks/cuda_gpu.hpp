// GPUs for tests of networks: the simulated driver, which runs the kernels on this machine's CPU, or a real one.
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

/// A simulated GPU: the emulation runs the kernels of this build, and unwritten device memory holds 0xff.
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

/// Tests on the emulated GPU. They are skipped if this build has no emulation.
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

/// A network with its own device memory.
class BoundNetwork {
 public:
  /// Binds the network. A failure is in error().
  BoundNetwork(hal::CudaDevice& device, std::unique_ptr<CudaNetwork> network);
  ~BoundNetwork();
  BoundNetwork(const BoundNetwork&) = delete;
  BoundNetwork& operator=(const BoundNetwork&) = delete;

  [[nodiscard]] CudaNetwork& network() { return *network_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Runs with inputs from fill_inputs() and returns the outputs, one after the other. Scratch starts as NaN.
  [[nodiscard]] std::vector<float> run(const std::vector<float>& input = {});
  /// Runs with the inputs that were set.
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
/// Builds the network, binds it and runs it.
[[nodiscard]] GpuRun run_on(hal::CudaDevice& device, const Graph& graph, Precision precision,
                            const cuda::Executor::Options& launching = {}, const std::vector<float>& input = {});

/// Returns the largest difference relative to the largest value. The result is infinite if only one of two values is a
/// number, or if sizes differ.
[[nodiscard]] double relative_error(const std::vector<float>& values, const std::vector<float>& reference);

} // namespace rtexec::tasks
