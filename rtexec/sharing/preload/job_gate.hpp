// Decides when a process may submit work to its device. The first submission opens a job. After each synchronisation,
// the gate closes the job if all work has ended. If the program marks the begin and end of its jobs itself, the gate
// closes a marked job only at the marked end. If other clients wait, the gate can delay new work until the job has
// ended.
//
// Any thread. enter() and leave() take three atomic operations while a job is open.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rtexec::preload {

/// The functions of the device that the gate needs. The gate calls them on one thread at a time, while no work is being
/// submitted.
class GatedDevice {
 public:
  virtual ~GatedDevice() = default;
  GatedDevice(const GatedDevice&) = delete;
  GatedDevice& operator=(const GatedDevice&) = delete;

  /// Waits until the process holds the device. Returns false if the device is not granted.
  [[nodiscard]] virtual bool begin() noexcept = 0;
  virtual void end() noexcept = 0;
  /// True if the process holds the device. The gate calls holds() after an action of apart(), because the action may
  /// change the result.
  [[nodiscard]] virtual bool holds() noexcept = 0;
  /// True if all submitted work has ended. Does not wait.
  [[nodiscard]] virtual bool idle() noexcept = 0;
  virtual void wait_until_idle() noexcept = 0;

 protected:
  GatedDevice() = default;
};

class JobGate {
 public:
  explicit JobGate(GatedDevice& device) noexcept : device_(device) {}

  /// Must be called before work is submitted. Opens a job if none is open. If the result is true, leave() must follow
  /// the submission. If the result is false, the device is not granted, and the work must not be submitted.
  [[nodiscard]] bool enter() noexcept {
    for (;;) {
      submitting_.fetch_add(1, std::memory_order_seq_cst);
      if (open_.load(std::memory_order_seq_cst)) {
        submissions_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      submitting_.fetch_sub(1, std::memory_order_seq_cst);
      if (!open()) return false;
    }
  }
  void leave() noexcept { submitting_.fetch_sub(1, std::memory_order_seq_cst); }

  /// Called after a synchronisation. Closes the job if the device is idle, unless the program marks its jobs itself.
  void synchronised() noexcept;

  /// Called when other clients wait. Delays new work until the present work and the job have ended, unless the program
  /// marks its jobs itself. After `timeout`, new work continues in the same job, because the present work may be
  /// waiting for the new work.
  void give_way(Duration timeout) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  /// Returns the number of submissions so far.
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_.load(std::memory_order_relaxed); }

  /// Begins a job that the program marks. Opens a job, or uses the open job. Returns false if the device is not
  /// granted. Calls may nest.
  [[nodiscard]] bool begin() noexcept;
  /// Ends a job that the program marks. If this end() matches the outermost begin(), waits until the device is idle and
  /// closes the job. Without a matching begin(), waits and closes a job that a submission has opened.
  void end() noexcept;

  /// Calls `action` after all submitted work has ended, while new work is delayed. Returns the result of `action`.
  template <class Action> auto apart(Action&& action) noexcept(noexcept(action())) {
    const std::scoped_lock lock(mutex_);
    const Pause pause(*this);
    return action();
  }

 private:
  /// Delays new work while the object lives. The constructor waits until all submitted work has ended.
  class Pause {
   public:
    explicit Pause(JobGate& gate) noexcept;
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    JobGate& gate_;
    bool was_open_;
  };
  [[nodiscard]] bool open() noexcept;
  void await_submissions() const noexcept;

  GatedDevice& device_;
  std::atomic<bool> open_{false}; // written under `mutex_`; true: a job is open
  std::atomic<int> submitting_{0};
  std::atomic<std::uint64_t> submissions_{0};
  std::mutex mutex_;
  int own_jobs_ = 0; // number of nested jobs that the program marks; under `mutex_`
};

} // namespace rtexec::preload
