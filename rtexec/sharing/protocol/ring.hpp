// A ring of entries from one process to another, in memory that both can write. One producer, one consumer, wait-free,
// no allocation. Neither side trusts the other side. Each side keeps its own index in private memory, and only
// publishes a copy. Each side reads the other side's index once and checks it. The consumer copies an entry before
// examining it. A hostile side can send invalid entries, and can lose its own entries. A hostile side cannot make the
// other side access memory outside of the ring, wait, or loop.
//
// A Producer or Consumer belongs to one thread at a time. The ring must outlive it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rtexec::protocol {

enum class EntryKind : std::uint16_t {
  // ---- from client to daemon ----
  request = 1, // `job` requests the device
  done,        // `job`, which was granted, has released the device
  loaded,      // `slot` has `frame` and its contents; unchanged if `status` is failed
  saved,       // `slot` is saved on the host and unmapped; unchanged if `status` is failed
  // ---- from daemon to client ----
  load = 16, // map `frame` into `slot`, and restore the slot's saved contents, if it has any
  save,      // copy `slot` to the host and unmap it: `frame` then belongs to another slot
  hurry,     // other clients wait for the device, which `job` holds: end `job` as soon as the device is idle
};

/// The result of a load or save.
enum class Outcome : std::uint16_t { done, failed };

struct Entry {
  std::uint16_t kind = 0;
  std::uint16_t status = 0; // a value of Outcome
  std::uint32_t slot = 0;
  std::uint32_t frame = 0;
  std::uint32_t reserved = 0;
  std::uint64_t job = 0;    // job of request, done and hurry; 0 for load and save
  std::int64_t time_ns = 0; // the instant when the entry was written, on CLOCK_MONOTONIC; used only for traces
  friend bool operator==(const Entry&, const Entry&) = default;
};
static_assert(sizeof(Entry) == 32);

inline constexpr std::uint32_t ring_capacity = 256; // number of entries, a power of two

/// The ring in shared memory. If all bytes are zero, the ring is empty.
class Ring {
 private:
  friend class Producer;
  friend class Consumer;
  using Words = std::array<std::uint64_t, sizeof(Entry) / sizeof(std::uint64_t)>;

  alignas(64) std::atomic<std::uint32_t> head_{0}; // number of entries taken so far
  alignas(64) std::atomic<std::uint32_t> tail_{0}; // number of entries pushed so far
  alignas(64) std::array<std::array<std::atomic<std::uint64_t>, Words{}.size()>, ring_capacity> entries_{};
};

enum class Turn : std::uint8_t {
  done,
  not_now, // the ring is full (push) or empty (pop)
  /// The other side's index is impossible, so that the other side is hostile or corrupt. This state is permanent.
  broken,
};

class Producer {
 public:
  explicit Producer(Ring& ring) noexcept : ring_(&ring) {}
  /// Appends an entry. The caller must wake the consumer afterwards.
  [[nodiscard]] Turn push(const Entry& entry) noexcept {
    const std::uint32_t head = ring_->head_.load(std::memory_order_acquire);
    const std::uint32_t used = tail_ - head;
    if (used > ring_capacity) return Turn::broken;
    if (used == ring_capacity) return Turn::not_now;
    const auto words = std::bit_cast<Ring::Words>(entry);
    auto& place = ring_->entries_[tail_ % ring_capacity];
    for (std::size_t i = 0; i < words.size(); ++i) place[i].store(words[i], std::memory_order_relaxed);
    ring_->tail_.store(++tail_, std::memory_order_release);
    return Turn::done;
  }

 private:
  Ring* ring_;
  std::uint32_t tail_ = 0;
};

class Consumer {
 public:
  explicit Consumer(Ring& ring) noexcept : ring_(&ring) {}
  [[nodiscard]] Turn pop(Entry& entry) noexcept {
    const std::uint32_t given = ring_->tail_.load(std::memory_order_acquire) - head_;
    if (given > ring_capacity) return Turn::broken;
    if (given == 0) return Turn::not_now;
    Ring::Words words;
    const auto& place = ring_->entries_[head_ % ring_capacity];
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = place[i].load(std::memory_order_relaxed);
    ring_->head_.store(++head_, std::memory_order_release);
    entry = std::bit_cast<Entry>(words);
    return Turn::done;
  }

 private:
  Ring* ring_;
  std::uint32_t head_ = 0;
};

} // namespace rtexec::protocol
