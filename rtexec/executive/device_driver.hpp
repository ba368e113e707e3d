// Drives one device by the scheduler core: events of all tasks go in, executions on the compute engine come out. Owns the
// scheduler thread, which is the only one that touches the core and the only one that submits work.
#pragma once

#include "hal/engine.hpp"
#include "rtexec/executive/ring.hpp"
#include "hal/thread.hpp"
#include "policies/device_scheduler.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rtexec::executive {

/// What a task does with its turn on the device. Both calls follow one another for each job that was requested.
class DeviceClient {
 public:
  /// On the compute engine's thread.
  virtual Status execute(std::uint64_t job) noexcept = 0;
  /// Once for each requested job: on the compute engine's thread, or on the scheduler thread with `cancelled` when the job was
  /// withdrawn before it executed. Must not block.
  virtual void executed(std::uint64_t job, Status outcome, Instant begin, Instant end) noexcept = 0;

 protected:
  ~DeviceClient() = default;
};

class DeviceDriver {
 public:
  /// `clients` is parallel to `plan.tasks`; each must outlive the driver.
  DeviceDriver(const Plan& plan, hal::Engine& compute, const std::vector<DeviceClient*>& clients);
  ~DeviceDriver();

  /// Body of the scheduler thread: until stop().
  void run() noexcept;
  /// Ends run() once every requested job has ended.
  void stop() noexcept;

  /// From here on, what happens goes to the trace (rehearsals do not).
  void record() noexcept { recording_.store(true, std::memory_order_relaxed); }

  /// Called by one thread per task. A job is requested at most once, and only after the task's job before it has ended.
  void post(const policies::Event& event) noexcept;

  /// Events that the scheduler core refused, which would be an error of the executive.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Lane;
  [[nodiscard]] bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
  bool step() noexcept;
  bool take_events() noexcept;
  void decide(const policies::Event& event) noexcept;
  void carry_out(const policies::Action& action) noexcept;
  void start(Lane& lane, policies::JobId job) noexcept;

  policies::DeviceScheduler scheduler_;
  policies::Actions actions_;
  hal::Engine& compute_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Ring<policies::Event, 4> completions_; // from the compute engine's thread
  hal::Signal wake_;
  std::atomic<bool> recording_{false}, stopping_{false};
  std::atomic<std::uint64_t> refused_{0};
};

} // namespace rtexec::executive
