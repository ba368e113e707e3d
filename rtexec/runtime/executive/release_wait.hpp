// The waits of a task's release thread: for the start of the run, the next release, and the end of a job. Releases come
// from the grid's timer or from triggers. A SporadicGate delays triggers that come too early.
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

/// Keeps references to its arguments. Functions are for the release thread unless they say otherwise.
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

  /// Waits for the start of the run and returns its instant; nullopt if the run stops before. Drops inputs that arrive
  /// meanwhile, since other tasks may warm up for long.
  [[nodiscard]] std::optional<Instant> for_start() noexcept;
  /// Waits for the next release, to which a trigger postpones `grid`. Returns false if the run stops before.
  [[nodiscard]] bool for_release(policies::ReleaseGrid& grid) noexcept;
  /// Waits until no job is outstanding. Returns false if the run stops before.
  [[nodiscard]] bool for_job_end() noexcept;
  /// Waits until the run stops.
  void for_stop() noexcept;
  /// Waits until no job is outstanding, whether the run stops or not.
  void for_last_job_end() noexcept;

  /// True if triggers release the task, and no timer.
  [[nodiscard]] bool is_triggered() const noexcept { return gate_.has_value(); }
  /// Notes that the release at `nominal` has been decided, whether as a job or as none.
  void released(Instant nominal) noexcept {
    if (gate_) gate_->release(nominal);
  }
  /// Returns the instant of the event that requested the job released at `nominal`: its trigger, or the timer's
  /// release.
  [[nodiscard]] Instant event_of(Instant nominal) const noexcept { return gate_ ? gate_->asked() : nominal; }

  /// Requests a job from `at` on. Any thread.
  void trigger(Instant at) noexcept;
  /// Returns the progress of the waits. Any thread.
  [[nodiscard]] Progress progress(Instant now) const noexcept { return waits_.progress(now); }

 private:
  [[nodiscard]] bool for_trigger(policies::ReleaseGrid& grid) noexcept;
  [[nodiscard]] bool until(Instant when) noexcept;

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
