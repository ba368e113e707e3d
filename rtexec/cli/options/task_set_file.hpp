// Options of all commands that read a task set: its file, and settings that override those in the file.
#pragma once

#include <rtexec/planning.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/cli/options/options.hpp"

#include <string>

namespace rtexec::command {

struct TaskSetFile {
  std::string file;
  std::string order;  // empty: the order in the file
  std::string policy; // of swapping; empty: the policy in the file
};

void add_task_set(const Command& command, TaskSetFile& options);
[[nodiscard]] TaskSet read(const TaskSetFile& options);

/// Adds the option of commands that only plan: --machine FILE.
void add_machine_option(const Command& command, std::string& file);
/// Plans the set for the machine in the file, or for this machine if there is no file.
[[nodiscard]] PlannedSet plan_on(const std::string& machine_file, TaskSet tasks);

} // namespace rtexec::command
