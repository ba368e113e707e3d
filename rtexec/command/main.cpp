#include "rtexec/command/command.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>

namespace rtexec::command {
namespace {

/// Where the help of all commands is asked for, that of commands of commands belongs to it, which CLI11 only lists.
class Help final : public CLI::Formatter {
 public:
  std::string make_expanded(const CLI::App* command) const override {
    std::string text = CLI::Formatter::make_expanded(command);
    for (const CLI::App* nested : command->get_subcommands({}))
      text += "\n" + command->get_name() + " " + make_expanded(nested);
    return text;
  }
};

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App program{"Runs periodic DNN tasks on pinned cores and one device, and keeps their deadlines."};
  program.name("rtexec");
  program.formatter(std::make_shared<Help>());
  program.set_version_flag("--version", std::string("rtexec ") + RTEXEC_VERSION);
  program.set_help_all_flag("--help-all", "Print the help of all subcommands and exit");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
  program.footer(
      "Exit codes: 0 promised or kept, 2 bad input, 3 not proved, 4 a deadline or a bound was missed, 5 the machine "
      "refused.");
  add_check(program, exit_code);
  add_run(program, exit_code);
  add_analyze(program, exit_code);
  add_top(program, exit_code);
  add_simulate(program, exit_code);
  add_sweep(program, exit_code);
  add_experiment(program, exit_code);
  add_profile(program, exit_code);
  add_calibrate(program, exit_code);
  add_model(program, exit_code);
  add_infer(program, exit_code);
  add_config(program, exit_code);
  add_probe(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return program.exit(error) == 0 ? 0 : rtexec::exit_code(Errc::bad_input); }
  return exit_code;
}

} // namespace
} // namespace rtexec::command

int main(int argc, char** argv) {
  // A reader of our output that goes away must not end a run: what could not be written is told at the end.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const int exit_code = rtexec::command::run(argc, argv);
    if (std::cout.flush() || exit_code != 0) return exit_code;
    std::fputs("rtexec: standard output could not be written\n", stderr);
    return rtexec::exit_code(rtexec::Errc::refused);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rtexec: %s\n", error.what());
    return rtexec::exit_code(rtexec::Errc::refused);
  }
}
