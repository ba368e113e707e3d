// A mailbox with the newest values of one tensor. One task writes the values, and other tasks read them. The mailbox is
// wait-free: a value stays unchanged while it is read, because the writer uses only slots that no reader reads. All
// slots are allocated in advance.
//
// The writer gives each value the instant from which it is visible. This instant is the present if communication is
// immediate. It is the deadline of the writer's job under logical execution time. A reader requests the newest value
// that is visible at a given instant.
//
// The memory for values is either the mailbox's own memory, or device memory that the caller provides. This class never
// accesses device memory: the job that executes on the device writes a value there between take() and publish(), or
// reads it between two calls of newest().
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

class LatestMailbox {
 public:
  struct Stamp {
    Instant sampled{}; // the instant at which the inputs of the value's job were sampled
    Instant visible{};
  };
  struct Value {
    std::uint64_t version = 0; // number of the value, counted from 1
    Stamp stamp;
    std::span<const std::byte> bytes;
  };
  enum class Where { own_memory, given_memory };

  /// Makes a mailbox for values of `size` bytes. The newest `kept` values are preserved, so that a reader finds a value
  /// that was already visible at an earlier instant.
  LatestMailbox(std::size_t size, std::size_t readers, std::size_t kept, Where where = Where::own_memory);

  /// Returns the size of the memory that use_memory() needs. Each value begins at a multiple of 256 bytes in this
  /// memory.
  [[nodiscard]] Bytes total_size() const noexcept { return Bytes{slots_.size() * distance_}; }
  /// Sets the memory for values, of total_size() bytes. Set-up.
  void use_memory(std::byte* memory) noexcept;

  // The next three functions are for the writer. Several threads may call them, but not at the same time.
  /// Returns the memory for the next value, which no reader reads before publish(). Further calls before publish()
  /// return the same memory.
  [[nodiscard]] std::span<std::byte> take() noexcept;
  /// Publishes the value that was written since take(); has no effect without take(). `visible` must not be earlier
  /// than `visible` of the previous value.
  void publish(const Stamp& stamp) noexcept;
  /// Calls take(), lets `fill` write the value into that memory, and publishes it.
  template <class Fill> void write(const Stamp& stamp, Fill fill) noexcept {
    fill(take());
    publish(stamp);
  }

  /// Returns memory that a reader may read while no value exists. This memory is the slot that take() uses last.
  [[nodiscard]] std::span<const std::byte> blank() const noexcept { return slots_.back().bytes; }

  /// Returns the newest value that is visible at `when`. The value stays unchanged until the next call for the same
  /// `reader`. Returns nullopt if no value is visible. For each reader, only one thread at a time may call this
  /// function.
  [[nodiscard]] std::optional<Value> newest(std::size_t reader, Instant when) noexcept;

 private:
  struct Slot {
    /// The number of the value in the slot. 0: the slot has no value, or a value is being written.
    std::atomic<std::uint64_t> version{0};
    Stamp stamp;
    std::atomic<std::int64_t> visible{0}; // the instant from which the value is visible, in ns
    std::span<std::byte> bytes;
  };

  Slot& free_slot() noexcept;
  [[nodiscard]] bool is_read(const Slot& slot) const noexcept;

  const std::size_t size_, distance_;
  std::vector<Slot> slots_;
  std::vector<std::byte> own_;
  Slot* taken_ = nullptr;
  std::vector<std::atomic<const Slot*>> reading_; // the slot that each reader reads
  std::size_t kept_;
  std::atomic<std::uint64_t> versions_{0}; // number of values written so far
};

} // namespace rtexec::channels
