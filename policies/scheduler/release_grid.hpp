// The releases of one task, on the grid of its period, and what happens at each of them: the policies on overruns and
// on parts above their WCETs, as a state machine without a clock.
//
// Driven by the task's release thread or by the simulator: sleep until next(), tell at_release() what is seen there,
// and obey. One call answers for one release: after a `skip` next() may already be past; ask again at once. Pure and
// deterministic; never allocates. Not thread-safe.
//
// The policies, when the previous job had not ended by the release at n (period T, grid n, n + T, ...):
//
// - skip: the release is dropped and counted; so is every further grid point that the late job reaches.
// - catch_up: waits; the late release then gets its job at once, its deadline counts from n. Nothing is ever dropped.
// - re_phase: waits; at the end e of the late job the release happens anew: its deadline counts from e, the grid is e,
//   e + T, ... Grid points of the old grid that passed meanwhile no longer exist and are not counted.
// - abort_job: the late job is abandoned; when it is gone, at e, the release proceeds, its deadline counts from n.
//   Where e has reached further grid points, the newest of them proceeds and the older ones are dropped and counted.
// - stop: the executive stops.
//
// Where the previous job has ended, and a part of it took longer than its WCET, skip_next drops the release that would
// proceed, whatever let it wait, unless one was dropped since the release of that job. So two releases of jobs are at
// least two periods apart where the first one exceeded: the task asks for no more than one that is released later.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>

namespace rtexec::policies {

/// Why a release is dropped, or the run ends.
enum class ReleaseReason : std::uint8_t { overrun, wcet_exceeded, stale };

/// Whether a part that took longer than its WCET ends the run as soon as the part has ended.
[[nodiscard]] constexpr bool ends_run(OnWcetExceeded policy) noexcept { return policy == OnWcetExceeded::stop; }

/// What to do at an instant of release.
struct ReleaseDecision {
  enum class Kind : std::uint8_t {
    start,          // start job `job`, whose nominal release is `nominal`
    skip,           // the release at `nominal` is dropped (counted); ask next() again
    wait,           // the previous job is unfinished: wait for its end, then call after_wait()
    abort_and_wait, // abandon the previous job, wait until it is gone, then call after_wait()
    stop,           // stop the executive
  };
  Kind kind{};
  /// Abort_and_wait: the job to abandon; otherwise the job that starts now, or is to start next
  std::uint64_t job = 0;
  Instant nominal{}; // release that the deadline counts from
  ReleaseReason reason = ReleaseReason::overrun;
  friend bool operator==(const ReleaseDecision&, const ReleaseDecision&) = default;
};

class ReleaseGrid {
 public:
  ReleaseGrid(OnOverrun policy, Duration period, Instant first_release,
              OnWcetExceeded on_wcet_exceeded = OnWcetExceeded::tell);

  /// The next nominal release on the grid.
  [[nodiscard]] Instant next() const noexcept { return next_; }
  /// A sporadic release: the next one comes at `at`, which is not before next(); the grid goes on from there.
  void postpone(Instant at) noexcept { next_ = at; }
  /// At or after next(). `outstanding`: the previous job had not ended by next(), even if it has ended since.
  /// `exceeded`: a part of it took longer than its WCET; matters where it had ended.
  [[nodiscard]] ReleaseDecision at_release(bool outstanding, bool exceeded = false) noexcept;
  /// After `wait` or `abort_and_wait`, once the previous job has ended, at `now`: `start`, or `skip` where a part of it
  /// `exceeded`.
  [[nodiscard]] ReleaseDecision after_wait(Instant now, bool exceeded = false) noexcept;

  /// Instead of obeying the `start` that was decided last: the job has nothing new to work on, and its release is
  /// dropped. A `skip`.
  ReleaseDecision drop() noexcept;

  /// Jobs started: they are numbered 0, 1, ...
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
  bool dropped_ = false; // a release, since the last job started
};

} // namespace rtexec::policies
