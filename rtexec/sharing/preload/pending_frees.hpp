// Arena memory that was freed in the order of a stream (a pending free). A later allocation in the same stream may
// reuse the memory at once. Other streams may reuse the memory after the first stream has executed the free.
//
// One thread at a time. The event of an entry is destroyed together with the entry. Memory with a pending free still
// counts as an object of the arena.
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
    /// The stream in which the memory was freed. Later work of this stream may use the memory at once, because a stream
    /// executes its work in order. nullopt: the handle does not identify the stream, so that no work may use the memory
    /// before the free is executed
    std::optional<hal::cuda::Stream> stream;
    hal::cuda::Event when = nullptr; // the event that is recorded behind the free in the stream
  };
  /// Adds a pending free. May throw std::bad_alloc.
  void add(const Free& free) { frees_.push_back(free); }
  [[nodiscard]] bool has(Bytes offset) const noexcept;
  /// Returns memory to the arena for each pending free that its stream has executed.
  void reclaim(const RealDriver& driver, client::Arena& arena) noexcept;
  /// Reuses memory with a pending free in `stream` for a new object of `size` bytes in the same stream. Returns nullopt
  /// if no such memory has this size. May throw std::bad_alloc.
  [[nodiscard]] std::optional<client::Arena::Block> reuse(const RealDriver& driver, client::Arena& arena, Bytes size,
                                                          hal::cuda::Stream stream);
  /// Removes the oldest pending free and returns it.
  [[nodiscard]] std::optional<Free> oldest() noexcept;
  /// Handles the destruction of `stream`. Afterwards, memory that was freed in `stream` cannot be reused early, because
  /// another stream may get the same handle.
  void forget(hal::cuda::Stream stream) noexcept;

 private:
  std::vector<Free> frees_; // the oldest first
};

} // namespace rtexec::preload
