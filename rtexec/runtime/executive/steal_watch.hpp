// What a hypervisor takes of the cores of a run, and whether it took any about when a part exceeded its WCET. That
// proves nothing of the part: the kernel counts in steps of 10 ms, and what it counts may have met another one.
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

/// Threads without real-time priority look, at most one at a time.
class StealWatch {
 public:
  /// Set-up; from here on what is taken counts. `compute_core` is one of `cores`; `root` is "/" or a recorded tree.
  void watch(const std::set<unsigned>& cores, unsigned compute_core, const std::filesystem::path& root = "/");
  /// A task whose CPU parts execute on `core`, one of those watched. `statistics` outlive it. Set-up.
  void add(TaskStatistics& statistics, unsigned core);
  /// Reads them all, records what was taken, and settles which excesses it may have caused. Allocates nothing.
  void look() noexcept;
  /// Of the cores of which something was taken.
  [[nodiscard]] std::vector<StolenReport> seen() const;

 private:
  struct Core {
    unsigned number = 0;
    Duration at_first{0}, now{0};       // as the kernel counts
    std::optional<Instant> last_stolen; // the look that last saw it
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
