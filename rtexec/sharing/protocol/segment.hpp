// The memory that one client and the daemon share: a memfd of fixed size. The daemon creates and seals the memfd, so
// that neither side can remove pages from the other. Each part has one writer. The daemon bases decisions only on the
// entries of the client's ring, and checks these entries.
//
// The thread that requests a job pushes EntryKind::request, raises `to_daemon_bell` and waits on State::bell for the
// verdict. The client's agent reads commands from `to_client`, and waits on `to_client_bell`. If several threads of a
// client push into `to_daemon`, a lock of the client guards its Producer.
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

/// The state of the client's latest job. The state is shared as one word: the job's number, and the verdict in the
/// lowest 8 bits.
enum class Verdict : std::uint8_t {
  waiting, // the job was requested, or was interrupted by Grow
  granted, // the client holds the device until it sends EntryKind::done; all its slots are resident
  dropped, // the job was withdrawn, and will not be granted
  failed,  // the job's chunks could not be loaded; this job will not be granted, but the next job may be granted
};
struct JobVerdict {
  std::uint64_t job = 0; // below 2^56; the client counts its jobs from 1
  Verdict verdict{};
  friend bool operator==(const JobVerdict&, const JobVerdict&) = default;
};
inline constexpr std::uint64_t max_jobs = std::uint64_t{1} << 56;

/// The part that only the daemon writes. A client maps this part read-only, so that a stray pointer cannot write to it.
struct State {
  /// Returns the verdict on the job that the client requested last.
  [[nodiscard]] JobVerdict job() const noexcept {
    const std::uint64_t word = job_word.load(std::memory_order_acquire);
    return {word >> 8, static_cast<Verdict>(word & 0xff)};
  }
  void set_job(JobVerdict to) noexcept {
    job_word.store(to.job << 8 | static_cast<std::uint64_t>(to.verdict), std::memory_order_release);
  }

  std::atomic<std::uint64_t> job_word{0};
  hal::SharedSignal bell; // raised after each change of the job's verdict
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t segment_page = 65536; // the largest page size of any board
struct Segment {
  State state;
  std::array<std::byte, segment_page - sizeof(State)> rest_of_its_pages{};
  alignas(64) hal::SharedSignal to_daemon_bell;
  alignas(64) hal::SharedSignal to_client_bell;
  alignas(64) Lifeline lifeline; // reports the end of the client's agent
  alignas(64) Ring to_daemon;
  alignas(64) Ring to_client;
};

/// A mapping of a Segment together with its memfd. Not copyable. The destructor unmaps the segment and closes the
/// memfd.
class SharedSegment {
 public:
  /// For the daemon: creates a segment with all pages allocated. The segment's State is writable.
  [[nodiscard]] static Result<SharedSegment> create();
  /// For a client: maps the descriptor that came with Welcome, after checking its size and seals. The segment's State
  /// is read-only.
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
