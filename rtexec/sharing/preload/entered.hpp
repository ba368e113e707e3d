// What the library itself asks of the driver on a thread of the program's, for as long as the object lives: in the
// device's context, and apart from what the program records, which would end where it notices.
//
// One thread. Nothing here fails: where the driver refuses, its next function does.
#pragma once

#include "rtexec/sharing/preload/real_driver.hpp"

namespace rtexec::preload {

/// The thread's calls are no part of a capture, of any mode, and break none.
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

/// In addition in `context`.
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
