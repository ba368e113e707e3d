// Reads the board's sensors during a run. The sensors report clocks that the device's driver does not report, and
// conditions under which measured execution times are invalid.
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
  /// Sets the sensors to read. `locked` are clocks that must not change. Set-up.
  void watch(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
             const hal::Machine& machine);

  struct Seen {
    Frequency gpu, memory;    // 0: not known
    std::uint32_t limits = 0; // the conditions that were seen, as flags of hal::DeviceClocks
  };
  /// Reads all sensors. Allocates nothing.
  [[nodiscard]] Seen look() const noexcept;

 private:
  struct Limited {
    hal::Gauge gauge;
    std::int64_t limit = 0;
  };

  std::vector<hal::Gauge> gpu_, memory_;
  std::vector<Limited> locked_;  // locked clocks; `limit` is the locked rate
  std::vector<Limited> hot_;     // temperature sensors; `limit` is the value at which throttling begins
  std::vector<Limited> current_; // over-current counters; `limit` is the number of events before the run
};

} // namespace rtexec::executive
