#include "rtexec/runtime/watches/service_manager.hpp"

#include "config/base/text.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rtexec::executive {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Unexpected<Error> refused(const std::string& what) { return fail(Errc::refused, "NOTIFY_SOCKET: " + what); }

/// Returns the manager's timeout for this process, or nullopt if the manager sets none. A child process inherits the
/// environment variables, but WATCHDOG_PID names the process to which the timeout applies.
std::optional<Duration> requested_timeout() {
  const auto microseconds = config::number<std::int64_t>(variable("WATCHDOG_USEC"));
  const std::string_view process = variable("WATCHDOG_PID");
  if (!microseconds || *microseconds <= 0 || (!process.empty() && config::number<pid_t>(process) != ::getpid()))
    return std::nullopt;
  return std::chrono::microseconds(*microseconds);
}

} // namespace

Result<std::optional<ServiceManager>> ServiceManager::of_environment() {
  const std::string_view name = variable("NOTIFY_SOCKET");
  if (name.empty()) return std::optional<ServiceManager>();
  if ((name[0] != '/' && name[0] != '@') || name.size() < 2 || name.size() >= sizeof(sockaddr_un::sun_path))
    return refused("'" + std::string(name) + "' must be the path of a socket, or \"@\" and an abstract name");
  ServiceManager manager;
  manager.address_ = name;
  if (name[0] == '@') manager.address_[0] = '\0';
  manager.timeout_ = requested_timeout();
  manager.socket_ = config::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (manager.socket_.get() < 0) return refused(std::string("no socket: ") + std::strerror(errno));
  if (const auto told = manager.tell("STATUS=Setting up"); !told)
    return fail(Errc::refused, told.error().what + "\nUnset NOTIFY_SOCKET if no service manager watches this program.");
  return std::optional(std::move(manager));
}

Result<> ServiceManager::tell(const std::string& lines) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  ssize_t sent = 0;
  do
    sent = ::sendto(socket_.get(), lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), size);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {};
  return refused("the service manager cannot be notified: " + std::string(std::strerror(errno)));
}

} // namespace rtexec::executive
