// A system of which one call fails: the test chooses which, when, and how. All others reach the kernel.
#pragma once

#include "hal/system.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>

namespace rtexec::hal::test {

/// The real system, except that the `nth` (from 1) use of the function at `Member` fails with `error`. One instance at
/// a time.
template <auto Member> class Failing;

template <class Return, class... Arguments, Return (*System::*Member)(Arguments...)> class Failing<Member> {
 public:
  explicit Failing(int error, int nth = 1) : override_((prepare(error, nth), table_)) {}
  [[nodiscard]] static int calls() { return calls_; }

 private:
  static void prepare(int error, int nth) {
    error_ = error;
    nth_ = nth;
    calls_ = 0;
    table_ = linux_system();
    table_.*Member = [](Arguments... arguments) -> Return {
      if (++calls_ != nth_) return (linux_system().*Member)(arguments...);
      errno = error_;
      if constexpr (std::is_pointer_v<Return>) return MAP_FAILED;
      else return -1;
    };
  }
  static inline System table_;
  static inline std::atomic<int> calls_, nth_, error_;
  SystemOverride override_;
};

} // namespace rtexec::hal::test
