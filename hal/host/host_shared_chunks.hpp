// Software chunks that processes pass to each other (hal/shared_chunks.hpp): one memory file for each chunk.
#pragma once

#include "hal/shared_chunks.hpp"

namespace rtexec::hal {

[[nodiscard]] Result<SharedChunks> share_host_chunks(std::size_t count, Bytes chunk);

} // namespace rtexec::hal
