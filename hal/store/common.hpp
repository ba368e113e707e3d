// Code that the backing stores share: their host memory, and the checks of their arguments.
#pragma once

#include "hal/backing_store.hpp"
#include "hal/resources.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace rtexec::hal {

/// Host memory, zeroed, with every page resident from the start; page-locked for the device if requested.
class StoreMemory {
 public:
  StoreMemory() = default; // without memory
  /// Allocates `size` bytes, in whole pages. The error contains `what`, the name of the memory. Errors: out_of_memory,
  /// refused.
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

/// Returns the size of `chunks` chunks. Returns bad_input if `chunks` is 0 or exceeds the common maximum of the stores.
[[nodiscard]] Result<Bytes> store_size(const Device& device, std::size_t chunks);

/// Returns bad_input if `store` has no chunk `chunk`, or if `contents` exceed one chunk.
[[nodiscard]] Result<> check_fill(const BackingStore& store, Bytes chunk_size, std::size_t chunk,
                                  std::span<const std::byte> contents);

/// Ends a load() or save() whose chunk or address does not exist: calls `during`, and returns bad_input.
[[nodiscard]] inline Status bad_transfer(DuringCopy during) noexcept {
  (void)during();
  return Unexpected(Errc::bad_input);
}

} // namespace rtexec::hal
