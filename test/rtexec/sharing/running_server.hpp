// Runs rtexecd's server within a test program, and clients in child processes.
#pragma once

#include <rtexec/planning.hpp>

#include "rtexec/sharing/client/client.hpp"
#include "rtexec/sharing/daemon/server.hpp"
#include "test/rtexec/sharing/daemon_device.hpp"
#include "test/rtexec/sharing/host_client_memory.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace rtexec::daemon::test {

/// A server on a thread of this process.
class RunningServer {
 public:
  /// Starts the server. `timeout` is the timeout for commands and beyond WCETs; by default the daemon's.
  RunningServer(std::filesystem::path directory, std::uint32_t frames, std::uint32_t places = 8,
                std::optional<Duration> timeout = {}) {
    ServerOptions options;
    options.admission = admission_options(frames, places);
    options.board.name = "host";
    options.board.device = DeviceKind::host;
    options.settings.daemon.directory = std::move(directory);
    options.dispatcher = {.places = places, .frames = frames};
    options.priority = this_machine().no_fifo.empty() ? 80 : 0;
    if (timeout) options.dispatcher.command_timeout = options.dispatcher.stuck_after = *timeout;
    auto opened = Server::open(std::move(options));
    if (!opened) throw std::runtime_error(opened.error().what);
    server_ = std::move(*opened);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  ~RunningServer() {
    server_->stop();
    thread_.join();
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

/// Starts a client process. Its exit code is what `body` returns. It ends with this process.
inline pid_t start(const std::function<int()>& body) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(body());
}

inline int exit_code(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Connects a client in this process that uses chunks received from the server.
inline Result<std::unique_ptr<client::Client>> connect(const std::filesystem::path& directory, const std::string& name,
                                                       client::test::HostClientMemory& memory) {
  return client::Client::connect({.directory = directory,
                                  .name = name,
                                  .granularity = Bytes{4096},
                                  .takes_chunks = true,
                                  .hurry = {},
                                  .notice = {}},
                                 memory);
}

} // namespace rtexec::daemon::test
