#include "test/tasks/test_gpu.hpp"

#include <utility>

namespace rtexec::tasks {

hal::CudaDevice& TestGpu::device() {
  if (is_emulated() && !emulated_) emulated_ = std::make_unique<EmulatedGpu>();
  if (is_emulated()) return emulated_->device();
  if (!device_) device_ = std::move(*hal::CudaDevice::open({.capacity = Bytes{64 << 20}}));
  return *device_;
}

void TestGpu::TearDown() {
  device_.reset();
  emulated_.reset();
}

TestGpu& test_gpu() {
  static TestGpu& only = *new TestGpu; // owned by GoogleTest
  return only;
}

namespace {

const testing::Environment* const registered = testing::AddGlobalTestEnvironment(&test_gpu());

} // namespace

} // namespace rtexec::tasks
