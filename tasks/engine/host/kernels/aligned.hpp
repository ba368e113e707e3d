// Allocates memory that is aligned to cache lines of 64 bytes. The initial content of the memory is indeterminate.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace rtexec::tasks {

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

[[nodiscard]] inline AlignedBytes allocate_aligned(std::size_t size) {
  return AlignedBytes(static_cast<std::byte*>(::operator new (size, std::align_val_t{64})));
}

} // namespace rtexec::tasks
