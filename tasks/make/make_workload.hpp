// From what a task asks for to the workload that does it: the one place that knows all kinds.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "tasks/api/backend.hpp"

#include <memory>
#include <span>

namespace rtexec::tasks {

/// Makes the workload that `task` asks for, to run on a device of `kind`, which need not be there. Errors name the
/// file, and the node or value that cannot be used.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind);

/// Who computes the model of a dnn task. Errors name what could not be loaded.
[[nodiscard]] Result<const Backend*> backend_of(const Task& task);

/// What the memory of that workload can live under, whatever a board has; D first.
[[nodiscard]] std::span<const MemoryPolicy> memory_policies(const Task& task);

} // namespace rtexec::tasks
