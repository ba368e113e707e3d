// Divides the response time of one job among causes: each instant from its nominal release to its end has one, so that
// they sum to the response.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/cover.hpp"
#include "traces/analysis/timeline.hpp"

#include <optional>
#include <vector>

namespace rtexec::traces {

/// Between two segments of a job, while the device had others; the end of one that lasts is absent.
struct Pause {
  Instant begin{};
  std::optional<Instant> end{};
};

/// How far a job has come; what did not happen is absent.
struct JobProgress {
  Urgency urgency; // tells the job, too; its deadline is that of the device part
  unsigned core = 0;
  std::uint32_t core_rank = 0;
  Instant nominal{}, deadline{};
  std::optional<Instant> start, cpu_end, device_begin, device_end, after_begin;
  std::vector<Pause> pauses;
  std::optional<Instant> sampled;                          // the oldest of what it read
  std::optional<Duration> executed_before, executed_after; // CPU time
  std::optional<Duration> executed_on_device;              // absent: all the time that the device had it
  std::optional<policies::JobId> before_it;                // the task's job before,
  Instant before_it_ended{};                               // and when it ended
};

/// Keeps buffers from call to call. Not thread-safe.
class Attribution {
 public:
  /// Of `job`, which ended at `end`; `timeline` reaches back to its nominal release.
  [[nodiscard]] JobBreakdown divide(const JobProgress& job, Instant end, const Timeline& timeline);

 private:
  struct Owner {
    Cause cause{};
    Share::Where where{};
    std::optional<policies::JobId> culprit;
  };
  void release(const JobProgress& job, Instant until);
  void wait_for_core(const JobProgress& job, Instant until, Cause rest);
  void compute(const JobProgress& job, Instant until, std::optional<Duration> executed);
  void execute(const JobProgress& job, Instant until, Duration& executed);
  void wait_for_device(const JobProgress& job, Instant until);
  void wait_preempted(const JobProgress& job, Instant until);
  void add_transfers(const JobProgress& job, Direction direction, Instant until);
  void cover_core(const JobProgress& job, Instant until);
  void give(const Owner& owner, Duration time);
  void advance(Instant until, const Owner& owner);

  const Timeline* timeline_ = nullptr;
  Instant now_{}; // attributed until then
  JobBreakdown result_;
  Cover<Owner> cover_;
};

} // namespace rtexec::traces
