// At what clock the cores and the device of a run work, before its first job and during it: execution times follow it.
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

/// Threads without real-time priority look, at most one at a time.
class ClockWatch {
 public:
  /// Set-up. `cores` execute parts of jobs; a host device that tells no clock of its own has that of
  /// `compute_core`. `device` outlives it; `root` is "/" or a recorded tree.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const hal::Device& device,
             const std::filesystem::path& root = "/");
  /// Set-up, of the same lock's: what the board tells beside these.
  void watch_board(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
                   const hal::Machine& machine);
  /// Reads them all, and records what is known. Allocates nothing.
  void look() noexcept;
  /// Of each clock that is known.
  [[nodiscard]] std::vector<ClockReport> seen() const;
  /// Why execution times of the run are no WCETs, in a line; empty: nothing is known to speak against them.
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
