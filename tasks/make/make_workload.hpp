// Makes the workload of a task. Only this component knows all kinds of workloads.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "tasks/api/backend.hpp"

#include <memory>
#include <span>

namespace rtexec::tasks {

/// Makes the workload of `task` for a device of `kind`, which need not exist on this machine. Errors name the file, and
/// the node or value that cannot be used.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind);

/// Returns the inference back end of a dnn task. Errors name the shared object whose loading failed.
[[nodiscard]] Result<const Backend*> backend_of(const Task& task);

/// Returns the memory policies that the task's workload supports, regardless of the board. D (device memory) comes
/// first.
[[nodiscard]] std::span<const MemoryPolicy> memory_policies(const Task& task);

} // namespace rtexec::tasks
