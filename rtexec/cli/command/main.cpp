#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/exit_guard.hpp"
#include "rtexec/cli/options/help.hpp"
#include "rtexec/cli/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

namespace rtexec::command {
namespace {

constexpr const char* exit_codes =
    "Exit codes:\n"
    "  0  success: all deadlines are promised (check), or were met (run)\n"
    "  2  bad input: a file, option or value is wrong\n"
    "  3  not proved: the deadlines cannot be promised\n"
    "  4  a deadline was missed, a promised bound was exceeded, or a part above its WCET ended the run\n"
    "  5  this machine cannot carry out the command, or a measurement was interrupted\n";
constexpr const char* environment =
    "Environment:\n"
    "  NO_COLOR  if it is set, output to a terminal has no colours\n"
    "  TERM      if it is \"dumb\", output to a terminal has no colours, progress bars or live tables\n";
constexpr const char* files =
    "Files:\n"
    "  /dev/shm/rtexec.PID.NUMBER  status of a run in shared memory, which rtexec top reads\n";

/// An example, printed at the end of a command's help.
struct Example {
  std::vector<const char*> command;
  const char* line;
};

const Example examples[] = {
    {{"check"}, "rtexec check robot.toml --machine robot.probe.json"},
    {{"run"}, "rtexec run robot.toml --duration 10s --trace run.trace"},
    {{"analyze"}, "rtexec analyze run.trace --html run.html"},
    {{"top"}, "rtexec top --interval 500ms"},
    {{"ps"}, "rtexec ps --daemon /run/rtexec/daemon"},
    {{"simulate"}, "rtexec simulate robot.toml --releases sporadic --gantt run.svg"},
    {{"sweep"}, "rtexec sweep --preset rt-swap-fig7a -o fig7a"},
    {{"experiment"}, "rtexec experiment isolation --simulate -o isolation"},
    {{"experiment", "isolation"}, "rtexec experiment isolation --board h200 --seconds 5 -o isolation"},
    {{"experiment", "memory"}, "rtexec experiment memory --simulate xavier -o memory"},
    {{"experiment", "init"}, "rtexec experiment init --simulate tx2 -o init"},
    {{"profile"}, "rtexec profile robot.toml --jobs 1000"},
    {{"calibrate"}, "rtexec calibrate h200 -o my-h200.toml"},
    {{"calibrate", "bandwidth"}, "rtexec calibrate bandwidth host -o my-host.toml"},
    {{"calibrate", "memory"}, "rtexec calibrate memory h200 -o my-h200.toml"},
    {{"calibrate", "cut"}, "rtexec calibrate cut resnet152.onnx h200 -o my-h200.toml"},
    {{"model"}, "rtexec model resnet50 --size 224 -o resnet50.onnx"},
    {{"infer"}, "rtexec infer yolov3-tiny.onnx street.jpg -o boxes.png\n  $ rtexec infer --list-operators"},
    {{"config"}, "rtexec config board"},
    {{"probe"}, "rtexec probe robot.toml"},
    {{"bringup"}, "rtexec bringup --json bringup.json --html bringup.html"},
    {{"restore"}, "rtexec restore"},
    {{"completion"}, "rtexec completion bash > ~/.local/share/bash-completion/completions/rtexec"},
    {{"help"}, "rtexec help calibrate bandwidth"},
};

void add_examples(CLI::App& program) {
  for (const auto& [path, line] : examples) {
    CLI::App* command = &program;
    for (const char* name : path) command = command->get_subcommand(name);
    command->footer(std::string("Examples:\n  $ ") + line + "\n\n" + exit_codes + "\n" + environment);
  }
}

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App program{"Runs periodic DNN tasks with promised deadlines on pinned cores and one device."};
  program.name("rtexec");
  program.set_version_flag("--version", std::string("rtexec ") + RTEXEC_VERSION);
  program.set_help_all_flag("--help-all", "Print the help of all subcommands and exit");
  program.require_subcommand(1);
  program.formatter(help_formatter());
  program.footer(std::string(exit_codes) + "\n" + environment + "\n" + files);
  const Command commands(program);
  add_check(commands, exit_code);
  add_run(commands, exit_code);
  add_analyze(commands, exit_code);
  add_top(commands);
  add_ps(commands);
  add_simulate(commands, exit_code);
  add_sweep(commands);
  add_experiment(commands);
  add_profile(commands);
  add_calibrate(commands);
  add_model(commands);
  add_infer(commands);
  add_config(commands);
  add_probe(commands, exit_code);
  add_bringup(commands, exit_code);
  add_restore(commands);
  add_completion(commands);
  add_help(commands);
  for (const char* const study : {"sweep", "experiment"}) program.get_subcommand(study)->group("Studies");
  add_examples(program);
  if (argc < 2) {
    std::cerr << program.help();
    return rtexec::exit_code(Errc::bad_input);
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error); // the user requested help
    return report(Error{Errc::bad_input, problem(program, error)});
  } catch (const Failed& failed) { return report(failed.error); }
  return exit_code;
}

/// Opens /dev/null in place of standard streams that are closed. Otherwise a file that is opened later would get the
/// number of such a stream, and messages would be written into it. /dev/null is opened read-only, so that writing to a
/// closed output still fails.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY); // open() returns the lowest free number
}

/// True if the reader of standard output has gone, for example `| head` after its last line.
bool reader_left() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

} // namespace
} // namespace rtexec::command

int main(int argc, char** argv) {
  rtexec::command::occupy_standard_streams();
  rtexec::command::know_terminals();
  // SIGUSR1 requests a snapshot from a run with a flight recorder, and must not end a run without one.
  std::signal(SIGUSR1, SIG_IGN);
  // If the reader of standard output goes away, the run continues, and its exit code still reports its outcome.
  std::signal(SIGPIPE, SIG_IGN);
  // The limit of file sizes must not end a run either. A write beyond this limit is an error, like a write to a full
  // disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const rtexec::command::ExitGuard guard;
    const int exit_code = rtexec::command::run(argc, argv);
    if (std::cout.flush() || exit_code != 0 || rtexec::command::reader_left()) return exit_code;
    std::fputs("rtexec: cannot write to standard output\n", stderr);
    return rtexec::exit_code(rtexec::Errc::refused);
  } catch (const std::exception& error) { return rtexec::command::report({rtexec::Errc::refused, error.what()}); }
}
