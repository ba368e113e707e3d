// Guards for the library's own driver calls on a thread of the program, for as long as the object lives. The calls are
// made in the device's context, and outside the program's stream captures, which they would otherwise invalidate.
//
// One thread. No function fails: if the driver refuses the change, its next function reports it.
#pragma once

#include "rtexec/sharing/preload/real_driver.hpp"

namespace rtexec::preload {

/// Keeps the thread's calls out of stream captures of any mode, so that they do not invalidate them.
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

/// Like Uncaptured, and makes `context` current.
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
