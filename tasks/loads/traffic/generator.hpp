// Load generators: objects that move memory, as fast as possible or at a requested rate, and report the amount. Two
// classes implement the interface:
//
//   LineGenerator   Accesses cache lines of a buffer that is larger than the last-level cache. Hardware
//                   bandwidth counters count these accesses.
//   PageGenerator   Touches pages for the first time. Machines without such a counter can count these page faults.
//
// A generator owns its memory. Its factory make() fills the memory and tries to lock it, so that run() causes no page
// faults except the intended faults of PageGenerator. Any thread may call a generator, but only one thread at a time.
// Only make() allocates memory.
//
// "Bytes moved" are the bytes that a program accesses. An access to any part of a line (or page) counts as an access to
// the whole line (or page):
//   write    Counts each line written; one word of each line is written (Nigam's thesis, Algorithm 2, counts the same).
//            Caches that allocate on a write read the line first, and write the line back later. Therefore up to twice
//            as many bytes pass the memory bus.
//   read     Counts each line read; one word of each line is read.
//   copy     Counts a line read and a line written for each line copied. If the cache reads a line
//            before the line is written, three lines pass the bus.
//   latency  Counts each line read. Each line holds the address of the next line, so that accesses never overlap.
//   pages    Counts each page touched for the first time. The kernel clears such a page.
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

/// The result of a run of a generator.
struct Traffic {
  Bytes moved;
  Duration elapsed{0};
  /// Paced runs: bytes that were due but were dropped, because the generator was too slow for the rate.
  Bytes dropped;
  bool failed = false; // true: the generator could not continue (PageGenerator: the kernel refused to reclaim pages)

  /// Returns moved / elapsed, rounded down; 0 if no time has passed.
  [[nodiscard]] Bandwidth bandwidth() const;
};

/// The clock of a generator, as a struct of function pointers. sleep_until() may return early.
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

  /// Moves as many whole units as fit in `bytes`, and continues where the previous call ended. Returns the number of
  /// bytes moved. The result is less than these whole units only if the generator cannot continue.
  virtual Bytes run(Bytes bytes) noexcept = 0;
  /// Returns the smallest amount that the generator can move.
  [[nodiscard]] virtual Bytes unit() const noexcept = 0;
  /// True if the generator's memory is locked. Memory that is not locked is only filled, and the kernel may reclaim it
  /// if memory is short.
  [[nodiscard]] virtual bool locked() const noexcept = 0;

 protected:
  Generator() = default;
};

/// The duration and rate of a run, and counters through which other threads observe it.
struct Course {
  /// The requested rate, which must be above 0. The run then consists of small bursts on an absolute time grid
  /// (pacer.hpp). nullopt: the run is as fast as possible.
  std::optional<Bandwidth> rate{};
  /// The instant at which the run ends. The run also ends when `stop` is true. The run checks the clock and `stop`
  /// after about every 64 KiB and after each sleep.
  Instant until = Instant::max();
  const std::atomic<bool>* stop = nullptr;
  std::atomic<std::uint64_t>* moved = nullptr; // bytes moved so far, updated during the run
  std::atomic<std::uint64_t>* dropped = nullptr;
};
Traffic run_course(Generator& generator, const Course& course, const Clock& clock) noexcept;

class LineGenerator final : public Generator {
 public:
  /// Makes a generator. `buffer` is rounded up to whole pages and must have room for two lines. `line` must be a power
  /// of two from 8 bytes to a page. For the pattern `latency` all lines form one random cycle, which depends only on
  /// the sizes. Returns bad_input or out_of_memory on failure.
  [[nodiscard]] static Result<std::unique_ptr<LineGenerator>> make(TrafficPattern pattern, Bytes buffer, Bytes line);
  ~LineGenerator() override;

  Bytes run(Bytes bytes) noexcept override;
  /// Returns the size of a line, or of two lines for the pattern `copy`.
  [[nodiscard]] Bytes unit() const noexcept override { return {pattern_ == TrafficPattern::copy ? line_ * 2 : line_}; }
  [[nodiscard]] bool locked() const noexcept override { return locked_; }
  [[nodiscard]] std::span<const std::byte> buffer() const noexcept { return {memory_.base(), memory_.size().count}; }
  /// Returns the offset in the buffer of the line that the generator accesses next (copy: reads next).
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
  std::uint64_t end_; // end of the sweep over the buffer; copy: the middle of the buffer
  std::uint64_t next_ = 0;
  bool locked_ = false;
};

class PageGenerator final : public Generator {
 public:
  static constexpr Bytes usual_buffer{1 << 20}; // its pages are touched, returned to the kernel, and touched again

  /// Makes a generator. `buffer` is rounded up to whole pages. Call it after the process has locked its memory
  /// (hal::lock_memory), because an access to a locked page causes no fault. A process that locks its memory later must
  /// not use a PageGenerator. Returns bad_input, or refused if the kernel does not reclaim pages.
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
