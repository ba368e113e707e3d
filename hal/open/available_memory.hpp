// How much memory a run may take before the kernel ends it: what the machine has left, and what the control groups of
// this process (a container, a service) let it have.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

#include <string>

namespace rtexec::hal {

/// Of the machine. unsupported: the kernel does not say.
[[nodiscard]] Result<Bytes> available_memory(const Machine& machine);

/// What locking the memory of this process takes beyond what is resident: pages of programs, libraries and stacks.
[[nodiscard]] Bytes unlocked_memory(const Machine& machine);

/// refused: less than `needed` is available; the error begins with `what` is to take it, and says where that stands.
/// Other errors as of available_memory().
[[nodiscard]] Result<> check_available_memory(Bytes needed, const std::string& what, const Machine& machine);

} // namespace rtexec::hal
