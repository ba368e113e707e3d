// Checks if this machine has the memory that a run needs besides the memory of its device. This is host memory, locked
// memory if that is limited, and space in the file system of the store of swapped chunks.
#pragma once

#include <rtexec/plan.hpp>
#include "rtexec/runtime/executive/requirements.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include <optional>

namespace rtexec::executive {

/// Checks that there is host memory for everything that the process will allocate. Programs and libraries count, too,
/// because locking memory loads all of their pages. Called before any of it is allocated, because at the limit of a
/// control group the kernel kills the process without a message.
[[nodiscard]] Requirement room_in_host_memory(const LoadedSet& set, const Plan& plan, const Setup& setup);
/// Checks that the limit of locked memory permits the allocations to come: stacks, and the copies of the tasks' memory.
/// Returns nullopt if it does, or if there is no limit.
[[nodiscard]] std::optional<Requirement> room_in_locked_memory(const LoadedSet& set, const Plan& plan);
/// Checks that the store's file system has room, if the tasks' memory is swapped to a file. Returns nullopt if it is
/// not.
[[nodiscard]] std::optional<Requirement> room_in_store(const Plan& plan, const Setup& setup);

} // namespace rtexec::executive
