// What to change when the machine refuses a real-time request: used by the errors and by the probe alike.
#pragma once

#include <string>

namespace rtexec::hal {

[[nodiscard]] std::string fifo_advice(int error, int priority);
[[nodiscard]] std::string deadline_advice(int error, bool pinned, bool in_partition);
/// `above`: what the limit must exceed.
[[nodiscard]] std::string memory_lock_advice(const std::string& above = "the whole address space");
[[nodiscard]] std::string affinity_advice();

} // namespace rtexec::hal
