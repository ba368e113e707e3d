// When the work of a process may go to its device: the first work opens a job, and once all work has ended, which is
// looked at after each synchronisation, the job is closed. Where the program says itself when its jobs begin and end,
// it is closed then and not before. Where others wait, the work that comes next can be kept until a job has ended.
//
// Any thread. enter() and leave() are three atomic operations while a job is open.
#pragma once

#include <rtexec/units.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rtexec::preload {

/// What a gate does with the device. Called by one thread at a time, while no work is being submitted.
class GatedDevice {
 public:
  virtual ~GatedDevice() = default;
  GatedDevice(const GatedDevice&) = delete;
  GatedDevice& operator=(const GatedDevice&) = delete;

  /// Waits for the device. False: it is not granted.
  [[nodiscard]] virtual bool begin() noexcept = 0;
  virtual void end() noexcept = 0;
  /// Whether it has the device, after whatever was done while work was kept out.
  [[nodiscard]] virtual bool holds() noexcept = 0;
  /// Whether all work that was submitted has ended; does not wait.
  [[nodiscard]] virtual bool idle() noexcept = 0;
  virtual void wait_until_idle() noexcept = 0;

 protected:
  GatedDevice() = default;
};

class JobGate {
 public:
  explicit JobGate(GatedDevice& device) noexcept : device_(device) {}

  /// Before work is submitted: opens a job where there is none. False: the device is not granted, and the work must not
  /// be submitted; else leave() follows.
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

  /// After a synchronisation: closes the job if the device is idle, unless the program closes it itself.
  void synchronised() noexcept;

  /// Others wait: new work waits until what there is has ended and the job with it, unless the program closes it
  /// itself. After `patience` it goes on in the same job: what there is may wait for it.
  void give_way(Duration patience) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  /// So far.
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_.load(std::memory_order_relaxed); }

  /// The program's own job: opened here, or the one that is open becomes it. False: not granted. They nest.
  [[nodiscard]] bool begin() noexcept;
  /// Waits until the device is idle, and closes the job with the last of the program's own, or one that was opened
  /// otherwise.
  void end() noexcept;

  /// Calls `action` while no work is under way or submitted. Returns what it does.
  template <class Action> auto apart(Action&& action) noexcept(noexcept(action())) {
    const std::scoped_lock lock(mutex_);
    const Pause pause(*this);
    return action();
  }

 private:
  /// Keeps work out and waits for what is there.
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
  std::atomic<bool> open_{false}; // written under the lock
  std::atomic<int> submitting_{0};
  std::atomic<std::uint64_t> submissions_{0};
  std::mutex mutex_;
  int own_jobs_ = 0; // under the lock
};

} // namespace rtexec::preload
