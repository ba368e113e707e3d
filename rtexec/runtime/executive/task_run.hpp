// One running task. Its release thread starts each job on the grid and executes its first CPU part. Its completion
// thread executes the last CPU part. The DeviceDriver executes the device part in between. If the workload has none,
// the release thread passes its job directly to the completion thread.
//
// There are two threads, so that a release is noticed in time while the previous job is unfinished. Besides, each part
// can have a SCHED_DEADLINE reservation of its own.
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
  /// The task's threads, on `core`, join the regulation of `bandwidth` if its back end counts threads and not cores.
  void regulate(BandwidthControl& bandwidth, unsigned core) {
    bandwidth_ = &bandwidth;
    core_ = core;
  }
  /// Traces the layer events of this task.
  void trace_layers();
  /// Traces the first contents of buffers and their instants. Called before the workload is bound.
  void trace_contents();
  /// Sends the layer events of this task to `times`, and not to the trace.
  void time_layers(LayerTimes& times);
  /// Writes the shortest time that a device part waited to `shortest`.
  void time_waits(Duration& shortest) { shortest_wait_ = &shortest; }
  /// Lets jobs execute even if their inputs have no new values.
  void take_whatever() { reads_for_ = channels::TaskIo::For::measurement; }
  /// Follows the data of the chains that contain this task.
  void follow(std::vector<ChainPlace*> chains) { chains_ = std::move(chains); }
  /// Lets the ends of this task's jobs release jobs of `followers`. Under logical execution time the jobs' deadlines
  /// do.
  void release_after(std::vector<TaskRun*> followers) { followers_ = std::move(followers); }
  /// Keeps records of the first `most` jobs.
  void record_jobs(std::size_t most) { statistics_.record_jobs(most); }

  /// The bodies of the two threads. They return after RunControl::stopping is set and interrupt() was called, once the
  /// job in progress has ended.
  void release_loop() noexcept;
  void completion_loop() noexcept;
  /// Lets completion_loop() return if the release thread could not be started.
  void no_releases() noexcept;
  /// Requests a job from `at` on, if triggers release the task. Any thread.
  void trigger(Instant at) noexcept { waits_.trigger(at); }
  /// Wakes both threads, to check RunControl.
  void interrupt() noexcept;

  [[nodiscard]] bool launches() const noexcept override { return workload_.launches_segments(); }
  Status launch(std::uint32_t segment) noexcept override { return workload_.launch_segment(segment); }
  Status execute(MemoryPolicy as, std::uint32_t segment) noexcept override;
  void device_part_ended(const DevicePart& part) noexcept override;

  [[nodiscard]] const std::string& name() const noexcept { return task_.name; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Returns the job that reported a fault, if RunControl::suspect names this task.
  [[nodiscard]] std::uint64_t suspect_job() const noexcept { return suspect_job_.load(); }
  /// Returns the result of the warm-up, once it has ended.
  [[nodiscard]] Status warm_up() const noexcept { return warm_up_.outcome; }
  [[nodiscard]] TaskStatistics& statistics() noexcept { return statistics_; }
  [[nodiscard]] TaskReport report() const;
  /// Adds the threads of the task to `heartbeat`, and its jobs if they are proved to keep their deadlines.
  void watch(Heartbeat& heartbeat, bool proved) const;
  /// Returns a status with the static fields filled in.
  [[nodiscard]] TaskStatus first_status() const;
  /// Fills the dynamic fields, except `recent`. Any thread; allocates nothing.
  void show(TaskStatus& status) const;

 private:
  /// Job 0 of the warm-up, before the first release.
  struct WarmUp {
    std::atomic<std::int64_t> before{0}, device{0}, after{0}; // ns
    Status outcome;
  };

  void join_regulation() noexcept;
  void leave_regulation() noexcept;
  void warm_up_once() noexcept;
  void release_jobs(policies::ReleaseGrid& grid, Instant end) noexcept;
  void count_unserved(Instant next, Instant end) noexcept;
  /// The beginning of a job's first part.
  struct Begin {
    Instant at{};
    Duration executed{0}; // processor time of its thread so far
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
  Duration waited_{0};             // in the execution that has ended; compute engine's thread

  JobHandshake handshake_;
  ProgressCounter completing_ = ProgressCounter::of_thread();
  std::atomic<bool> releases_over_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<std::uint64_t> suspect_job_{0};
  std::vector<TaskRun*> followers_;
  std::vector<ChainPlace*> chains_;
  const bool let_;
  channels::TaskIo::For reads_for_ = channels::TaskIo::For::job;
  /// Written by the thread that holds the job; never `swapping`
  std::atomic<TaskState> state_{TaskState::waiting_for_release};

  // The job in progress, written by the thread that holds it
  Job job_;
  Instant sampled_{}; // the oldest sampling instant of its inputs
  JobEnd end_;
  bool exceeded_ = false; // a part of it took longer than its WCET
  WarmUp warm_up_;
  TaskStatistics statistics_;
  TaskStatistics* observer_ = nullptr; // of the job in progress; null in the warm-up
  ReleaseWait waits_;                  // of the release thread
};

} // namespace rtexec::executive
