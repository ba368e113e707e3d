// One counter of the kernel, which can tell when it has counted so many more events.
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
    poll, // by ppoll on its file
    /// By a signal to the thread that caused it: SIGTRAP at that instruction, before Linux 5.13 old_signal() soon after
    /// it
    signal,
  };
  [[nodiscard]] static int old_signal() noexcept;
  /// Counts `core` (whoever runs there), or where that is absent the calling thread. `data` comes with its signals.
  /// refused: the kernel does not let this process; unsupported: there is no such event, or it cannot tell of
  /// overflows.
  [[nodiscard]] static Result<PerfEvent> open(const CounterEvent& event, std::optional<unsigned> core, Tells tells);

  [[nodiscard]] int file() const noexcept { return file_.number(); }
  /// Events since it was opened; io_error where it counts no more.
  [[nodiscard]] Expected<std::uint64_t, Errc> count() const noexcept;
  /// Tells once after `events` more from now, and again after as many.
  [[nodiscard]] Status arm(std::uint64_t events) const noexcept;
  /// Forgets what it has told so far.
  void clear() const noexcept;

 private:
  FileDescriptor file_;
  Mapping ring_; // of notices, without which the file cannot be polled
};

} // namespace rtexec::hal
