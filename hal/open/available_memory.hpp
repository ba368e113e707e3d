// The memory that a run may take before the kernel kills the run: the machine's free memory, within the limits of this
// process's control groups (a container, a service).
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

#include <string>

namespace rtexec::hal {

/// Returns the available memory of the machine (MemAvailable). Returns unsupported if the kernel does not report it.
[[nodiscard]] Result<Bytes> available_memory(const Machine& machine);

/// Returns the additional memory that locking all memory of this process would take: non-resident pages of programs,
/// libraries and stacks.
[[nodiscard]] Bytes unlocked_memory(const Machine& machine);

/// Returns refused if less than `needed` is available. The error begins with `what`, the consumer of the memory, and
/// names the limit in force. Also returns the errors of available_memory().
[[nodiscard]] Result<> check_available_memory(Bytes needed, const std::string& what, const Machine& machine);

} // namespace rtexec::hal
