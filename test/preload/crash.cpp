// Preloaded into a client of rtexecd: its process ends, stops or hangs at a chosen point of its life. Configured by
//
//   CRASH_AT=POINT[:N]  at the Nth time (default: first): connected; before-KIND, half-KIND, after-KIND of a message
//                       that it sends; received-KIND; load, save (half done), kernel
//   CRASH_BY=HOW        kill, stop; hang: the thread at that point stays there; pause: for CRASH_PAUSE_MS
//   CRASH_BALLAST_MIB   memory that makes the end of the process slow, as with a real driver
//
// At that point it prints "crash NANOSECONDS" on standard error, on CLOCK_MONOTONIC.
#include "rtexec/sharing/protocol/messages.hpp"
#include "test/preload/stand_in.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace {

using rtexec::protocol::MessageKind;

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string_view name_of(MessageKind kind) {
  switch (kind) {
  case MessageKind::hello: return "hello";
  case MessageKind::welcome: return "welcome";
  case MessageKind::refused: return "refused";
  case MessageKind::declare: return "declare";
  case MessageKind::declared: return "declared";
  case MessageKind::grow: return "grow";
  case MessageKind::grown: return "grown";
  case MessageKind::frame: return "frame";
  case MessageKind::need_frame: return "need_frame";
  default: return {};
  }
}

/// Returns the kind of one of our messages, or an empty text for other data.
std::string_view kind_of(const msghdr& message, std::size_t size) {
  rtexec::protocol::Header header;
  if (message.msg_iovlen != 1 || size < sizeof header) return {};
  std::memcpy(&header, message.msg_iov[0].iov_base, sizeof header);
  const bool ours = header.size == size && header.version == rtexec::protocol::version;
  return ours ? name_of(static_cast<MessageKind>(header.kind)) : std::string_view();
}

struct Crash {
  std::string at{setting("CRASH_AT")};
  std::atomic<int> left{1};

  Crash() {
    if (const auto colon = at.find(':'); colon != std::string::npos) {
      left = std::atoi(at.c_str() + colon + 1);
      at.resize(colon);
    }
    const auto ballast = static_cast<std::size_t>(std::atoi(std::string(setting("CRASH_BALLAST_MIB")).c_str())) << 20;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    if (ballast > 0) static_cast<void>(::mmap(nullptr, ballast, PROT_READ | PROT_WRITE, flags, -1, 0));
  }
  [[nodiscard]] bool due(std::string_view point) { return at == point && left.fetch_sub(1) == 1; }
  static void now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    char text[64];
    const int size = std::snprintf(text, sizeof text, "crash %lld\n", time.tv_sec * 1'000'000'000LL + time.tv_nsec);
    static_cast<void>(!::write(STDERR_FILENO, text, static_cast<std::size_t>(size)));
    const std::string_view how = setting("CRASH_BY");
    if (how == "kill") ::kill(::getpid(), SIGKILL);
    if (how == "stop") ::kill(::getpid(), SIGSTOP);
    while (how == "hang") ::pause();
    if (how == "pause") ::usleep(static_cast<useconds_t>(1000 * std::atoi(std::getenv("CRASH_PAUSE_MS"))));
  }
};

Crash& crash() {
  static Crash* const instance = new Crash; // threads may outlive static objects
  return *instance;
}
void reached(const std::string& point) {
  if (crash().due(point)) Crash::now();
}

} // namespace

#define REPLACES extern "C" [[gnu::visibility("default")]]

REPLACES void stand_in_reached(const char* point) { reached(point); }

REPLACES int connect(int socket, const sockaddr* address, socklen_t size) {
  const auto done = static_cast<int>(::syscall(SYS_connect, socket, address, size));
  if (done == 0 && address->sa_family == AF_UNIX) reached("connected");
  return done;
}

REPLACES ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const std::string kind(kind_of(*message, message->msg_iov[0].iov_len));
  reached("before-" + kind);
  if (crash().due("half-" + kind)) {
    iovec half = message->msg_iov[0];
    half.iov_len /= 2;
    const msghdr part{.msg_name = nullptr,
                      .msg_namelen = 0,
                      .msg_iov = &half,
                      .msg_iovlen = 1,
                      .msg_control = nullptr,
                      .msg_controllen = 0,
                      .msg_flags = 0};
    static_cast<void>(::syscall(SYS_sendmsg, socket, &part, flags));
    Crash::now();
  }
  const ssize_t sent = ::syscall(SYS_sendmsg, socket, message, flags);
  reached("after-" + kind);
  return sent;
}

REPLACES ssize_t recvmsg(int socket, msghdr* message, int flags) {
  const ssize_t came = ::syscall(SYS_recvmsg, socket, message, flags);
  if (came > 0) reached("received-" + std::string(kind_of(*message, static_cast<std::size_t>(came))));
  return came;
}
