// Which streams of a process may have work that has not ended.
//
// mark() and forget() on any thread, without a lock; idle() by one thread at a time while nothing is submitted.
#pragma once

#include "rtexec/preload/real_driver.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rtexec::preload {

class BusyStreams {
 public:
  /// Work is submitted to `stream`; `own`: a null stream is the thread's own.
  void mark(hal::cuda::Stream stream, bool own) noexcept {
    const std::uintptr_t key = key_of(stream, own);
    if (key == own_key) {
      unnamed_.store(true, std::memory_order_relaxed);
      return;
    }
    for (auto& entry : entries_) {
      std::uintptr_t there = entry.key.load(std::memory_order_acquire);
      if ((there == 0 || there == gone) && entry.key.compare_exchange_strong(there, key, std::memory_order_acq_rel))
        there = key;
      if (there != key) continue;
      entry.busy.store(true, std::memory_order_relaxed);
      return;
    }
    unnamed_.store(true, std::memory_order_relaxed);
  }
  /// `stream` is about to be destroyed; true where it may have work.
  [[nodiscard]] bool forget(hal::cuda::Stream stream) noexcept {
    for (auto& entry : entries_) {
      if (entry.key.load(std::memory_order_acquire) != key_of(stream, false)) continue;
      const bool busy = entry.busy.exchange(false, std::memory_order_relaxed);
      entry.key.store(gone, std::memory_order_release);
      return busy;
    }
    return unnamed_.load(std::memory_order_relaxed);
  }
  /// Whether all work has ended, in the calling thread's context.
  [[nodiscard]] bool idle(const RealDriver& driver) noexcept {
    using hal::cuda::Code;
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) break;
      if (key == gone || !entry.busy.load(std::memory_order_relaxed)) continue;
      const Code code = driver.stream_query(reinterpret_cast<hal::cuda::Stream>(key == null_key ? 0 : key));
      if (code == Code::not_ready) return false;
      entry.busy.store(false, std::memory_order_relaxed);
    }
    // Streams that cannot be asked by name: of other threads, or too many.
    if (unnamed_.load(std::memory_order_relaxed)) {
      if (driver.context_synchronize() != Code::success) return false;
      unnamed_.store(false, std::memory_order_relaxed);
    }
    return true;
  }
  /// Waits for each stream that can be asked by name: where another one records, the context must not be waited for.
  void await(const RealDriver& driver) noexcept {
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) break;
      if (key == gone || !entry.busy.exchange(false, std::memory_order_relaxed)) continue;
      (void)driver.stream_synchronize(reinterpret_cast<hal::cuda::Stream>(key == null_key ? 0 : key));
    }
  }
  void all_ended() noexcept {
    for (auto& entry : entries_) entry.busy.store(false, std::memory_order_relaxed);
    unnamed_.store(false, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> key{0}; // 0: no entry yet, and none behind it
    std::atomic<bool> busy{false};
  };
  static constexpr std::uintptr_t null_key = 1; // CU_STREAM_LEGACY, which the null stream is
  static constexpr std::uintptr_t own_key = 2;  // CU_STREAM_PER_THREAD
  static constexpr std::uintptr_t gone = 3;     // no stream has this handle
  [[nodiscard]] static std::uintptr_t key_of(hal::cuda::Stream stream, bool own) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    return value != 0 ? value : own ? own_key : null_key;
  }

  std::array<Entry, 64> entries_;
  std::atomic<bool> unnamed_{false};
};

} // namespace rtexec::preload
