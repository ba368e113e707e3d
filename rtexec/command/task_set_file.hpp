// What the commands that read a task set have in common: its file and what the command line overrides in it.
#pragma once

#include <rtexec/task_set.hpp>
#include "rtexec/command/command.hpp"

#include <string>

namespace rtexec::command {

struct TaskSetFile {
  std::string file;
  std::string order;  // empty: as the file says
  std::string policy; // of swapping; empty: as the file says
};

void add_task_set(CLI::App& command, TaskSetFile& options);
[[nodiscard]] Result<TaskSet> read(const TaskSetFile& options);

} // namespace rtexec::command
