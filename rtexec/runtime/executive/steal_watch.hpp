// Reads the time that a hypervisor steals from the cores of a run, and finds out if it stole time when a part exceeded
// its WCET. That proves nothing about the part: the kernel counts in steps of 10 ms, and the stolen time may have hit
// another part.
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

/// Threads without real-time priority call look(), at most one at a time.
class StealWatch {
 public:
  /// Sets the cores to watch; stolen time counts from now on. `compute_core` is one of `cores`; `root` is "/" or a
  /// recorded tree. Set-up.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const std::filesystem::path& root = "/");
  /// Adds a task whose CPU parts execute on `core`, which must be watched. `statistics` outlive this. Set-up.
  void add(TaskStatistics& statistics, unsigned core);
  /// Reads the stolen time of all cores, traces it, and decides which WCET excesses it may have caused. Allocates
  /// nothing.
  void look() noexcept;
  /// Returns the cores from which time was stolen.
  [[nodiscard]] std::vector<StolenReport> seen() const;

 private:
  struct Core {
    unsigned number = 0;
    Duration at_first{0}, now{0};       // counters of the kernel
    std::optional<Instant> last_stolen; // the last look() that saw an increase
  };
  struct Watched {
    TaskStatistics* statistics = nullptr;
    unsigned core = 0;
  };
  [[nodiscard]] std::optional<Instant> last_stolen(unsigned core) const noexcept;

  mutable std::mutex mutex_;
  hal::StolenTime stolen_;
  std::vector<Core> cores_; // parallel to those of `stolen_`
  std::vector<Watched> tasks_;
  unsigned compute_core_ = 0;
  Instant last_look_{};
};

} // namespace rtexec::executive
