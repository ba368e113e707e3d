#include "hal/core_claim.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

namespace rtexec::hal {

Result<CoreClaim> CoreClaim::take(std::span<const unsigned> cores) {
  CoreClaim claim;
  std::string held_by_others;
  for (const unsigned core : cores) {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) return call_failed("claiming core " + std::to_string(core) + ": socket", errno);
    // A name that begins with a zero byte is no file: the kernel forgets it with its last user.
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string name = "rtexec-core-" + std::to_string(core);
    std::ranges::copy(name, address.sun_path + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
      if (errno != EADDRINUSE) return call_failed("claiming core " + std::to_string(core) + ": bind", errno);
      held_by_others += (held_by_others.empty() ? "" : ", ") + std::to_string(core);
    }
    claim.held_.push_back(std::move(socket));
  }
  if (!held_by_others.empty())
    return fail(Errc::refused,
                "another run of rtexec uses core " + held_by_others +
                    ": neither would keep its promise.\nWait for it to end, or give the runs cores of their own.");
  return claim;
}

} // namespace rtexec::hal
