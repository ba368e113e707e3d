#include "traces/recording/daemon.hpp"

#include "config/base/descriptor.hpp"
#include "traces/recording/wait.hpp"

#include <lttng/lttng.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;

constexpr Duration timeout = 10s;
// Environment variable of a private daemon; holds the process ID of the daemon's owner
constexpr std::string_view owner_mark = "RTEXEC_TRACES_OWNER=";

bool answers() { return lttng_session_daemon_alive() == 1; }

/// Returns the folder of the daemon's sockets and PID file; empty if the user has no home folder.
std::filesystem::path runtime_folder() {
  if (::geteuid() == 0) return "/var/run/lttng";
  const char* home = std::getenv("LTTNG_HOME");
  if (!home) home = std::getenv("HOME");
  return home ? std::filesystem::path(home) / ".lttng" : std::filesystem::path();
}

std::filesystem::path lock_file() { return runtime_folder() / "lttng-sessiond.lck"; }
std::filesystem::path pid_file() { return runtime_folder() / "lttng-sessiond.pid"; }

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

/// A process, read from /proc; the fields are empty if there is no such process.
struct Process {
  std::string number, name, state;
  pid_t parent = 0;
};
Process look_at(pid_t process) {
  Process found;
  std::ifstream(folder_of(process) + "/stat") >> found.number >> found.name >> found.state >> found.parent;
  return found;
}

/// True if `process` is a running session daemon of this user.
bool is_daemon(pid_t process) {
  struct stat status {};
  if (::stat(folder_of(process).c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  const Process found = look_at(process);
  return found.name == "(lttng-sessiond)" && found.state != "Z";
}

/// Returns the process that holds the daemon's lock file, or nullopt if no process holds it. Returns 0 if the process
/// is in a PID namespace that is not visible here.
std::optional<pid_t> lock_holder() {
  const config::Descriptor file(::open(lock_file().c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  const bool locked = file.get() >= 0 && ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  return locked ? std::optional(lock.l_pid) : std::nullopt;
}

/// Returns the user's running daemon; 0 if there is none. A daemon holds its lock file from its start to its end. A
/// daemon that forked into the background lost the lock by the fork; its PID file identifies it.
pid_t running() {
  if (const auto holder = lock_holder()) return *holder;
  pid_t daemon = 0;
  return std::ifstream(pid_file()) >> daemon && is_daemon(daemon) ? daemon : 0;
}

/// True if a daemon is starting or ending. A starting daemon writes its lock file before its PID file. An ending daemon
/// removes its PID file before its other files. In that time no new daemon may be started, because the ending daemon
/// would remove the new daemon's files.
bool starts_or_ends() {
  std::error_code ignored;
  return std::filesystem::exists(lock_file(), ignored) && !std::filesystem::exists(pid_file(), ignored);
}

/// Returns the owner of the private daemon `daemon`; 0 if any process may use the daemon.
pid_t owner_of(pid_t daemon) {
  std::ifstream environment(folder_of(daemon) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with(owner_mark))
      return static_cast<pid_t>(std::strtol(entry.c_str() + owner_mark.size(), nullptr, 10));
  return 0;
}

/// Returns the ID of a process in the process's own PID namespace. In a container this ID differs from the ID here.
pid_t own_number(pid_t process) {
  std::ifstream status(folder_of(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NSpid:"))
      return static_cast<pid_t>(std::strtol(line.c_str() + line.find_last_of(" \t"), nullptr, 10));
  return 0;
}

/// True if `owner`, the process that started `daemon`, has ended.
bool is_orphan(pid_t daemon, pid_t owner) {
  const pid_t parent = look_at(daemon).parent; // 0: the daemon has ended, or its parent cannot be seen from here
  return parent != 0 && own_number(parent) != owner;
}

/// Returns a text that names the process that started `daemon`, by its ID here. `owner` is its ID in its own PID
/// namespace.
std::string name_of_owner(pid_t daemon, pid_t owner) {
  const pid_t parent = look_at(daemon).parent;
  if (parent != 0 && own_number(parent) == owner) return "process " + std::to_string(parent);
  return "a process of another PID namespace (" + std::to_string(owner) + " there)";
}

/// Data of the child between vfork and exec, prepared by the parent.
struct Launch {
  char* const* arguments;
  char* const* environment;
  cpu_set_t cores;
  rlimit files;
  int input;
  int output;
  int failure; // receives errno when exec fails
};

/// Runs in the child, in the parent's memory. May use only system calls.
[[noreturn]] void become_daemon(const Launch& launch) noexcept {
  const sched_param normal{};
  const bool ready = ::setsid() >= 0 && ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
                     ::sched_setscheduler(0, SCHED_OTHER, &normal) == 0 &&
                     ::sched_setaffinity(0, sizeof launch.cores, &launch.cores) == 0 &&
                     ::setrlimit(RLIMIT_NOFILE, &launch.files) == 0 && ::dup2(launch.input, 0) >= 0 &&
                     ::dup2(launch.output, 1) >= 0 && ::dup2(launch.output, 2) >= 0;
  if (ready) {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvpe(launch.arguments[0], launch.arguments, launch.environment);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(launch.failure, &error, sizeof error);
  ::_exit(127);
}

/// Starts the child by vfork. A fork would make this process's locked pages copy-on-write, and each page would fault
/// once more.
pid_t start_child(const Launch& launch) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before); // no handler of this process may run in the child
  const pid_t child = ::vfork();
  if (child == 0) become_daemon(launch);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

/// Returns the cores of process 1, on which the machine's own daemons run. These cores exclude isolated cores and do
/// not depend on the caller's affinity.
cpu_set_t cores_of_daemons() {
  cpu_set_t cores;
  if (::sched_getaffinity(1, sizeof cores, &cores) != 0) std::memset(&cores, 0xff, sizeof cores);
  return cores;
}

/// Returns the limit of open files for the daemon. The daemon closes every possible descriptor one by one, twice, and
/// containers allow up to 2^30 descriptors.
rlimit files_of_daemons() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_cur, 65535);
  return files;
}

Error refused(const std::string& what) { return {Errc::refused, "tracing: " + what}; }

Error no_start(int error) {
  if (error == ENOENT)
    return refused("lttng-sessiond is not in PATH: install the Debian package lttng-tools, or run without --trace");
  return refused(std::string("lttng-sessiond cannot be started: ") + std::strerror(error));
}

Result<pid_t> spawn(int output) {
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) return Unexpected(no_start(errno));
  config::Descriptor failed(report[0]), failure(report[1]);
  config::Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return Unexpected(no_start(errno));

  std::string program = "lttng-sessiond", no_kernel = "--no-kernel";
  std::string mark = std::string(owner_mark) + std::to_string(::getpid());
  const std::array<char*, 3> arguments{program.data(), no_kernel.data(), nullptr};
  std::vector<char*> environment;
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  environment.insert(environment.end(), {mark.data(), nullptr});

  const pid_t child = start_child({arguments.data(), environment.data(), cores_of_daemons(), files_of_daemons(),
                                   input.get(), output, failure.get()});
  if (child < 0) return Unexpected(no_start(errno));
  failure.reset();
  int error = 0;
  if (::read(failed.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    return Unexpected(no_start(error));
  }
  return child;
}

bool ended(pid_t child) {
  const pid_t got = ::waitpid(child, nullptr, WNOHANG);
  return got == child || (got < 0 && errno == ECHILD);
}

/// Returns the first 4 KiB of the daemon's output.
std::string contents(int fd) {
  std::string text(4096, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Waits until no daemon runs, or until any process may use the running daemon.
Result<> wait_for_others() {
  pid_t daemon = 0, owner = 0;
  const auto usable_or_none = [&] {
    daemon = running();
    owner = daemon ? owner_of(daemon) : 0;
    return daemon ? owner == 0 && answers() : !starts_or_ends();
  };
  if (lock_holder() == 0)
    return Unexpected(
        refused("a session daemon of this user runs in another PID namespace (another container), and LTTng records "
                "only processes in its own namespace: wait for its end, or give this container its own /var/run (for "
                "users other than root, LTTNG_HOME)"));
  const bool found = wait_for([&] { return usable_or_none() || owner == ::getpid(); }, timeout, 20ms);
  if (daemon == 0 || (found && owner == 0)) return {}; // `daemon` is 0 if it was killed at its start or end
  if (owner &&
      is_orphan(daemon, owner)) { // the kernel sent the daemon SIGTERM when its owner ended, so the daemon hangs
    ::kill(-daemon, SIGKILL);
    static_cast<void>(wait_for([&] { return running() != daemon; }, timeout, 20ms));
    return {};
  }
  if (owner)
    return Unexpected(refused(name_of_owner(daemon, owner) +
                              " is recording with a session daemon of its own, and LTTng allows one per user: wait for "
                              "it, or first start `lttng-sessiond --no-kernel --daemonize`, which all runs can share"));
  return Unexpected(
      refused("the running session daemon, process " + std::to_string(daemon) + ", does not answer: end it"));
}

} // namespace

Result<Daemon> Daemon::acquire() {
  if (runtime_folder().empty())
    return Unexpected(refused("neither HOME nor LTTNG_HOME is set, and LTTng keeps its sockets there: set one"));
  if (auto ok = wait_for_others(); !ok) return Unexpected(ok.error());
  if (answers()) return Daemon(0);

  config::Descriptor output(::memfd_create("lttng-sessiond", MFD_CLOEXEC));
  if (output.get() < 0) return Unexpected(no_start(errno));
  const auto child = spawn(output.get());
  if (!child) return Unexpected(child.error());
  Daemon daemon(*child);
  bool gone = false;
  // Another process may have started a daemon at the same moment; then that daemon answers.
  const bool up = wait_for([&] { return (gone = ended(*child)) || (running() == *child && answers()); }, timeout, 10ms);
  if (gone) {
    daemon.child_ = 0;
    if (running()) return acquire();
    return Unexpected(
        refused("lttng-sessiond ended at its start (it keeps its sockets in HOME, or in LTTNG_HOME where "
                "that is set, and must be able to write there), having printed:\n" +
                contents(output.get())));
  }
  if (!up)
    return Unexpected(refused("lttng-sessiond did not answer within 10 s, having printed:\n" + contents(output.get())));
  return daemon;
}

Result<> Daemon::within(Duration limit, const std::function<Result<>()>& work) const {
  if (child_ == 0) return work();
  std::atomic<bool> killed = false;
  Result<> outcome;
  {
    const std::jthread watch([&](const std::stop_token& ended) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait_for(lock, ended, limit, [] { return false; });
      if (ended.stop_requested()) return;
      killed = true;
      ::kill(-child_, SIGKILL);
    });
    outcome = work();
  }
  if (killed)
    return Unexpected(
        refused("the session daemon did not answer within " + readable(limit) + " and was ended: record again"));
  return outcome;
}

Daemon::Daemon(Daemon&& other) noexcept : child_(std::exchange(other.child_, 0)) {}

Daemon& Daemon::operator=(Daemon&& other) noexcept {
  std::swap(child_, other.child_);
  return *this;
}

/// The child leads a process group that includes its consumer daemons. All of them have ended when this returns.
Daemon::~Daemon() {
  if (child_ == 0) return;
  ::kill(child_, SIGTERM);
  const bool clean =
      wait_for([this] { return ended(child_); }, timeout) && wait_for([this] { return ::kill(-child_, 0) != 0; }, 2s);
  if (clean) return;
  ::kill(-child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

} // namespace rtexec::traces
