#include "rtexec/runtime/watches/drift_monitor.hpp"

#include "config/base/text.hpp"

namespace rtexec::executive {

void DriftMonitor::add(std::string thread, int kernel_id) {
  const std::lock_guard lock(mutex_);
  if (const auto basis = hal::basis_of(kernel_id))
    threads_.push_back({.name = std::move(thread), .kernel_id = kernel_id, .wanted = *basis, .found = {}});
}

void DriftMonitor::look(Duration at) noexcept {
  const std::lock_guard lock(mutex_);
  for (Thread& thread : threads_) {
    const auto basis = hal::basis_of(thread.kernel_id);
    if (!basis) continue; // the thread has ended
    last_look_ = at;
    if (*basis == thread.wanted) continue;
    if (!thread.found) {
      thread.found = basis;
      thread.from = at;
    }
    thread.until = at;
  }
}

std::vector<std::string> DriftMonitor::changes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Thread& thread : threads_) {
    if (!thread.found) continue;
    const bool to_the_end = thread.until == last_look_;
    lines.push_back("thread " + thread.name + " ran as " + hal::to_string(*thread.found) + " instead of " +
                    hal::to_string(thread.wanted) + ", from " + readable(thread.from) +
                    (to_the_end ? " on" : " until " + readable(thread.until)) + ": another process changed it");
  }
  return lines;
}

} // namespace rtexec::executive
