// The statistics of one task, counted job by job.
#pragma once

#include "policies/scheduler/release_grid.hpp"
#include "traces/analysis/analysis.hpp"
#include "traces/analysis/attribution.hpp"
#include "traces/analysis/distribution.hpp"
#include "traces/reading/record.hpp"
#include "traces/wcet/sample_series.hpp"

#include <array>
#include <optional>
#include <utility>

namespace rtexec::traces {

struct Stage {
  DistributionBuilder times;
  SampleSeries samples;
  void add(Duration time, std::uint64_t job, Instant at) {
    times.add(time, job, at);
    samples.add(time);
  }
};

class TaskStatistics {
 public:
  explicit TaskStatistics(const TaskSetup& setup) : setup_(setup) {}

  // The job in progress, and its state.
  std::optional<JobProgress> open;
  Instant open_written{};    // writing time of the release's record
  Urgency latest;            // the last released job, which may have ended
  bool contradicted = false; // true if the events of `open` contradict each other
  bool device_failed = false;
  bool left_between = false; // true if `open` left the device between two segments and executes no further segment

  struct Miss {
    policies::JobId job;
    Instant at{}, deadline{};
    friend bool operator==(const Miss&, const Miss&) = default;
  };
  std::optional<Miss> miss_due; // the miss that must be recorded next; it belongs to the job that ended last

  Stage before, device, after;
  std::vector<Stage> layers;
  std::optional<Instant> layer_begun;
  std::uint64_t unknown = 0, unfinished = 0;
  std::uint64_t dropped_results = 0; // results that the outputs of the task refused
  Duration longest_segment{0};
  std::uint64_t losses_meanwhile = 0; // number of jobs during which events were lost

  /// Starts `open`, the task's next job, which was released.
  void release(policies::JobId job, Instant nominal, Instant actual, Instant deadline);
  void end(JobBreakdown&& job, Instant at);
  void input(const Record& record, JobProgress& job);
  void skip(Instant nominal, policies::ReleaseReason reason);
  /// Processes the record of a missed deadline. Returns true if a miss of `job` is due (`miss_due`). If `at` or
  /// `deadline` differs from the due miss, counts the job as unknown.
  [[nodiscard]] bool take_miss(policies::JobId job, Instant at, Instant deadline);
  void end_run() { unknown += std::exchange(miss_due, {}).has_value(); }
  /// Counts an event of `job`, which is not in progress: the job's release is missing, or the job has ended. Has no
  /// effect before the first recorded release.
  void count_unexpected(policies::JobId job);
  void forget_open() {
    open.reset();
    contradicted = device_failed = left_between = false;
  }

  /// Considers the shares with the same `cause` and `where` as `share`. Returns their total time per job, as a mean
  /// over the jobs that kept their deadline. If no job kept its deadline, the result depends on the cause. For
  /// Cause::execution it is the WCET of the CPU parts or of the device part. For other causes it is 0.
  [[nodiscard]] Duration usual(const Share& share) const;
  [[nodiscard]] TaskAnalysis analysis(const PwcetOptions& options, Duration recorded) const;
  [[nodiscard]] const TaskSetup& setup() const { return setup_; }

 private:
  [[nodiscard]] StageAnalysis stage(const char* name, const Stage& stage, std::optional<Duration> configured,
                                    PwcetOptions options) const;

  TaskSetup setup_;
  std::uint64_t preemptions_ = 0;
  std::uint64_t released_ = 0, completed_ = 0, late_ = 0, aborted_ = 0, failed_ = 0;
  DistributionBuilder latency_, inter_arrival_, input_age_, input_delay_;
  InputAnalysis inputs_; // only the counts; the times are in input_age_ and input_delay_
  Stage response_;
  std::array<Duration, causes> total_{}, longest_{};
  std::array<std::array<Duration, Share::places>, causes> total_in_time_{};
  std::optional<JobBreakdown> worst_;
  std::optional<policies::JobId> last_, unexpected_;
  SkipAnalysis skipped_by_;
  std::optional<Instant> last_skip_;
  Instant last_ended_{};
  std::optional<Instant> last_nominal_;
};

} // namespace rtexec::traces
