#include "rtexec/command/task_set_file.hpp"

#include "config/names.hpp"

#include <CLI/CLI.hpp>
#include <vector>

namespace rtexec::command {

void add_task_set(CLI::App& command, TaskSetFile& options) {
  command.add_option("task-set", options.file, "The task set, a TOML file (`rtexec config` documents its keys)")
      ->required()
      ->type_name("FILE.toml");
  command.add_option("--order", options.order, "Order on the device, instead of the file's")
      ->check(CLI::IsMember({"edf", "static-priority"}))
      ->type_name("ORDER");
  std::vector<std::string> policies;
  for (const auto& known : spellings<SwapPolicy>()) policies.emplace_back(known.text);
  command.add_option("--policy", options.policy, "Swap policy, instead of the file's")
      ->check(CLI::IsMember(std::move(policies)))
      ->type_name("POLICY");
}

TaskSet read(const TaskSetFile& options) {
  TaskSet set = must(read_task_set(options.file));
  if (!options.order.empty()) set.executive.order = options.order == "edf" ? Order::edf : Order::static_priority;
  for (const auto& known : spellings<SwapPolicy>())
    if (options.policy == known.text) set.swap.policy = known.value;
  return set;
}

void add_machine_option(CLI::App& command, std::string& file) {
  command
      .add_option("--machine", file,
                  "Plan for the machine on which `rtexec probe --json FILE` wrote this, instead of for this one")
      ->type_name("FILE");
}

PlannedSet plan_on(const std::string& machine_file, TaskSet tasks) {
  return must(plan(std::move(tasks), machine_file.empty() ? this_machine() : must(read_machine(machine_file))));
}

} // namespace rtexec::command
