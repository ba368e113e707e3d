// Whether this machine has room for a run beside its device's memory: in memory of the host, where that may be locked,
// and in the store's file system.
#pragma once

#include <rtexec/plan.hpp>
#include "rtexec/runtime/executive/needs.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include <optional>

namespace rtexec::executive {

/// For all that the process takes beyond what it has: locking populates its programs and libraries. Asked before any of
/// it is taken: at the limit of a control group, the kernel kills the process without a word.
[[nodiscard]] Need room_in_host_memory(const LoadedSet& set, const Plan& plan, const Setup& setup);
/// Where locked memory is limited: for what is still to come, stacks and the copies of the tasks' memory. Absent: there
/// is room.
[[nodiscard]] std::optional<Need> room_in_locked_memory(const LoadedSet& set, const Plan& plan);
/// Where the tasks' memory goes to a file.
[[nodiscard]] std::optional<Need> room_in_store(const Plan& plan, const Setup& setup);

} // namespace rtexec::executive
