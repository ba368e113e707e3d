#include "rtexec/command/task_set_file.hpp"

#include "config/reader.hpp"

#include <CLI/CLI.hpp>

namespace rtexec::command {

void add_task_set(CLI::App& command, TaskSetFile& options) {
  command.add_option("task-set", options.file, "The task set, a TOML file (`rtexec config` documents its keys)")
      ->required()
      ->type_name("FILE.toml");
  command.add_option("--order", options.order, "Order on the device, instead of the file's")
      ->check(CLI::IsMember({"edf", "static-priority"}))
      ->type_name("ORDER");
}

Result<TaskSet> read(const TaskSetFile& options) {
  auto set = read_task_set(options.file);
  if (set && !options.order.empty()) set->executive.order = options.order == "edf" ? Order::edf : Order::static_priority;
  return set;
}

} // namespace rtexec::command
