// Counts the progress of one thread or engine, so that the heartbeat (heartbeat.hpp) finds out whether the thread or
// engine is stuck. The watched thread only stores into atomic variables: no lock, no allocation, no system call.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

/// The observed progress of a thread, an engine or a job. The thread, engine or job is stuck if `due` stays true for a
/// long time while `steps` does not grow.
struct Progress {
  std::uint64_t steps = 0;
  bool due = false; // true: the thread, engine or job has work to do, or should have been woken
};

/// Counts the pieces of work that are submitted to a thread or engine, and the pieces that it has completed. A
/// completed piece is one step. A thread counts as having work at all times, except while it waits.
class ProgressCounter {
 public:
  ProgressCounter() noexcept = default;
  /// Returns a counter for a thread, which must wait only by wait(), wait_until() and wait_elsewhere().
  [[nodiscard]] static ProgressCounter of_thread() noexcept { return ProgressCounter(1); }

  // The wait functions are for the watched thread.
  /// Calls signal.wait(seen). The thread must have handled all signals up to `seen`. `signal` must outlive the counter.
  void wait(const hal::Signal& signal, std::uint32_t seen) noexcept {
    begin_wait(&signal, seen, Instant::max());
    signal.wait(seen);
    completed();
  }
  /// Like wait(), but calls signal.wait_until(seen, until).
  void wait_until(const hal::Signal& signal, std::uint32_t seen, Instant until) noexcept {
    begin_wait(&signal, seen, until);
    static_cast<void>(signal.wait_until(seen, until));
    completed();
  }
  /// Calls `wait`, which may take any length of time, for example because it waits for input. During this call the
  /// thread does not count as stuck.
  template <class Wait> auto wait_elsewhere(Wait wait) noexcept {
    begin_wait(nullptr, 0, Instant::max());
    const auto outcome = wait();
    completed();
    return outcome;
  }

  // The next two functions are for engines. One thread calls submitted(); the engine's thread calls completed().
  void submitted() noexcept {
    submitted_.store(submitted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void completed() noexcept { steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  /// Returns the progress. Any thread.
  [[nodiscard]] Progress progress(Instant now) const noexcept {
    const std::uint64_t steps = steps_.load();
    if (submitted_.load() != steps) return {.steps = steps, .due = true};
    const hal::Signal* signal = signal_.load(std::memory_order_relaxed);
    const bool signalled = signal != nullptr && signal->value() != seen_.load(std::memory_order_relaxed);
    const bool late = now >= Instant(Duration(until_.load(std::memory_order_relaxed)));
    return {.steps = steps, .due = steps_.load() == steps && (signalled || late)};
  }

 private:
  explicit ProgressCounter(std::uint64_t submitted) noexcept : submitted_(submitted) {}
  /// Begins a wait. While the thread waits, the numbers of submitted and completed pieces of work are equal, so that
  /// the thread has no work. At the end of the wait, completed() makes the two numbers different again.
  void begin_wait(const hal::Signal* signal, std::uint32_t seen, Instant until) noexcept {
    signal_.store(signal, std::memory_order_relaxed);
    seen_.store(seen, std::memory_order_relaxed);
    until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
    submitted_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    completed();
  }

  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> steps_{0};
  // The thread's current wait
  std::atomic<const hal::Signal*> signal_{nullptr};
  std::atomic<std::uint32_t> seen_{0};
  std::atomic<std::int64_t> until_{Instant::max().time_since_epoch().count()};
};

} // namespace rtexec::executive
