// Drives one device by the scheduler core: events of all tasks go in, executions on the compute engines and transfers
// on the copy engines come out. Owns the scheduler thread, which is the only one that touches the core and the only one
// that submits work.
//
// Where jobs execute beside each other, one that is started beside another goes to the second compute engine. The
// device part of each of the two is all the time from when they were started, less what the device says that it did not
// execute: until its engine's thread has the core that they share, a job waits for the other one. In the warm-up such
// a task's job executes again, until each of its policies has on each engine.
//
// A job of several segments goes back to the scheduler after each but its last one. Its device part begins with the
// first and ends with the last; what others execute in between is not part of its execution. With launch-ahead the
// compute engine has the next segments of the job already, and goes on by itself. Where the device computes by itself,
// the engine hands it one while the one before executes, and before it waits for the last one that it has, it waits for
// what the scheduler makes of the end of the one before: so the device never runs out of what it may execute. After an
// error of a segment, those that were given besides do not execute.
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

/// How a job came to its end on the device.
struct DevicePart {
  Status outcome;
  Instant begin{}, end{};
  Duration executed{0};          // of the time from begin to end, what counts as execution,
  Duration longest{0};           // and of one of its segments, the most
  std::uint32_t preemptions = 0; // between two segments, for others
  hal::Company company = hal::Company::alone;
};

/// What a task does with its turn on the device. The calls follow one another for each job that was requested, the
/// first two for each segment; a task has one such job at a time.
class DeviceClient {
 public:
  /// Whether launch() hands over anything; always the same.
  [[nodiscard]] virtual bool launches() const noexcept { return false; }
  /// Where it does, with launch-ahead: hands the segment to the device, which may execute the one before still. On a
  /// compute engine's thread; must not block. After an error the job has failed, and nothing of it is under way.
  virtual Status launch(std::uint32_t) noexcept { return {}; }
  /// On a compute engine's thread, in the warm-up several times for a job; not where DeviceMemory::prepare() fails.
  virtual Status execute(MemoryPolicy as, std::uint32_t segment) noexcept = 0;
  /// Once for each requested job: on the compute engine's thread, with what execute() or prepare() returned, or on the
  /// scheduler thread when it did not come that far, with `cancelled` when it was withdrawn before, or with what made a
  /// transfer fail that it needed. Must not block.
  virtual void device_part_ended(const DevicePart& part) noexcept = 0;

 protected:
  ~DeviceClient() = default;
};

class DeviceDriver {
 public:
  /// The scheduler is the one whose first state `memory` was laid out for. `clients` is parallel to its tasks; each
  /// must outlive the driver, as must `device` and `memory`.
  struct Options {
    /// While a job executes, copy engines without a transfer copy all the same, to measure beside it
    bool exercise = false;
    /// By task: the policies under which its jobs execute beside others. Empty: there is one compute engine
    std::vector<std::vector<MemoryPolicy>> co_run = {};
    /// By task: of its jobs. Empty: one each
    std::vector<std::uint32_t> segments = {};
    std::uint32_t launch_ahead = 0; // Plan::launch_ahead
    TransferObserver observer = {};
    /// At most so much of an execution's time from begin to end is not execution, whatever the device says: what
    /// admission charges beside the WCET, so that no delay beyond it goes unseen
    Duration max_not_executed{0};
    BandwidthControl* bandwidth = nullptr; // told while the device works; absent: nobody is limited
    /// Told when an event found its queue full, which would be an error of the executive: from then on every job is
    /// cancelled. Any thread; neither blocks nor allocates.
    void (*failed)(void* self) noexcept = nullptr;
    void* self = nullptr;
  };
  DeviceDriver(policies::DeviceScheduler scheduler, hal::Device& device, DeviceMemory& memory,
               const std::vector<DeviceClient*>& clients, const Options& options);
  ~DeviceDriver();

  /// Body of the scheduler thread: until stop().
  void run() noexcept;
  /// Ends run() once every requested job has ended.
  void stop() noexcept;

  /// From here on, what happens goes to the trace. Of the warm-up only what the scheduler core was told and decided
  /// does: a replay begins there.
  void record() noexcept { recording_.store(true, std::memory_order_relaxed); }

  /// Called by one thread per task. A job is requested at most once, and only after the task's job before it has ended.
  void post(const policies::Event& event) noexcept;

  /// Events that the scheduler core refused, which would be an error of the executive.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Events that found their queue full.
  [[nodiscard]] std::uint64_t lost_events() const noexcept { return lost_events_.load(std::memory_order_relaxed); }

  /// Chunks come or go for a job of `task` now. Any thread.
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
  std::vector<policies::Event> requests_; // that came together; capacity reserved
  Compute compute_;
  std::unique_ptr<Compute> beside_; // null: no job executes beside another
  Direction in_, out_;
  std::uint64_t decisions_ = 0; // of the scheduler core
  Errc last_transfer_error_ = Errc::io_error;
  hal::Signal wake_;
  ProgressCounter progress_ = ProgressCounter::of_thread(); // of the scheduler thread
  std::atomic<bool> recording_{false}, stopping_{false};
  std::atomic<std::uint64_t> refused_{0}, lost_events_{0};
};

} // namespace rtexec::executive
