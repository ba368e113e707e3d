// Reads the clock rates of a run's cores and device, before its first job and during it: execution times depend on
// them.
#pragma once

#include <rtexec/report.hpp>
#include "hal/clocks.hpp"
#include "hal/device_interface.hpp"
#include "rtexec/runtime/watches/board_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Threads without real-time priority call look(), at most one at a time.
class ClockWatch {
 public:
  /// Sets the clocks to read. `cores` execute parts of jobs. A host device without a clock of its own has the clock of
  /// `compute_core`. `device` outlives this; `root` is "/" or a recorded tree. Set-up.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const hal::Device& device,
             const std::filesystem::path& root = "/");
  /// Adds the board's sensors. `locked`: clocks that must not change. Set-up.
  void watch_board(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
                   const hal::Machine& machine);
  /// Reads all clocks, and traces the known ones. Allocates nothing.
  void look() noexcept;
  /// Returns a report for each known clock.
  [[nodiscard]] std::vector<ClockReport> seen() const;
  /// Returns the reason why execution times of the run are no WCETs, in a line; empty: no reason is known.
  [[nodiscard]] std::string invalid() const;

 private:
  struct Range {
    Frequency lowest, highest;
    void add(Frequency now) noexcept;
  };
  struct Core {
    hal::CoreClock clock;
    Range range;
  };
  void take(const hal::DeviceClocks& now, const BoardWatch::Seen& board, Instant at) noexcept;

  mutable std::mutex mutex_;
  std::vector<Core> cores_;
  unsigned compute_core_ = 0;
  const hal::Device* device_ = nullptr;
  Range of_device_, of_memory_;
  BoardWatch board_;
  std::uint32_t limits_ = 0, of_board_ = 0;
};

} // namespace rtexec::executive
