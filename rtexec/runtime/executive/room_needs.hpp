// Checks if this machine has the memory that a run needs besides the memory of its device. The checked resources are
// host memory, locked memory if the system limits it, and space in the file system of the store of swapped chunks.
#pragma once

#include <rtexec/plan.hpp>
#include "rtexec/runtime/executive/requirements.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include <optional>

namespace rtexec::executive {

/// Checks that there is host memory for all allocations of the process. The code of the program and its libraries
/// counts too, because locking memory loads all its pages. Must be called before these allocations, because at the
/// limit of a control group the kernel kills the process without a message.
[[nodiscard]] Requirement room_in_host_memory(const LoadedSet& set, const Plan& plan, const Setup& setup);
/// Checks that the limit of locked memory permits the later allocations: stacks, and the copies of the tasks' memory.
/// Returns nullopt if the limit permits them, or if there is no limit.
[[nodiscard]] std::optional<Requirement> room_in_locked_memory(const LoadedSet& set, const Plan& plan);
/// Checks that the store's file system has enough free space, if the tasks' memory is swapped to a file. Returns
/// nullopt if no memory is swapped to a file.
[[nodiscard]] std::optional<Requirement> room_in_store(const Plan& plan, const Setup& setup);

} // namespace rtexec::executive
