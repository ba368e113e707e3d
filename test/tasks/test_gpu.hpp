// The GPU for tests of operators: this machine's if there is one, else the emulation of its kernels. All tests share
// it, because opening one takes longer than most tests.
#pragma once

#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/executor.hpp"
#include "test/hal/gpu.hpp"
#include "test/tasks/cuda_gpu.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rtexec::tasks {

class TestGpu : public testing::Environment {
 public:
  [[nodiscard]] bool is_emulated() const { return !why_no_gpu_.empty(); }
  /// Returns null if the GPU can be used, else the reason.
  [[nodiscard]] const char* unavailable() const { return is_emulated() ? test::emulation::unavailable() : nullptr; }
  [[nodiscard]] hal::CudaDevice& device();
  [[nodiscard]] cuda::Executor::Options launching() const {
    return is_emulated() ? EmulatedGpu::launching() : cuda::Executor::Options{};
  }
  void TearDown() override;

 private:
  std::string why_no_gpu_ = hal::test::why_no_gpu();
  std::unique_ptr<EmulatedGpu> emulated_;
  std::unique_ptr<hal::CudaDevice> device_;
};

[[nodiscard]] TestGpu& test_gpu();

} // namespace rtexec::tasks
