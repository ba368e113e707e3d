// Reads the time that a hypervisor steals from the cores of a run. If a part of a job exceeded its WCET, finds out
// whether time was stolen from the part's core. Stolen time does not prove that this part lost time: the kernel counts
// stolen time in steps of 10 ms, and another part may have lost the stolen time.
#pragma once

#include <rtexec/report.hpp>
#include "hal/stolen_time.hpp"
#include "rtexec/runtime/executive/task_statistics.hpp"

#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace rtexec::executive {

/// A monitor of stolen time. Only threads without real-time priority may call look(), one thread at a time.
class StealWatch {
 public:
  /// Sets the cores to watch. `compute_core` is the core of the compute engine. Stolen time is counted from this call
  /// on. `root` is "/", or the root of recorded system files. Set-up.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const std::filesystem::path& root = "/");
  /// Adds a task whose CPU parts execute on `core`. `core` must be one of the watched cores. `statistics` must outlive
  /// this object. Set-up.
  void add(TaskStatistics& statistics, unsigned core);
  /// Reads the stolen time of all cores, traces it, and decides which WCET excesses the stolen time may have caused.
  /// Allocates nothing.
  void look() noexcept;
  /// Returns the cores from which time was stolen.
  [[nodiscard]] std::vector<StolenReport> seen() const;

 private:
  struct Core {
    unsigned number = 0;
    Duration at_first{0}, now{0};       // values of the kernel's counter
    std::optional<Instant> last_stolen; // the instant of the last look() that saw the counter increase
  };
  struct Watched {
    TaskStatistics* statistics = nullptr;
    unsigned core = 0;
  };
  [[nodiscard]] std::optional<Instant> last_stolen(unsigned core) const noexcept;

  mutable std::mutex mutex_;
  hal::StolenTime stolen_;
  std::vector<Core> cores_; // in the order of the cores of `stolen_`
  std::vector<Watched> tasks_;
  unsigned compute_core_ = 0;
  Instant last_look_{};
};

} // namespace rtexec::executive
