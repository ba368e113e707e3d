// A record of the host memory that a back end page-locked for its caller. The back end owns the page locks; the caller
// owns the memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::hal {

class PinnedMemory {
 public:
  using Piece = std::span<std::byte>;

  /// Returns bad_input if `wanted` is not whole pages, or overlaps page-locked memory.
  [[nodiscard]] Result<> check(Piece wanted) const {
    const auto page = page_size().count;
    if (wanted.empty() || reinterpret_cast<std::uintptr_t>(wanted.data()) % page != 0 || wanted.size() % page != 0)
      return fail(Errc::bad_input,
                  "Page-locked host memory must consist of whole pages of " + to_string(page_size()) + ".");
    const auto meets = [&](Piece each) {
      return each.data() < wanted.data() + wanted.size() && wanted.data() < each.data() + each.size();
    };
    if (std::ranges::any_of(pieces_, meets)) return fail(Errc::bad_input, "The host memory is already page-locked.");
    return {};
  }
  void add(Piece piece) { pieces_.push_back(piece); }

  /// Returns the recorded memory that begins at `begin`, or bad_input if there is none.
  [[nodiscard]] Result<Piece> find(const std::byte* begin) const {
    const auto found = std::ranges::find(pieces_, begin, &Piece::data);
    if (found == pieces_.end())
      return fail(Errc::bad_input, "The unlocked host memory was not page-locked, or was already unlocked.");
    return *found;
  }
  void remove(const std::byte* begin) {
    std::erase_if(pieces_, [&](Piece each) { return each.data() == begin; });
  }

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

} // namespace rtexec::hal
