#include "hal/thread_basis.hpp"

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"
#include "hal/system.hpp"

#include <vector>

namespace rtexec::hal {

bool operator==(const ThreadBasis& a, const ThreadBasis& b) {
  return a.policy == b.policy && a.priority == b.priority && a.runtime_ns == b.runtime_ns &&
         a.deadline_ns == b.deadline_ns && a.period_ns == b.period_ns && CPU_EQUAL(&a.cores, &b.cores);
}

std::optional<ThreadBasis> basis_of(int kernel_id) noexcept {
  SchedulingAttributes attributes;
  ThreadBasis basis;
  CPU_ZERO(&basis.cores);
  if (sys().sched_getattr(kernel_id, &attributes, sizeof attributes, 0) != 0 ||
      sys().sched_getaffinity(kernel_id, sizeof basis.cores, &basis.cores) != 0)
    return std::nullopt;
  basis.policy = attributes.policy;
  basis.priority = attributes.priority;
  // For other classes, newer kernels return time slices in these fields
  if (attributes.policy != SCHED_DEADLINE) return basis;
  basis.runtime_ns = attributes.runtime_ns;
  basis.deadline_ns = attributes.deadline_ns;
  basis.period_ns = attributes.period_ns;
  return basis;
}

std::string to_string(const ThreadBasis& basis) {
  const auto time = [](std::uint64_t ns) { return rtexec::to_string(Duration(static_cast<Duration::rep>(ns))); };
  std::string text;
  switch (basis.policy) {
  case SCHED_FIFO: text = "FIFO " + std::to_string(basis.priority); break;
  case SCHED_RR: text = "RR " + std::to_string(basis.priority); break;
  case SCHED_DEADLINE: text = "DEADLINE " + time(basis.runtime_ns) + "/" + time(basis.period_ns); break;
  case SCHED_OTHER: text = "OTHER"; break;
  default: text = "class " + std::to_string(basis.policy);
  }
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &basis.cores)) cores.push_back(core);
  return text + (cores.size() == 1 ? " on core " : " on cores ") + core_list(cores);
}

} // namespace rtexec::hal
