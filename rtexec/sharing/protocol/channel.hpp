// One end of a SOCK_SEQPACKET connection. A message has at most `longest_message` bytes and at most one file
// descriptor. A longer message, or a message with more descriptors, is refused as a whole, and all descriptors that
// came with it are closed.
//
// One thread sends, and one thread receives. No function waits unless the socket is blocking. No function allocates.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"
#include "rtexec/sharing/protocol/messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <sys/un.h>
#include <utility>

namespace rtexec::protocol {

struct Letter {
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::span(content).first(size); }
  std::array<std::byte, longest_message> content;
  std::size_t size = 0;
  config::Descriptor descriptor; // negative if the message has no descriptor
};

enum class Delivery : std::uint8_t {
  done,
  nothing, // receive: no message has come; send: the queue is full
  refused, // the received data is no message of this protocol
  closed,  // the other side has closed the connection, or the socket has failed
};

/// Returns the address of a socket at `path`. Returns bad_input if the path is too long for a socket address.
[[nodiscard]] Result<sockaddr_un> socket_address(const std::filesystem::path& path);

class Channel {
 public:
  /// Takes ownership of a connected socket.
  explicit Channel(config::Descriptor socket) noexcept : socket_(std::move(socket)) {}
  /// Connects to `path` on the client's side; blocks. Returns Errc::cancelled if no process listens, otherwise an error
  /// that names the failed call. `timeout` limits the duration of each later call. After the timeout, the call returns
  /// Delivery::nothing.
  [[nodiscard]] static Result<Channel> connect(const std::filesystem::path& path, std::optional<Duration> timeout = {});

  /// Sends one message. The caller keeps `descriptor`. A negative value means no descriptor.
  [[nodiscard]] Delivery send(std::span<const std::byte> bytes, int descriptor = -1) noexcept;
  template <Message M> [[nodiscard]] Delivery send(M message, int descriptor = -1) noexcept {
    return send(bytes_of(message), descriptor);
  }
  /// Receives one message into `letter`. If the result is not Delivery::done, `letter` has no descriptor.
  [[nodiscard]] Delivery receive(Letter& letter) noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

 private:
  config::Descriptor socket_;
};

} // namespace rtexec::protocol
