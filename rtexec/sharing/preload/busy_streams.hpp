// A table of the streams of a process that may have unfinished work. await() waits for work. The other functions wait
// only if an event cannot be recorded.
//
// Some streams cannot be queried by their handle: the per-thread stream, a stream about to be destroyed, and streams
// for which the table has no free entry. For these streams, an event is recorded behind their work and queried instead.
//
// Threads: any thread may call mark(), follow() and forget(); mark() takes no lock. One thread at a time may call
// idle(), await() and all_ended(). idle() and all_ended() must not run while work is submitted.
#pragma once

#include "rtexec/sharing/preload/real_driver.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace rtexec::preload {

class BusyStreams {
 public:
  /// Marks `stream` as busy, because work will be submitted to it. If `own` is true, a null handle means the thread's
  /// own stream. Returns false if the table is full. In this case, follow() must be called after the submission.
  [[nodiscard]] bool mark(hal::cuda::Stream stream, bool own) noexcept {
    const std::uintptr_t key = key_of(stream, own);
    Entry* entry = key != own_key ? find(key) : nullptr;
    if (entry != nullptr) entry->busy.store(true, std::memory_order_relaxed);
    return entry != nullptr;
  }
  /// Records an event behind the present work of `stream`. If recording fails, waits for the work instead. The context
  /// of the stream must be current in the calling thread.
  void follow(const RealDriver& driver, hal::cuda::Stream stream, bool own) noexcept {
    const std::uintptr_t key = key_of(stream, own);
    if (!follow(driver, key, key == own_key ? number_of_thread() : key))
      (void)driver.stream_synchronize(stream_of(key));
  }
  /// Handles the destruction of `stream`: replaces its entry by an event that is recorded behind its work.
  void forget(const RealDriver& driver, hal::cuda::Stream stream) noexcept {
    bool busy = false;
    for (auto& entry : entries_) {
      if (entry.key.load(std::memory_order_acquire) != key_of(stream, false)) continue;
      busy = entry.busy.load(std::memory_order_relaxed) || busy;
    }
    if (busy && !follow(driver, key_of(stream, false), 0)) (void)driver.stream_synchronize(stream);
    for (auto& entry : entries_) {
      if (entry.key.load(std::memory_order_acquire) != key_of(stream, false)) continue;
      entry.busy.store(false, std::memory_order_relaxed);
      entry.key.store(gone, std::memory_order_release);
    }
    const std::scoped_lock lock(tails_lock_);
    for (Tail& tail : tails_) {
      if (tail.of == key_of(stream, false)) tail.of = 0;
    }
  }
  /// True if all work has ended. The context must be current in the calling thread. `captures` is true while a stream
  /// captures. During a capture, neither the context nor the null stream may be queried.
  [[nodiscard]] bool idle(const RealDriver& driver, bool captures) noexcept {
    using hal::cuda::Code;
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) continue;
      if (key == gone || !entry.busy.load(std::memory_order_relaxed)) continue;
      if (captures && !may_be_asked(driver, key)) return false;
      const Code code = driver.stream_query(stream_of(key));
      if (code == Code::not_ready) return false;
      entry.busy.store(false, std::memory_order_relaxed);
    }
    const std::scoped_lock lock(tails_lock_);
    std::erase_if(tails_, [&](const Tail& tail) {
      if (driver.event_query(tail.end) == Code::not_ready) return false;
      (void)driver.event_destroy(tail.end);
      return true;
    });
    return tails_.empty();
  }
  /// Waits for the work of each stream, one by one, because the context must not be synchronised while a stream
  /// captures. Excludes the null stream and streams that capture.
  void await(const RealDriver& driver) noexcept {
    for (auto& entry : entries_) {
      const std::uintptr_t key = entry.key.load(std::memory_order_acquire);
      if (key == 0) continue;
      if (key == gone || !entry.busy.load(std::memory_order_relaxed) || !may_be_asked(driver, key)) continue;
      // The entry remains busy, because other threads may have submitted more work.
      (void)driver.stream_synchronize(stream_of(key));
    }
    for (std::size_t i = 0;; ++i) {
      hal::cuda::Event end = nullptr;
      {
        const std::scoped_lock lock(tails_lock_);
        if (i >= tails_.size()) return;
        end = tails_[i].end;
      }
      (void)driver.event_synchronize(end);
    }
  }
  void all_ended(const RealDriver& driver) noexcept {
    for (auto& entry : entries_) entry.busy.store(false, std::memory_order_relaxed);
    const std::scoped_lock lock(tails_lock_);
    for (const Tail& tail : tails_) (void)driver.event_destroy(tail.end);
    tails_.clear();
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> key{0}; // 0: the entry has never been used
    std::atomic<bool> busy{false};
  };
  struct Tail {
    std::uint64_t of; // number of a thread, or handle of a stream; 0: the event is not recorded again
    hal::cuda::Event end;
  };
  /// Records an event behind the work of the stream. Reuses the event with the same `of`, if there is one. Returns
  /// false if it cannot record an event.
  [[nodiscard]] bool follow(const RealDriver& driver, std::uintptr_t key, std::uint64_t of) noexcept {
    using hal::cuda::Code;
    const std::scoped_lock lock(tails_lock_);
    for (const Tail& tail : tails_) {
      if (of != 0 && tail.of == of && driver.event_record(tail.end, stream_of(key)) == Code::success) return true;
    }
    hal::cuda::Event end = nullptr;
    if (driver.event_create(&end, hal::cuda::event_disable_timing) != Code::success) return false;
    try {
      if (driver.event_record(end, stream_of(key)) == Code::success) {
        tails_.push_back({of, end});
        return true;
      }
    } catch (const std::bad_alloc&) {} // the caller waits for the stream instead
    (void)driver.event_destroy(end);
    return false;
  }
  [[nodiscard]] static std::uint64_t number_of_thread() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number =
        2 * last.fetch_add(1, std::memory_order_relaxed) + 1; // odd, so that it equals no stream's handle
    return number;
  }
  static constexpr std::uintptr_t null_key = 1; // CU_STREAM_LEGACY, the null stream
  static constexpr std::uintptr_t own_key = 2;  // CU_STREAM_PER_THREAD
  static constexpr std::uintptr_t gone = 3;     // key of an entry that was used and is free; no stream has this handle
  [[nodiscard]] static hal::cuda::Stream stream_of(std::uintptr_t key) noexcept {
    return reinterpret_cast<hal::cuda::Stream>(key == null_key ? 0 : key);
  }
  /// True if the stream can be queried while another stream captures. False for a stream that captures itself, and for
  /// the null stream, because it waits for other streams.
  [[nodiscard]] static bool may_be_asked(const RealDriver& driver, std::uintptr_t key) noexcept {
    int state = 0;
    return key != null_key && driver.stream_is_capturing(stream_of(key), &state) == hal::cuda::Code::success &&
           state == 0;
  }
  /// Returns the entry of the stream `key`. If the stream has no entry, takes a free entry. Returns null if the table
  /// is full.
  [[nodiscard]] Entry* find(std::uintptr_t key) noexcept {
    const std::size_t first = (key ^ key >> 9) / 16;
    Entry* unused = nullptr;
    for (std::size_t i = 0; i < room; ++i) {
      Entry& entry = entries_[(first + i) % room];
      std::uintptr_t there = entry.key.load(std::memory_order_acquire);
      if (there == key) return &entry;
      if (there == gone && unused == nullptr) unused = &entry;
      if (there != 0) continue;
      Entry& taken = unused != nullptr ? *unused : entry;
      there = unused != nullptr ? gone : 0;
      if (taken.key.compare_exchange_strong(there, key, std::memory_order_acq_rel) || there == key) return &taken;
      return find(key); // another thread has taken the entry
    }
    std::uintptr_t there = gone;
    if (unused == nullptr) return nullptr;
    return unused->key.compare_exchange_strong(there, key, std::memory_order_acq_rel) || there == key ? unused
                                                                                                      : find(key);
  }
  [[nodiscard]] static std::uintptr_t key_of(hal::cuda::Stream stream, bool own) noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    return value != 0 ? value : own ? own_key : null_key;
  }

  static constexpr std::size_t room = 256;
  std::array<Entry, room> entries_;
  std::mutex tails_lock_;
  std::vector<Tail> tails_;
};

} // namespace rtexec::preload
