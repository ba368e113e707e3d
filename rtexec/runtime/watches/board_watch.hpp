// What a board tells of itself during a run: clocks that its device's driver does not tell, and what makes execution
// times of the run worthless.
#pragma once

#include "hal/board/board_findings.hpp"
#include "hal/board/clock_lock.hpp"
#include "hal/board/gauge.hpp"
#include "hal/clocks.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::executive {

class BoardWatch {
 public:
  /// Set-up. `locked`: clocks that are to stand still.
  void watch(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
             const hal::Machine& machine);

  struct Seen {
    Frequency gpu, memory;    // 0: not known
    std::uint32_t limits = 0; // as of hal::DeviceClocks
  };
  /// Allocates nothing.
  [[nodiscard]] Seen look() const noexcept;

 private:
  struct Limited {
    hal::Gauge gauge;
    std::int64_t limit = 0;
  };

  std::vector<hal::Gauge> gpu_, memory_;
  std::vector<Limited> locked_;  // what they are to run at
  std::vector<Limited> hot_;     // where throttling begins
  std::vector<Limited> current_; // how many events there were before the run
};

} // namespace rtexec::executive
