// Memory of the arena that was freed in the order of a stream: what the same stream asks for next may have it at once,
// as the stream has come to the free when it comes there; all others once it has.
//
// One thread at a time. Events are destroyed with what they stand for; what is pending is an object of the arena still.
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
    /// What follows in this stream may use it; none where the stream is not to be told from others.
    std::optional<hal::cuda::Stream> stream;
    hal::cuda::Event when = nullptr; // the stream has come to it
  };
  /// May throw std::bad_alloc.
  void add(const Free& free) { frees_.push_back(free); }
  [[nodiscard]] bool has(Bytes offset) const noexcept;
  /// Gives the arena back what any stream may use.
  void reclaim(const RealDriver& driver, client::Arena& arena) noexcept;
  /// For an object of `size` that `stream` alone uses until it is freed. May throw std::bad_alloc.
  [[nodiscard]] std::optional<client::Arena::Block> reuse(const RealDriver& driver, client::Arena& arena, Bytes size,
                                                          hal::cuda::Stream stream);
  /// Takes out the oldest.
  [[nodiscard]] std::optional<Free> oldest() noexcept;
  /// `stream` is about to be destroyed, and its handle may be another one's.
  void forget(hal::cuda::Stream stream) noexcept;

 private:
  std::vector<Free> frees_; // the oldest first
};

} // namespace rtexec::preload
