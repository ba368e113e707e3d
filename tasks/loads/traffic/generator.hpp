// Load generators: they move memory, as fast as they can or at a wanted rate, and say how much. One interface, two
// siblings:
//
//   LineGenerator   cache lines of a buffer that is larger than the last-level cache: what bandwidth counters of the
//   hardware count PageGenerator   pages touched for the first time: what machines can count that have no such counter
//
// A generator owns its memory, which make() fills and tries to lock, so that run() meets no page fault but those that
// PageGenerator is there for. One caller at a time, any thread. Only make() allocates.
//
// "Bytes moved" are those that a program asks for, a whole line (or page) for each that it touches:
//   write    a line for each that is written, one word in each (Nigam's thesis, Algorithm 2, counts the same). Caches
//   that allocate on a write read
//            the line first, and later write it back: up to twice as many bytes pass the memory bus
//   read     a line for each that is read, one word in each
//   copy     a line that is read and a line that is written, two for each that is copied; with the reading before the
//   write, three pass the bus latency  a line for each that is read, where the address of the next is read from it:
//   never two at once pages    a page for each that is touched for the first time, which the kernel has cleared
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

/// What a generator did.
struct Traffic {
  Bytes moved;
  Duration elapsed{0};
  Bytes dropped;       // paced: what it was too late for, so that it could not keep up
  bool failed = false; // it could not go on (PageGenerator: the kernel takes no pages back)

  /// Of what was moved, rounded down; 0 where no time has passed.
  [[nodiscard]] Bandwidth bandwidth() const;
};

/// The time that a generator goes by; a plain struct of functions. sleep_until() may return early.
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

  /// Moves as many whole units as `bytes` has, from where it left off, and returns what it moved: less only where it
  /// cannot go on.
  virtual Bytes run(Bytes bytes) noexcept = 0;
  /// What it moves at once at least.
  [[nodiscard]] virtual Bytes unit() const noexcept = 0;
  /// Whether its memory is locked; otherwise it is only filled, and a lack of memory may take it away.
  [[nodiscard]] virtual bool locked() const noexcept = 0;

 protected:
  Generator() = default;
};

/// How long and how fast a generator runs, and who may look on.
struct Course {
  /// More than 0: in small bursts on an absolute grid (pacer.hpp); absent: as fast as it can
  std::optional<Bandwidth> rate{};
  Instant until = Instant::max(); // as `stop`, looked at after each piece of some 64 KiB and each sleep
  const std::atomic<bool>* stop = nullptr;
  std::atomic<std::uint64_t>* moved = nullptr; // so far, in bytes, kept up to date
  std::atomic<std::uint64_t>* dropped = nullptr;
};
Traffic run_course(Generator& generator, const Course& course, const Clock& clock) noexcept;

class LineGenerator final : public Generator {
 public:
  /// `buffer` is rounded up to whole pages and has room for two lines at least; `line` is a power of two from 8 bytes
  /// to a page. latency: the lines form one random cycle, the same for the same sizes. bad_input; out_of_memory.
  [[nodiscard]] static Result<std::unique_ptr<LineGenerator>> make(TrafficPattern pattern, Bytes buffer, Bytes line);
  ~LineGenerator() override;

  Bytes run(Bytes bytes) noexcept override;
  /// A line; copy: two.
  [[nodiscard]] Bytes unit() const noexcept override { return {pattern_ == TrafficPattern::copy ? line_ * 2 : line_}; }
  [[nodiscard]] bool locked() const noexcept override { return locked_; }
  [[nodiscard]] std::span<const std::byte> buffer() const noexcept { return {memory_.base(), memory_.size().count}; }
  /// How far from the buffer's begin the next line is that it touches (copy: reads).
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
  std::uint64_t end_; // of what is swept; copy: half of the buffer
  std::uint64_t next_ = 0;
  bool locked_ = false;
};

class PageGenerator final : public Generator {
 public:
  static constexpr Bytes usual_buffer{1 << 20}; // touched, and given back, again and again

  /// `buffer` is rounded up to whole pages. Make it after the process locked its memory (hal::lock_memory), or not at
  /// all in one that does: pages that are locked into memory cause no fault when they are touched. bad_input; refused:
  /// the kernel takes no pages back.
  [[nodiscard]] static Result<std::unique_ptr<PageGenerator>> make(Bytes buffer = usual_buffer);

  Bytes run(Bytes bytes) noexcept override;
  /// A page.
  [[nodiscard]] Bytes unit() const noexcept override { return hal::page_size(); }
  [[nodiscard]] bool locked() const noexcept override { return false; }

 private:
  explicit PageGenerator(hal::Mapping memory) : memory_(std::move(memory)) {}
  [[nodiscard]] bool give_back() noexcept;

  hal::Mapping memory_;
  std::uint64_t next_ = 0;
};

} // namespace rtexec::tasks
