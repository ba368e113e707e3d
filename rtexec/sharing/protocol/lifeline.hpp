// A word in the shared memory that reports the end of the client's agent at once, however its process ends. The
// lifeline is a robust mutex that the agent's thread holds until the thread ends. When a thread exits, the kernel marks
// the thread's robust mutexes and wakes their waiters. This happens long before the driver has released the process,
// and therefore before the pidfd and the socket report the end.
//
// The client can write the word. Therefore the daemon relies on the word only if a wrong value harms no other client.
// The daemon ends a client that seems to be dead. If a client suppresses the mark, its pidfd reports its end. The
// daemon never calls a mutex function on the word.
#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <pthread.h>

namespace rtexec::protocol {

class Lifeline {
 public:
  /// Makes the calling thread, which is the agent's thread, the holder of the mutex. Called once. Returns false if the
  /// system has no robust mutexes.
  [[nodiscard]] bool hold() noexcept;
  /// For the daemon: true if the holder has ended. False before hold() is called.
  [[nodiscard]] bool broken() const noexcept;
  /// For the daemon: waits until the mutex may be broken. May return early, and returns at once if the client corrupts
  /// the word.
  void wait() const noexcept;
  /// For the daemon: marks the mutex as broken, whichever thread holds it, and wakes the waiters.
  void cut() noexcept;

 private:
  // The kernel uses the first word of the mutex. The C library has the futex word there on all machines.
  using Word = std::atomic<std::uint32_t>;
  [[nodiscard]] const Word& word() const noexcept { return *reinterpret_cast<const Word*>(&mutex_); }
  [[nodiscard]] Word& word() noexcept { return *reinterpret_cast<Word*>(&mutex_); }
  void wake() noexcept;

  pthread_mutex_t mutex_{};
};

} // namespace rtexec::protocol
