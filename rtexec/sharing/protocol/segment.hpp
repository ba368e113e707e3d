// The memory that one client and the daemon share: a memfd of fixed size, made by the daemon, sealed so that neither
// side can take pages away from the other. Each part has one writer; nothing that the daemon decides rests on what it
// finds there, but the entries of the client's ring, which it checks.
//
// The thread that asks for a job pushes EntryKind::request, rings `to_daemon_bell` and waits on State::bell for the
// verdict; the client's agent takes commands from `to_client`, and waits on `to_client_bell`. Several threads of a
// client that push into `to_daemon` have a lock of their own around its Producer.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/protocol/lifeline.hpp"
#include "rtexec/sharing/protocol/ring.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rtexec::protocol {

/// What became of the client's job, as one word: the job's number, and this in the lowest bits.
enum class Verdict : std::uint8_t {
  waiting, // it was asked for, or interrupted by Grow
  granted, // the device is its own until EntryKind::done, and all its slots stand
  dropped, // it was withdrawn: it will not be granted
  failed,  // its chunks could not be brought: it will not be granted, the next one may
};
struct JobVerdict {
  std::uint64_t job = 0; // below 2^56, counted up by the client from 1
  Verdict verdict{};
  friend bool operator==(const JobVerdict&, const JobVerdict&) = default;
};
inline constexpr std::uint64_t max_jobs = std::uint64_t{1} << 56;

/// Written by the daemon alone; a client maps it read-only, so that a stray pointer does not write it.
struct State {
  /// Of the job that the client asked for last.
  [[nodiscard]] JobVerdict job() const noexcept {
    const std::uint64_t word = job_word.load(std::memory_order_acquire);
    return {word >> 8, static_cast<Verdict>(word & 0xff)};
  }
  void set_job(JobVerdict to) noexcept {
    job_word.store(to.job << 8 | static_cast<std::uint64_t>(to.verdict), std::memory_order_release);
  }

  std::atomic<std::uint64_t> job_word{0};
  std::atomic<std::uint32_t> resident{0}; // slots that hold a frame
  hal::SharedSignal bell;                 // rung after the job's verdict changed
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t segment_page = 65536; // the largest page that any board has
struct Segment {
  State state;
  std::array<std::byte, segment_page - sizeof(State)> rest_of_its_pages{};
  alignas(64) hal::SharedSignal to_daemon_bell;
  alignas(64) hal::SharedSignal to_client_bell;
  alignas(64) Lifeline lifeline; // of the client's agent
  alignas(64) Ring to_daemon;
  alignas(64) Ring to_client;
};

/// A mapping of one, and its memfd. Not copied; the destructor unmaps and closes.
class SharedSegment {
 public:
  /// Daemon's side: a new one, prefaulted, its state writable.
  [[nodiscard]] static Result<SharedSegment> create();
  /// Client's side, of the descriptor that came with Welcome: its size and seals are checked, its state is read-only.
  [[nodiscard]] static Result<SharedSegment> open(config::Descriptor memory);

  SharedSegment(SharedSegment&& other) noexcept
      : memory_(std::move(other.memory_)), segment_(std::exchange(other.segment_, nullptr)) {}
  SharedSegment& operator=(SharedSegment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(segment_, other.segment_);
    return *this;
  }
  ~SharedSegment();

  [[nodiscard]] Segment& operator*() const noexcept { return *segment_; }
  [[nodiscard]] Segment* operator->() const noexcept { return segment_; }
  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }

 private:
  SharedSegment(config::Descriptor memory, Segment* segment) noexcept : memory_(std::move(memory)), segment_(segment) {}
  config::Descriptor memory_;
  Segment* segment_ = nullptr;
};

} // namespace rtexec::protocol
