// Decides what happens at each release of one task. The releases are on a grid: one nominal release per period. The
// decisions follow the task's policies for overruns and for parts that exceed their WCETs. A state machine without a
// clock.
//
// The task's release thread or the simulator is the caller. The caller sleeps until next(), reports the state at that
// instant with at_release(), and carries out the decision. One call decides one release. After a `skip`, next() may
// already be in the past. Then the caller calls at_release() again at once. Pure and deterministic; never allocates.
// Not thread-safe.
//
// The overrun policies apply if the previous job has not ended by the release at instant n. T is the period, and the
// grid is n, n + T, ...
//
// - skip: the release is dropped and counted. Every further release that passes before the late job ends is dropped and
//   counted too.
// - catch_up: the caller waits. When the late job has ended, the job of the late release starts at once, with a
//   deadline that counts from n. No release is ever dropped.
// - re_phase: the caller waits. At the end e of the late job, the release happens again: its deadline counts from e,
//   and the grid is e, e + T, ... Points of the old grid that passed while the job was late are removed and not
//   counted.
// - abort_job: the late job is aborted. When it has ended, at instant e, the release happens, and its deadline counts
//   from n. If further grid points have passed by e, only the newest of these releases happens, and the older releases
//   are dropped and counted.
// - stop: the executive stops.
//
// The policy skip_next applies if the previous job has ended and a part of it took longer than its WCET. The policy
// skip_next drops the next release that would start a job, even if that release waited. It drops no release if a
// release was already dropped since the release of the long job. So the release of a job that exceeded its WCET and the
// release of the next job are at least two periods apart. The time of the dropped release compensates for the excess.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>

namespace rtexec::policies {

/// The reason why a release is dropped, or why the run ends.
enum class ReleaseReason : std::uint8_t { overrun, wcet_exceeded, stale };

/// True if the run ends as soon as a part that took longer than its WCET has ended.
[[nodiscard]] constexpr bool ends_run(OnWcetExceeded policy) noexcept { return policy == OnWcetExceeded::stop; }

/// The decision about one release.
struct ReleaseDecision {
  enum class Kind : std::uint8_t {
    start,          // start job `job`, whose nominal release is `nominal`
    skip,           // the release at `nominal` is dropped and counted; call next() again
    wait,           // the previous job is unfinished: wait for its end, then call after_wait()
    abort_and_wait, // abort the previous job, wait until it has left, then call after_wait()
    stop,           // stop the executive
  };
  Kind kind{};
  /// For abort_and_wait, the job to abort; for other kinds, the job that starts now or next
  std::uint64_t job = 0;
  Instant nominal{}; // the nominal release from which the deadline counts
  ReleaseReason reason = ReleaseReason::overrun;
  friend bool operator==(const ReleaseDecision&, const ReleaseDecision&) = default;
};

class ReleaseGrid {
 public:
  ReleaseGrid(OnOverrun policy, Duration period, Instant first_release,
              OnWcetExceeded on_wcet_exceeded = OnWcetExceeded::tell);

  /// Returns the next nominal release on the grid.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// Moves the next release of a sporadic task to `at`, which must not be before next(). The later releases of the grid
  /// count from `at`.
  void postpone(Instant at) noexcept { next_ = at; }
  /// Decides the release at next(). Must be called at that instant or later. `outstanding`: true if the previous job
  /// had not ended by next(), even if it has ended since. `exceeded`: true if a part of the previous job took longer
  /// than its WCET; ignored if `outstanding` is true.
  [[nodiscard]] ReleaseDecision at_release(bool outstanding, bool exceeded = false) noexcept;
  /// Decides after `wait` or `abort_and_wait`, when the previous job has ended. `now`: the instant of its end.
  /// `exceeded`: true if a part of that job took longer than its WCET. Returns `start`, or `skip` if `exceeded` is true
  /// and the policy is skip_next.
  [[nodiscard]] ReleaseDecision after_wait(Instant now, bool exceeded = false) noexcept;

  /// Drops the release of the last `start` decision, since its job has no new input. The caller calls it instead of
  /// starting the job. Returns a decision of kind `skip`.
  ReleaseDecision drop() noexcept;

  /// Returns the number of jobs started. Jobs are numbered 0, 1, ...
  [[nodiscard]] std::uint64_t released() const noexcept { return jobs_; }
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  ReleaseDecision proceed(bool exceeded) noexcept;
  ReleaseDecision start() noexcept;
  ReleaseDecision skip(ReleaseReason reason) noexcept;

  OnOverrun policy_;
  OnWcetExceeded on_wcet_exceeded_;
  Duration period_;
  Instant next_;
  std::uint64_t jobs_ = 0;
  std::uint64_t skipped_ = 0;
  bool dropped_ = false; // true if a release was dropped since the last job started
};

} // namespace rtexec::policies
