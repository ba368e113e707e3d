// Device memory in software. Chunks are pages of one memory file, so one page can be mapped at many addresses. An
// access to an address without a mapped page faults, as on a GPU whose chunk was swapped out.
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
  static constexpr Bytes huge_page{2ULL << 20}; // on machines whose page size is 4 KiB

  /// Opens the memory. `chunk` must be a multiple of the page size; `capacity` is rounded down to whole chunks.
  /// Reserves addresses but allocates no memory.
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

  /// True if chunks use huge pages as long as the machine has free huge pages. False if the capacity is less than one
  /// huge page.
  [[nodiscard]] bool has_huge_pages() const noexcept;

  /// True if `to` is writable. Causes no fault: the kernel reads a byte of the first chunk from the memory file to
  /// `to`, and this system call fails if `to` is not writable.
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
  std::byte* first_ = nullptr; // address of the first chunk in the window
  std::size_t created_ = 0;
  std::vector<Range> ranges_;
};

} // namespace rtexec::hal
