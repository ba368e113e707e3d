// rtexecd: schedules the device among processes that are not ours.
#include <rtexec/board.hpp>
#include <rtexec/planning.hpp>

#include "config/daemon_settings.hpp"
#include "hal/thread.hpp"
#include "rtexec/daemon/server.hpp"
#include "rtexec/daemon/set_up.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

namespace rtexec::daemon {
namespace {

constexpr const char* help_end =
    "Processes with librtexec-preload.so before them (LD_PRELOAD) are its clients: it decides who has the device, and\n"
    "whose memory is there. `rtexec config daemon` documents the file.\n\n"
    "Exit codes: 0 ended by a signal, 2 bad input, 5 the machine refused.";

Server* running = nullptr; // set before the handler is

int code_of(Errc code) { return code == Errc::bad_input ? 2 : 5; }

int give_up(const Error& error) {
  std::cerr << "rtexecd: " << error.what << '\n';
  return code_of(error.code);
}

int serve(const std::string& file) {
  auto settings = config::read_daemon_settings(file);
  if (!settings) return give_up(settings.error());
  auto board = read_board(settings->board);
  if (!board) return give_up(board.error());
  const bool automatic = settings->daemon.chunks == config::ChunkSharing::automatic;
  auto options = set_up(std::move(*settings), std::move(*board), this_machine());
  if (!options) return give_up(options.error());
  options->notice = [](const std::string& line) { std::cout << "rtexecd: " << line << std::endl; };
  auto server = Server::open(*options);
  if (!server && server.error().code == Errc::unsupported && automatic) {
    std::cout << "rtexecd: each client makes its own chunks: " << server.error().what << std::endl;
    options->mode = protocol::Mode::private_chunks;
    server = Server::open(*options);
  }
  if (!server) return give_up(server.error());
  if (const auto locked = hal::lock_memory(); !locked)
    std::cout << "rtexecd: degraded: " << locked.error().what << '\n';
  if (options->priority == 0) std::cout << "rtexecd: degraded: threads may not be SCHED_FIFO\n";
  running = server->get();
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { running->stop(); });
  std::cout << "rtexecd: listening at " << (options->settings.daemon.directory / "socket").string() << ", "
            << options->dispatcher.frames << " chunks of " << to_string(options->terms.device.chunk) << std::endl;
  const auto ended = (*server)->run();
  return ended ? 0 : give_up(ended.error());
}

} // namespace
} // namespace rtexec::daemon

int main(int count, char** arguments) {
  CLI::App program("Schedule one device among processes that are not ours, with deadlines", "rtexecd");
  std::string file;
  program.add_option("file", file, "TOML: the device, and rules for the processes")->required()->type_name("FILE");
  program.set_version_flag("--version", "rtexecd " RTEXEC_VERSION);
  program.footer(rtexec::daemon::help_end);
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) { return program.exit(error) == 0 ? 0 : 2; }
  return rtexec::daemon::serve(file);
}
