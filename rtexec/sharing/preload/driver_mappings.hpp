// What a program has of the driver's virtual memory: address ranges that it reserved, handles of chunks, and which of
// them is mapped where. Handles that this library gave have no memory of their own: it comes with the slot of the arena
// that stands at the place, a piece of a range of one slot's size that begins at a multiple of it from the range's
// begin. Pieces with handles of the driver's are known too, so that no slot is put where one is.
//
// Bookkeeping alone. One thread at a time; what may throw is std::bad_alloc, and then nothing has changed. Answers are
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
    std::size_t size = 0; // as the program asked for it
  };
  struct Piece {
    Address begin = 0;
    std::size_t size = 0;
    Handle handle = 0; // 0: the driver's
  };

  explicit Segments(Bytes slot) : slot_(slot.count) {}

  // ---- ranges ----

  /// What is reserved for `size` bytes: whole places.
  [[nodiscard]] std::size_t whole(std::size_t size) const noexcept { return (size + slot_ - 1) / slot_ * slot_; }
  void add_range(Range range) { ranges_.emplace(range.begin, range.size); }
  /// A range is removed whole, with nothing mapped there; nothing: it is not ours.
  [[nodiscard]] std::optional<Code> remove_range(Address begin, std::size_t size) noexcept;
  [[nodiscard]] std::optional<Range> range_of(Address address) const noexcept;

  // ---- handles ----

  [[nodiscard]] Handle create(std::size_t size);
  [[nodiscard]] bool gave(Handle handle) const noexcept { return chunks_.contains(handle); }
  [[nodiscard]] Code retain(Handle handle) noexcept;
  [[nodiscard]] Code release(Handle handle) noexcept;
  /// Of all handles, mapped or not.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Of those that are not mapped.
  [[nodiscard]] std::size_t bytes_to_map() const noexcept { return bytes_ - mapped_; }
  /// In places that have a slot, beside what is mapped there.
  [[nodiscard]] std::size_t room() const noexcept { return places_.size() * slot_ - mapped_; }

  // ---- mappings ----

  /// Whether [begin, begin + size) may get this handle, or one of the driver's (0).
  [[nodiscard]] Code may_map(Address begin, std::size_t size, std::size_t offset, Handle handle) const noexcept;
  /// Places of [begin, begin + size), of one range.
  [[nodiscard]] std::vector<Address> places_of(Address begin, std::size_t size) const;
  /// After may_map() said success.
  void map(Address begin, std::size_t size, Handle handle);
  /// The pieces of [begin, begin + size), where it is made of whole ones without a gap.
  [[nodiscard]] std::optional<std::vector<Piece>> pieces_in(Address begin, std::size_t size) const;
  [[nodiscard]] std::optional<Piece> piece_of(Address address) const noexcept;
  /// The piece that begins there. `emptied` gets the places that have none any more, and had one of ours.
  void unmap(Address begin, std::vector<Address>& emptied);

 private:
  struct Chunk {
    std::size_t size = 0;
    std::size_t users = 1; // handles that the program holds
    bool mapped = false;
  };
  [[nodiscard]] Address first_place(Address address) const noexcept;
  void drop_unused(std::map<Handle, Chunk>::iterator chunk) noexcept;

  std::size_t slot_;
  std::map<Address, std::size_t> ranges_;
  std::map<Handle, Chunk> chunks_;
  std::map<Address, Piece> pieces_;
  std::map<Address, std::size_t> places_; // pieces of ours, of each place that has one
  Handle last_ = Handle{0x7e7e} << 48;    // no driver's handle, each of which is an address
  std::size_t bytes_ = 0, mapped_ = 0;
};

} // namespace rtexec::preload
