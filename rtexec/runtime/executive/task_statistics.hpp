// Observes the jobs of one task: counts jobs, keeps their times and records, queues notices of misses and WCET
// excesses, and traces events. The comments below name the thread that calls each function. Any thread may read
// results. Allocates nothing after record_jobs().
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "hal/thread.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/scheduler/release_grid.hpp"
#include "rtexec/runtime/executive/wait_free_queue.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/runtime/statistics/chain_statistics.hpp"
#include "rtexec/runtime/statistics/histogram.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::executive {

struct Job {
  policies::JobId id;
  Instant nominal{};
  Instant deadline{};
};

/// The end of a job, and the course of its device part.
struct JobEnd {
  Status outcome;
  bool abandoned = false;
  bool concurrent = false;       // true: the device part co-ran with the device part of another job
  std::uint32_t preemptions = 0; // number of times that other jobs executed between two segments
  Instant requested{}, device_begin{}, device_end{}, end{};
  Duration executed_before{0}, executed_on_device{0}, executed_after{0};
};

class TaskStatistics {
 public:
  /// `noticed` is raised for each miss that take_miss() will return, and each excess that take_excess() will return.
  TaskStatistics(const Task& task, const PlannedTask& plan, hal::Signal& noticed)
      : task_(task), plan_(plan), noticed_(noticed) {
    input_delay_.bound = task.input_delay;
  }
  /// Allocates records for the first `most` jobs. Set-up.
  void record_jobs(std::size_t most) { records_.resize(most); }

  // The next functions are for the release thread.
  void overrun(const Job& unfinished, policies::ReleaseDecision::Kind decision) noexcept;
  void skip(std::uint32_t task, const policies::ReleaseDecision& decision) noexcept;
  void skipped(std::uint64_t so_far) noexcept { skipped_.store(so_far, std::memory_order_relaxed); }
  void dropped_triggers(std::uint64_t so_far) noexcept { dropped_triggers_.store(so_far, std::memory_order_relaxed); }
  /// Records the input delay of a job released at `nominal`; `at` is the oldest sampling instant of its inputs.
  void sampled(Instant nominal, Instant at) noexcept {
    if (at <= nominal) input_delay_.add(nominal - at);
  }
  /// Counts a release that got no job because the run ended. `late`: the deadline of this release had passed.
  void unserved(bool late) noexcept;
  void released(const Job& job, Instant now) noexcept;
  void before_ended(const Job& job, Instant at, Duration executed) noexcept;

  /// Records the time of a device part that succeeded. Called by the compute engine's thread.
  void device_ended(Duration took) noexcept;

  // The next functions are for the completion thread.
  void after_begins(const Job& job, Instant at) const noexcept;
  void after_ended(Duration executed) noexcept;
  void ended(const Job& job, const JobEnd& how) noexcept;

  /// Records that a part of the job, which began at `begin`, exceeded its WCET. Called by the thread that holds the
  /// job.
  void exceeded(const Job& job, Part part, Instant begin, Duration took, Duration wcet) noexcept;
  /// Decides for each part that has exceeded its WCET since the last call whether stolen time may be the reason
  /// (TaskReport::above_wcet_stolen). Stolen time may be the reason if the part began before stolen time was last seen
  /// on its core. The arguments are the instants when stolen time was last seen on the task's core and on the compute
  /// engine's core. Absent: no stolen time was seen. Called by one thread.
  void settle_thefts(std::optional<Instant> last_on_core, std::optional<Instant> last_on_compute_core) noexcept;

  // The next functions are for any thread.
  [[nodiscard]] TaskReport report() const;
  /// Fills the dynamic fields of the status, except `recent` and the state. Allocates nothing.
  void show(TaskStatus& status) const;
  [[nodiscard]] std::uint64_t lost_misses() const noexcept { return lost_misses_.load(std::memory_order_relaxed); }
  /// Returns the next queued miss, or nullopt if the queue is empty. Called by one thread.
  [[nodiscard]] std::optional<Miss> take_miss() noexcept;
  /// Returns the number of WCET excesses that did not fit into the queue of take_excess().
  [[nodiscard]] std::uint64_t lost_excesses() const noexcept { return lost_excesses_.load(std::memory_order_relaxed); }
  /// Returns the next queued WCET excess, or nullopt if the queue is empty. Called by one thread.
  [[nodiscard]] std::optional<WcetExcess> take_excess() noexcept;
  /// Adds the records of the jobs that have ended so far.
  void add_records(JobRecords& records) const;

 private:
  using Counter = std::atomic<std::uint64_t>;

  struct Unsettled {
    Part part{};
    Instant begin{};
  };

  [[nodiscard]] static PartCounts counts(const std::array<Counter, 3>& by_part) noexcept;
  bool count_outcome(const Job& job, const JobEnd& how) noexcept;
  void keep_record(const Job& job, const JobEnd& how, bool missed) noexcept;

  const Task& task_;
  const PlannedTask& plan_;
  hal::Signal& noticed_;
  Counter released_{0}, skipped_{0}, unserved_{0}, unserved_late_{0}, dropped_triggers_{0}; // release thread
  Counter completed_{0}, missed_{0}, aborted_{0}, failed_{0}, unfinished_{0}, paired_{0},
      preempted_{0};            // completion thread
  std::atomic<Errc> failure_{}; // error of the last failed job
  DurationHistogram response_, latency_, device_;
  BoundedTimes input_delay_; // release thread
  std::atomic<std::int64_t> longest_before_{0}, longest_after_{0};
  std::array<Counter, 3> above_wcet_{}, above_wcet_stolen_{}; // by part
  /// Sums of execution times; the response time of the last completed job.
  std::atomic<std::int64_t> all_before_{0}, all_after_{0}, last_response_{0};
  std::vector<JobRecord> records_; // completion thread
  std::atomic<std::size_t> recorded_{0}, lost_records_{0};
  WaitFreeQueue<Miss, 256> misses_;
  WaitFreeQueue<WcetExcess, 64> excesses_;
  /// Excesses for settle_thefts(). An excess that finds the queue full is never attributed to stolen time.
  WaitFreeQueue<Unsettled, 64> unsettled_;
  Counter lost_misses_{0}, lost_excesses_{0};
};

} // namespace rtexec::executive
