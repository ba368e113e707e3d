// Real-time threads: pinned, with a scheduling class, everything read back. Sibling scheduling classes: SCHED_FIFO,
// SCHED_DEADLINE (in a cpuset partition of its core), and SCHED_OTHER where a degraded run was allowed.
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

/// Cores taken out of the kernel's load balancing, each by itself, so that SCHED_DEADLINE threads can be pinned to
/// them. Made by Machine::partition(); everything is put back by end(). One thread at a time, except add().
class CpusetPartition {
 public:
  virtual ~CpusetPartition() = default; // ends it
  /// Moves a thread of this process to `core`'s part.
  [[nodiscard]] virtual Result<> add(int kernel_id, unsigned core) = 0;
  /// Moves the threads still in it back and undoes everything; the error names what could not be undone. Once is
  /// enough.
  [[nodiscard]] virtual Result<> end() = 0;
};

struct ThreadSettings {
  std::string name;                       // the kernel keeps the first 15 characters
  std::optional<unsigned> core;           // pinned to this core; absent: stays where it may run now
  int fifo_priority = 0;                  // 1..99: SCHED_FIFO; 0: not asked for
  std::optional<Reservation> reservation; // SCHED_DEADLINE, instead of a FIFO priority; neither: SCHED_OTHER
  bool when_idle = false;                 // SCHED_IDLE instead: runs only where nothing else wants to
  std::vector<unsigned> among = {};       // without `core`: kept to these cores; empty: to none
  /// Joined before the thread is pinned; must outlive the call. Needs `core`
  CpusetPartition* partition = nullptr;
  /// Whole stack, prefaulted, with a guard page below; fixed at the thread's start
  Bytes stack{1 << 20};
};

/// Of a thread that runs on `core` where nothing else wants to.
[[nodiscard]] ThreadSettings giving_way(std::string name, unsigned core, CpusetPartition* partition);

/// Applies `settings` to the calling thread (all but the stack) and reads every one of them back; the error says which
/// was refused, why, and what to change (a limit, a capability, a kernel parameter). After an error the thread is
/// SCHED_OTHER.
[[nodiscard]] Result<> apply(const ThreadSettings& settings);

/// A thread with prefaulted stack that applies its settings before it runs `body`. start() returns once the settings
/// are in force, or their error, and then `body` never runs. The destructor joins.
class Thread {
 public:
  Thread();
  ~Thread();
  Thread(Thread&&) noexcept;
  Thread& operator=(Thread&&) noexcept; // joins the thread it replaces
  [[nodiscard]] static Result<Thread> start(const ThreadSettings& settings, std::function<void()> body);
  void join();
  [[nodiscard]] int kernel_id() const; // as in /proc; 0 before start

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Locks all memory, present and future, of the process, and reads back that it is locked. Address ranges that are only
/// reserved count against RLIMIT_MEMLOCK from then on.
[[nodiscard]] Result<> lock_memory();

/// A word that one side waits on and another wakes: a futex. wait() returns at once when `value` differs from `seen`.
/// No allocation, no lock; safe across priorities.
template <bool between_processes> class BasicSignal {
 public:
  [[nodiscard]] std::uint32_t value() const noexcept { return word_.load(std::memory_order_acquire); }
  void raise() noexcept;                        // increments and wakes every waiter
  void wait(std::uint32_t seen) const noexcept; // may return early: check and wait again
  /// Until `deadline` at the latest, on CLOCK_MONOTONIC. False on timeout.
  bool wait_until(std::uint32_t seen, Instant deadline) const noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};
using Signal = BasicSignal<false>;
/// In memory that processes share; a mapping that is read-only will do to wait. What is waited for stands elsewhere: a
/// hostile other side can raise it at will or spoil the word, so who waits wakes for nothing, or not.
using SharedSignal = BasicSignal<true>;
static_assert(sizeof(SharedSignal) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps until an absolute instant on CLOCK_MONOTONIC; restarts after signals.
void sleep_until(Instant when) noexcept;
/// Between two looks of a loop that waits: leaves the core's units to its sibling.
inline void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
/// On which core the calling thread runs. A pinned thread whose core goes offline is moved to another one.
[[nodiscard]] unsigned current_core() noexcept;
[[nodiscard]] Instant now() noexcept;
/// That the calling thread has executed so far, without what preempted it.
[[nodiscard]] Duration execution_time() noexcept;

/// What a thread has had of its core, and how often it waited: slept, for a lock, for input or output. To be preempted,
/// or to yield, is not to wait.
struct ThreadUse {
  Duration processor{0};
  std::int64_t waits = 0;
};
/// Of the calling thread, since its begin. Where the kernel accounts for interrupts and for what a hypervisor took,
/// `processor` is without them. Two system calls.
[[nodiscard]] ThreadUse thread_use() noexcept;
/// Of the `passed` time between two readings, what the thread itself took: where it waited in between, all of it; else
/// its processor time.
[[nodiscard]] Duration used_between(const ThreadUse& begin, const ThreadUse& end, Duration passed) noexcept;

/// How late the kernel may notice that a reservation is used up: its tick.
[[nodiscard]] Duration tick() noexcept;

} // namespace rtexec::hal
