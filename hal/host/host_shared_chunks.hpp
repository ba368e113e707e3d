// Chunks in software that processes hand to each other (hal/shared_chunks.hpp): a memory file each.
#pragma once

#include "hal/shared_chunks.hpp"

namespace rtexec::hal {

[[nodiscard]] Result<SharedChunks> share_host_chunks(std::size_t count, Bytes chunk);

} // namespace rtexec::hal
