// Drives one device by the scheduler core. Events of all tasks are its input; executions on the compute engines and
// transfers on the copy engines are its output. Owns the scheduler thread, the only thread that uses the core and
// submits work.
//
// If jobs co-run, a job that is started while another one executes goes to the second compute engine. The device part
// of each is the time since it was started, less the time that the device reports as not executed. Until its engine's
// thread gets the shared core, a job waits for the other one. In the warm-up the job of such a task executes
// repeatedly, until each of its policies has executed on each engine.
//
// A job of several segments returns to the scheduler after each segment but the last. Its device part begins with the
// first segment and ends with the last; executions of other jobs in between are not part of it. With launch-ahead the
// compute engine already has the next segments of the job, and continues without the scheduler. If the device computes
// asynchronously, the engine submits segment n+1 while segment n executes. Before it waits for its last segment, it
// waits for the scheduler's decision on the end of the previous one. So the device never runs out of permitted work.
// After an error of a segment, the segments submitted ahead do not execute.
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
  std::uint32_t preemptions = 0; // between two segments, in favour of other jobs
  hal::Company company = hal::Company::alone;
};

/// A task's callbacks for its jobs on the device. For each requested job they are called in this order, the first two
/// for each segment. A task has one such job at a time.
class DeviceClient {
 public:
  /// True if launch() is asynchronous. Constant.
  [[nodiscard]] virtual bool launches() const noexcept { return false; }
  /// Submits the segment to the device, which may still execute the previous one. Called only if launches() is true and
  /// with launch-ahead, on a compute engine's thread; must not block. After an error the job has failed, and no work of
  /// it is in progress.
  virtual Status launch(std::uint32_t) noexcept { return {}; }
  /// Executes a segment. Called on a compute engine's thread, in the warm-up several times for a job; not called if
  /// DeviceMemory::prepare() fails.
  virtual Status execute(MemoryPolicy as, std::uint32_t segment) noexcept = 0;
  /// Called once for each requested job. On the compute engine's thread, it gets the result of execute() or prepare().
  /// A job that did not execute ends on the scheduler thread. It gets `cancelled` if it was withdrawn, or the error of
  /// a transfer that it needed. Must not block.
  virtual void device_part_ended(const DevicePart& part) noexcept = 0;

 protected:
  ~DeviceClient() = default;
};

class DeviceDriver {
 public:
  /// The scheduler's initial state must be the one that `memory` was laid out for. `clients` is parallel to the
  /// scheduler's tasks. `device`, `memory` and the clients must outlive the driver.
  struct Options {
    /// True if copy engines copy continuously while a job executes, to measure with concurrent copies
    bool exercise = false;
    /// The policies under which jobs co-run, by task. Empty: there is one compute engine
    std::vector<std::vector<MemoryPolicy>> co_run = {};
    /// The number of segments of a job, by task. Empty: one each
    std::vector<std::uint32_t> segments = {};
    std::uint32_t launch_ahead = 0; // Plan::launch_ahead
    TransferObserver observer = {};
    /// The maximum time of an execution that may not count as execution, whatever the device reports. It is the
    /// overhead that admission charges in addition to the WCET, so that no longer delay goes unnoticed
    Duration max_not_executed{0};
    BandwidthControl* bandwidth = nullptr; // notified while the device works; null: no regulation
    /// Called if an event found its queue full, which is an error of the executive. Every job is cancelled from then
    /// on. Called by any thread; must not block or allocate.
    void (*failed)(void* self) noexcept = nullptr;
    void* self = nullptr;
  };
  DeviceDriver(policies::DeviceScheduler scheduler, hal::Device& device, DeviceMemory& memory,
               const std::vector<DeviceClient*>& clients, const Options& options);
  ~DeviceDriver();

  /// The body of the scheduler thread; returns after stop().
  void run() noexcept;
  /// Lets run() return once every requested job has ended.
  void stop() noexcept;

  /// Enables tracing. Inputs and decisions of the scheduler core are traced in the warm-up, too, because a replay
  /// begins there.
  void record() noexcept { recording_.store(true, std::memory_order_relaxed); }

  /// Posts an event of a task. Called by one thread per task. A job is requested at most once, and only after the
  /// task's previous job has ended.
  void post(const policies::Event& event) noexcept;

  /// Returns the number of events that the scheduler core refused; not 0 only by an error of the executive.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Returns the number of events that found their queue full.
  [[nodiscard]] std::uint64_t lost_events() const noexcept { return lost_events_.load(std::memory_order_relaxed); }

  /// True if chunks are being transferred for a job of `task`. Any thread.
  [[nodiscard]] bool moves_for(std::uint32_t task) const noexcept;
  /// Adds the scheduler thread and the engines to `heartbeat`.
  void watch(Heartbeat& heartbeat) const;

 private:
  class Working;
  struct Given;
  struct TaskLink;
  /// A compute engine.
  struct Compute {
    hal::Engine& engine;
    WaitFreeQueue<policies::Event, 8> ended{}; // from the engine's thread
    ProgressCounter progress{};
  };
  struct TransferWork;
  struct EndedTransfer {
    policies::Event event;
    Errc error{};
  };
  /// A copy engine, which ends transfers in the order in which they begin.
  struct Direction {
    hal::Engine& engine;
    std::vector<std::unique_ptr<TransferWork>> works; // used in turn
    std::uint64_t begun = 0, ended = 0;               // on the scheduler thread
    WaitFreeQueue<EndedTransfer, 8> finished{};       // from the engine's thread
    ProgressCounter progress{};
  };

  [[nodiscard]] Duration executed(Duration passed) noexcept;
  [[nodiscard]] bool executes(std::uint32_t task) const noexcept;
  [[nodiscard]] bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
  void lose_event() noexcept;
  void cancel_all() noexcept;
  bool step() noexcept;
  bool take_end(Compute* of, policies::Event& end) noexcept;
  bool take_events() noexcept;
  bool take_transfers(Direction& direction) noexcept;
  void decide(const policies::Event& event) noexcept;
  [[nodiscard]] bool lost_any() const noexcept { return lost_events_.load(std::memory_order_acquire) > 0; }
  [[nodiscard]] static bool leaves(const TaskLink& link, const policies::Event& end) noexcept;
  void decide_end(const policies::Event& end) noexcept;
  void carry_out(const policies::Action& action, hal::Company company) noexcept;
  void start(TaskLink& link, const policies::Action& action, hal::Company company) noexcept;
  void submit(TaskLink& link, std::uint32_t segment) noexcept;
  void move(Direction& direction, const std::optional<policies::Action>& action) noexcept;
  void exercise(Direction& direction) noexcept;
  void not_executed(TaskLink& link, Errc why) noexcept;
  void wanted(TaskLink& link) noexcept;
  void left(TaskLink& link) noexcept;

  policies::DeviceScheduler scheduler_;
  hal::Device& device_;
  DeviceMemory& memory_;
  const Options options_;
  std::vector<std::unique_ptr<TaskLink>> links_;
  std::vector<policies::Event> requests_; // requests taken together; capacity reserved
  Compute compute_;
  std::unique_ptr<Compute> beside_; // null: jobs never co-run
  Direction in_, out_;
  std::uint64_t decisions_ = 0; // of the scheduler core
  Errc last_transfer_error_ = Errc::io_error;
  hal::Signal wake_;
  ProgressCounter progress_ = ProgressCounter::of_thread(); // of the scheduler thread
  std::atomic<bool> recording_{false}, stopping_{false};
  std::atomic<std::uint64_t> refused_{0}, lost_events_{0};
};

} // namespace rtexec::executive
