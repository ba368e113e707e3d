// One counter of the kernel, which can signal after a number of further events.
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
    /// Sends a signal to the thread that caused the overflow. Since Linux 5.13 it is SIGTRAP, sent at the instruction
    /// that caused it. Before, it is old_signal(), sent soon after that instruction
    signal,
  };
  [[nodiscard]] static int old_signal() noexcept;
  /// Counts events of `core` (of every thread there), or of the calling thread if `core` is absent. Returns refused if
  /// the kernel forbids it, and unsupported if there is no such event or it cannot signal overflows.
  [[nodiscard]] static Result<PerfEvent> open(const CounterEvent& event, std::optional<unsigned> core, Tells tells);

  [[nodiscard]] int file() const noexcept { return file_.number(); }
  /// Returns the events counted since it was opened, or io_error if it has stopped counting.
  [[nodiscard]] Expected<std::uint64_t, Errc> count() const noexcept;
  /// Signals after `events` more events, and again after each further `events`.
  [[nodiscard]] Status arm(std::uint64_t events) const noexcept;
  /// Discards the notifications so far.
  void clear() const noexcept;

 private:
  FileDescriptor file_;
  Mapping ring_; // ring buffer of notifications, which ppoll() needs
};

} // namespace rtexec::hal
