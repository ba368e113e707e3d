// Physical chunks of a device that processes pass to each other. All chunks are created once, at the start; a file
// descriptor identifies each chunk. A process that gets the descriptor can map the chunk. The chunk and its contents
// live as long as any process holds the descriptor or a mapping. If the driver can create chunks without a context, the
// creator uses no context and no other memory of the device.
//
// Ownership: this object owns the descriptors and lends them to the sender. Set-up only; one thread. Sibling back ends:
// hal/cuda (chunks of NVIDIA's driver), hal/host (memory files).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace rtexec::hal {

class SharedChunks {
 public:
  SharedChunks(Bytes chunk, std::vector<FileDescriptor> descriptors)
      : chunk_(chunk), descriptors_(std::move(descriptors)) {}

  [[nodiscard]] Bytes chunk_size() const noexcept { return chunk_; }
  [[nodiscard]] std::size_t count() const noexcept { return descriptors_.size(); }
  /// Returns the descriptor of a chunk, for cuMemImportFromShareableHandle, or for mmap on the host device. `chunk`
  /// must be below count().
  [[nodiscard]] int descriptor(std::size_t chunk) const noexcept { return descriptors_[chunk].number(); }

 private:
  Bytes chunk_;
  std::vector<FileDescriptor> descriptors_;
};

/// Creates all `count` chunks of the board's device, or none. Their contents are undefined on a GPU, zero on the host
/// device. Returns unsupported if the driver cannot export chunks, bad_input if the driver has no chunks of this size,
/// out_of_memory, or refused.
[[nodiscard]] Result<SharedChunks> share_chunks(const Board& board, std::size_t count, Bytes chunk);

} // namespace rtexec::hal
