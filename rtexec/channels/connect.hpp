// From what a task set and a program say of inputs and outputs to what fills and takes them.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/channels/task_io.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::channels {

using Workloads = std::span<const std::unique_ptr<Workload>>;

/// Of each task, whose workloads are parallel and outlive it. bad_input: all errors at once, each behind its task's
/// name. Opens nothing.
[[nodiscard]] Result<std::vector<std::unique_ptr<TaskIo>>> connect(const TaskSet& tasks, Workloads workloads,
                                                                   std::map<std::string, TaskCallbacks> callbacks);

} // namespace rtexec::channels
