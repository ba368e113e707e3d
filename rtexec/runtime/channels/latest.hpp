// A mailbox with the newest values of one tensor, from one task that writes them to others that read them. It is
// wait-free: a value stays unchanged while it is read, and the writer uses other slots. All slots are allocated in
// advance.
//
// The writer gives each value an instant at which it becomes visible: at once if communication is immediate, at the
// deadline of its job under logical execution time. A reader gets the newest value that is visible at an instant that
// it gives.
//
// The memory is the mailbox's own, or device memory that the caller provides and that this class never accesses. In
// that case the current user of the device writes a value between take() and publish(), and reads it between two calls
// of newest().
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::channels {

class Latest {
 public:
  struct Stamp {
    Instant sampled{}; // when its inputs were sampled
    Instant visible{};
  };
  struct Value {
    std::uint64_t version = 0; // number of the value, from 1
    Stamp stamp;
    std::span<const std::byte> bytes;
  };
  enum class Where { own_memory, given_memory };

  /// Makes a mailbox for values of `size` bytes. The newest `kept` values are preserved, so that a reader finds one
  /// that was visible earlier.
  Latest(std::size_t size, std::size_t readers, std::size_t kept, Where where = Where::own_memory);

  /// Returns the size of the memory that lie_at() needs: each value begins at a multiple of 256 bytes in it.
  [[nodiscard]] Bytes room() const noexcept { return Bytes{slots_.size() * distance_}; }
  /// Sets the memory, room() bytes. Set-up.
  void lie_at(std::byte* memory) noexcept;

  // One writer at a time: calls of different threads must be ordered.
  /// Returns the memory for the next value, which is not read until it is published. Returns the same memory until
  /// then.
  [[nodiscard]] std::span<std::byte> take() noexcept;
  /// Publishes the value that was written since take(); has no effect without take(). `visible` must never decrease.
  void publish(const Stamp& stamp) noexcept;
  /// Combines both: `fill` writes the value into the given bytes.
  template <class Fill> void write(const Stamp& stamp, Fill fill) noexcept {
    fill(take());
    publish(stamp);
  }

  /// Returns memory that can be read while there is no value: the slot that take() uses last.
  [[nodiscard]] std::span<const std::byte> blank() const noexcept { return slots_.back().bytes; }

  /// Returns the newest value that is visible at `when`. It stays unchanged until the next call for the same `reader`.
  /// Returns nullopt if no value is visible. Each reader has one thread.
  [[nodiscard]] std::optional<Value> newest(std::size_t reader, Instant when) noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> version{0}; // number of the value; 0: none, or it is being written
    Stamp stamp;
    std::atomic<std::int64_t> visible{0}; // ns
    std::span<std::byte> bytes;
  };

  Slot& free_slot() noexcept;
  [[nodiscard]] bool is_read(const Slot& slot) const noexcept;

  const std::size_t size_, distance_;
  std::vector<Slot> slots_;
  std::vector<std::byte> own_;
  Slot* taken_ = nullptr;
  std::vector<std::atomic<const Slot*>> reading_; // by reader
  std::size_t kept_;
  std::atomic<std::uint64_t> versions_{0}; // number of written values
};

} // namespace rtexec::channels
