// State that the threads of all tasks of a run share: the start of the run, and its end.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class TaskRun;

/// A task whose policy ends the run, and the reason.
struct Stopper {
  const Task* task = nullptr;
  StopCause cause = StopCause::none;
};

struct RunControl {
  // The warm-up. Written by release threads, read by the thread that owns the executive
  std::atomic<std::uint32_t> warmed_up{0}; // tasks
  std::atomic<const TaskRun*> warm_up_failed{nullptr};
  std::atomic<bool> unregulated{false}; // a thread could not join the regulation
  hal::Signal warm_up_ended;

  // The start. Written by the owner's thread, read by release threads
  std::atomic<std::int64_t> start{0};       // of the release grid, ns on CLOCK_MONOTONIC; 0 before it is known
  std::atomic<std::int64_t> end{INT64_MAX}; // no release at or after it; written before `start`
  std::atomic<bool> stopping{false};
  hal::Signal started; // raised at the start, and when the run stops

  // The end. Written by tasks, engines, the scheduler and signal handlers; the owner's thread waits for `over`
  std::atomic<const Stopper*> stopped_by{nullptr}; // the first task that ended the run
  /// The task whose job last reported a fault in its device part, which may have ended the device
  std::atomic<const TaskRun*> suspect{nullptr};
  std::atomic<bool> device_lost{false};   // a job found the device lost
  std::atomic<bool> driver_failed{false}; // the driver lost an event
  std::atomic<bool> over_requested{false};
  hal::Signal over;

  hal::Signal noticed; // raised for each miss and each part above its WCET

  void stop(const Stopper& stopper) noexcept {
    const Stopper* nobody = nullptr;
    stopped_by.compare_exchange_strong(nobody, &stopper);
    end_run();
  }
  void end_run() noexcept {
    over_requested.store(true);
    over.raise();
  }
};

} // namespace rtexec::executive
