// One task while it runs: a release thread that starts each job on the grid and executes its first CPU part, and a
// completion thread that executes the second one. The device part in between is driven by the DeviceDriver; where the
// workload has none, the release thread hands its job to the completion thread itself.
//
// Two threads, so that a release is seen in time while the job before it is still unfinished, and so that each part can
// have a SCHED_DEADLINE reservation of its own.
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
  /// Its threads, on `core`, are counted and held by `bandwidth`, where cores cannot be.
  void regulate(BandwidthControl& bandwidth, unsigned core) {
    bandwidth_ = &bandwidth;
    core_ = core;
  }
  /// Layer events of this task go to the trace.
  void trace_layers();
  /// What buffers hold first, and when they got it, goes to the trace; before the workload is bound.
  void trace_contents();
  /// Layer events of this task go to `times`, and not to the trace.
  void time_layers(LayerTimes& times);
  /// Tells the shortest wait in a device part.
  void time_waits(Duration& shortest) { shortest_wait_ = &shortest; }
  /// Jobs execute whether their inputs have anything new or not.
  void take_whatever() { reads_for_ = channels::TaskIo::For::measurement; }
  /// Follows the data of the chains in which it stands.
  void follow(std::vector<ChainPlace*> chains) { chains_ = std::move(chains); }
  /// The ends of its jobs release jobs of these tasks; under logical execution time their deadlines do.
  void release_after(std::vector<TaskRun*> followers) { followers_ = std::move(followers); }
  /// Keeps records of the first `most` jobs.
  void record_jobs(std::size_t most) { statistics_.record_jobs(most); }

  /// Bodies of the two threads; they return after RunControl::stopping is set and interrupt() was called, once the job
  /// in progress has ended.
  void release_loop() noexcept;
  void completion_loop() noexcept;
  /// Lets completion_loop() return where the release thread could not be started.
  void no_releases() noexcept;
  /// Any thread: asks for a job from `at` on, if triggers release the task.
  void trigger(Instant at) noexcept { waits_.trigger(at); }
  /// Wakes both threads to look at RunControl.
  void interrupt() noexcept;

  [[nodiscard]] bool launches() const noexcept override { return workload_.launches_segments(); }
  Status launch(std::uint32_t segment) noexcept override { return workload_.launch_segment(segment); }
  Status execute(MemoryPolicy as, std::uint32_t segment) noexcept override;
  void device_part_ended(const DevicePart& part) noexcept override;

  [[nodiscard]] const std::string& name() const noexcept { return task_.name; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// The job that reported a fault, where RunControl::suspect names this task.
  [[nodiscard]] std::uint64_t suspect_job() const noexcept { return suspect_job_.load(); }
  /// What came of the warm-up, once it has ended.
  [[nodiscard]] Status warm_up() const noexcept { return warm_up_.outcome; }
  [[nodiscard]] TaskStatistics& statistics() noexcept { return statistics_; }
  [[nodiscard]] TaskReport report() const;
  /// Adds the threads of the task to `heartbeat`, and its jobs if they are proved to keep their deadlines.
  void watch(Heartbeat& heartbeat, bool proved) const;
  /// What stays as it is in it,
  [[nodiscard]] TaskStatus first_status() const;
  /// and what changes, but for what is recent. Any thread; allocates nothing.
  void show(TaskStatus& status) const;

 private:
  /// The job before the first one.
  struct WarmUp {
    std::atomic<std::int64_t> before{0}, device{0}, after{0}; // ns
    Status outcome;
  };

  void join_regulation() noexcept;
  void leave_regulation() noexcept;
  void warm_up_once() noexcept;
  void release_jobs(policies::ReleaseGrid& grid, Instant end) noexcept;
  void count_unserved(Instant next, Instant end) noexcept;
  /// The begin of a job's first part.
  struct Begin {
    Instant at{};
    Duration executed{0}; // by its thread so far
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
  std::uint32_t buffers_told_ = 0; // by trace_contents()
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
  /// By whichever thread has the job; never `swapping`
  std::atomic<TaskState> state_{TaskState::waiting_for_release};

  // The job in progress: written by whichever thread has it.
  Job job_;
  Instant sampled_{}; // when the oldest of its inputs was so
  JobEnd end_;
  bool exceeded_ = false; // a part of it took longer than its WCET
  WarmUp warm_up_;
  TaskStatistics statistics_;
  TaskStatistics* observer_ = nullptr; // of the job in progress; null in the warm-up
  ReleaseWait waits_;                  // of the release thread
};

} // namespace rtexec::executive
