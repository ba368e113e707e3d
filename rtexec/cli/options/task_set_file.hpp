// The options of all commands that read a task set: the file, and settings that replace settings in the file.
#pragma once

#include <rtexec/planning.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/cli/options/options.hpp"

#include <string>

namespace rtexec::command {

struct TaskSetFile {
  std::string file;
  std::string order;  // empty: the order in the file
  std::string policy; // swap policy; empty: the policy in the file
};

void add_task_set(const Command& command, TaskSetFile& options);
[[nodiscard]] TaskSet read(const TaskSetFile& options);

/// Adds the option --machine FILE, for commands that only plan.
void add_machine_option(const Command& command, std::string& file);
/// Plans the set for the machine that `machine_file` describes, or for this machine if `machine_file` is empty.
[[nodiscard]] PlannedSet plan_on(const std::string& machine_file, TaskSet tasks);

} // namespace rtexec::command
