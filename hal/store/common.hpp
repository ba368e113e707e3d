// What the backing stores share: host memory of their own, and the limits of what they are asked.
#pragma once

#include "hal/backing_store.hpp"
#include "hal/resources.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace rtexec::hal {

/// Host memory: zeroed, every page there from the start, and page-locked for the device where that is asked.
class StoreMemory {
 public:
  StoreMemory() = default; // none
  /// `size` in whole pages. `what` names it in the error. out_of_memory, refused.
  [[nodiscard]] static Result<StoreMemory> open(Device& device, Bytes size, HostMemoryKind kind, std::string_view what);
  StoreMemory(StoreMemory&& other) noexcept
      : memory_(std::move(other.memory_)), pinned_by_(std::exchange(other.pinned_by_, nullptr)) {}
  StoreMemory& operator=(StoreMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(pinned_by_, other.pinned_by_);
    return *this;
  }
  ~StoreMemory() {
    if (pinned_by_ != nullptr) (void)pinned_by_->unpin(memory_.base());
  }
  [[nodiscard]] std::byte* base() const { return memory_.base(); }
  [[nodiscard]] Bytes size() const { return memory_.size(); }

 private:
  Mapping memory_;
  Device* pinned_by_ = nullptr;
};

/// Of `chunks` chunks; bad_input where there are none, or more than any store holds.
[[nodiscard]] Result<Bytes> store_size(const Device& device, std::size_t chunks);

/// bad_input where `store` has no such chunk, or `contents` do not fit in one.
[[nodiscard]] Result<> check_fill(const BackingStore& store, Bytes chunk_size, std::size_t chunk,
                                  std::span<const std::byte> contents);

/// The answer to load() and save() where there is no such chunk, or no address.
[[nodiscard]] inline Status bad_transfer(Beside beside) noexcept {
  (void)beside();
  return Unexpected(Errc::bad_input);
}

} // namespace rtexec::hal
