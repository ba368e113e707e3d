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

/// That of a task with this workload, and of what feeds it: a measured WCET depends on both.
[[nodiscard]] std::string fingerprint(const Task& task, const Workload& workload);

/// Of each task, whose workloads are parallel and outlive it. bad_input: all errors at once, each behind its task's
/// name. Opens nothing. Inputs for which nothing is said are fed with `input` of the task, or with
/// noise, save where the program has an on_input.
[[nodiscard]] Result<std::vector<std::unique_ptr<TaskIo>>> connect(const TaskSet& tasks, Workloads workloads,
                                                                   std::map<std::string, TaskCallbacks> callbacks);

} // namespace rtexec::channels
