// What is counted of one task, job by job.
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

  // The job in progress, and how it went on.
  std::optional<JobProgress> open;
  Instant open_written{};    // when its release was recorded
  Urgency latest;            // of the job released last, which may have ended
  bool contradicted = false; // what was told of it does not go together
  bool device_failed = false;
  bool left_between = false; // two segments, without more to come

  struct Miss {
    policies::JobId job;
    Instant at{}, deadline{};
    friend bool operator==(const Miss&, const Miss&) = default;
  };
  std::optional<Miss> miss_due; // to be told of the job that has ended last

  Stage before, device, after;
  std::vector<Stage> layers;
  std::optional<Instant> layer_begun;
  std::uint64_t unknown = 0, unfinished = 0;
  std::uint64_t dropped_results = 0; // by its outputs
  Duration longest_segment{0};
  std::uint64_t beside_loss = 0; // jobs during which events were lost

  /// The next job of this task has been released: `open` is it from now on.
  void release(policies::JobId job, Instant nominal, Instant actual, Instant deadline);
  void end(JobBreakdown&& job, Instant at);
  void input(const Record& record, JobProgress& job);
  void skip(Instant nominal, policies::ReleaseReason reason);
  /// Whether a missed deadline was to be told of `job`.
  [[nodiscard]] bool take_miss(policies::JobId job, Instant at, Instant deadline);
  void end_run() { unknown += std::exchange(miss_due, {}).has_value(); }
  /// Something was told of `job`, which is not in progress: its release is missing, or it has ended; unless the
  /// recording began after it.
  void count_unexpected(policies::JobId job);
  void forget_open() {
    open.reset();
    contradicted = device_failed = left_between = false;
  }

  /// What a share like this one is over the jobs that kept their deadline.
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
  InputAnalysis inputs_; // but for their times
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
