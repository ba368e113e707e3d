// Records the jobs and chunks of clients like the jobs and chunks of a task set. Jobs of clients have no CPU part. Time
// stamps from a client are limited to the interval in which the event must have happened. Has no effect without a
// recording. Noexcept, for real-time threads. Called under the dispatcher's lock.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"

#include <array>
#include <cstdint>

namespace rtexec::daemon {

/// Records the jobs of one client, which follow each other.
class JobRecord {
 public:
  /// Returns the number of the last recorded job.
  [[nodiscard]] policies::JobId job() const noexcept { return job_; }

  /// Records the release of the next job. `task` is the number of its task in the recording. `ordered_by` is the time
  /// by which the scheduler orders the job.
  void released(std::uint32_t task, Instant release, Instant now, Instant deadline, Instant ordered_by) noexcept;
  void granted(Instant now) noexcept;
  void ended(Instant release, Instant end, Instant deadline, bool real_time) noexcept;
  /// Records that the client's process has ended while its job held the device.
  void cancelled(Instant now) noexcept;
  /// Records that the job's chunks could not be loaded.
  void failed(Instant now, Instant deadline) noexcept;
  /// Records that the job is aborted. Has no effect if the job has ended.
  void aborted(Instant now, Instant deadline) noexcept;

 private:
  policies::JobId job_;
  bool open_ = false;
};

/// Records transfers of chunks, in both directions.
class MoveRecord {
 public:
  explicit MoveRecord(Bytes chunk) : chunk_(chunk) {}
  /// Records a transfer. The daemon commanded the transfer at `since`. The client reported `told` as the end of the
  /// transfer. Transfers in one direction execute one after the other, so that each transfer begins at the end of the
  /// previous transfer.
  void moved(const policies::Action& action, Instant since, Instant told, Instant now, bool failed) noexcept;

 private:
  Bytes chunk_;
  std::array<Instant, 2> until_{}; // ends of the last transfers out and in
};

} // namespace rtexec::daemon
