#include "hal/open/gpu_state.hpp"

namespace rtexec::hal {

GpuState read_gpu(const Board& board) {
  if (!board.has_driver()) return {};
  const auto driver = cuda::open_driver();
  if (!driver || (*driver)->init(0) != cuda::Code::success) return {};
  const auto gpu = cuda::ManagedGpu::find(**driver, static_cast<cuda::Ordinal>(board.ordinal));
  if (!gpu) return {};
  return {.clocks = gpu->clocks(), .computes_freely = gpu->computes_freely(), .heat = gpu->heat()};
}

} // namespace rtexec::hal
