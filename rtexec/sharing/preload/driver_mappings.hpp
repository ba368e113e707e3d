// The program's use of the driver's virtual memory (cuMemMap): reserved address ranges, handles of chunks, and their
// mappings. A range is divided into places: parts of one slot's size, counted from the range's begin. A handle that
// this library returned to the program has no memory of its own. The memory of such a handle is the slot of the arena
// that is mapped at the place. Mappings of the driver's handles are recorded too, so that no slot is mapped over them.
//
// Bookkeeping only; calls no driver function. One thread at a time. Functions may throw only std::bad_alloc, and then
// have no effect. Functions return the driver's codes.
#pragma once

#include "rtexec/sharing/preload/real_driver.hpp"

#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rtexec::preload {

class Segments {
 public:
  using Code = hal::cuda::Code;
  using Address = hal::cuda::DevicePointer;
  using Handle = hal::cuda::AllocationHandle;
  struct Range {
    Address begin = 0;
    std::size_t size = 0; // as requested by the program
  };
  struct Piece {
    Address begin = 0;
    std::size_t size = 0;
    Handle handle = 0; // 0: a handle of the driver, not of this library
  };

  explicit Segments(Bytes slot) : slot_(slot.count) {}

  // ---- ranges ----

  /// Returns the size to reserve for `size` bytes: `size` rounded up to whole places.
  [[nodiscard]] std::size_t whole(std::size_t size) const noexcept { return (size + slot_ - 1) / slot_ * slot_; }
  void add_range(Range range) { ranges_.emplace(range.begin, range.size); }
  /// Removes a range, which must have no mappings. Returns nullopt if the table has no range with this begin and
  /// size.
  [[nodiscard]] std::optional<Code> remove_range(Address begin, std::size_t size) noexcept;
  [[nodiscard]] std::optional<Range> range_of(Address address) const noexcept;

  // ---- handles ----

  [[nodiscard]] Handle create(std::size_t size);
  [[nodiscard]] bool gave(Handle handle) const noexcept { return chunks_.contains(handle); }
  [[nodiscard]] Code retain(Handle handle) noexcept;
  [[nodiscard]] Code release(Handle handle) noexcept;
  /// Returns the total size of the chunks of all handles, mapped or unmapped.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the total size of the chunks that are not mapped.
  [[nodiscard]] std::size_t bytes_to_map() const noexcept { return bytes_ - mapped_; }
  /// Returns the number of unused bytes in places that have a slot.
  [[nodiscard]] std::size_t room() const noexcept { return places_.size() * slot_ - mapped_; }

  // ---- mappings ----

  /// Returns success if [begin, begin + size) may be mapped to `handle`, otherwise the error for the program. `handle`
  /// = 0 means any handle of the driver.
  [[nodiscard]] Code may_map(Address begin, std::size_t size, std::size_t offset, Handle handle) const noexcept;
  /// Returns the places that [begin, begin + size) touches. This interval must lie in one range.
  [[nodiscard]] std::vector<Address> places_of(Address begin, std::size_t size) const;
  /// Records a mapping. may_map() must have returned success.
  void map(Address begin, std::size_t size, Handle handle);
  /// Returns the mappings in [begin, begin + size). Returns nullopt unless the interval consists of complete mappings
  /// without gaps.
  [[nodiscard]] std::optional<std::vector<Piece>> pieces_in(Address begin, std::size_t size) const;
  [[nodiscard]] std::optional<Piece> piece_of(Address address) const noexcept;
  /// Removes the mapping that begins at `begin`. If this was the last mapping of this library's handles in a place,
  /// appends the place to `emptied`.
  void unmap(Address begin, std::vector<Address>& emptied);

 private:
  struct Chunk {
    std::size_t size = 0;
    std::size_t users = 1; // number of handles to this chunk that the program holds
    bool mapped = false;
  };
  [[nodiscard]] Address first_place(Address address) const noexcept;
  void drop_unused(std::map<Handle, Chunk>::iterator chunk) noexcept;

  std::size_t slot_;
  std::map<Address, std::size_t> ranges_;
  std::map<Handle, Chunk> chunks_;
  std::map<Address, Piece> pieces_;
  std::map<Address, std::size_t> places_; // number of mappings in each place that has a slot
  Handle last_ = Handle{0x7e7e} << 48;    // last handle; differs from all handles of the driver, which are addresses
  std::size_t bytes_ = 0, mapped_ = 0;
};

} // namespace rtexec::preload
