// Reads the clock rates of a run's cores and device before the first job and during the run, because execution times
// depend on them.
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

/// A monitor of clock rates. Only threads without real-time priority may call look(), one thread at a time.
class ClockWatch {
 public:
  /// Sets the clocks to read. `cores` are the cores that execute parts of jobs. If a host device has no clock of its
  /// own, the clock of `compute_core` is read instead. `device` must outlive this object. `root` is "/", or the root of
  /// recorded system files. Set-up.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const hal::Device& device,
             const std::filesystem::path& root = "/");
  /// Adds the board's sensors. `locked` are clocks that must not change. Set-up.
  void watch_board(const hal::FoundHardware& hardware, const std::vector<hal::LockedClock>& locked,
                   const hal::Machine& machine);
  /// Reads all clocks, and traces the clocks whose rates are known. Allocates nothing.
  void look() noexcept;
  /// Returns a report for each known clock.
  [[nodiscard]] std::vector<ClockReport> seen() const;
  /// Returns the reason why execution times of this run must not be used to derive WCETs, in one line. Returns an empty
  /// text if no reason is known.
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
