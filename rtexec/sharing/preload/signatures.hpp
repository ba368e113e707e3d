// The types of the arguments in call_table.inc: those of the driver's ABI, and `const void*` or `void*` for arguments
// that are only passed on.
#pragma once

#include "hal/cuda/driver.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rtexec::preload::abi {

using hal::cuda::AccessDescriptor;
using hal::cuda::AllocationHandle;
using hal::cuda::AllocationProperties;
using hal::cuda::Code;
using hal::cuda::Context;
using hal::cuda::DevicePointer;
using hal::cuda::Event;
using hal::cuda::Function;
using hal::cuda::GraphExec;
using hal::cuda::GraphHandle;
using hal::cuda::LaunchConfig;
using hal::cuda::Location;
using hal::cuda::Ordinal;
using hal::cuda::Stream;

/// CUipcMemHandle.
struct IpcHandle {
  std::array<char, 64> bytes;
};

} // namespace rtexec::preload::abi
