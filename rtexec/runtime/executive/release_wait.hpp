// The waits of a task's release thread: for the start of the run, for the next release, and for the end of a job.
// Either a timer causes releases at the instants of a grid, or triggers cause releases. A trigger that comes less than
// a period after the previous release is delayed by a SporadicGate.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/release_grid.hpp"
#include "policies/scheduler/sporadic_gate.hpp"
#include "rtexec/runtime/channels/task_io.hpp"
#include "rtexec/runtime/executive/job_handshake.hpp"
#include "rtexec/runtime/executive/run_control.hpp"
#include "rtexec/runtime/executive/task_statistics.hpp"
#include "rtexec/runtime/executive/trigger_inbox.hpp"
#include "rtexec/runtime/watches/progress_counter.hpp"

#include <optional>

namespace rtexec::executive {

/// Called by the release thread, unless a function's comment states otherwise. The constructor's arguments must outlive
/// the object.
class ReleaseWait {
 public:
  ReleaseWait(const Task& task, channels::TaskIo& io, RunControl& control, JobHandshake& handshake,
              TaskStatistics& statistics)
      : task_(task),
        io_(io),
        control_(control),
        handshake_(handshake),
        statistics_(statistics),
        gate_(task.trigger == Trigger::timer ? std::nullopt : std::optional(policies::SporadicGate(task.period))) {}

  /// Waits for the start of the run and returns its instant, or nullopt if the run stops before it starts. Drops inputs
  /// that arrive during this wait, which may be long because other tasks warm up.
  [[nodiscard]] std::optional<Instant> for_start() noexcept;
  /// Waits for the next release. If triggers release the task, moves the next release of `grid` to the release that the
  /// trigger causes. Returns false if the run stops before the release.
  [[nodiscard]] bool for_release(policies::ReleaseGrid& grid) noexcept;
  /// Waits until the task has no job in progress. Returns false if the run stops before that.
  [[nodiscard]] bool for_job_end() noexcept;
  /// Waits until the run stops.
  void for_stop() noexcept;
  /// Waits until the task has no job in progress, even if the run stops.
  void for_last_job_end() noexcept;

  /// True if triggers release the task, false if a timer releases the task.
  [[nodiscard]] bool is_triggered() const noexcept { return gate_.has_value(); }
  /// Records that the release at `nominal` has become a job or was dropped. The next trigger is then delayed to at
  /// least one period after `nominal`. Must be called for each release.
  void released(Instant nominal) noexcept {
    if (gate_) gate_->release(nominal);
  }
  /// Returns the instant of the event that requested the job released at `nominal`: the instant of its trigger, or
  /// `nominal` if a timer causes the release.
  [[nodiscard]] Instant requested_at(Instant nominal) const noexcept {
    return gate_ ? gate_->trigger_instant() : nominal;
  }

  /// Triggers a job, which is released at `at` or later. Any thread.
  void trigger(Instant at) noexcept;
  /// Returns the progress of the thread through its waits, for the heartbeat. Any thread.
  [[nodiscard]] Progress progress(Instant now) const noexcept { return waits_.progress(now); }

 private:
  [[nodiscard]] bool for_trigger(policies::ReleaseGrid& grid) noexcept;
  [[nodiscard]] bool until(Instant when) noexcept;
  template <class Done> void until_true(Done done) noexcept;

  const Task& task_;
  channels::TaskIo& io_;
  RunControl& control_;
  JobHandshake& handshake_;
  TaskStatistics& statistics_;
  ProgressCounter waits_ = ProgressCounter::of_thread();
  TriggerInbox triggers_;
  std::optional<policies::SporadicGate> gate_;
};

} // namespace rtexec::executive
