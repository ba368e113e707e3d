// A word in the segment that tells at once that the client's agent is no more, however its process ends: a robust
// mutex that the agent's thread holds for life. The kernel marks it when a thread exits, long before a driver has let
// go of the process, whose pidfd and socket tell later.
//
// The client writes the word, so it tells the daemon nothing that can be relied upon but for that client's own harm:
// who seems to be dead is ended. The daemon reads one word, and never calls a function of mutexes on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <pthread.h>

namespace rtexec::protocol {

class Lifeline {
 public:
  /// Agent's thread, once: the calling thread holds it from now on. False: the system has no robust mutexes.
  [[nodiscard]] bool hold() noexcept;
  /// Daemon: whether who held it is no more. False as long as nobody held it.
  [[nodiscard]] bool broken() const noexcept {
    // What the kernel works on is the mutex's first word, as the C library has it on all machines.
    const auto* word = reinterpret_cast<const std::atomic<std::uint32_t>*>(&mutex_);
    return (word->load(std::memory_order_acquire) & FUTEX_OWNER_DIED) != 0;
  }

 private:
  pthread_mutex_t mutex_{};
};

} // namespace rtexec::protocol
