// Makes an Analysis from a recording's records, one record at a time. The memory does not depend on the length of the
// recording.
//
//   RunSetup setup;
//   Analyzer analyzer(setup);
//   const auto read = read_records(folder, setup, analyzer);
//   Analysis analysis = analyzer.finish(*read);
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/attribution.hpp"
#include "traces/analysis/chain_analysis.hpp"
#include "traces/analysis/replay.hpp"
#include "traces/analysis/surroundings.hpp"
#include "traces/analysis/recorded_statistics.hpp"
#include "traces/analysis/timeline.hpp"
#include "traces/analysis/analysis_observer.hpp"
#include "traces/reading/reader.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::traces {

class Analyzer final : public RecordHandler {
 public:
  /// `setup` and `observers` must outlive this object. `setup` must name its tasks before the first scheduler_input or
  /// job_release arrives.
  explicit Analyzer(const RunSetup& setup, std::vector<AnalysisObserver*> observers = {}, PwcetOptions pwcet = {})
      : setup_(setup), observers_(std::move(observers)), pwcet_(std::move(pwcet)) {}

  void record(const Record& record) override;
  /// Processes a loss of events. If events are lost until the end of the recording, the analysis ends at the begin of
  /// the loss. Any other loss invalidates the figures of the tasks that were active during the loss.
  void loss(const Loss& loss) override;
  /// Returns the analysis of all records. Must be called only once.
  [[nodiscard]] Analysis finish(const ReadSummary& read);

 private:
  struct PendingTransfer {
    policies::Action action;
    Instant at{};
  };

  /// The part of a job on the device. It may continue after the job has been aborted.
  struct DevicePart {
    policies::JobId job;
    Instant begin{};
    std::uint32_t segment = 0; // the last segment that began
    Instant segment_begin{};   // begin of `segment`
    Duration held{0};          // total length of the intervals on the device that have ended
    Instant left{};            // end of the last of these intervals
  };

  void start();
  void take(const Record& record);
  void release(const Record& record);
  void begin_part(const Record& record, std::optional<Instant> JobProgress::*milestone);
  void end_part(const Record& record, Part which);
  void request(const Record& record);
  void begin_execution(const Record& record);
  void open_execution(const Record& record);
  void end_segment(const Record& record);
  void begin_segment(const Record& record);
  void end_stretch(const History<Execution>::Entry& interval);
  void leave_device();
  void see_start(policies::JobId job);
  void cut_off_device();
  void note_segment(const DevicePart& part, Instant end);
  void note_executed(const Record& record);
  void end_execution(const Record& record);
  void expect_transfer(const policies::Action& action);
  void begin_transfer(const Record& record, Direction direction);
  void end_transfer(const Record& record, Direction direction);
  void end_throttle(const Record& record);
  void layer(const Record& record);
  void conclude(const Record& record, JobOutcome outcome);
  void miss(const Record& record);
  void forget_unanswered(TaskStatistics& task, bool cut_off);
  void conclude(TaskStatistics& task, JobOutcome outcome, Instant end, Instant written);
  void leave_core(const JobProgress& job, Instant at);
  void note_overruns(JobBreakdown& job, const JobProgress& progress) const;
  void follow(const JobProgress& job, const JobBreakdown& breakdown, Instant end);
  void keep_miss(const JobBreakdown& job);
  void count_transfer(const Record& record, Direction direction, Duration took);
  void count(std::size_t lane, Duration busy, Duration whole);
  void forget();
  void take_chains(Instant oldest);
  void see_memory(Instant at);

  [[nodiscard]] TaskStatistics* statistics_of(std::uint32_t task) {
    return task < tasks_.size() ? &tasks_[task] : nullptr;
  }
  /// Returns the job of `record` if the job is in progress, otherwise null.
  [[nodiscard]] JobProgress* progress(const Record& record);
  [[nodiscard]] Urgency urgency(policies::JobId job) const;
  /// Returns the device part of `job`; null if its begin is unknown.
  [[nodiscard]] DevicePart* part_on_device(policies::JobId job);
  [[nodiscard]] bool affected(Instant from, Instant to) const;
  /// Returns the index of a lane, or lanes_.size() if there is no such lane.
  [[nodiscard]] std::size_t lane_of(GanttLane::Kind kind, std::uint32_t index = 0) const;
  void bar(GanttBar::Kind kind, std::size_t lane, policies::JobId job, std::uint32_t owner, Instant begin, Instant end);
  void mark(GanttMark::Kind kind, policies::JobId job, Instant at);
  void finish_resources(Analysis& analysis, Duration recorded) const;
  void explain_jobs(Analysis& analysis);
  void finish_chains(Analysis& analysis);

  const RunSetup& setup_;
  std::vector<AnalysisObserver*> observers_;
  PwcetOptions pwcet_;
  bool started_ = false, released_ = false, ended_ = false;
  std::vector<GanttLane> lanes_;
  std::vector<ResourceAnalysis> resources_; // one for each lane after the tasks' lanes
  std::vector<TaskStatistics> tasks_;
  std::vector<std::optional<DevicePart>> on_device_; // by task
  /// The execution that was interrupted at the end of a segment. The execution continues unless another execution
  /// begins
  std::optional<History<Execution>::Entry> interrupted_;
  Timeline timeline_;
  Attribution attribution_;
  std::vector<ChainFollower> chains_;
  std::vector<std::optional<Communication>> chained_; // by task; absent: the task belongs to no chain
  std::optional<Surroundings> surroundings_;
  std::optional<Replay> replay_;
  policies::Event decision_{};                // input of the last decision
  std::optional<policies::JobId> co_running_; // the job that was started last to co-run with another job
  std::array<std::deque<PendingTransfer>, 2> pending_;
  std::array<std::optional<Urgency>, 2> transfer_for_; // the job of the last transfer, by Direction
  std::vector<Loss> losses_;
  std::optional<Instant> cut_;
  bool stream_missing_ = false; // true if a stream is missing from the beginning to the end
  Instant written_{};           // writing time of the last record
  std::optional<std::uint32_t> frames_in_use_;
  SwapAnalysis swap_;
  DistributionBuilder in_times_, out_times_;
  std::vector<JobBreakdown> missed_jobs_;
  std::uint64_t misses_ = 0, jobs_ = 0;
  std::optional<Instant> from_;
  Instant to_{};
};

} // namespace rtexec::traces
