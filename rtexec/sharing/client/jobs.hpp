// The jobs of a client. The class requests a job, waits until the daemon grants it, and ends it. Any thread may call.
// If several threads call begin() while a job is granted, they share this job.
//
// begin() and resume() wait only for the daemon's verdict. No function allocates.
#pragma once

#include "hal/thread.hpp"
#include "rtexec/sharing/client/outbox.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::client {

enum class Grant : std::uint8_t {
  granted, // the client holds the device until end(), and its memory is resident
  failed,  // the client's memory could not be loaded, or the daemon withdrew the job
  lost,    // the daemon has ended
};

class Jobs {
 public:
  /// `last` is the number of the client's last job at an earlier daemon, or 0. `spin` is the time for which a waiting
  /// thread spins before it sleeps.
  Jobs(const protocol::State& state, Outbox& outbox, std::uint64_t last = 0, Duration spin = Duration(0)) noexcept
      : state_(state), outbox_(outbox), last_(last), spin_(spin) {}

  /// Requests a job, and waits until the device is granted. Returns at once if the client holds the device.
  [[nodiscard]] Grant begin() noexcept;
  /// Ends the job, which releases the device. Requires that the client's work on the device has ended. Has no effect
  /// without a job.
  void end() noexcept;
  /// Waits until the daemon grants the interrupted job again. The daemon interrupts a job if the arena grows
  /// (protocol::Grow). Called by the thread that requested the growth, while the device executes no work of the client.
  [[nodiscard]] Grant resume() noexcept;
  [[nodiscard]] bool holds() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::granted; }
  [[nodiscard]] std::uint64_t last() const noexcept { return last_.load(std::memory_order_relaxed); }
  /// Records that the daemon has ended. Waiting threads return within 20 ms (the constant `look`), and no job is
  /// granted afterwards.
  void lose() noexcept { lost_.store(true, std::memory_order_release); }

  static constexpr Duration look = std::chrono::milliseconds(20);

 private:
  enum class Phase : std::uint32_t { none, asked, granted }; // asked: a thread is requesting or ending the job
  [[nodiscard]] Grant wait(std::uint64_t job) noexcept;

  const protocol::State& state_;
  Outbox& outbox_;
  std::atomic<std::uint64_t> last_; // number of the last job
  Duration spin_;
  std::atomic<Phase> phase_{Phase::none};
  std::atomic<bool> lost_{false};
  hal::Signal changed_; // raised after each change of `phase_`
};

} // namespace rtexec::client
