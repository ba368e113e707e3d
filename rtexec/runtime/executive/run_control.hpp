// The state by which all threads of a run agree on the start and the end of the run.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>

namespace rtexec::executive {

class TaskRun;

/// A task whose policy can end the run, and the cause that is then reported.
struct Stopper {
  const Task* task = nullptr;
  StopCause cause = StopCause::none;
};

struct RunControl {
  // The warm-up. Release threads write these members; the owner's thread, which calls the functions of Executive, reads
  // them.
  std::atomic<std::uint32_t> warmed_up{0}; // number of tasks whose warm-up has ended
  std::atomic<const TaskRun*> warm_up_failed{nullptr};
  std::atomic<bool> unregulated{false}; // true: a thread could not join the bandwidth regulation
  hal::Signal warm_up_ended;

  // The start. The owner's thread writes these members; release threads read them.

  /// The instant from which releases count, in ns on CLOCK_MONOTONIC. 0: not known yet.
  std::atomic<std::int64_t> start{0};
  /// No job is released at or after this instant, in ns. Written before `start`.
  std::atomic<std::int64_t> end{INT64_MAX};
  std::atomic<bool> stopping{false};
  hal::Signal started; // raised at the start, and when the run stops

  // The end. Threads of tasks, engines and the scheduler, and signal handlers, write these members; the owner's thread
  // waits for `over`.
  std::atomic<const Stopper*> stopped_by{nullptr}; // the first task that ended the run
  /// The task whose job last reported a fault in its device part, which may have ended the device.
  std::atomic<const TaskRun*> suspect{nullptr};
  std::atomic<bool> device_lost{false};   // true: a job has found that the device is lost
  std::atomic<bool> driver_failed{false}; // true: the device driver has lost an event
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
