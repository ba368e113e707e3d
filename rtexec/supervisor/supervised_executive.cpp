#include "rtexec/supervisor/supervised_executive.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rtexec::supervisor {

namespace {

/// Creates a folder that no other user can enter, and returns it. If that fails, returns an empty text and sets
/// errno.
std::string make_private_folder() {
  for (const char* parent : {"/run", "/tmp"}) {
    std::string folder = std::string(parent) + "/rtexec-supervisor-XXXXXX";
    if (::mkdtemp(folder.data()) != nullptr) return folder;
  }
  return {};
}

} // namespace

Ear::~Ear() {
  if (file_ >= 0) ::close(file_);
  if (folder_.empty()) return;
  ::unlink(name_.c_str());
  ::rmdir(folder_.c_str());
}

std::string Ear::open() {
  folder_ = make_private_folder();
  if (folder_.empty())
    return std::string("cannot create a folder for a socket in /run or /tmp: ") + std::strerror(errno);
  name_ = folder_ + "/notify";
  file_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name_.data(), name_.size());
  const int on = 1;
  if (file_ < 0 || ::setsockopt(file_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::bind(file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return "the socket " + name_ + ": " + std::strerror(errno);
  return {};
}

std::optional<std::string> Ear::hear(pid_t process) const {
  for (;;) {
    char text[4096];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{.iov_base = text, .iov_len = sizeof text};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(file_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    ucred sender{};
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr && header->cmsg_type == SCM_CREDENTIALS)
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    if (process > 0 && sender.pid == process) return std::string(text, static_cast<std::size_t>(got));
  }
}

namespace {

[[noreturn]] void become(const Launch& launch, pid_t parent) {
  ::setpgid(0, 0); // a separate process group, so that Ctrl-C reaches only the supervisor
  if (launch.when_orphaned != 0) ::prctl(PR_SET_PDEATHSIG, launch.when_orphaned);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.ear.empty()) {
    ::unsetenv("NOTIFY_SOCKET");
  } else {
    ::setenv("NOTIFY_SOCKET", launch.ear.c_str(), 1);
    ::setenv("WATCHDOG_USEC", std::to_string(launch.microseconds).c_str(), 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : launch.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "rtexec-supervisor: %s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

} // namespace

pid_t launch(const Launch& launch) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(launch, parent);
  return child;
}

} // namespace rtexec::supervisor
