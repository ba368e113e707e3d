// The state of a board's GPU before the GPU is opened. No context is made, but the driver is initialised: the calling
// process must not fork children that use the GPU. Set-up only.
#pragma once

#include <rtexec/board.hpp>
#include "hal/clocks.hpp"
#include "hal/cuda/management.hpp"

#include <optional>

namespace rtexec::hal {

struct GpuState {
  std::optional<DeviceClocks> clocks;
  /// True if the GPU computes, and no reason is known that keeps its clock below its maximum
  bool computes_freely = false;
  std::optional<cuda::DeviceHeat> heat;
};

/// Returns the state. Members are empty for a board without a GPU, or if the driver or NVML does not report them.
[[nodiscard]] GpuState read_gpu(const Board& board);

} // namespace rtexec::hal
