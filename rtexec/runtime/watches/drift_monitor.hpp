// Checks that the threads of a run keep the scheduling class and the cores that they had at the start of the run. All
// proved bounds rely on the scheduling class and the cores. Privileged users and programs (root, chrt, a cgroup
// manager) can change them without notice.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread_basis.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

/// A monitor of threads. Only threads without real-time priority may call look(), one thread at a time. The monitor
/// needs no code in the watched threads.
class DriftMonitor {
 public:
  /// Adds a thread, which must keep its present scheduling class and cores. Set-up.
  void add(std::string thread, int kernel_id);
  /// Checks all threads that have not ended. `at` is the time since the start of the run. Allocates nothing.
  void look(Duration at) noexcept;
  /// Returns a line for each thread that look() found changed, with the first change.
  [[nodiscard]] std::vector<std::string> changes() const;

 private:
  struct Thread {
    std::string name;
    int kernel_id = 0;
    hal::ThreadBasis wanted;
    std::optional<hal::ThreadBasis> found; // the first state that deviates from `wanted`
    Duration from{0}, until{0};            // the times at which a deviation was seen first and last
  };

  mutable std::mutex mutex_;
  std::vector<Thread> threads_;
  Duration last_look_{0};
};

} // namespace rtexec::executive
