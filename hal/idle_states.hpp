// Idle states of a core take up to hundreds of microseconds to leave, most of all in a virtual machine, where the host
// has to run the core again. ShallowIdle keeps the kernel from using deep ones, KeepAwake from using any.
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
  /// Asks the kernel's power management for a wake-up latency of 0 us and reads the request back. unsupported where the
  /// kernel has no such control (there are then no idle states to leave, as in most virtual machines).
  [[nodiscard]] static Result<ShallowIdle> hold();

 private:
  FileDescriptor file_; // the request lasts as long as it is open
};

/// A SCHED_IDLE thread on each core that never sleeps and gives way to every other thread at once. The price is power.
class KeepAwake {
 public:
  /// `partition`: the cores' one, where they have one; it must outlive this.
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
