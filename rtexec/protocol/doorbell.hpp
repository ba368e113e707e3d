// A word in memory that two processes share, on which one waits and which the other rings: a futex. What is waited for
// stands elsewhere, in a ring or in the state. A hostile other side can ring at will or spoil the word: who waits
// wakes for nothing, or not, and reads nothing by it.
//
// No lock, no allocation; any thread.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>

namespace rtexec::protocol {

class Doorbell {
 public:
  /// Read before what is waited for is looked at.
  [[nodiscard]] std::uint32_t value() const noexcept { return word_.load(std::memory_order_acquire); }
  /// After what is waited for was written: wakes all.
  void ring() noexcept;
  /// Returns at once where the value is not `seen`; may return early: look and wait again. Works on a mapping that is
  /// read-only.
  void wait(std::uint32_t seen) const noexcept;
  /// Until `deadline` at the latest. False on timeout.
  bool wait_until(std::uint32_t seen, Instant deadline) const noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};
static_assert(sizeof(Doorbell) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

} // namespace rtexec::protocol
