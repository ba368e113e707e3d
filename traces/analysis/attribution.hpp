// Divides the response time of one job among causes. Each instant from its nominal release to its end has one cause, so
// that the causes sum to the response.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/cover.hpp"
#include "traces/analysis/timeline.hpp"

#include <optional>
#include <vector>

namespace rtexec::traces {

/// A pause between two segments of a job, in which other jobs had the device. `end` is absent while the pause lasts.
struct Pause {
  Instant begin{};
  std::optional<Instant> end{};
};

/// The progress of a job. Steps that did not happen are absent.
struct JobProgress {
  Urgency urgency; // also identifies the job; its `deadline` is the deadline of the device part
  unsigned core = 0;
  std::uint32_t core_rank = 0;
  Instant nominal{}, deadline{};
  std::optional<Instant> start, cpu_end, device_begin, device_end, after_begin;
  std::vector<Pause> pauses;
  std::optional<Instant> sampled;                          // sampling time of the job's oldest input
  std::optional<Duration> executed_before, executed_after; // CPU time
  std::optional<Duration> executed_on_device; // executed time on the device; absent: the whole time on the device
  // The previous job of the task, if it ended after this job's release
  std::optional<policies::JobId> before_it;
  Instant before_it_ended{}; // end of the previous job
};

/// Divides response times, one job in each call. Reuses its buffers. Not thread-safe.
class Attribution {
 public:
  /// Divides the response of `job`, which ended at `end`. `timeline` must begin no later than the job's nominal
  /// release.
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
  Instant now_{}; // the time before this instant is already attributed
  JobBreakdown result_;
  Cover<Owner> cover_;
};

} // namespace rtexec::traces
