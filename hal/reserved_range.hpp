// A record of which slots of a reserved address range hold a chunk. The back end owns the addresses.
#pragma once

#include "hal/device_interface.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rtexec::hal {

class ReservedRange {
 public:
  ReservedRange(AddressRange addresses, Bytes chunk)
      : addresses_(addresses), chunk_(chunk), mapped_(addresses.size.count / chunk.count) {}

  [[nodiscard]] const AddressRange& addresses() const noexcept { return addresses_; }
  [[nodiscard]] std::size_t slots() const noexcept { return mapped_.size(); }
  [[nodiscard]] std::byte* address(std::size_t slot) const noexcept { return addresses_.base + slot * chunk_.count; }
  [[nodiscard]] bool is_mapped(std::size_t slot) const noexcept { return slot < slots() && mapped_[slot] != 0; }
  [[nodiscard]] bool is_vacant(std::size_t slot) const noexcept { return slot < slots() && mapped_[slot] == 0; }
  void set_mapped(std::size_t slot, bool mapped) noexcept { mapped_[slot] = mapped; }

 private:
  AddressRange addresses_;
  Bytes chunk_;
  std::vector<char> mapped_; // by slot; one byte each, so that different threads may change different slots
};

/// Returns the element of `ranges` with the addresses `wanted`, or null if there is none. `Range` is a ReservedRange.
template <class Range> [[nodiscard]] Range* find_range(std::vector<Range>& ranges, AddressRange wanted) noexcept {
  const auto found = std::ranges::find_if(ranges, [&](const ReservedRange& each) {
    return each.addresses().base == wanted.base && each.addresses().size == wanted.size;
  });
  return found == ranges.end() ? nullptr : &*found;
}

} // namespace rtexec::hal
