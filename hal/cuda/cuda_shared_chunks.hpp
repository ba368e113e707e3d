// Creates chunks of GPU memory by NVIDIA's driver, for sharing among processes (hal/shared_chunks.hpp).
#pragma once

#include "hal/shared_chunks.hpp"

namespace rtexec::hal {

[[nodiscard]] Result<SharedChunks> share_cuda_chunks(int ordinal, std::size_t count, Bytes chunk);

} // namespace rtexec::hal
