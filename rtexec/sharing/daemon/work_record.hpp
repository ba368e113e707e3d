// Records the jobs and chunks of clients as those of a task set. A job has no part on a core. A client's time stamps
// are clamped to the interval in which the event must have happened. Has no effect if nothing is recorded; noexcept,
// for real-time threads. Called under the dispatcher's lock.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <array>
#include <cstdint>

namespace rtexec::daemon {

/// Records the jobs of one client, one after the other.
class JobRecord {
 public:
  /// Returns the number of the last job in the recording.
  [[nodiscard]] policies::JobId job() const noexcept { return job_; }

  /// Records the release of another job; `task` is a task number of the recording.
  void released(std::uint32_t task, Instant release, Instant now, Instant deadline, Instant ordered_by) noexcept;
  void granted(Instant now) noexcept;
  void ended(Instant release, Instant end, Instant deadline, bool real_time) noexcept;
  /// Records that the process has ended while its job held the device.
  void cancelled(Instant now) noexcept;
  /// Records that the job's chunks could not be loaded.
  void failed(Instant now, Instant deadline) noexcept;
  /// Records that the job is aborted, unless it has ended.
  void aborted(Instant now, Instant deadline) noexcept;

 private:
  policies::JobId job_;
  bool open_ = false;
};

/// Records moves of chunks, in both directions.
class MoveRecord {
 public:
  explicit MoveRecord(Bytes chunk) : chunk_(chunk) {}
  /// Records a move that was ordered at `since` and ended at `told` by the client's clock. Moves of one direction
  /// execute one after the other: each begins when the previous one has ended.
  void moved(const policies::Action& action, Instant since, Instant told, Instant now, bool failed) noexcept;

 private:
  Bytes chunk_;
  std::array<Instant, 2> until_{}; // when the last move out, and in, ended
};

} // namespace rtexec::daemon
