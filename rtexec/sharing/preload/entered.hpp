// Guards for driver calls that the library itself makes on a thread of the program. While a guard lives, the calls do
// not invalidate the program's stream captures. With Entered, the calls are also in the device's context.
//
// One thread. No function fails. If the driver refuses a change of context or capture mode, the next driver call
// reports the error.
#pragma once

#include "rtexec/sharing/preload/real_driver.hpp"

namespace rtexec::preload {

/// While this object lives, calls of this thread do not invalidate a stream capture of any thread.
class Uncaptured {
 public:
  explicit Uncaptured(const RealDriver& driver) noexcept : driver_(driver) { exchange(); }
  ~Uncaptured() { exchange(); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  void exchange() noexcept {
    if (driver_.exchange_capture_mode != nullptr) (void)driver_.exchange_capture_mode(&mode_);
  }
  const RealDriver& driver_;
  int mode_ = capture_relaxed;
};

/// While this object lives, calls of this thread do not invalidate a stream capture of any thread, and `context` is the
/// thread's current context.
class Entered {
 public:
  Entered(const RealDriver& driver, hal::cuda::Context context) noexcept : driver_(driver), uncaptured_(driver) {
    using hal::cuda::Code;
    if (driver_.context_current(&before_) != Code::success || before_ == context) return;
    changed_ = driver_.context_set_current(context) == Code::success;
  }
  ~Entered() {
    if (changed_) (void)driver_.context_set_current(before_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const RealDriver& driver_;
  Uncaptured uncaptured_;
  hal::cuda::Context before_ = nullptr;
  bool changed_ = false;
};

} // namespace rtexec::preload
