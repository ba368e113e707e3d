// What a back end keeps of the host memory that it page-locked for its caller. The locking belongs to the back end, the
// memory to the caller.
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

  /// bad_input: not whole pages, or page-locked already, in part at least.
  [[nodiscard]] Result<> check(Piece wanted) const {
    const auto page = page_size().count;
    if (wanted.empty() || reinterpret_cast<std::uintptr_t>(wanted.data()) % page != 0 || wanted.size() % page != 0)
      return fail(Errc::bad_input, "Host memory is page-locked in whole pages of " + to_string(page_size()) + ".");
    const auto meets = [&](Piece each) {
      return each.data() < wanted.data() + wanted.size() && wanted.data() < each.data() + each.size();
    };
    if (std::ranges::any_of(pieces_, meets))
      return fail(Errc::bad_input, "Host memory is page-locked that is page-locked already.");
    return {};
  }
  void add(Piece piece) { pieces_.push_back(piece); }

  /// The piece that begins there; bad_input: there is none.
  [[nodiscard]] Result<Piece> find(const std::byte* begin) const {
    const auto found = std::ranges::find(pieces_, begin, &Piece::data);
    if (found == pieces_.end())
      return fail(Errc::bad_input, "Host memory is unlocked that was not page-locked, or was unlocked before.");
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
