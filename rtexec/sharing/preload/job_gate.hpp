// Decides when a process may submit work to its device. The first work opens a job. After each synchronisation, the job
// is closed if all work has ended. If the program itself marks the begin and end of its jobs, the gate closes them only
// then. If other clients wait, new work can be held back until the job has ended.
//
// Any thread. enter() and leave() are three atomic operations while a job is open.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rtexec::preload {

/// The device as the gate uses it. Called by one thread at a time, while no work is being submitted.
class GatedDevice {
 public:
  virtual ~GatedDevice() = default;
  GatedDevice(const GatedDevice&) = delete;
  GatedDevice& operator=(const GatedDevice&) = delete;

  /// Waits for the device. Returns false if it is not granted.
  [[nodiscard]] virtual bool begin() noexcept = 0;
  virtual void end() noexcept = 0;
  /// Returns true if the process holds the device. Called after an action of apart(), which may change it.
  [[nodiscard]] virtual bool holds() noexcept = 0;
  /// Returns true if all submitted work has ended; does not wait.
  [[nodiscard]] virtual bool idle() noexcept = 0;
  virtual void wait_until_idle() noexcept = 0;

 protected:
  GatedDevice() = default;
};

class JobGate {
 public:
  explicit JobGate(GatedDevice& device) noexcept : device_(device) {}

  /// Must be called before work is submitted: opens a job if there is none. Returns false if the device is not granted:
  /// the work must not be submitted then. Otherwise leave() must follow.
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

  /// Called after a synchronisation: closes the job if the device is idle, unless the program closes its jobs itself.
  void synchronised() noexcept;

  /// Called when other clients wait: holds back new work until the present work and the job have ended, unless the
  /// program closes its jobs itself. After `patience` work continues in the same job: the present work may wait for it.
  void give_way(Duration patience) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  /// Returns the number of submissions so far.
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_.load(std::memory_order_relaxed); }

  /// Begins a job of the program: opens it, or takes over the open one. Returns false if it is not granted. Calls nest.
  [[nodiscard]] bool begin() noexcept;
  /// Ends a job of the program. With the last one, or a job that was opened otherwise, waits until the device is idle
  /// and closes the job.
  void end() noexcept;

  /// Calls `action` while no work is under way or submitted. Returns its result.
  template <class Action> auto apart(Action&& action) noexcept(noexcept(action())) {
    const std::scoped_lock lock(mutex_);
    const Pause pause(*this);
    return action();
  }

 private:
  /// Holds back new work, and waits for the work under way.
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
  std::atomic<bool> open_{false}; // written under `mutex_`
  std::atomic<int> submitting_{0};
  std::atomic<std::uint64_t> submissions_{0};
  std::mutex mutex_;
  int own_jobs_ = 0; // under `mutex_`
};

} // namespace rtexec::preload
