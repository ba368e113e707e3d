// The newest values of one tensor, from one task that writes them to others that read them. Nobody waits for anybody:
// a value that is being read stays as it is, and the writer takes other memory, which is all planned ahead.
//
// Values become visible at an instant that their writer names: at once where communication is immediate, at the
// deadline of its job under logical execution time. A reader takes the newest that is visible at the instant it names.
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
    Instant sampled{}; // when the values were so that it was made of
    Instant visible{};
  };
  struct Value {
    std::uint64_t version = 0; // counts the values that were written
    Stamp stamp;
    std::span<const std::byte> bytes;
  };

  /// Of values of `size` bytes. The newest `kept` of them stay, so that a reader finds one that was visible before.
  Latest(std::size_t size, std::size_t readers, std::size_t kept);

  /// One thread. `fill` writes the value into the bytes that it is given; `visible` never falls.
  template <class Fill> void write(const Stamp& stamp, Fill fill) noexcept {
    Slot& slot = free_slot();
    fill(std::span(slot.bytes));
    slot.stamp = stamp;
    publish(slot);
  }

  /// Of reader `reader`, one thread each: the newest value that is visible at `when`; it stays as it is until this
  /// reader's next call. Absent: none is.
  [[nodiscard]] std::optional<Value> newest(std::size_t reader, Instant when) noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> version{0}; // counts values; 0: none, or one that is being written
    Stamp stamp;
    std::atomic<std::int64_t> visible{0}; // ns
    std::vector<std::byte> bytes;
  };

  Slot& free_slot() noexcept;
  void publish(Slot& slot) noexcept;
  [[nodiscard]] bool is_read(const Slot& slot) const noexcept;

  std::vector<Slot> slots_;
  std::vector<std::atomic<const Slot*>> reading_; // by reader
  std::size_t kept_;
  std::atomic<std::uint64_t> versions_{0}; // that were written
};

} // namespace rtexec::channels
