// Checks if this machine has the memory that a run needs in addition to its device's memory. This is host memory,
// locked memory if that is limited, and space in the store's file system.
#pragma once

#include <rtexec/plan.hpp>
#include "rtexec/runtime/executive/needs.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include <optional>

namespace rtexec::executive {

/// Checks the host memory for everything that the process will allocate: locking populates its programs and libraries.
/// Called before any of it is allocated, because at the limit of a control group the kernel kills the process without a
/// message.
[[nodiscard]] Need room_in_host_memory(const LoadedSet& set, const Plan& plan, const Setup& setup);
/// Checks the limit of locked memory for future allocations: stacks and the copies of the tasks' memory. Returns
/// nullopt if there is room, or no limit.
[[nodiscard]] std::optional<Need> room_in_locked_memory(const LoadedSet& set, const Plan& plan);
/// Checks the store's file system, if the tasks' memory is swapped to a file.
[[nodiscard]] std::optional<Need> room_in_store(const Plan& plan, const Setup& setup);

} // namespace rtexec::executive
