// Load generators: they move memory, as fast as possible or at a requested rate, and report the amount. One interface,
// two siblings:
//
//   LineGenerator   Cache lines of a buffer that is larger than the last-level cache: the events of hardware bandwidth
//                   counters.
//   PageGenerator   Pages touched for the first time: an event that machines without such a counter can count.
//
// A generator owns its memory, which make() fills and tries to lock. So run() meets no page faults except the intended
// ones of PageGenerator. One caller at a time, any thread. Only make() allocates.
//
// "Bytes moved" are the bytes that a program accesses, a whole line (or page) for each one that it touches:
//   write    A line for each line written, one word in each (Nigam's thesis, Algorithm 2, counts the same). Caches that
//            allocate on a write read the line first, and later write it back: up to twice as many bytes pass the
//            memory bus.
//   read     A line for each line read, one word in each.
//   copy     A line read and a line written: two for each line copied. With the read before the write, three pass the
//            bus.
//   latency  A line for each line read; each line holds the address of the next, so that never two accesses overlap.
//   pages    A page for each page touched for the first time, which the kernel has cleared.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace rtexec::tasks {

/// The result of a generator.
struct Traffic {
  Bytes moved;
  Duration elapsed{0};
  Bytes dropped;       // paced: bytes dropped because they were too late, so that the generator could not keep the rate
  bool failed = false; // it could not continue (PageGenerator: the kernel refused to take pages back)

  /// Returns moved / elapsed, rounded down; 0 if no time has passed.
  [[nodiscard]] Bandwidth bandwidth() const;
};

/// The clock of a generator; a plain struct of functions. sleep_until() may return early.
struct Clock {
  Instant (*now)(void* self) noexcept;
  void (*sleep_until)(void* self, Instant when) noexcept;
  void* self = nullptr;
};

class Generator {
 public:
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Moves as many whole units as fit in `bytes`, continuing where the last call ended. Returns the bytes moved, which
  /// are fewer only if it cannot continue.
  virtual Bytes run(Bytes bytes) noexcept = 0;
  /// Returns the smallest amount that it moves.
  [[nodiscard]] virtual Bytes unit() const noexcept = 0;
  /// True if its memory is locked. Otherwise it is only filled, and the kernel may take it away if memory is short.
  [[nodiscard]] virtual bool locked() const noexcept = 0;

 protected:
  Generator() = default;
};

/// The duration and rate of a run, and counters for observers.
struct Course {
  /// Above 0: small bursts on an absolute grid (pacer.hpp); absent: as fast as possible
  std::optional<Bandwidth> rate{};
  /// End, like `stop`; both are checked after each piece of about 64 KiB and each sleep
  Instant until = Instant::max();
  const std::atomic<bool>* stop = nullptr;
  std::atomic<std::uint64_t>* moved = nullptr; // bytes moved so far, kept up to date
  std::atomic<std::uint64_t>* dropped = nullptr;
};
Traffic run_course(Generator& generator, const Course& course, const Clock& clock) noexcept;

class LineGenerator final : public Generator {
 public:
  /// Makes a generator. `buffer` is rounded up to whole pages and must have room for two lines; `line` is a power of
  /// two from 8 bytes to a page. latency: the lines form one random cycle, equal for equal sizes. Errors: bad_input,
  /// out_of_memory.
  [[nodiscard]] static Result<std::unique_ptr<LineGenerator>> make(TrafficPattern pattern, Bytes buffer, Bytes line);
  ~LineGenerator() override;

  Bytes run(Bytes bytes) noexcept override;
  /// Returns the size of a line; copy: of two.
  [[nodiscard]] Bytes unit() const noexcept override { return {pattern_ == TrafficPattern::copy ? line_ * 2 : line_}; }
  [[nodiscard]] bool locked() const noexcept override { return locked_; }
  [[nodiscard]] std::span<const std::byte> buffer() const noexcept { return {memory_.base(), memory_.size().count}; }
  /// Returns the offset in the buffer of the next line that it touches (copy: reads).
  [[nodiscard]] Bytes position() const noexcept { return {next_}; }

 private:
  LineGenerator(TrafficPattern pattern, hal::Mapping memory, Bytes line);
  void fill();
  void link();
  template <class Touch> void sweep(std::uint64_t lines, Touch touch) noexcept;
  void chase(std::uint64_t lines) noexcept;

  TrafficPattern pattern_;
  hal::Mapping memory_;
  std::uint64_t line_;
  std::uint64_t end_; // end of the sweep; copy: the middle of the buffer
  std::uint64_t next_ = 0;
  bool locked_ = false;
};

class PageGenerator final : public Generator {
 public:
  static constexpr Bytes usual_buffer{1 << 20}; // touched and given back repeatedly

  /// Makes a generator. `buffer` is rounded up to whole pages. Must be called after the process locked its memory
  /// (hal::lock_memory), because locked pages cause no fault when touched. Must not be used in a process that locks its
  /// memory later. Returns bad_input, or refused if the kernel does not take pages back.
  [[nodiscard]] static Result<std::unique_ptr<PageGenerator>> make(Bytes buffer = usual_buffer);

  Bytes run(Bytes bytes) noexcept override;
  /// Returns the size of a page.
  [[nodiscard]] Bytes unit() const noexcept override { return hal::page_size(); }
  [[nodiscard]] bool locked() const noexcept override { return false; }

 private:
  explicit PageGenerator(hal::Mapping memory) : memory_(std::move(memory)) {}
  [[nodiscard]] bool give_back() noexcept;

  hal::Mapping memory_;
  std::uint64_t next_ = 0;
};

} // namespace rtexec::tasks
