// Real-time threads: pinned, with a scheduling class; every setting is read back. Scheduling classes: SCHED_FIFO,
// SCHED_DEADLINE (in a cpuset partition of its core), and SCHED_OTHER if a degraded run was allowed.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

/// A SCHED_DEADLINE reservation: 1024 ns <= runtime <= deadline <= period.
struct Reservation {
  Duration runtime{0};
  Duration deadline{0};
  Duration period{0};
};

/// Cores that are out of the kernel's load balancing, each in a cpuset of its own, so that SCHED_DEADLINE threads can
/// be pinned to them. Machine::partition() makes it; end() undoes everything. One thread at a time, except for add().
class CpusetPartition {
 public:
  virtual ~CpusetPartition() = default; // calls end()
  /// Moves a thread of this process to the cpuset of `core`.
  [[nodiscard]] virtual Result<> add(int kernel_id, unsigned core) = 0;
  /// Moves the threads still in the partition back and undoes everything. The error names what could not be undone. A
  /// second call has no effect.
  [[nodiscard]] virtual Result<> end() = 0;
};

struct ThreadSettings {
  std::string name;                       // the kernel keeps the first 15 characters
  std::optional<unsigned> core;           // pinned to this core; absent: affinity unchanged
  int fifo_priority = 0;                  // 1..99: SCHED_FIFO; 0: no FIFO priority
  std::optional<Reservation> reservation; // SCHED_DEADLINE, instead of a FIFO priority; neither: SCHED_OTHER
  bool when_idle = false;                 // SCHED_IDLE instead: runs only if nothing else wants to run
  std::vector<unsigned> among = {};       // without `core`: the allowed cores; empty: affinity unchanged
  /// The partition that the thread joins before it is pinned to `core`, which must be set. It must outlive the call
  CpusetPartition* partition = nullptr;
  /// The size of the stack, fixed when the thread starts. The whole stack is prefaulted and has a guard page below it
  Bytes stack{1 << 20};
};

/// Returns the settings of a thread that runs on `core` only if nothing else wants to run there.
[[nodiscard]] ThreadSettings giving_way(std::string name, unsigned core, CpusetPartition* partition);

/// Applies `settings` (except the stack) to the calling thread and reads every one back. The error says which setting
/// was refused, why, and what to change (a limit, a capability, a kernel parameter). After an error the thread is
/// SCHED_OTHER.
[[nodiscard]] Result<> apply(const ThreadSettings& settings);

/// A thread with a prefaulted stack that applies its settings before it runs `body`. start() returns once the settings
/// are in force. If they are refused, start() returns the error and `body` never runs. The destructor joins.
class Thread {
 public:
  Thread();
  ~Thread();
  Thread(Thread&&) noexcept;
  Thread& operator=(Thread&&) noexcept; // joins the thread it replaces
  [[nodiscard]] static Result<Thread> start(const ThreadSettings& settings, std::function<void()> body);
  void join();
  [[nodiscard]] int kernel_id() const; // its number in /proc; 0 before start

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Locks all present and future memory of the process, and reads back that it is locked. From then on, merely reserved
/// address ranges count against RLIMIT_MEMLOCK too.
[[nodiscard]] Result<> lock_memory();

/// A futex: a word that one side waits on and another wakes. wait() returns at once if `value` differs from `seen`.
/// Allocates nothing and takes no lock, so threads of different priorities may share it.
template <bool between_processes> class BasicSignal {
 public:
  [[nodiscard]] std::uint32_t value() const noexcept { return word_.load(std::memory_order_acquire); }
  void raise() noexcept;                        // increments and wakes every waiter
  void wait(std::uint32_t seen) const noexcept; // may return early: check again and wait again
  /// Waits until `deadline` (CLOCK_MONOTONIC) at the latest. Returns false on timeout.
  bool wait_until(std::uint32_t seen, Instant deadline) const noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};
using Signal = BasicSignal<false>;
/// A signal in memory that processes share; a read-only mapping suffices for waiting. The awaited condition must be
/// stored elsewhere. A hostile process can raise the signal at will or corrupt the word, so a waiting thread may wake
/// spuriously, or not at all.
using SharedSignal = BasicSignal<true>;
static_assert(sizeof(SharedSignal) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps until an absolute instant on CLOCK_MONOTONIC; restarts after signals.
void sleep_until(Instant when) noexcept;
/// Pauses between two polls of a waiting loop, so that the sibling hardware thread can use the core's units.
inline void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
/// Returns the core on which the calling thread runs. The kernel moves a pinned thread to another core if its core goes
/// offline.
[[nodiscard]] unsigned current_core() noexcept;
[[nodiscard]] Instant now() noexcept;
/// Returns the processor time of the calling thread so far, without the time of threads that preempted it.
[[nodiscard]] Duration execution_time() noexcept;

/// The processor time of a thread, and how often it waited: for time to pass, a lock, input or output. Being preempted,
/// or yielding, is not waiting.
struct ThreadUse {
  Duration processor{0};
  std::int64_t waits = 0;
};
/// Returns the use of the calling thread since it began. If the kernel accounts for interrupts and stolen time,
/// `processor` excludes them. Makes two system calls.
[[nodiscard]] ThreadUse thread_use() noexcept;
/// Returns the part of the `passed` time between two readings that belongs to the thread. If the thread waited in
/// between, this is `passed`; otherwise it is its processor time.
[[nodiscard]] Duration used_between(const ThreadUse& begin, const ThreadUse& end, Duration passed) noexcept;

/// Returns the kernel's tick: the longest delay until the kernel notices that a reservation is used up.
[[nodiscard]] Duration tick() noexcept;

} // namespace rtexec::hal
