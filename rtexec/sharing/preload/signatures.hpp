// The types of the arguments in call_table.inc. The types have the driver's ABI. Arguments that are only passed on are
// `const void*` or `void*`.
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

/// The layout of CUipcMemHandle.
struct IpcHandle {
  std::array<char, 64> bytes;
};

} // namespace rtexec::preload::abi
