#include "hal/machine.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/json.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"

#include <algorithm>
#include <memory>
#include <ostream>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string json;
};

/// A task set may be meant for another machine: a core that is not here is worth a word, and run refuses it.
void note_absent_cores(std::ostream& out, const TaskSet& set) {
  const auto here = hal::Machine().online_cores();
  for (const Task& task : set.tasks)
    if (std::ranges::find(here, task.core) == here.end())
      out << "Note: this machine has no core " << task.core << " for task '" << task.name << "': run refuses the set here\n";
}

int check(const Options& options) {
  auto set = read(options.set);
  if (!set) return report(set.error());
  const auto executive = Executive::create(std::move(*set));
  if (!executive) return report(executive.error());
  std::ostream& out = text_output(options.json);
  print_plan(out, *executive);
  note_absent_cores(out, executive->tasks());
  if (const auto written = write_json(options.json, to_json(executive->plan())); !written) return report(written.error());
  return executive->plan().proved ? 0 : exit_code(Errc::not_proved);
}

} // namespace

void add_check(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("check", "Say whether every deadline can be promised, with the numbers");
  const auto options = std::make_shared<Options>();
  add_task_set(*command, options->set);
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = check(*options); });
}

} // namespace rtexec::command
