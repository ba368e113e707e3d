// A word in the segment that tells at once that the client's agent is no more, however its process ends: a robust
// mutex that the agent's thread holds for life. The kernel marks it, and wakes who waits for it, when a thread exits,
// long before a driver has let go of the process, whose pidfd and socket tell later.
//
// The client writes the word, so it tells the daemon nothing that can be relied upon but for that client's own harm:
// who seems to be dead is ended, and who keeps the word from telling is found out by its pidfd. The daemon never calls
// a function of mutexes on it.
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
  [[nodiscard]] bool broken() const noexcept;
  /// Daemon: until it may be broken; returns early too, and where a client spoils the word always.
  void wait() const noexcept;
  /// Daemon: it is broken from now on, whoever holds it.
  void cut() noexcept;

 private:
  // What the kernel works on is the mutex's first word, as the C library has it on all machines.
  using Word = std::atomic<std::uint32_t>;
  [[nodiscard]] const Word& word() const noexcept { return *reinterpret_cast<const Word*>(&mutex_); }
  [[nodiscard]] Word& word() noexcept { return *reinterpret_cast<Word*>(&mutex_); }
  void wake() noexcept;

  pthread_mutex_t mutex_{};
};

} // namespace rtexec::protocol
