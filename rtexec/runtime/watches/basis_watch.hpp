// Checks that the threads of a run keep the scheduling class and cores that they had at its start, on which all
// promises rest. Privileged users and programs (root, chrt, a cgroup manager) can change them without notice.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread_basis.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Threads without real-time priority call look(), at most one at a time; the watched threads are not involved.
class BasisWatch {
 public:
  /// Adds a thread, whose present state is the one to keep. Set-up.
  void add(std::string thread, int kernel_id);
  /// Checks all threads, while they live. `at`: the time since the start of the run. Allocates nothing.
  void look(Duration at) noexcept;
  /// Returns a line for each thread that was found changed, with its first change.
  [[nodiscard]] std::vector<std::string> changes() const;

 private:
  struct Thread {
    std::string name;
    int kernel_id = 0;
    hal::ThreadBasis wanted;
    std::optional<hal::ThreadBasis> found; // the first deviating state
    Duration from{0}, until{0};            // when a deviation was seen first and last
  };

  mutable std::mutex mutex_;
  std::vector<Thread> threads_;
  Duration last_look_{0};
};

} // namespace rtexec::executive
