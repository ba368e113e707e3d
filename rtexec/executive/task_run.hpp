// One task while it runs: a release thread that starts each job on the grid and executes its first CPU part, and a
// completion thread that executes the second one and keeps the statistics. The device part in between is driven by the
// DeviceDriver.
//
// Two threads, so that a release is seen in time while the job before it is still unfinished, and so that each part can
// have a SCHED_DEADLINE reservation of its own.
#pragma once

#include "policies/release_gate.hpp"
#include "rtexec/executive/device_driver.hpp"
#include "rtexec/executive/ring.hpp"
#include "rtexec/statistics/histogram.hpp"
#include "rtexec/executive/status_page.hpp"
#include <rtexec/workload.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::executive {

class TaskRun;

/// What all tasks of a run share. Written by the thread that owns the executive, save where a member says otherwise.
struct RunControl {
  std::atomic<bool> stopping{false};
  std::atomic<const Task*> stopped_by{nullptr}; // the task whose overrun policy ended the run
  /// Whose job last reported a fault in its device part: it may have ended the device
  std::atomic<const TaskRun*> suspect{nullptr};
  std::atomic<bool> device_lost{false};   // a job found the device lost
  std::atomic<bool> driver_failed{false}; // it lost an event
  /// The run is to end, or may have to: set by tasks, duration, signal handlers
  hal::Signal over;
  std::atomic<bool> over_requested{false};
  std::atomic<std::int64_t> start{0};       // of the grid, ns on CLOCK_MONOTONIC; 0 before it is known
  std::atomic<std::int64_t> end{INT64_MAX}; // no release at or after it; written before `start`
  hal::Signal started;
  std::atomic<std::uint32_t> warmed_up{0}; // release threads that are ready
  std::atomic<const TaskRun*> warm_up_failed{nullptr};
  hal::Signal warm_up_ended;
  std::atomic<bool> unregulated{false}; // a thread could not be counted
  hal::Signal missed;                   // raised for each miss that is to be told

  void end_run() noexcept {
    over_requested.store(true);
    over.raise();
  }
};

class TaskRun final : public DeviceClient {
 public:
  TaskRun(std::uint32_t index, const Task& task, const PlannedTask& plan, Workload& workload, RunControl& control);

  void connect(DeviceDriver& driver) { driver_ = &driver; }
  /// Its threads, on `core`, are counted and held by `bandwidth`, where cores cannot be.
  void regulate(BandwidthControl& bandwidth, unsigned core) {
    bandwidth_ = &bandwidth;
    core_ = core;
  }
  /// Layer events of this task go to the trace.
  void trace_layers();
  /// Keeps records of the first `most` jobs.
  void record_jobs(std::size_t most);

  /// Bodies of the two threads; they return after RunControl::stopping is set and interrupt() was called, once the job
  /// in progress has ended.
  void release_loop() noexcept;
  void completion_loop() noexcept;
  /// Lets completion_loop() return where the release thread could not be started.
  void no_releases() noexcept;
  /// Wakes both threads to look at RunControl.
  void interrupt() noexcept;

  Status execute(std::uint64_t job) noexcept override;
  void executed(std::uint64_t job, Status outcome, Instant begin, Instant end) noexcept override;

  [[nodiscard]] const std::string& name() const noexcept { return task_.name; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// The job that reported a fault, where RunControl::suspect names this task.
  [[nodiscard]] std::uint64_t suspect_job() const noexcept { return suspect_job_.load(); }
  /// Of the warm-up, once it has ended.
  [[nodiscard]] Status warm_up() const noexcept { return warm_up_; }
  [[nodiscard]] TaskReport report() const;
  /// What stays as it is in it,
  [[nodiscard]] TaskStatus first_status() const;
  /// and what changes, but for what is recent. Any thread; allocates nothing.
  void show(TaskStatus& status) const;
  /// The next miss that nobody was told of; one reader.
  [[nodiscard]] std::optional<Miss> take_miss() noexcept;
  /// Once both threads have ended.
  void add_records(JobRecords& records) const;
  [[nodiscard]] std::uint64_t lost_misses() const noexcept { return lost_misses_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::uint64_t number = 0;
    Instant nominal{};
    Instant deadline{};
    bool warm_up = false;
  };
  using Counter = std::atomic<std::uint64_t>;

  [[nodiscard]] policies::JobId id() const noexcept { return {.task = index_, .number = job_.number}; }
  void join_regulation() noexcept;
  void leave_regulation() noexcept;
  void warm_up_once() noexcept;
  std::optional<Instant> await_start() noexcept;
  void release_jobs(policies::ReleaseGate& gate, Instant end) noexcept;
  void count_unserved(Instant next, Instant end) noexcept;
  void start_job(const Job& job) noexcept;
  [[nodiscard]] bool outstanding() const noexcept;
  [[nodiscard]] bool ended_by(Instant when) const noexcept;
  bool await_release(Instant when) noexcept;
  bool await_end() noexcept;
  void withdraw() noexcept;
  void end_job() noexcept;
  void count_end(Status outcome, Instant end) noexcept;
  bool count_outcome(Status outcome, Instant end) noexcept;
  void tell_miss(Duration response) noexcept;
  void keep_record(Status outcome, bool missed, Instant end) noexcept;
  void note_fault(std::uint64_t job, Errc error) noexcept;

  const std::uint32_t index_;
  const Task& task_;
  const PlannedTask& plan_;
  Workload& workload_;
  RunControl& control_;
  DeviceDriver* driver_ = nullptr;
  BandwidthControl* bandwidth_ = nullptr;
  unsigned core_ = 0;

  hal::Signal wake_;  // release thread: a job ended, or the run stops
  hal::Signal ready_; // completion thread: the device part ended, or the run stops

  /// The job in progress: written by the release thread before the device part, read afterwards
  Job job_;
  Status outcome_; // of its device part
  Instant requested_{}, device_begin_{}, device_end_{};
  Duration executed_after_{0}; // completion thread: CPU time of the second part
  Status warm_up_;             // of the warm-up as a whole
  std::atomic<bool> abandoned_{false};
  /// Jobs begun, back from the device, done with; warm-up included
  Counter started_{0}, returned_{0}, ended_{0};
  std::atomic<std::int64_t> last_end_{0};
  std::atomic<bool> releases_over_{false};
  Counter suspect_job_{0};
  /// By whichever thread has the job; never `swapping`
  std::atomic<TaskState> state_{TaskState::waiting_for_release};

  // Statistics: each has one writer.
  Counter released_{0}, skipped_{0}, unserved_{0}, unserved_late_{0};         // release thread
  Counter completed_{0}, missed_{0}, aborted_{0}, failed_{0}, unfinished_{0}; // completion thread
  std::atomic<Errc> failure_{};                                               // of the last failed job
  DurationHistogram response_, latency_, device_;
  std::atomic<std::int64_t> longest_before_{0}, longest_after_{0};
  std::atomic<std::int64_t> all_before_{0}, all_after_{0}, last_response_{0}; // sums; of jobs that completed
  std::atomic<std::int64_t> warm_up_before_{0}, warm_up_device_{0}, warm_up_after_{0};
  std::vector<JobRecord> records_; // completion thread; full size from the start
  std::size_t recorded_ = 0, lost_records_ = 0;
  Ring<Miss, 256> misses_;
  Counter lost_misses_{0};
};

} // namespace rtexec::executive
