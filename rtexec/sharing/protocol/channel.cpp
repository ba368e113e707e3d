#include "rtexec/sharing/protocol/channel.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>

namespace rtexec::protocol {
namespace {

/// Maximum number of descriptors that are received with a message, although the protocol allows only one descriptor.
/// All other descriptors must be closed. The kernel closes the descriptors above this maximum.
constexpr std::size_t descriptors_seen = 16;
/// The size of the buffer for descriptors.
constexpr std::size_t control_bytes = CMSG_SPACE(descriptors_seen * sizeof(int));

/// Returns the first received descriptor, and closes all other descriptors. Sets `surplus` if there were other
/// descriptors.
config::Descriptor take_descriptors(msghdr& message, bool& surplus) noexcept {
  config::Descriptor first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      config::Descriptor taken(number);
      if (first.get() < 0) first = std::move(taken);
      else surplus = true;
    }
  }
  return first;
}

} // namespace

Result<sockaddr_un> socket_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.size() >= sizeof address.sun_path) return fail(Errc::bad_input, name + ": too long for a socket's path");
  std::ranges::copy(name, address.sun_path);
  return address;
}

Result<Channel> Channel::connect(const std::filesystem::path& path, std::optional<Duration> timeout) {
  const auto address = socket_address(path);
  if (!address) return Unexpected(address.error());
  config::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto failed = [&] {
    const bool nobody = errno == ENOENT || errno == ECONNREFUSED;
    return fail(nobody ? Errc::cancelled : Errc::refused, path.native() + ": " + std::strerror(errno));
  };
  if (socket.get() < 0) return failed();
  if (timeout) {
    const auto micros = std::chrono::ceil<std::chrono::microseconds>(*timeout).count();
    const timeval limit{.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
    for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
      if (::setsockopt(socket.get(), SOL_SOCKET, direction, &limit, sizeof limit) != 0) return failed();
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) return failed();
  return Channel(std::move(socket));
}

Delivery Channel::send(std::span<const std::byte> bytes, int descriptor) noexcept {
  iovec content{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  }
  for (;;) {
    const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes.size())) return Delivery::done;
    if (sent >= 0) return Delivery::closed;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return Delivery::nothing;
    if (errno != EINTR) return Delivery::closed;
  }
}

Delivery Channel::receive(Letter& letter) noexcept {
  letter.descriptor.reset();
  letter.size = 0;
  iovec content{letter.content.data(), letter.content.size()};
  alignas(cmsghdr) std::array<std::byte, control_bytes> control;
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t came = 0;
  do came = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  while (came < 0 && errno == EINTR);
  if (came < 0) return errno == EAGAIN ? Delivery::nothing : Delivery::closed;

  bool surplus = false;
  config::Descriptor descriptor = take_descriptors(message, surplus);
  if (surplus || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Delivery::refused;
  // The protocol has no empty message. Therefore an empty message means that the connection has ended.
  if (came == 0) return descriptor.get() < 0 ? Delivery::closed : Delivery::refused;
  letter.size = static_cast<std::size_t>(came);
  letter.descriptor = std::move(descriptor);
  return Delivery::done;
}

} // namespace rtexec::protocol
