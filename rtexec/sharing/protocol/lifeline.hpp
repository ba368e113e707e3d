// A word in the shared memory that reports the end of the client's agent at once, however its process ends. It is a
// robust mutex that the agent's thread holds for life. When a thread exits, the kernel marks the mutex and wakes its
// waiters. This happens long before a driver has released the process, and so before its pidfd and socket report.
//
// The client can write the word, so the daemon trusts it only as far as that client itself is harmed. A client that
// seems to be dead is ended, and the end of one that suppresses the mark is noticed by its pidfd. The daemon never
// calls a mutex function on the word.
#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <pthread.h>

namespace rtexec::protocol {

class Lifeline {
 public:
  /// Agent's thread, once: makes the calling thread the holder. False: the system has no robust mutexes.
  [[nodiscard]] bool hold() noexcept;
  /// Daemon: returns true if the holder has ended; false as long as there was no holder.
  [[nodiscard]] bool broken() const noexcept;
  /// Daemon: waits until the mutex may be broken. May return early, and always does if the client corrupts the word.
  void wait() const noexcept;
  /// Daemon: marks the mutex as broken, whoever holds it, and wakes the waiters.
  void cut() noexcept;

 private:
  // The kernel works on the first word of the mutex: the C library places it there on all machines.
  using Word = std::atomic<std::uint32_t>;
  [[nodiscard]] const Word& word() const noexcept { return *reinterpret_cast<const Word*>(&mutex_); }
  [[nodiscard]] Word& word() noexcept { return *reinterpret_cast<Word*>(&mutex_); }
  void wake() noexcept;

  pthread_mutex_t mutex_{};
};

} // namespace rtexec::protocol
