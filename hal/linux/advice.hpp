// Advice on a refused real-time request: what to change, with the command lines. Used by errors and by the probe.
#pragma once

#include <string>

namespace rtexec::hal {

[[nodiscard]] std::string fifo_advice(int error, int priority);
[[nodiscard]] std::string deadline_advice(int error, bool pinned, bool in_partition);
/// `above`: the amount that the limit must exceed.
[[nodiscard]] std::string memory_lock_advice(const std::string& above = "the whole address space");
[[nodiscard]] std::string idle_states_advice();
[[nodiscard]] std::string frequency_advice();
[[nodiscard]] std::string partition_advice();
[[nodiscard]] std::string affinity_advice();
/// `paranoid`: the greatest sufficient value of kernel.perf_event_paranoid.
[[nodiscard]] std::string counter_advice(int paranoid);

/// True if this process has the capability `number` of <linux/capability.h>.
[[nodiscard]] bool has_capability(unsigned number);

} // namespace rtexec::hal
