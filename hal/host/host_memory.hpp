// Device memory in software: chunks are pages of one memory file, so the same page can stand at many addresses, and an
// address without a page faults like one of a GPU that was swapped out.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/device_interface.hpp"
#include "hal/resources.hpp"
#include "hal/reserved_range.hpp"

#include <cstddef>
#include <vector>

namespace rtexec::hal {

/// Threading: as Device. Owns the memory file, the pool window and all ranges.
class HostMemory {
 public:
  static constexpr Bytes huge_page{2ULL << 20}; // where pages are of 4 KiB

  /// `chunk` in whole pages; `capacity` is rounded down to whole chunks. Takes addresses, and no memory yet.
  [[nodiscard]] static Result<HostMemory> open(Bytes capacity, Bytes chunk);

  [[nodiscard]] Bytes capacity() const { return capacity_; }
  [[nodiscard]] Bytes chunk_size() const { return chunk_; }
  [[nodiscard]] std::size_t chunks_created() const { return created_; }
  [[nodiscard]] std::byte* window(Chunk chunk) const { return first_ + index(chunk) * chunk_.count; }

  [[nodiscard]] Result<std::vector<Chunk>> create_chunks(std::size_t count);
  [[nodiscard]] Result<AddressRange> reserve(Bytes size);
  [[nodiscard]] Result<> release(AddressRange range);
  [[nodiscard]] Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept;
  [[nodiscard]] Status unmap(AddressRange range, std::size_t slot) noexcept;

  /// As far as the machine has them free. A capacity of less than one has none.
  [[nodiscard]] bool has_huge_pages() const noexcept;

  /// Reads a byte of the first chunk from the memory file straight to `to`, by the kernel: it fails, instead of a
  /// fault, where `to` cannot be written.
  [[nodiscard]] bool writable(std::byte* to) const noexcept;

 private:
  struct Range : ReservedRange {
    Range(Mapping owned, AddressRange addresses, Bytes chunk)
        : ReservedRange(addresses, chunk), mapping(std::move(owned)) {}
    Mapping mapping;
  };
  HostMemory() = default;
  [[nodiscard]] bool close(const Range& range, std::size_t slot) noexcept;

  Bytes capacity_, chunk_;
  FileDescriptor file_;
  Mapping window_;
  std::byte* first_ = nullptr; // where the first chunk stands in it
  std::size_t created_ = 0;
  std::vector<Range> ranges_;
};

} // namespace rtexec::hal
