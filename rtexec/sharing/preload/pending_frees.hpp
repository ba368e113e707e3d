// Memory of the arena that was freed in the order of a stream. A later allocation in the same stream may reuse it at
// once. Other streams may reuse it when the stream has reached the free.
//
// One thread at a time. Events are destroyed together with their entries. Pending memory is still an object of the
// arena.
#pragma once

#include "rtexec/sharing/client/arena.hpp"
#include "rtexec/sharing/preload/real_driver.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::preload {

class PendingFrees {
 public:
  struct Free {
    client::Arena::Block block;
    /// Later work in this stream may use the memory; nullopt: the stream cannot be distinguished from others.
    std::optional<hal::cuda::Stream> stream;
    hal::cuda::Event when = nullptr; // the stream has reached the free
  };
  /// May throw std::bad_alloc.
  void add(const Free& free) { frees_.push_back(free); }
  [[nodiscard]] bool has(Bytes offset) const noexcept;
  /// Returns memory that any stream may use to the arena.
  void reclaim(const RealDriver& driver, client::Arena& arena) noexcept;
  /// Returns a pending block for an object of `size` that only `stream` uses until it is freed. May throw
  /// std::bad_alloc.
  [[nodiscard]] std::optional<client::Arena::Block> reuse(const RealDriver& driver, client::Arena& arena, Bytes size,
                                                          hal::cuda::Stream stream);
  /// Removes and returns the oldest free.
  [[nodiscard]] std::optional<Free> oldest() noexcept;
  /// Forgets `stream`, which is about to be destroyed: another stream may get its handle.
  void forget(hal::cuda::Stream stream) noexcept;

 private:
  std::vector<Free> frees_; // the oldest first
};

} // namespace rtexec::preload
