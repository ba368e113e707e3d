// Chunks in software that processes pass to each other (hal/shared_chunks.hpp), a memory file for each.
#pragma once

#include "hal/shared_chunks.hpp"

namespace rtexec::hal {

[[nodiscard]] Result<SharedChunks> share_host_chunks(std::size_t count, Bytes chunk);

} // namespace rtexec::hal
