#include "rtexec/command/command.hpp"
#include "rtexec/command/json.hpp"
#include "rtexec/command/task_set_file.hpp"
#include "rtexec/command/text.hpp"

#include <memory>

namespace rtexec::command {

namespace {

struct Options {
  TaskSetFile set;
  std::string json;
};

int check(const Options& options) {
  auto set = read(options.set);
  if (!set) return report(set.error());
  const auto executive = Executive::create(std::move(*set));
  if (!executive) return report(executive.error());
  print_plan(text_output(options.json), executive->tasks(), executive->plan());
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
