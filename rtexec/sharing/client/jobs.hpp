// When a client has the device: a job is asked for, granted by the daemon, and ended. Any thread may call; those that
// come while a job is there share it.
//
// Waits are for the daemon's verdict only; no allocation.
#pragma once

#include "hal/thread.hpp"
#include "rtexec/sharing/client/outbox.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::client {

enum class Grant : std::uint8_t {
  granted, // the device is the client's until end(), and its memory stands
  failed,  // its memory could not be brought, or the daemon withdrew the job
  lost,    // the daemon has gone
};

class Jobs {
 public:
  /// `last`: the number of the last job before, of an earlier daemon. `spin`: how long who waits does not sleep.
  Jobs(const protocol::State& state, Outbox& outbox, std::uint64_t last = 0, Duration spin = Duration(0)) noexcept
      : state_(state), outbox_(outbox), last_(last), spin_(spin) {}

  /// Waits until the device is granted; at once where it is.
  [[nodiscard]] Grant begin() noexcept;
  /// Gives the device back; nothing where there is no job. The work on the device has ended.
  void end() noexcept;
  /// The daemon has interrupted the job, since the arena grew (protocol::Grow): waits until it is granted again. By the
  /// thread that asked for that, while no work of the client is on the device.
  [[nodiscard]] Grant resume() noexcept;
  [[nodiscard]] bool holds() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::granted; }
  [[nodiscard]] std::uint64_t last() const noexcept { return last_.load(std::memory_order_relaxed); }
  /// The daemon has gone: who waits is told within `look`, and nobody is granted anything any more.
  void lose() noexcept { lost_.store(true, std::memory_order_release); }

  static constexpr Duration look = std::chrono::milliseconds(20);

 private:
  enum class Phase : std::uint32_t { none, asked, granted }; // asked: a thread speaks with the daemon about it
  [[nodiscard]] Grant wait(std::uint64_t job) noexcept;

  const protocol::State& state_;
  Outbox& outbox_;
  std::atomic<std::uint64_t> last_; // number of the last job
  Duration spin_;
  std::atomic<Phase> phase_{Phase::none};
  std::atomic<bool> lost_{false};
  hal::Signal changed_; // raised after phase_ was
};

} // namespace rtexec::client
