// Real-time threads: each thread is pinned and has a scheduling class, and every setting is read back. Scheduling
// classes: SCHED_FIFO, SCHED_DEADLINE (in a cpuset partition of its core), and SCHED_OTHER if a degraded run was
// allowed.
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

/// Cores outside the kernel's load balancing, each in a cpuset of its own, so that SCHED_DEADLINE threads can be pinned
/// to them. Machine::partition() makes it; end() undoes everything. Called by one thread at a time; only add() may be
/// called concurrently.
class CpusetPartition {
 public:
  virtual ~CpusetPartition() = default; // calls end()
  /// Moves a thread of this process to the cpuset of `core`.
  [[nodiscard]] virtual Result<> add(int kernel_id, unsigned core) = 0;
  /// Moves the threads that are still in the partition back and undoes everything. The error names what could not be
  /// undone. A second call has no effect.
  [[nodiscard]] virtual Result<> end() = 0;
};

struct ThreadSettings {
  std::string name;                       // the kernel keeps the first 15 characters
  std::optional<unsigned> core;           // pinned to this core; absent: affinity unchanged
  int fifo_priority = 0;                  // 1..99: SCHED_FIFO; 0: no FIFO priority
  std::optional<Reservation> reservation; // SCHED_DEADLINE, instead of a FIFO priority; without both: SCHED_OTHER
  bool when_idle = false;                 // SCHED_IDLE instead: runs only if no other thread is ready on the core
  std::vector<unsigned> among = {};       // the allowed cores if `core` is absent; empty: affinity unchanged
  /// The partition that the thread joins before it is pinned to `core`, which must be set. It must outlive the call
  CpusetPartition* partition = nullptr;
  /// The size of the stack, fixed when the thread starts. The whole stack is prefaulted and has a guard page below it
  Bytes stack{1 << 20};
};

/// Returns the settings of a thread that runs on `core` only if no other thread is ready there.
[[nodiscard]] ThreadSettings giving_way(std::string name, unsigned core, CpusetPartition* partition);

/// Applies `settings` (except the stack) to the calling thread and reads back every setting. The error says which
/// setting was refused, why, and what to change (a limit, a capability, a kernel parameter). After an error the thread
/// is SCHED_OTHER.
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
  [[nodiscard]] int kernel_id() const; // the kernel's thread ID (TID); 0 before start()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Locks all present and future memory of the process, and reads back that the memory is locked. Afterwards even
/// address ranges that are only reserved count against RLIMIT_MEMLOCK.
[[nodiscard]] Result<> lock_memory();

/// A futex: a word that some threads wait on and other threads wake. wait() returns at once if `value` differs from
/// `seen`. Allocates nothing and takes no lock, so threads of different priorities may share it.
template <bool between_processes> class BasicSignal {
 public:
  [[nodiscard]] std::uint32_t value() const noexcept { return word_.load(std::memory_order_acquire); }
  void raise() noexcept;                        // increments and wakes every waiter
  void wait(std::uint32_t seen) const noexcept; // may return early: the caller checks its condition and waits again
  /// Waits until `deadline` (CLOCK_MONOTONIC) at the latest. Returns false on timeout.
  bool wait_until(std::uint32_t seen, Instant deadline) const noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};
using Signal = BasicSignal<false>;
/// A signal in memory that processes share; waiting needs only a read-only mapping. The awaited condition must be
/// stored elsewhere. A hostile process can raise the signal at will or corrupt the word. So a waiting thread may wake
/// spuriously, or never wake.
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

/// The processor time of a thread, and how often the thread waited: for time to pass, a lock, input or output.
/// Preemption and yielding do not count as waiting.
struct ThreadUse {
  Duration processor{0};
  std::int64_t waits = 0;
};
/// Returns the use of the calling thread since the thread began. If the kernel accounts for interrupts and stolen time,
/// `processor` excludes them. Makes two system calls.
[[nodiscard]] ThreadUse thread_use() noexcept;
/// Returns the part of the `passed` time between two readings that counts as the thread's execution. If the thread
/// waited between the readings, this is `passed`. Otherwise it is the thread's processor time.
[[nodiscard]] Duration used_between(const ThreadUse& begin, const ThreadUse& end, Duration passed) noexcept;

/// Returns the period of the kernel's tick: the longest delay until the kernel notices that a reservation is used up.
[[nodiscard]] Duration tick() noexcept;

} // namespace rtexec::hal
