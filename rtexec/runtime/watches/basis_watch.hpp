// Whether the threads of a run are scheduled to its end as they were at its start: what was promised rests on it. Who
// may change another's threads (root, chrt, a cgroup manager) does so without a word to them.
#pragma once

#include <rtexec/units.hpp>
#include "hal/thread_basis.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Threads without real-time priority look, at most one at a time; the watched threads take no part.
class BasisWatch {
 public:
  /// As the thread is now is how it should stay. Set-up.
  void add(std::string thread, int kernel_id);
  /// While the threads live; `at` is the run's time. Allocates nothing.
  void look(Duration at) noexcept;
  /// A line for each thread that was found changed, the first change of each.
  [[nodiscard]] std::vector<std::string> changes() const;

 private:
  struct Thread {
    std::string name;
    int kernel_id = 0;
    hal::ThreadBasis wanted;
    std::optional<hal::ThreadBasis> found; // where it differed first
    Duration from{0}, until{0};            // when it was seen so first and last
  };

  mutable std::mutex mutex_;
  std::vector<Thread> threads_;
  Duration last_look_{0};
};

} // namespace rtexec::executive
