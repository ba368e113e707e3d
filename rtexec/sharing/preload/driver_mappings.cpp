#include "rtexec/sharing/preload/driver_mappings.hpp"

#include <iterator>

namespace rtexec::preload {

std::optional<Segments::Code> Segments::remove_range(Address begin, std::size_t size) noexcept {
  const auto range = ranges_.find(begin);
  if (range == ranges_.end()) return {};
  if (range->second != size) return Code::invalid_value;
  if (const auto piece = pieces_.lower_bound(begin); piece != pieces_.end() && piece->first - begin < size)
    return Code::invalid_value;
  ranges_.erase(range);
  return Code::success;
}

std::optional<Segments::Range> Segments::range_of(Address address) const noexcept {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return {};
  --range;
  if (address - range->first >= range->second) return {};
  return Range{range->first, range->second};
}

Segments::Handle Segments::create(std::size_t size) {
  chunks_.emplace(last_ + 1, Chunk{.size = size});
  bytes_ += size;
  return ++last_;
}

Segments::Code Segments::retain(Handle handle) noexcept {
  const auto chunk = chunks_.find(handle);
  if (chunk == chunks_.end()) return Code::invalid_value;
  ++chunk->second.users;
  return Code::success;
}

Segments::Code Segments::release(Handle handle) noexcept {
  const auto chunk = chunks_.find(handle);
  if (chunk == chunks_.end() || chunk->second.users == 0) return Code::invalid_value;
  --chunk->second.users;
  drop_unused(chunk);
  return Code::success;
}

void Segments::drop_unused(std::map<Handle, Chunk>::iterator chunk) noexcept {
  if (chunk->second.users > 0 || chunk->second.mapped) return;
  bytes_ -= chunk->second.size;
  chunks_.erase(chunk);
}

Segments::Address Segments::first_place(Address address) const noexcept {
  const Address begin = range_of(address)->begin;
  return begin + (address - begin) / slot_ * slot_;
}

Segments::Code Segments::may_map(Address begin, std::size_t size, std::size_t offset, Handle handle) const noexcept {
  const auto range = range_of(begin);
  if (!range || size == 0 || size > range->size - (begin - range->begin)) return Code::invalid_value;
  if (handle != 0) {
    const auto chunk = chunks_.find(handle);
    if (chunk == chunks_.end() || chunk->second.users == 0 || chunk->second.size != size || offset != 0)
      return Code::invalid_value;
    if (chunk->second.mapped) return Code::not_supported; // would map the same memory at two addresses
  }
  if (const auto piece = pieces_.lower_bound(begin); piece != pieces_.end() && piece->first - begin < size)
    return Code::invalid_value;
  if (piece_of(begin)) return Code::invalid_value;
  // A place (see driver_mappings.hpp) has either a slot or mappings of driver handles, never both. Therefore the
  // request is refused if any place that [begin, begin + size) touches has a mapping of the other kind.
  const Address first = first_place(begin), end = range->begin + whole(begin - range->begin + size);
  auto piece = pieces_.lower_bound(first);
  if (piece != pieces_.begin() && std::prev(piece)->first + std::prev(piece)->second.size > first) --piece;
  for (; piece != pieces_.end() && piece->first < end; ++piece) {
    if ((piece->second.handle == 0) != (handle == 0)) return Code::not_supported;
  }
  return Code::success;
}

std::vector<Segments::Address> Segments::places_of(Address begin, std::size_t size) const {
  std::vector<Address> places;
  for (Address place = first_place(begin); place < begin + size; place += slot_) places.push_back(place);
  return places;
}

void Segments::map(Address begin, std::size_t size, Handle handle) {
  std::map<Address, std::size_t> new_places;
  std::map<Address, Piece> new_piece;
  new_piece.emplace(begin, Piece{begin, size, handle});
  if (handle != 0)
    for (const Address place : places_of(begin, size))
      if (!places_.contains(place)) new_places.emplace(place, 0);
  pieces_.merge(new_piece);
  if (handle == 0) return;
  places_.merge(new_places);
  for (Address place = first_place(begin); place < begin + size; place += slot_) ++places_.find(place)->second;
  chunks_.find(handle)->second.mapped = true;
  mapped_ += size;
}

std::optional<std::vector<Segments::Piece>> Segments::pieces_in(Address begin, std::size_t size) const {
  std::vector<Piece> found;
  Address at = begin;
  for (auto piece = pieces_.find(begin); at - begin < size; ++piece) {
    if (piece == pieces_.end() || piece->first != at || piece->second.size > size - (at - begin)) return {};
    found.push_back(piece->second);
    at += piece->second.size;
  }
  return found;
}

std::optional<Segments::Piece> Segments::piece_of(Address address) const noexcept {
  auto piece = pieces_.upper_bound(address);
  if (piece == pieces_.begin()) return {};
  --piece;
  if (address - piece->first >= piece->second.size) return {};
  return piece->second;
}

void Segments::unmap(Address begin, std::vector<Address>& emptied) {
  const auto piece = pieces_.find(begin);
  const auto [address, size, handle] = piece->second;
  if (handle == 0) {
    pieces_.erase(piece);
    return;
  }
  const auto places = places_of(address, size);
  emptied.reserve(emptied.size() + places.size());
  for (const Address place : places) {
    const auto found = places_.find(place);
    if (--found->second > 0) continue;
    places_.erase(found);
    emptied.push_back(place);
  }
  pieces_.erase(piece);
  mapped_ -= size;
  const auto chunk = chunks_.find(handle);
  chunk->second.mapped = false;
  drop_unused(chunk);
}

} // namespace rtexec::preload
