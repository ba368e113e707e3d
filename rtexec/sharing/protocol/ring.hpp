// Entries from one process to another through memory that both can write: one producer, one consumer, wait-free, no
// allocation. Neither side believes the other: each keeps its own index to itself and only publishes it, reads the
// other's once and checks it, and copies an entry before it looks at it. A hostile other side can send rubbish entries
// and lose its own; it cannot make this side read or write elsewhere, wait, or loop.
//
// A Producer or Consumer belongs to one thread at a time, and views a ring that lives longer than it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rtexec::protocol {

enum class EntryKind : std::uint16_t {
  // client to daemon
  request = 1, // `job` wants the device
  done,        // `job`, which was granted, has left the device
  loaded,      // `slot` holds `frame` and its contents, or as it was before where `status` is failed
  saved,       // `slot` is on the host and unmapped, or as it was before where `status` is failed
  // daemon to client
  load = 16, // map `frame` into `slot`, and fill it with what it had when it was saved, if it was
  save,      // copy `slot` to the host and unmap it: `frame` is another's from then on
  hurry,     // others wait for the device that `job` holds: end it as soon as the device is idle
};

/// Of loaded and saved.
enum class Outcome : std::uint16_t { done, failed };

struct Entry {
  std::uint16_t kind = 0;
  std::uint16_t status = 0; // Outcome
  std::uint32_t slot = 0;
  std::uint32_t frame = 0;
  std::uint32_t reserved = 0;
  std::uint64_t job = 0;    // request, done, hurry; of load and save 0
  std::int64_t time_ns = 0; // CLOCK_MONOTONIC when it was written: for traces, decides nothing
  friend bool operator==(const Entry&, const Entry&) = default;
};
static_assert(sizeof(Entry) == 32);

inline constexpr std::uint32_t ring_capacity = 256; // entries: a power of two

/// As it lies in shared memory. All zero is an empty one.
class Ring {
 private:
  friend class Producer;
  friend class Consumer;
  using Words = std::array<std::uint64_t, sizeof(Entry) / sizeof(std::uint64_t)>;

  alignas(64) std::atomic<std::uint32_t> head_{0}; // entries taken so far
  alignas(64) std::atomic<std::uint32_t> tail_{0}; // entries given so far
  alignas(64) std::array<std::array<std::atomic<std::uint64_t>, Words{}.size()>, ring_capacity> entries_{};
};

enum class Turn : std::uint8_t {
  done,
  not_now, // the ring is full, or empty
  broken,  // the other side's index is impossible: it is hostile or mad, and stays so
};

class Producer {
 public:
  explicit Producer(Ring& ring) noexcept : ring_(&ring) {}
  /// The bell is rung by the caller.
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
