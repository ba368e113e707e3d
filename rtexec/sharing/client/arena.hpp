// The addresses of a client's device memory: one range that was reserved once, in slots of one chunk each, out of which
// objects are carved. It knows offsets alone: what stands in a slot is somebody else's affair. Best fit, by the unused
// slots that an object would begin to use and then by what is left of the gap; freed space is joined with the gaps on
// both sides and used again.
//
// Not synchronised: one thread at a time. allocate() may throw std::bad_alloc, and then nothing has changed; free()
// never fails. Either takes a time that grows with the logarithm of the number of objects, whatever their sizes.
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
  /// What every address is a multiple of, and every object's size is rounded up to.
  static constexpr Bytes granule{512};

  struct Block {
    Bytes offset;
    Bytes size; // rounded up
    friend bool operator==(const Block&, const Block&) = default;
  };
  struct Slots {
    std::size_t first = 0, count = 0;
    friend bool operator==(const Slots&, const Slots&) = default;
  };

  /// `slot` is a multiple of the granule; both are at least 1.
  Arena(std::size_t slots, Bytes slot);

  /// An object of at least 1 byte at a multiple of `alignment`, a power of two that divides the slot or is a multiple
  /// of it. An object of a slot or more begins with a slot where it uses no more slots for that. Nothing where no gap
  /// is found: the end of the range is used only where nothing before it was found.
  [[nodiscard]] std::optional<Block> allocate(Bytes size, Bytes alignment = granule);
  /// False, and nothing done, where no object begins at `offset`.
  bool free(Bytes offset) noexcept;
  /// The object at `offset` has `size` from now on, less than before, and what is left of it is an object too. May
  /// throw std::bad_alloc, as allocate(). False where there is none, or nothing is left of it.
  bool split(Bytes offset, Bytes size);

  /// The object that has this byte.
  [[nodiscard]] std::optional<Block> find(Bytes offset) const noexcept;
  [[nodiscard]] Slots slots_of(Block block) const noexcept;
  [[nodiscard]] bool uses(std::size_t slot) const noexcept;

  [[nodiscard]] std::size_t objects() const noexcept { return pieces_.size() - gaps_.size(); }
  /// Of all objects.
  [[nodiscard]] Bytes used() const noexcept { return used_; }
  /// Slots that an object stands in.
  [[nodiscard]] std::size_t slots_in_use() const noexcept { return slots_in_use_; }
  /// As many slots, from the first one on, have all objects.
  [[nodiscard]] std::size_t slots_spanned() const noexcept;
  [[nodiscard]] Bytes slot_size() const noexcept { return {slot_}; }
  [[nodiscard]] std::size_t slots() const noexcept { return end_ / slot_; }

 private:
  using Offset = std::uint64_t;
  /// By size, then by address.
  using Gaps = std::set<std::pair<std::uint64_t, Offset>>;
  struct Piece {
    std::uint64_t size = 0;
    Gaps::node_type entry; // of an object: what makes it a gap without asking for memory; of a gap: empty
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
  Pieces pieces_; // all of the range, without holes and without two gaps in a row
  Gaps gaps_;
  Bytes used_{0};
  std::size_t slots_in_use_ = 0;
};

} // namespace rtexec::client
