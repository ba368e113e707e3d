// One running task. Its release thread begins each job at its release and executes the first CPU part. Its completion
// thread executes the last CPU part. The DeviceDriver executes the device part in between. If the workload has no
// device part, the release thread passes the job directly to the completion thread. "The thread that holds the job" is
// defined in job_handshake.hpp.
//
// There are two threads for two reasons. First, a release is noticed in time even while the previous job is unfinished.
// Second, each CPU part can have its own SCHED_DEADLINE reservation.
#pragma once

#include "policies/scheduler/release_grid.hpp"
#include "rtexec/runtime/channels/task_io.hpp"
#include "rtexec/runtime/executive/chain_runs.hpp"
#include "rtexec/runtime/executive/device_driver.hpp"
#include "rtexec/runtime/executive/job_handshake.hpp"
#include "rtexec/runtime/executive/release_wait.hpp"
#include "rtexec/runtime/observation/layer_times.hpp"
#include "rtexec/runtime/watches/heartbeat.hpp"
#include "rtexec/runtime/executive/run_control.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/runtime/executive/task_statistics.hpp"
#include <rtexec/workload.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::executive {

class TaskRun final : public DeviceClient {
 public:
  TaskRun(std::uint32_t index, const Task& task, const PlannedTask& plan, Workload& workload, channels::TaskIo& io,
          RunControl& control, bool let)
      : index_(index),
        task_(task),
        plan_(plan),
        workload_(workload),
        io_(io),
        uses_device_(workload.uses_device()),
        control_(control),
        let_(let),
        statistics_(task, plan, control.noticed),
        waits_(task, io, control, handshake_, statistics_) {}

  void connect(DeviceDriver& driver) { driver_ = &driver; }
  /// Sets the bandwidth control. The task's threads on `core` join its regulation. Joining has an effect if the
  /// regulation counts the traffic of threads instead of cores (CounterBackEnd::thread).
  void regulate(BandwidthControl& bandwidth, unsigned core) {
    bandwidth_ = &bandwidth;
    core_ = core;
  }
  /// Enables tracing of the task's layer events.
  void trace_layers();
  /// Enables trace events that report when the workload's buffers get their first contents. Called before the workload
  /// is bound.
  void trace_contents();
  /// Passes the layer events of this task to `times` instead of the trace.
  void time_layers(LayerTimes& times);
  /// Measures, for each device part, how long the engine's thread waits for a core. Writes the shortest such wait to
  /// `shortest`.
  void time_waits(Duration& shortest) { shortest_wait_ = &shortest; }
  /// Makes jobs execute even if their inputs have no new values. Used for measurements.
  void take_whatever() { reads_for_ = channels::TaskIo::For::measurement; }
  /// Sets this task's positions in chains. Its threads then follow the data of these chains.
  void follow(std::vector<ChainPlace*> chains) { chains_ = std::move(chains); }
  /// Makes the end of each job of this task release a job of each of `followers`. If this task communicates by logical
  /// execution time (Communication::let), the deadline of each job releases the followers instead.
  void release_after(std::vector<TaskRun*> followers) { followers_ = std::move(followers); }
  /// Enables records of the first `most` jobs.
  void record_jobs(std::size_t most) { statistics_.record_jobs(most); }

  /// The bodies of the two threads. Each body returns once RunControl::stopping is set, interrupt() was called, and the
  /// job in progress has ended.
  void release_loop() noexcept;
  void completion_loop() noexcept;
  /// Makes completion_loop() return if the release thread could not be started.
  void no_releases() noexcept;
  /// Triggers a job that is released at `at` or later. Has no effect if a timer releases the task. Any thread.
  void trigger(Instant at) noexcept { waits_.trigger(at); }
  /// Wakes both threads, so that they check RunControl.
  void interrupt() noexcept;

  [[nodiscard]] bool launches() const noexcept override { return workload_.launches_segments(); }
  Status launch(std::uint32_t segment) noexcept override { return workload_.launch_segment(segment); }
  Status execute(MemoryPolicy as, std::uint32_t segment) noexcept override;
  void device_part_ended(const DevicePart& part) noexcept override;

  [[nodiscard]] const std::string& name() const noexcept { return task_.name; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Returns the number of the job that reported a fault. Valid if RunControl::suspect names this task.
  [[nodiscard]] std::uint64_t suspect_job() const noexcept { return suspect_job_.load(); }
  /// Returns the result of the warm-up, once it has ended.
  [[nodiscard]] Status warm_up() const noexcept { return warm_up_.outcome; }
  [[nodiscard]] TaskStatistics& statistics() noexcept { return statistics_; }
  [[nodiscard]] TaskReport report() const;
  /// Adds the threads of the task to the threads that `heartbeat` supervises. If `proved` is true, all jobs of the task
  /// are proved to keep their deadlines, and `heartbeat` supervises them too.
  void watch(Heartbeat& heartbeat, bool proved) const;
  /// Returns a status for the status page with its static fields filled in.
  [[nodiscard]] TaskStatus first_status() const;
  /// Fills the dynamic fields of the status, except `recent`. Any thread; allocates nothing.
  void show(TaskStatus& status) const;

 private:
  /// The result of the warm-up, which runs job 0 before the first release.
  struct WarmUp {
    std::atomic<std::int64_t> before{0}, device{0}, after{0}; // ns
    Status outcome;
  };

  void join_regulation() noexcept;
  void leave_regulation() noexcept;
  void warm_up_once() noexcept;
  void release_jobs(policies::ReleaseGrid& grid, Instant end) noexcept;
  void count_unserved(Instant next, Instant end) noexcept;
  /// The beginning of a job's first CPU part.
  struct Begin {
    Instant at{};
    Duration executed{0}; // processor time of the release thread before the job
  };
  void begin_job(policies::ReleaseGrid& grid, const policies::ReleaseDecision& decision) noexcept;
  void start_job(const Job& job, const Begin& begin, const channels::TaskIo::Read& read) noexcept;
  void part_ended(Part part, Instant begin, Duration took, Duration wcet) noexcept;
  void withdraw() noexcept;
  void end_job() noexcept;
  void hand_on() noexcept;
  void hand_out() noexcept;
  Status execute_after() noexcept;
  void note_fault(Errc error) noexcept;
  void enter(TaskState state) noexcept { state_.store(state, std::memory_order_relaxed); }

  const std::uint32_t index_;
  const Task& task_;
  const PlannedTask& plan_;
  Workload& workload_;
  channels::TaskIo& io_;
  const bool uses_device_;
  RunControl& control_;
  const Stopper overrun_{&task_, StopCause::overrun}, excess_{&task_, StopCause::wcet_exceeded};
  DeviceDriver* driver_ = nullptr;
  BandwidthControl* bandwidth_ = nullptr;
  unsigned core_ = 0;
  LayerTimes* layer_times_ = nullptr;
  Duration* shortest_wait_ = nullptr;
  std::uint32_t buffers_told_ = 0; // number of buffers that trace_contents() has traced
  Duration waited_{0};             // wait of the execution that has ended; written by the compute engine's thread

  JobHandshake handshake_;
  ProgressCounter completing_ = ProgressCounter::of_thread();
  std::atomic<bool> releases_over_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<std::uint64_t> suspect_job_{0};
  std::vector<TaskRun*> followers_;
  std::vector<ChainPlace*> chains_;
  const bool let_;
  channels::TaskIo::For reads_for_ = channels::TaskIo::For::job;
  /// Written by the thread that holds the job. The state is never `swapping`; show() queries the driver for this state
  std::atomic<TaskState> state_{TaskState::waiting_for_release};

  // The job in progress. The thread that holds the job writes `job_` and the members down to `exceeded_`
  Job job_;
  Instant sampled_{}; // the oldest sampling instant of the job's inputs
  JobEnd end_;
  bool exceeded_ = false; // true: a part of the job took longer than its WCET
  WarmUp warm_up_;
  TaskStatistics statistics_;
  TaskStatistics* observer_ = nullptr; // statistics for the job in progress; null in the warm-up, which is not counted
  ReleaseWait waits_;                  // waits of the release thread
};

} // namespace rtexec::executive
