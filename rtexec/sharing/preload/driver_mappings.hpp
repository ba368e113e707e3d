// The program's use of the driver's virtual memory: address ranges that it reserved, handles of chunks, and where they
// are mapped. A range is divided into places of one slot's size, counted from the range's begin. A handle that this
// library gave has no memory of its own: the slot of the arena that is mapped at the place provides it. Mappings of the
// driver's handles are recorded too, so that no slot is mapped over them.
//
// Bookkeeping only. One thread at a time. Functions may throw only std::bad_alloc, and then without effect. They return
// the driver's codes.
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
    std::size_t size = 0; // as the program requested it
  };
  struct Piece {
    Address begin = 0;
    std::size_t size = 0;
    Handle handle = 0; // 0: a handle of the driver
  };

  explicit Segments(Bytes slot) : slot_(slot.count) {}

  // ---- ranges ----

  /// Returns the reserved size for `size` bytes: a whole number of places.
  [[nodiscard]] std::size_t whole(std::size_t size) const noexcept { return (size + slot_ - 1) / slot_ * slot_; }
  void add_range(Range range) { ranges_.emplace(range.begin, range.size); }
  /// Removes a whole range, which must have no mappings. Returns nullopt if the range is not of this table.
  [[nodiscard]] std::optional<Code> remove_range(Address begin, std::size_t size) noexcept;
  [[nodiscard]] std::optional<Range> range_of(Address address) const noexcept;

  // ---- handles ----

  [[nodiscard]] Handle create(std::size_t size);
  [[nodiscard]] bool gave(Handle handle) const noexcept { return chunks_.contains(handle); }
  [[nodiscard]] Code retain(Handle handle) noexcept;
  [[nodiscard]] Code release(Handle handle) noexcept;
  /// Returns the total size of all handles, mapped or not.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the total size of the handles that are not mapped.
  [[nodiscard]] std::size_t bytes_to_map() const noexcept { return bytes_ - mapped_; }
  /// Returns the unused space in places that have a slot.
  [[nodiscard]] std::size_t room() const noexcept { return places_.size() * slot_ - mapped_; }

  // ---- mappings ----

  /// Checks if [begin, begin + size) may be mapped to this handle, or to one of the driver (0).
  [[nodiscard]] Code may_map(Address begin, std::size_t size, std::size_t offset, Handle handle) const noexcept;
  /// Returns the places of [begin, begin + size), which is in one range.
  [[nodiscard]] std::vector<Address> places_of(Address begin, std::size_t size) const;
  /// Records a mapping, after may_map() returned success.
  void map(Address begin, std::size_t size, Handle handle);
  /// Returns the mappings in [begin, begin + size); nullopt: they are not whole mappings without gaps.
  [[nodiscard]] std::optional<std::vector<Piece>> pieces_in(Address begin, std::size_t size) const;
  [[nodiscard]] std::optional<Piece> piece_of(Address address) const noexcept;
  /// Removes the mapping that begins at `begin`. Appends to `emptied` the places that lost their last mapping to one of
  /// this library's handles.
  void unmap(Address begin, std::vector<Address>& emptied);

 private:
  struct Chunk {
    std::size_t size = 0;
    std::size_t users = 1; // number of handles that the program holds
    bool mapped = false;
  };
  [[nodiscard]] Address first_place(Address address) const noexcept;
  void drop_unused(std::map<Handle, Chunk>::iterator chunk) noexcept;

  std::size_t slot_;
  std::map<Address, std::size_t> ranges_;
  std::map<Handle, Chunk> chunks_;
  std::map<Address, Piece> pieces_;
  std::map<Address, std::size_t> places_; // for each place with a slot: the number of mappings in it
  Handle last_ = Handle{0x7e7e} << 48;    // no handle of the driver: those are addresses
  std::size_t bytes_ = 0, mapped_ = 0;
};

} // namespace rtexec::preload
