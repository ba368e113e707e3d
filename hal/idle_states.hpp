// Controls of idle states. Leaving an idle state takes up to hundreds of microseconds. It takes longest in a virtual
// machine, whose host has to schedule the virtual core again. ShallowIdle prevents the kernel from using deep idle
// states. KeepAwake prevents it from using any idle state.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"
#include "hal/thread.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::hal {

class ShallowIdle {
 public:
  /// Requests a wake-up latency of 0 us from the kernel's power management and reads the request back. Returns
  /// unsupported if the kernel has no such control, as in most virtual machines. A kernel without this control enters
  /// no idle states.
  [[nodiscard]] static Result<ShallowIdle> hold();

 private:
  FileDescriptor file_; // the request lasts while this file is open
};

/// Runs a SCHED_IDLE thread that never sleeps on each core. Every other thread preempts this thread at once. Increases
/// power consumption.
class KeepAwake {
 public:
  /// Starts the threads. `partition` is the cpuset partition of the cores, if there is one; it must outlive this
  /// object.
  [[nodiscard]] static Result<KeepAwake> hold(std::span<const unsigned> cores, CpusetPartition* partition);
  KeepAwake() = default;
  KeepAwake(KeepAwake&&) noexcept = default;
  KeepAwake& operator=(KeepAwake&& other) noexcept;
  ~KeepAwake();

 private:
  void end() noexcept;
  std::unique_ptr<std::atomic<bool>> ending_;
  std::vector<Thread> threads_;
};

} // namespace rtexec::hal
