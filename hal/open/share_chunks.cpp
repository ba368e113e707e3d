#include "hal/shared_chunks.hpp"

#include "hal/cuda/cuda_shared_chunks.hpp"
#include "hal/host/host_shared_chunks.hpp"

namespace rtexec::hal {

Result<SharedChunks> share_chunks(const Board& board, std::size_t count, Bytes chunk) {
  return board.device == DeviceKind::host ? share_host_chunks(count, chunk)
                                          : share_cuda_chunks(static_cast<int>(board.ordinal), count, chunk);
}

} // namespace rtexec::hal
