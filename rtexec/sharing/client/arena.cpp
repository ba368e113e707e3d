#include "rtexec/sharing/client/arena.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace rtexec::client {
namespace {

/// The maximum number of gaps to examine for an object, from the smallest gap that has enough room.
constexpr int max_candidates = 16;

std::uint64_t aligned_up(std::uint64_t value, std::uint64_t unit) noexcept { return (value + unit - 1) / unit * unit; }

} // namespace

Arena::Arena(std::size_t slots, Bytes slot) : slot_(slot.count), end_(slots * slot.count) {
  pieces_.emplace(0, Piece{end_, {}});
  gaps_.emplace(end_, 0);
}

std::optional<Arena::Block> Arena::allocate(Bytes size, Bytes alignment) {
  if (size.count == 0 || size.count > end_) return {};
  const std::uint64_t bytes = aligned_up(size.count, granule.count);
  const auto choice = choose(bytes, std::max(alignment.count, granule.count));
  if (!choice) return {};

  const auto gap = pieces_.find(choice->gap);
  const Offset end = choice->gap + gap->second.size;
  const std::uint64_t before = choice->offset - choice->gap, after = end - choice->offset - bytes;
  // Makes all allocations before any change, so that an exception has no effect. If a part of the gap remains before
  // the object, this part keeps the gap's entry in `pieces_`.
  Pieces new_pieces;
  Gaps new_gaps;
  if (before > 0) {
    new_pieces.emplace(choice->offset, Piece{bytes, {}});
    new_gaps.emplace(before, choice->gap);
  }
  if (after > 0) {
    new_pieces.emplace(choice->offset + bytes, Piece{after, {}});
    new_gaps.emplace(after, choice->offset + bytes);
  }

  auto entry = gaps_.extract({gap->second.size, choice->gap});
  gap->second.size = before > 0 ? before : bytes;
  pieces_.merge(new_pieces);
  gaps_.merge(new_gaps);
  pieces_.find(choice->offset)->second.entry = std::move(entry);
  used_ += {bytes};
  slots_in_use_ += choice->fresh;
  return Block{{choice->offset}, {bytes}};
}

bool Arena::free(Bytes offset) noexcept {
  auto piece = pieces_.find(offset.count);
  if (piece == pieces_.end() || is_gap(piece->second)) return false;
  const std::uint64_t size = piece->second.size;
  auto entry = std::move(piece->second.entry);
  piece->second.entry = {};

  if (const auto next = std::next(piece); next != pieces_.end() && is_gap(next->second)) absorb(piece, next);
  if (piece != pieces_.begin()) {
    if (const auto previous = std::prev(piece); is_gap(previous->second)) {
      gaps_.erase({previous->second.size, previous->first});
      previous->second.size += piece->second.size;
      pieces_.erase(piece);
      piece = previous;
    }
  }
  entry.value() = {piece->second.size, piece->first};
  gaps_.insert(std::move(entry));
  used_ = used_ - Bytes{size};
  slots_in_use_ -= fresh_slots(piece->first, piece->second.size, offset.count, size);
  return true;
}

bool Arena::split(Bytes offset, Bytes size) {
  const auto piece = pieces_.find(offset.count);
  const std::uint64_t bytes = aligned_up(size.count, granule.count);
  if (piece == pieces_.end() || is_gap(piece->second) || bytes == 0 || bytes >= piece->second.size) return false;
  Gaps entry;
  entry.emplace(0, 0);
  Piece rest{piece->second.size - bytes, entry.extract(entry.begin())};
  pieces_.emplace(offset.count + bytes, std::move(rest));
  piece->second.size = bytes;
  return true;
}

/// Merges the gap `next` into `piece`, the gap that ends where `next` begins.
void Arena::absorb(Pieces::iterator piece, Pieces::iterator next) noexcept {
  gaps_.erase({next->second.size, next->first});
  piece->second.size += next->second.size;
  pieces_.erase(next);
}

std::optional<Arena::Choice> Arena::choose(std::uint64_t size, std::uint64_t alignment) const noexcept {
  std::optional<Choice> best, at_end;
  const auto better = [](const Choice& a, const std::optional<Choice>& b) {
    return !b ||
           std::tuple(a.fresh, !a.at_slot, a.left, a.offset) < std::tuple(b->fresh, !b->at_slot, b->left, b->offset);
  };
  const auto look_at = [&](std::uint64_t room, Offset gap) {
    auto& found = gap + room == end_ ? at_end : best;
    for (const bool at_slot : {false, true}) {
      if (at_slot && size < slot_) continue;
      if (const auto choice = place(gap, room, size, alignment, at_slot); choice && better(*choice, found))
        found = choice;
    }
  };
  auto gap = gaps_.lower_bound({size, 0});
  for (int seen = 0; gap != gaps_.end() && seen < max_candidates; ++gap, ++seen) look_at(gap->first, gap->second);
  // All candidates may be too small because of the alignment. A gap of `size` + `alignment` always fits.
  if (!best && gap != gaps_.end()) {
    for (gap = gaps_.lower_bound({size + alignment, 0}); gap != gaps_.end() && !best; ++gap) {
      look_at(gap->first, gap->second);
    }
  }
  if (!best && !at_end && !pieces_.empty()) {
    const auto& [offset, last] = *pieces_.rbegin();
    if (is_gap(last) && last.size >= size) look_at(last.size, offset);
  }
  return best ? best : at_end;
}

std::optional<Arena::Choice> Arena::place(Offset gap, std::uint64_t room, std::uint64_t size, std::uint64_t alignment,
                                          bool at_slot) const noexcept {
  const Offset offset = aligned_up(gap, at_slot ? std::max(alignment, slot_) : alignment);
  if (offset - gap > room || room - (offset - gap) < size) return {};
  return Choice{gap, offset, fresh_slots(gap, room, offset, size), room - size, at_slot};
}

/// Returns the number of unused slots that the range [offset, offset + size) would begin to use. The range lies in
/// the gap of `room` bytes at `gap`. Only the first and the last slot of a gap may contain a part of another object.
std::uint64_t Arena::fresh_slots(Offset gap, std::uint64_t room, Offset offset, std::uint64_t size) const noexcept {
  const Offset gap_end = gap + room;
  const auto first = offset / slot_, last = (offset + size - 1) / slot_;
  const bool first_taken = gap % slot_ != 0 && gap / slot_ == first;
  const bool last_taken = gap_end % slot_ != 0 && gap_end / slot_ == last;
  const auto taken = first == last ? static_cast<unsigned>(first_taken || last_taken)
                                   : static_cast<unsigned>(first_taken) + static_cast<unsigned>(last_taken);
  return last - first + 1 - taken;
}

std::optional<Arena::Block> Arena::find(Bytes offset) const noexcept {
  if (offset.count >= end_) return {};
  const auto piece = std::prev(pieces_.upper_bound(offset.count));
  if (is_gap(piece->second)) return {};
  return Block{{piece->first}, {piece->second.size}};
}

Arena::Slots Arena::slots_of(Block block) const noexcept {
  const auto first = block.offset.count / slot_, last = (block.offset + block.size).count - 1;
  return {first, last / slot_ - first + 1};
}

bool Arena::uses(std::size_t slot) const noexcept {
  if (slot >= slots()) return false;
  const auto piece = std::prev(pieces_.upper_bound(slot * slot_));
  if (!is_gap(piece->second)) return true;
  return piece->first + piece->second.size < (slot + 1) * slot_;
}

std::size_t Arena::slots_spanned() const noexcept {
  const auto& [offset, last] = *pieces_.rbegin();
  if (!is_gap(last)) return slots();
  return aligned_up(offset, slot_) / slot_;
}

} // namespace rtexec::client
