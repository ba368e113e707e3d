// Checks the rules between several values of a task set. The limits of single values are defined with their keys, in
// task_set.cpp.
#pragma once

#include "config/file_report.hpp"
#include <rtexec/task_set.hpp>

namespace rtexec::config {

/// True if rtexec's own engine, not a plug-in, executes the model of a dnn task.
[[nodiscard]] inline bool is_built_in(const Task& task) noexcept {
  return task.backend.empty() || task.backend == "rtexec";
}

/// Reports all broken rules.
void check_rules(const TaskSet& set, Report& report);

} // namespace rtexec::config
