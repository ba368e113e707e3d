// One end of a SOCK_SEQPACKET connection. A message has at most `longest_message` bytes and at most one file
// descriptor. A longer message, or one with more descriptors, is refused as a whole, and every descriptor that came
// with it is closed.
//
// One thread sends, and one receives. No function waits unless the socket blocks; no allocation.
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
  config::Descriptor descriptor; // negative: the message brought none
};

enum class Delivery : std::uint8_t {
  done,
  nothing, // receive: no message is there; send: the other side has not taken earlier messages, so its queue is full
  refused, // the received data are no message of this protocol
  closed,  // the other side has closed the connection, or the socket has failed
};

/// Returns the address of a socket at `path`. Returns bad_input if the path is too long for one.
[[nodiscard]] Result<sockaddr_un> socket_address(const std::filesystem::path& path);

class Channel {
 public:
  /// Takes ownership of a connected socket.
  explicit Channel(config::Descriptor socket) noexcept : socket_(std::move(socket)) {}
  /// Client's side: connects to `path`; blocks. Returns Errc::cancelled if nobody listens, otherwise an error that says
  /// which call was refused. `patience` is a timeout for each later call, which then returns Delivery::nothing.
  [[nodiscard]] static Result<Channel> connect(const std::filesystem::path& path,
                                               std::optional<Duration> patience = {});

  /// Sends one message. `descriptor` stays the caller's; negative: none.
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
