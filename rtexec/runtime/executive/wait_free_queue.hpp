// A queue of fixed capacity between exactly two threads: one thread pushes, and the other thread pops. Wait-free, no
// allocation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace rtexec::executive {

template <class T, std::size_t Capacity> class WaitFreeQueue {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  /// Appends an item; returns false if the queue is full.
  [[nodiscard]] bool push(const T& item) noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == Capacity) return false;
    items_[tail % Capacity] = item;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  /// Returns the oldest item, valid until pop_front(), or null if the queue is empty.
  [[nodiscard]] const T* front() const noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &items_[head % Capacity];
  }
  void pop_front() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  [[nodiscard]] bool pop(T& item) noexcept {
    const T* oldest = front();
    if (oldest == nullptr) return false;
    item = *oldest;
    pop_front();
    return true;
  }

 private:
  std::array<T, Capacity> items_{};
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

} // namespace rtexec::executive
