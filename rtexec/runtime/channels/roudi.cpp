#include "rtexec/runtime/channels/roudi.hpp"

#include "hal/resources.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::channels::iceoryx {
namespace {

using namespace std::chrono_literals;
using hal::FileDescriptor;

constexpr const char* socket_path = "/tmp/roudi";
constexpr const char* memory_path = "/dev/shm/iceoryx_mgmt";
constexpr const char* found_another = "is RouDi still running?";
constexpr Duration timeout = 10s;

bool maps_its_memory(const std::filesystem::path& process) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(memory_path) != line.npos) return true;
  return false;
}

bool others_use_it(pid_t daemon) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc()) continue;
    if (process != daemon && process != ::getpid() && maps_its_memory(entry.path())) return true;
  }
  return false;
}

/// The daemon, started as a child of this process. The destructor ends it.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!runs() || others_use_it(process_)) return;
    ::kill(process_, SIGTERM);
    const Instant end = hal::now() + 5s;
    while (runs() && hal::now() < end) hal::sleep_until(hal::now() + 10ms);
    if (!runs()) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  Result<> start();
  [[nodiscard]] bool runs() {
    if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = 0;
    return process_ > 0;
  }
  /// Returns the daemon's output so far, without terminal colours.
  [[nodiscard]] std::string said() const {
    std::string text(2000, '\0');
    const ssize_t size = ::pread(log_.number(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    for (auto begin = text.find('\x1b'); begin != text.npos; begin = text.find('\x1b'))
      text.erase(begin, std::min(text.find('m', begin), text.size() - 1) - begin + 1);
    return text;
  }

 private:
  pid_t process_ = 0;
  FileDescriptor log_;
};

struct SpawnSettings {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;

  /// Settings of an ordinary process: it does not inherit the scheduling class and signal mask of the calling thread,
  /// and does not get the terminal's signals.
  explicit SpawnSettings(int log) {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSCHEDULER);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    const sched_param ordinary{};
    ::posix_spawnattr_setschedpolicy(&attributes, SCHED_OTHER);
    ::posix_spawnattr_setschedparam(&attributes, &ordinary);
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
};

Result<> Child::start() {
  log_ = FileDescriptor(::memfd_create("iox-roudi", MFD_CLOEXEC));
  const SpawnSettings settings(log_.number());
  std::string program = "iox-roudi", option = "--log-level", level = "error";
  char* arguments[] = {program.data(), option.data(), level.data(), nullptr};
  const int error =
      ::posix_spawnp(&process_, program.c_str(), &settings.files, &settings.attributes, arguments, ::environ);
  if (error == 0) return {};
  process_ = 0;
  return hal::call_failed("iceoryx's daemon is not running, and starting iox-roudi", error,
                          "apt-get install iceoryx, or start the daemon yourself.", Errc::unsupported);
}

} // namespace

bool daemon_listens() {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::uint64_t daemon_memory() {
  struct stat status {};
  return ::stat(memory_path, &status) == 0 ? status.st_ino : 0;
}

Result<> ensure_daemon() {
  if (daemon_listens()) return {};
  static Child child;
  if (const auto started = child.start(); !started) return started;
  for (const Instant end = hal::now() + timeout; hal::now() < end; hal::sleep_until(hal::now() + 10ms)) {
    if (daemon_listens()) return {};
    // If two processes start a daemon at the same moment, one daemon finds the other daemon and ends, which is no
    // error.
    if (!child.runs() && child.said().find(found_another) == std::string::npos)
      return fail(Errc::refused, "iceoryx's daemon (iox-roudi) ended as soon as it was started: " + child.said());
  }
  return fail(Errc::refused, "iceoryx's daemon (iox-roudi) was started, but was not ready within " + readable(timeout) +
                                 ": " + child.said());
}

} // namespace rtexec::channels::iceoryx
