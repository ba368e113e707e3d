// What the GPU of a board tells of itself while nobody has opened it. No context is made, but the driver is
// initialised: a process that asks must not fork children that use the GPU. Set-up only.
#pragma once

#include <rtexec/board.hpp>
#include "hal/clocks.hpp"
#include "hal/cuda/management.hpp"

#include <optional>

namespace rtexec::hal {

struct GpuState {
  std::optional<DeviceClocks> clocks;
  bool computes_freely = false; // and nothing is known that keeps its clock below what it could be
  std::optional<cuda::DeviceHeat> heat;
};

/// Nothing of a board without a GPU, nor where the driver or NVML does not tell.
[[nodiscard]] GpuState read_gpu(const Board& board);

} // namespace rtexec::hal
