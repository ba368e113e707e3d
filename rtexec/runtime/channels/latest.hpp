// The newest values of one tensor, from one task that writes them to others that read them. Nobody waits for anybody:
// a value that is being read stays as it is, and the writer takes other memory, which is all planned ahead.
//
// Values become visible at an instant that their writer names: at once where communication is immediate, at the
// deadline of its job under logical execution time. A reader takes the newest that is visible at the instant it names.
//
// The memory is its own, or memory of a device that somebody else gives and that nobody here touches: then a value is
// written between take() and publish(), and read between two calls of newest(), by whoever has the device.
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
  enum class Where { own_memory, given_memory };

  /// Of values of `size` bytes. The newest `kept` of them stay, so that a reader finds one that was visible before.
  Latest(std::size_t size, std::size_t readers, std::size_t kept, Where where = Where::own_memory);

  /// How much memory it is to be given: each value begins at a multiple of 256 bytes of it.
  [[nodiscard]] Bytes room() const noexcept { return Bytes{slots_.size() * distance_}; }
  /// Set-up: it is given that.
  void lie_at(std::byte* memory) noexcept;

  // One writer at a time: calls of different threads follow one another.
  /// Where the next value goes: nobody reads it until it is published. The same again until then.
  [[nodiscard]] std::span<std::byte> take() noexcept;
  /// What was put there since take(); nothing was taken: nothing. `visible` never falls.
  void publish(const Stamp& stamp) noexcept;
  /// Both: `fill` writes the value into the bytes that it is given.
  template <class Fill> void write(const Stamp& stamp, Fill fill) noexcept {
    fill(take());
    publish(stamp);
  }

  /// For who must read something where there is no value: what take() comes to last.
  [[nodiscard]] std::span<const std::byte> blank() const noexcept { return slots_.back().bytes; }

  /// Of reader `reader`, one thread each: the newest value that is visible at `when`; it stays as it is until this
  /// reader's next call. Absent: none is.
  [[nodiscard]] std::optional<Value> newest(std::size_t reader, Instant when) noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> version{0}; // counts values; 0: none, or one that is being written
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
  std::atomic<std::uint64_t> versions_{0}; // that were written
};

} // namespace rtexec::channels
