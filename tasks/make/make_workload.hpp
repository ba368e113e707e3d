// Makes the workload of a task. This is the only place that knows all kinds.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "tasks/api/backend.hpp"

#include <memory>
#include <span>

namespace rtexec::tasks {

/// Makes the workload of `task`, to run on a device of `kind`, which need not exist here. Errors name the file, and the
/// node or value that cannot be used.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind);

/// Returns the back end of a dnn task. Errors name what could not be loaded.
[[nodiscard]] Result<const Backend*> backend_of(const Task& task);

/// Returns the memory policies that the workload's memory can have, regardless of the board. D comes first.
[[nodiscard]] std::span<const MemoryPolicy> memory_policies(const Task& task);

} // namespace rtexec::tasks
