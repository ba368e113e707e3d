// A value that one thread publishes and other threads read without a lock. The writer never waits. A reader repeats
// its read if a write is in progress. Several writers must use a lock. No allocation.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace rtexec::daemon {

template <class T> class Published {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);

 public:
  void publish(const T& value) noexcept {
    const auto words = std::bit_cast<Words>(value);
    const std::uint64_t next = writes_.load(std::memory_order_relaxed) + 1;
    writes_.store(next, std::memory_order_relaxed); // an odd number marks a write in progress
    // Release order: a reader that sees one of these words also sees the odd number.
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
    writes_.store(next + 1, std::memory_order_release);
  }
  /// Returns the value published last. Any thread.
  [[nodiscard]] T read() const noexcept {
    for (;;) {
      const std::uint64_t before = writes_.load(std::memory_order_acquire);
      Words words{};
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 == 0 && writes_.load(std::memory_order_relaxed) == before) return std::bit_cast<T>(words);
    }
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)>;
  std::atomic<std::uint64_t> writes_{0};
  std::array<std::atomic<std::uint64_t>, Words{}.size()> words_{};
};

} // namespace rtexec::daemon
