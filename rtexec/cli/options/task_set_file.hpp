// What the commands that read a task set have in common: its file and what the command line overrides in it.
#pragma once

#include <rtexec/planning.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/cli/options/options.hpp"

#include <string>

namespace rtexec::command {

struct TaskSetFile {
  std::string file;
  std::string order;  // empty: as the file says
  std::string policy; // of swapping; empty: as the file says
};

void add_task_set(const Command& command, TaskSetFile& options);
[[nodiscard]] TaskSet read(const TaskSetFile& options);

/// The option of commands that plan only: --machine FILE.
void add_machine_option(const Command& command, std::string& file);
/// On the machine of the file; without one, on this machine.
[[nodiscard]] PlannedSet plan_on(const std::string& machine_file, TaskSet tasks);

} // namespace rtexec::command
