// An allocator of addresses for a client's device memory. The addresses are one range, reserved once and divided into
// slots of one chunk each. The arena manages offsets only, not the contents of slots. An object is one allocation. The
// arena chooses the gap in which the object occupies the fewest slots that are unused so far. Among equal gaps, it
// chooses the gap with the smallest remainder. Freed space is merged with the gaps on both sides.
//
// Not synchronised: one thread at a time. allocate() may throw std::bad_alloc without effect. free() never fails. Both
// functions take time logarithmic in the number of objects, whatever the objects' sizes.
#pragma once

#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rtexec::client {

class Arena {
 public:
  /// The unit of addresses and sizes. Addresses are multiples of the granule. Sizes are rounded up to a multiple of the
  /// granule.
  static constexpr Bytes granule{512};

  struct Block {
    Bytes offset;
    Bytes size; // rounded up to a granule
    friend bool operator==(const Block&, const Block&) = default;
  };
  struct Slots {
    std::size_t first = 0, count = 0;
    friend bool operator==(const Slots&, const Slots&) = default;
  };

  /// Creates an arena of `slots` slots of size `slot`, a multiple of the granule. `slots` and `slot` are at least 1.
  Arena(std::size_t slots, Bytes slot);

  /// Allocates `size` bytes at a multiple of `alignment`. `size` is at least 1. `alignment` is a power of two that
  /// divides the slot size or is a multiple of the slot size. An object of at least the size of a slot begins at the
  /// beginning of a slot, unless it would then occupy more slots. The gap at the end of the range is used only if no
  /// other gap fits. Returns nullopt if no gap fits.
  [[nodiscard]] std::optional<Block> allocate(Bytes size, Bytes alignment = granule);
  /// Frees the object at `offset`. Returns false, without effect, if no object begins there.
  bool free(Bytes offset) noexcept;
  /// Shrinks the object at `offset` to `size`, and makes the remainder a new object. Returns false if no object
  /// begins there, or no remainder would be left. May throw std::bad_alloc without effect.
  bool split(Bytes offset, Bytes size);

  /// Returns the object that contains the byte at `offset`, or nullopt if no object contains it.
  [[nodiscard]] std::optional<Block> find(Bytes offset) const noexcept;
  [[nodiscard]] Slots slots_of(Block block) const noexcept;
  [[nodiscard]] bool uses(std::size_t slot) const noexcept;

  [[nodiscard]] std::size_t objects() const noexcept { return pieces_.size() - gaps_.size(); }
  /// Returns the total size of all objects.
  [[nodiscard]] Bytes used() const noexcept { return used_; }
  /// Returns the number of slots that contain at least a part of an object.
  [[nodiscard]] std::size_t slots_in_use() const noexcept { return slots_in_use_; }
  /// Returns the number of slots from the first slot of the range to the last slot in use.
  [[nodiscard]] std::size_t slots_spanned() const noexcept;
  [[nodiscard]] Bytes slot_size() const noexcept { return {slot_}; }
  [[nodiscard]] std::size_t slots() const noexcept { return end_ / slot_; }

 private:
  using Offset = std::uint64_t;
  /// Gaps in ascending order of size. Gaps of equal size are ordered by address.
  using Gaps = std::set<std::pair<std::uint64_t, Offset>>;
  struct Piece {
    std::uint64_t size = 0;
    /// For an object: a spare node for the gap that replaces it, so that free() allocates nothing. For a gap: empty.
    Gaps::node_type entry;
  };
  using Pieces = std::map<Offset, Piece>;
  struct Choice {
    Offset gap = 0, offset = 0;
    std::uint64_t fresh = 0, left = 0;
    bool at_slot = false;
  };

  [[nodiscard]] static bool is_gap(const Piece& piece) noexcept { return piece.entry.empty(); }
  [[nodiscard]] std::optional<Choice> choose(std::uint64_t size, std::uint64_t alignment) const noexcept;
  [[nodiscard]] std::optional<Choice> place(Offset gap, std::uint64_t room, std::uint64_t size, std::uint64_t alignment,
                                            bool at_slot) const noexcept;
  [[nodiscard]] std::uint64_t fresh_slots(Offset gap, std::uint64_t room, Offset offset,
                                          std::uint64_t size) const noexcept;
  void absorb(Pieces::iterator piece, Pieces::iterator next) noexcept;

  std::uint64_t slot_;
  std::uint64_t end_;
  Pieces pieces_; // objects and gaps, which cover the whole range; no two gaps are adjacent
  Gaps gaps_;
  Bytes used_{0};
  std::size_t slots_in_use_ = 0;
};

} // namespace rtexec::client
