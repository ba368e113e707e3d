// Drives one device by the decisions of the scheduler core (policies::DeviceScheduler). The inputs of the core are the
// events of all tasks. The outputs of the core are executions on the compute engines and transfers on the copy engines.
// The scheduler thread is the only thread that uses the core and submits work.
//
// Jobs co-run if they execute on the device at once. A job that starts while another job executes is submitted to the
// second compute engine. The device part of each of the two jobs is then measured from the job's start, less the time
// that the device reports as not executed. The time not executed includes the wait of the engine's thread for the core
// that both engines share. In the warm-up, a job that may co-run executes repeatedly, until it has executed under each
// of its memory policies on each engine.
//
// After each segment of a job except the last segment, the scheduler decides which job executes next. The job's device
// part begins with its first segment and ends with its last segment. Executions of other jobs in between are not part
// of the device part. With launch-ahead, the scheduler submits several segments of the job in advance, and the compute
// engine continues without waiting for the scheduler. If the device computes asynchronously, the engine submits segment
// n+1 while segment n executes. Before the engine waits for the end of the last segment that it may submit, it waits
// for the scheduler's decision on the end of the previous segment. This decision may permit further segments, so that
// the device always has permitted work. After an error of a segment, the segments submitted ahead do not execute.
#pragma once

#include "hal/device_interface.hpp"
#include "hal/thread.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "rtexec/runtime/executive/bandwidth_control.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/watches/heartbeat.hpp"
#include "rtexec/runtime/executive/wait_free_queue.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rtexec::executive {

/// The outcome of a job's device part.
struct DevicePart {
  Status outcome;
  Instant begin{}, end{};
  Duration executed{0};          // the time between begin and end that counts as execution
  Duration longest{0};           // the longest execution of a segment
  std::uint32_t preemptions = 0; // the number of times that other jobs executed between two segments
  hal::Concurrency concurrency = hal::Concurrency::alone;
};

/// The callbacks by which the driver executes a task's jobs on the device. For each requested job, the driver calls
/// launch() and execute() once per segment, and then device_part_ended(). A task has at most one requested job at a
/// time.
class DeviceClient {
 public:
  /// True if launch() is asynchronous. Constant.
  [[nodiscard]] virtual bool launches() const noexcept { return false; }
  /// Submits the segment to the device, which may still execute the previous segment. Called on a compute engine's
  /// thread, only if launches() is true and the plan has launch-ahead; must not block. After an error the job has
  /// failed. An implementation that returns an error must ensure that no work of the job is in progress.
  virtual Status launch(std::uint32_t) noexcept { return {}; }
  /// Executes a segment. Called on a compute engine's thread. In the warm-up it may be called several times for a job.
  /// Not called if DeviceMemory::prepare() fails.
  virtual Status execute(MemoryPolicy as, std::uint32_t segment) noexcept = 0;
  /// Reports the end of the device part. Called once for each requested job; must not block. If the job executed, this
  /// function is called on the compute engine's thread, with the result of execute() or prepare(). If the job did not
  /// execute, this function is called on the scheduler thread. The outcome is then `cancelled` if the job was
  /// withdrawn, or the error of a transfer that the job needed.
  virtual void device_part_ended(const DevicePart& part) noexcept = 0;

 protected:
  ~DeviceClient() = default;
};

class DeviceDriver {
 public:
  /// `memory` must be laid out for the initial state of `scheduler`. `clients` has one element for each task of the
  /// scheduler, in the same order. `device`, `memory` and the clients must outlive the driver.
  struct Options {
    /// True if copy engines copy continuously while a job executes, so that executions are measured with concurrent
    /// copies
    bool background_copy = false;
    /// The memory policies under which jobs co-run, by task. Empty: jobs never co-run, and one compute engine is used
    std::vector<std::vector<MemoryPolicy>> co_run = {};
    /// The number of segments of a job, by task. Empty: each job has one segment
    std::vector<std::uint32_t> segments = {};
    std::uint32_t launch_ahead = 0; // Plan::launch_ahead
    TransferObserver observer = {};
    /// The limit of the time that the driver subtracts from an execution. The driver measures the time between begin
    /// and end of the execution, and subtracts the time that the device reports as not executed, but at most this
    /// limit. The limit is the overhead that admission adds to the WCET. A delay that exceeds the limit can therefore
    /// be reported as an excess of the WCET
    Duration max_not_executed{0};
    BandwidthControl* bandwidth = nullptr; // notified while the device works; null: there is no bandwidth regulation
    /// Called if an event was lost because its queue was full, which is an error of the executive. Every job is
    /// cancelled from then on. Called on any thread; must not block or allocate.
    void (*failed)(void* self) noexcept = nullptr;
    void* self = nullptr;
  };
  DeviceDriver(policies::DeviceScheduler scheduler, hal::Device& device, DeviceMemory& memory,
               const std::vector<DeviceClient*>& clients, const Options& options);
  ~DeviceDriver();

  /// The body of the scheduler thread; returns after stop().
  void run() noexcept;
  /// Makes run() return once every requested job has ended.
  void stop() noexcept;

  /// Enables tracing. Inputs and decisions of the scheduler core are traced even before this call, because a replay of
  /// the trace begins with the warm-up.
  void record() noexcept { recording_.store(true, std::memory_order_relaxed); }

  /// Passes an event of a task to the scheduler thread. For each task, only one thread may call this function. A job is
  /// requested at most once, and only after the task's previous job has ended.
  void post(const policies::Event& event) noexcept;

  /// Returns the number of events that the scheduler core refused; it is 0 unless the executive has an error.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Returns the number of events that were lost because their queue was full.
  [[nodiscard]] std::uint64_t lost_events() const noexcept { return lost_events_.load(std::memory_order_relaxed); }

  /// True if chunks are being transferred for a job of `task`. Any thread.
  [[nodiscard]] bool moves_for(std::uint32_t task) const noexcept;
  /// Adds the scheduler thread and the engines to the threads that `heartbeat` supervises.
  void watch(Heartbeat& heartbeat) const;

 private:
  class Working;
  struct SubmittedSegment;
  struct TaskChannel;
  /// A compute engine.
  struct Compute {
    hal::Engine& engine;
    WaitFreeQueue<policies::Event, 8> ended{}; // from the engine's thread to the scheduler thread
    ProgressCounter progress{};
  };
  struct TransferWork;
  struct EndedTransfer {
    policies::Event event;
    Errc error{};
  };
  /// A copy engine, which ends its transfers in the order of their beginnings.
  struct Direction {
    hal::Engine& engine;
    std::vector<std::unique_ptr<TransferWork>> works; // reused cyclically
    std::uint64_t begun = 0, ended = 0;               // numbers of transfers; scheduler thread
    WaitFreeQueue<EndedTransfer, 8> finished{};       // from the engine's thread to the scheduler thread
    ProgressCounter progress{};
  };

  [[nodiscard]] Duration executed(Duration passed) noexcept;
  [[nodiscard]] bool executes(std::uint32_t task) const noexcept;
  [[nodiscard]] bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
  void on_queue_overflow() noexcept;
  void cancel_all() noexcept;
  bool step() noexcept;
  bool take_end(Compute* of, policies::Event& end) noexcept;
  bool take_events() noexcept;
  bool take_transfers(Direction& direction) noexcept;
  void decide(const policies::Event& event) noexcept;
  [[nodiscard]] bool lost_any() const noexcept { return lost_events_.load(std::memory_order_acquire) > 0; }
  [[nodiscard]] static bool leaves(const TaskChannel& channel, const policies::Event& end) noexcept;
  void decide_end(const policies::Event& end) noexcept;
  void carry_out(const policies::Action& action, hal::Concurrency concurrency) noexcept;
  void start(TaskChannel& channel, const policies::Action& action, hal::Concurrency concurrency) noexcept;
  void submit(TaskChannel& channel, std::uint32_t segment) noexcept;
  void move(Direction& direction, const std::optional<policies::Action>& action) noexcept;
  void background_copy(Direction& direction) noexcept;
  void not_executed(TaskChannel& channel, Errc why) noexcept;
  void wanted(TaskChannel& channel) noexcept;
  void left(TaskChannel& channel) noexcept;

  policies::DeviceScheduler scheduler_;
  hal::Device& device_;
  DeviceMemory& memory_;
  const Options options_;
  std::vector<std::unique_ptr<TaskChannel>> channels_;
  /// The requests of one call of take_events(). The capacity is reserved in advance.
  std::vector<policies::Event> requests_;
  Compute compute_;
  std::unique_ptr<Compute> secondary_compute_; // null: jobs never co-run
  Direction in_, out_;
  std::uint64_t decisions_ = 0; // number of decisions of the scheduler core
  Errc last_transfer_error_ = Errc::io_error;
  hal::Signal wake_;
  ProgressCounter progress_ = ProgressCounter::of_thread(); // of the scheduler thread
  std::atomic<bool> recording_{false}, stopping_{false};
  std::atomic<std::uint64_t> refused_{0}, lost_events_{0};
};

} // namespace rtexec::executive
