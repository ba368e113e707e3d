// rtexecd: schedules the device among unmodified programs.
#include <rtexec/board.hpp>
#include <rtexec/planning.hpp>

#include "config/daemon_settings.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/daemon/server.hpp"
#include "rtexec/sharing/daemon/set_up.hpp"
#include "rtexec/runtime/watches/heartbeat.hpp"
#include "rtexec/runtime/watches/service_manager.hpp"
#include "traces/emit.hpp"
#include "traces/recording/session.hpp"

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <utility>

namespace rtexec::daemon {
namespace {

constexpr const char* help_end =
    "Each process that is started with LD_PRELOAD=librtexec-preload.so is a client of the daemon. The daemon decides "
    "which\n"
    "client executes on the device, and which clients' memory is there. `rtexec config daemon` documents the file.\n"
    "\n"
    "Examples:\n"
    "  $ rtexecd daemon.toml &\n"
    "  $ RTEXEC_CLIENT=front LD_PRELOAD=librtexec-preload.so python3 detect.py\n"
    "\n"
    "Exit codes:\n"
    "  0  the daemon was ended by a signal\n"
    "  2  bad input: a file, option or value is wrong\n"
    "  5  this machine cannot run the daemon, or the recorded trace is incomplete\n"
    "\n"
    "Environment:\n"
    "  NOTIFY_SOCKET  socket on which the service manager (systemd) is notified that the daemon is ready\n"
    "  WATCHDOG_USEC  watchdog timeout of the service manager in microseconds\n"
    "\n"
    "Files:\n"
    "  /run/rtexec/daemon/socket  socket for clients; [daemon] directory changes the folder\n";
/// The heartbeat fails if the server completes no round for this time.
constexpr Duration round_timeout = std::chrono::seconds(1);

std::atomic<Server*> running{nullptr};
volatile std::sig_atomic_t told_to_end = 0; // set by a signal, also before the server exists

struct RecordingOptions {
  std::string folder, limit; // empty: option not given
};

void end_at(int) {
  told_to_end = 1;
  if (Server* const server = running.load()) server->stop();
}

void on_signals(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, handler);
}

/// Raises the limit of open descriptors. Chunks and clients need many, but shells set a low limit for programs that
/// use select().
void allow_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int code_of(Errc code) { return code == Errc::bad_input ? 2 : 5; }

int give_up(const Error& error) {
  std::cerr << "rtexecd: " << error.what << '\n';
  return code_of(error.code);
}

/// Starts to report readiness and heartbeats to the service manager. Returns null if there is no service manager.
Result<std::unique_ptr<executive::Heartbeat>> start_heartbeat(const Server& server, const std::string& file) {
  auto manager = executive::ServiceManager::of_environment();
  if (!manager) return Unexpected(manager.error());
  if (!*manager) return nullptr;
  auto heartbeat = std::make_unique<executive::Heartbeat>(std::move(**manager), round_timeout);
  heartbeat->watch("rtexecd",
                   [&server](Instant) { return executive::Progress{.steps = server.rounds(), .due = true}; });
  if (const auto started = heartbeat->start("Serves " + file); !started) return Unexpected(started.error());
  return heartbeat;
}

/// Starts the recording. Must be called before the daemon starts threads or locks memory. Returns nullopt if no
/// recording is requested.
Result<std::optional<traces::Session>> begin_recording(const RecordingOptions& options) {
  if (options.folder.empty()) return std::nullopt;
  traces::SessionOptions session;
  if (!options.limit.empty()) {
    const auto limit = parse_bytes(options.limit);
    if (!limit) return fail(Errc::bad_input, "--trace-limit " + options.limit + ": " + limit.error().what);
    session.limit = *limit;
  }
  auto begun = traces::Session::start(options.folder, session);
  if (!begun) return Unexpected(begun.error());
  return std::optional(std::move(*begun));
}

/// Ends the recording after the last event, and prints its size.
Result<> end_recording(std::optional<traces::Session>& session) {
  if (!session) return {};
  traces::run_end(hal::now(), "signal");
  const auto summary = session->stop();
  if (!summary) return Unexpected(summary.error());
  if (auto whole = traces::check_whole(*summary, session->folder()); !whole) return whole;
  std::cout << "rtexecd: recorded " << summary->events << " events, " << summary->lost.events
            << " lost: " << session->folder().string() << std::endl;
  return {};
}

int serve(const std::string& file, const RecordingOptions& recorded) {
  auto settings = config::read_daemon_settings(file);
  if (!settings) return give_up(settings.error());
  auto board = read_board(settings->board);
  if (!board) return give_up(board.error());
  for (const auto* warnings : {&settings->warnings, &board->warnings})
    for (const std::string& warning : *warnings) std::cout << "rtexecd: " << warning << std::endl;
  const bool automatic = settings->daemon.chunks == config::ChunkSharing::automatic;
  if (const auto driver = hal::find_driver(*board); !driver && automatic) return give_up(driver.error());
  auto options = set_up(std::move(*settings), std::move(*board), this_machine());
  if (!options) return give_up(options.error());
  allow_descriptors();
  on_signals(end_at);
  std::signal(SIGPIPE, SIG_IGN); // writing to an output without a reader must not end the daemon
  auto session = begin_recording(recorded);
  if (!session) return give_up(session.error());
  options->notice = [](const std::string& line) { std::cout << "rtexecd: " << line << std::endl; };
  auto server = Server::open(*options);
  if (!server && server.error().code == Errc::unsupported && automatic) {
    std::cout << "rtexecd: each client allocates its own chunks: " << server.error().what << std::endl;
    options->mode = protocol::Mode::private_chunks;
    server = Server::open(*options);
  }
  if (!server) return give_up(server.error());
  if (const auto locked = hal::lock_memory(); !locked)
    std::cout << "rtexecd: degraded: " << locked.error().what << '\n';
  if (options->priority == 0) std::cout << "rtexecd: degraded: threads cannot use SCHED_FIFO\n";
  running = server->get();
  if (told_to_end != 0) (*server)->stop();
  std::cout << "rtexecd: listening at " << (options->settings.daemon.directory / "socket").string() << ", "
            << options->dispatcher.frames << " chunks of " << to_string(options->admission.device.chunk) << std::endl;
  auto heartbeat = start_heartbeat(**server, file);
  if (!heartbeat) return give_up(heartbeat.error());
  const auto ended = (*server)->run();
  on_signals(SIG_IGN); // a second signal must not interrupt the writing of the recording
  heartbeat->reset();
  server->reset();
  const auto recorded_all = end_recording(*session);
  if (!ended) return give_up(ended.error());
  return recorded_all ? 0 : give_up(recorded_all.error());
}

} // namespace
} // namespace rtexec::daemon

int main(int count, char** arguments) {
  CLI::App program("Share one device among unmodified programs, with deadlines", "rtexecd");
  std::string file;
  program
      .add_option("file", file, "TOML file with the settings of the daemon and the device, and the rules for clients")
      ->required()
      ->type_name("FILE");
  rtexec::daemon::RecordingOptions recorded;
  auto* const trace = program.add_option(
      "--trace", recorded.folder, "Record an LTTng trace for `rtexec analyze` into FOLDER, which must be new or empty");
  trace->type_name("FOLDER");
  program
      .add_option("--trace-limit", recorded.limit,
                  "Maximum size of the trace on disk, such as \"1GiB\"; only the latest events are kept")
      ->needs(trace)
      ->type_name("SIZE");
  program.set_version_flag("--version", "rtexecd " RTEXEC_VERSION);
  program.get_formatter()->label("Positionals", "Arguments");
  program.footer(rtexec::daemon::help_end);
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) { return program.exit(error) == 0 ? 0 : 2; }
  return rtexec::daemon::serve(file, recorded);
}
