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
    if (Entry* entry = find(key)) entry->busy.store(true, std::memory_order_relaxed);
    else unnamed_.store(true, std::memory_order_relaxed);
  }
  /// `stream` is about to be destroyed; true where it may have work.
  [[nodiscard]] bool forget(hal::cuda::Stream stream) noexcept {
    bool busy = unnamed_.load(std::memory_order_relaxed);
    for (auto& entry : entries_) {
      if (entry.key.load(std::memory_order_acquire) != key_of(stream, false)) continue;
      busy = entry.busy.exchange(false, std::memory_order_relaxed) || busy;
      entry.key.store(gone, std::memory_order_release);
    }
    return busy;
  }
  /// Whether all work has ended, in the calling thread's context. `captures`: a stream records, so neither the context
  /// nor the null stream may be asked.
  [[nodiscard]] bool idle(const RealDriver& driver, bool captures) noexcept {
    using hal::cuda::Code;
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) break;
      if (key == gone || !entry.busy.load(std::memory_order_relaxed)) continue;
      if (captures && !may_be_asked(driver, key)) return false;
      const Code code = driver.stream_query(stream_of(key));
      if (code == Code::not_ready) return false;
      entry.busy.store(false, std::memory_order_relaxed);
    }
    // Streams that cannot be asked by name: of other threads, or too many.
    if (unnamed_.load(std::memory_order_relaxed)) {
      if (captures || driver.context_synchronize() != Code::success) return false;
      unnamed_.store(false, std::memory_order_relaxed);
    }
    return true;
  }
  /// Waits for each stream that can be asked by name: where another one records, the context must not be waited for.
  void await(const RealDriver& driver) noexcept {
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) break;
      if (key == gone || !entry.busy.load(std::memory_order_relaxed) || !may_be_asked(driver, key)) continue;
      if (driver.stream_synchronize(stream_of(key)) == hal::cuda::Code::success)
        entry.busy.store(false, std::memory_order_relaxed);
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
  [[nodiscard]] static hal::cuda::Stream stream_of(std::uintptr_t key) noexcept {
    return reinterpret_cast<hal::cuda::Stream>(key == null_key ? 0 : key);
  }
  /// While a stream records: not one that does, nor the null stream, which waits for others.
  [[nodiscard]] static bool may_be_asked(const RealDriver& driver, std::uintptr_t key) noexcept {
    int state = 0;
    return key != null_key && driver.stream_is_capturing(stream_of(key), &state) == hal::cuda::Code::success &&
           state == 0;
  }
  /// The entry of `key`, taken where there is none. Null: no room.
  [[nodiscard]] Entry* find(std::uintptr_t key) noexcept {
    Entry* unused = nullptr;
    for (auto& entry : entries_) {
      const std::uintptr_t there = entry.key.load(std::memory_order_acquire);
      if (there == key) return &entry;
      if ((there == 0 || there == gone) && unused == nullptr) unused = &entry;
      if (there == 0) break;
    }
    for (std::size_t i = unused != nullptr ? static_cast<std::size_t>(unused - entries_.data()) : entries_.size();
         i < entries_.size(); ++i) {
      auto& entry = entries_[i];
      std::uintptr_t there = entry.key.load(std::memory_order_acquire);
      if ((there == 0 || there == gone) && entry.key.compare_exchange_strong(there, key, std::memory_order_acq_rel))
        return &entry;
      if (there == key) return &entry;
    }
    return nullptr;
  }
  [[nodiscard]] static std::uintptr_t key_of(hal::cuda::Stream stream, bool own) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    return value != 0 ? value : own ? own_key : null_key;
  }

  std::array<Entry, 64> entries_;
  std::atomic<bool> unnamed_{false};
};

} // namespace rtexec::preload
