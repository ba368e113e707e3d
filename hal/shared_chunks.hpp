// Physical chunks of a device that processes hand to each other. Each is made once, at the start, and known by a file
// descriptor: who gets that can map the chunk, and chunk and contents stay as long as anybody has it. Whoever makes
// them needs nothing else of the device: no context, no memory beside the chunks (as long as its driver makes chunks
// without a context).
//
// Ownership: the descriptors are the object's, lent to whoever sends them. Set-up only; one thread. Sibling back ends:
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
  /// For cuMemImportFromShareableHandle, or for mmap on the host device. `chunk` is below count().
  [[nodiscard]] int descriptor(std::size_t chunk) const noexcept { return descriptors_[chunk].number(); }

 private:
  Bytes chunk_;
  std::vector<FileDescriptor> descriptors_;
};

/// `count` chunks of the board's device, or none. Their contents are undefined on a GPU, zero on the host device.
/// unsupported: its driver hands no chunks on; bad_input: it makes none of this size; out_of_memory; refused.
[[nodiscard]] Result<SharedChunks> share_chunks(const Board& board, std::size_t count, Bytes chunk);

} // namespace rtexec::hal
