// What a recording says of clients' jobs and chunks, as of a task set's: a job has no part on a core, and its client's
// own time stamps are believed between what is known. Does nothing where nothing is recorded; noexcept, for real-time
// threads. The dispatcher's lock.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <array>
#include <cstdint>

namespace rtexec::daemon {

/// The jobs of one client, one after the other.
class JobRecord {
 public:
  /// As recordings number it: the last one.
  [[nodiscard]] policies::JobId job() const noexcept { return job_; }

  /// Another job: of `task`, as recordings number those.
  void released(std::uint32_t task, Instant release, Instant now, Instant deadline, Instant ordered_by) noexcept;
  void granted(Instant now) noexcept;
  void ended(Instant release, Instant end, Instant deadline, bool real_time) noexcept;
  /// Its process has ended while it had the device.
  void cancelled(Instant now) noexcept;
  /// Its chunks could not be brought there.
  void failed(Instant now, Instant deadline) noexcept;
  /// It is no more, if it has not ended.
  void aborted(Instant now, Instant deadline) noexcept;

 private:
  policies::JobId job_;
  bool open_ = false;
};

/// Chunks that move, in both directions.
class MoveRecord {
 public:
  explicit MoveRecord(Bytes chunk) : chunk_(chunk) {}
  /// What was ordered at `since` has moved at `told`, as its client says. Of those ordered one begins when the one
  /// before it has moved.
  void moved(const policies::Action& action, Instant since, Instant told, Instant now, bool failed) noexcept;

 private:
  Bytes chunk_;
  std::array<Instant, 2> until_{}; // out, in
};

} // namespace rtexec::daemon
