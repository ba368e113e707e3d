// What to change when the machine refuses a real-time request, with the lines that do it: used by the errors and by the
// probe alike.
#pragma once

#include <string>

namespace rtexec::hal {

[[nodiscard]] std::string fifo_advice(int error, int priority);
[[nodiscard]] std::string deadline_advice(int error, bool pinned, bool in_partition);
/// `above`: what the limit must exceed.
[[nodiscard]] std::string memory_lock_advice(const std::string& above = "the whole address space");
[[nodiscard]] std::string idle_states_advice();
[[nodiscard]] std::string frequency_advice();
[[nodiscard]] std::string partition_advice();
[[nodiscard]] std::string affinity_advice();
/// `paranoid`: what kernel.perf_event_paranoid may be at most.
[[nodiscard]] std::string counter_advice(int paranoid);

/// Whether this process has it; numbers are those of <linux/capability.h>.
[[nodiscard]] bool has_capability(unsigned number);

} // namespace rtexec::hal
