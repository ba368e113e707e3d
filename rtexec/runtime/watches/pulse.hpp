// Whether a thread of a run, or an engine, goes on with its work, told so that another thread sees it: who watches over
// a run asks, and the watched threads only store words of their own. No lock, no allocation, no call.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

/// As seen from outside: with work to do and no further step for long, it is stuck.
struct Progress {
  std::uint64_t steps = 0;
  bool due = false; // has work to do, or should have been woken
};

/// Of a thread that waits on signals. Written by that thread alone; progress() by any.
class Pulse {
 public:
  /// As Signal::wait(), of a signal that outlives this, by a thread that has handled all up to `seen`.
  void wait(const hal::Signal& signal, std::uint32_t seen) noexcept {
    begin(&signal, seen, Instant::max());
    signal.wait(seen);
    step();
  }
  /// As Signal::wait_until().
  void wait_until(const hal::Signal& signal, std::uint32_t seen, Instant until) noexcept {
    begin(&signal, seen, until);
    static_cast<void>(signal.wait_until(seen, until));
    step();
  }
  /// For what comes from elsewhere, whenever it does.
  template <class Wait> auto wait_elsewhere(Wait wait) noexcept {
    begin(nullptr, 0, Instant::max());
    const auto outcome = wait();
    step();
    return outcome;
  }

  [[nodiscard]] Progress progress(Instant now) const noexcept {
    const std::uint64_t steps = steps_.load(std::memory_order_acquire);
    if (steps % 2 == 0) return {.steps = steps, .due = true};
    const hal::Signal* signal = signal_.load(std::memory_order_relaxed);
    const bool signalled = signal != nullptr && signal->value() != seen_.load(std::memory_order_relaxed);
    const bool late = now >= Instant(Duration(until_.load(std::memory_order_relaxed)));
    return {.steps = steps, .due = steps_.load() == steps && (signalled || late)};
  }

 private:
  void begin(const hal::Signal* signal, std::uint32_t seen, Instant until) noexcept {
    signal_.store(signal, std::memory_order_relaxed);
    seen_.store(seen, std::memory_order_relaxed);
    until_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
    step();
  }
  void step() noexcept { steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  std::atomic<std::uint64_t> steps_{0}; // odd while it waits
  std::atomic<const hal::Signal*> signal_{nullptr};
  std::atomic<std::uint32_t> seen_{0};
  std::atomic<std::int64_t> until_{0};
};

/// Of an engine: pieces of work that it was given by one thread, and has ended on its own.
class WorkCount {
 public:
  void given() noexcept { given_.store(given_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void ended() noexcept { ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  [[nodiscard]] Progress progress() const noexcept {
    const std::uint64_t pieces = ended_.load();
    return {.steps = pieces, .due = given_.load() != pieces};
  }

 private:
  std::atomic<std::uint64_t> given_{0}, ended_{0};
};

} // namespace rtexec::executive
