// One counter of the kernel, which can signal after a given number of further events.
#pragma once

#include <rtexec/result.hpp>
#include "hal/bandwidth_counter.hpp"
#include "hal/resources.hpp"

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace rtexec::hal {

class PerfEvent {
 public:
  enum class Tells {
    nothing,
    poll, // an overflow makes ppoll() on file() return
    /// Sends a signal to the thread that caused the overflow. Since Linux 5.13 the signal is SIGTRAP, sent at the
    /// instruction that caused the overflow. Before Linux 5.13 the signal is old_signal(), sent soon after that
    /// instruction
    signal,
  };
  [[nodiscard]] static int old_signal() noexcept;
  /// Opens a counter of the events of all threads on `core`. Without `core`, counts the events of the calling thread.
  /// Returns refused if the kernel forbids it, and unsupported if there is no such event or it cannot signal overflows.
  [[nodiscard]] static Result<PerfEvent> open(const CounterEvent& event, std::optional<unsigned> core, Tells tells);

  [[nodiscard]] int file() const noexcept { return file_.number(); }
  /// Returns the events counted since the counter was opened, or io_error if the counter has stopped counting.
  [[nodiscard]] Expected<std::uint64_t, Errc> count() const noexcept;
  /// Signals after `events` more events, and again after each further `events`.
  [[nodiscard]] Status arm(std::uint64_t events) const noexcept;
  /// Discards all pending notifications.
  void clear() const noexcept;

 private:
  FileDescriptor file_;
  Mapping ring_; // ring buffer of notifications, which ppoll() needs
};

} // namespace rtexec::hal
