#include "rtexec/cli/options/task_set_file.hpp"

#include "config/base/must.hpp"
#include "config/names.hpp"
#include "rtexec/cli/options/named_board.hpp"

#include <vector>

namespace rtexec::command {

void add_task_set(const Command& command, TaskSetFile& options) {
  command
      .option("task-set", options.file, "FILE.toml", "The task set, a TOML file (`rtexec config` documents its keys)")
      .required();
  command
      .option("--order", options.order, "ORDER", "Order in which jobs get the device, instead of the task set's order")
      .one_of({"edf", "static-priority"});
  std::vector<std::string> policies;
  for (const auto& known : spellings<SwapPolicy>()) policies.emplace_back(known.text);
  command.option("--policy", options.policy, "POLICY", "Swap policy, instead of the task set's policy")
      .one_of(std::move(policies));
}

TaskSet read(const TaskSetFile& options) {
  TaskSet set = must(read_task_set(options.file));
  print_warnings(set.warnings);
  (void)named_board(set.board); // planning reads it again, without its warnings
  if (!options.order.empty()) set.executive.order = options.order == "edf" ? Order::edf : Order::static_priority;
  for (const auto& known : spellings<SwapPolicy>())
    if (options.policy == known.text) set.swap.policy = known.value;
  return set;
}

void add_machine_option(const Command& command, std::string& file) {
  command.option(
      "--machine", file, "FILE",
      "Plan for another machine than this one: FILE is what `rtexec probe --json FILE` wrote on that machine");
}

PlannedSet plan_on(const std::string& machine_file, TaskSet tasks) {
  return must(plan(std::move(tasks), machine_file.empty() ? this_machine() : must(read_machine(machine_file))));
}

} // namespace rtexec::command
