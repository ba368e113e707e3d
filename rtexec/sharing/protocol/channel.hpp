// One end of a SOCK_SEQPACKET connection: messages of at most `longest_message` bytes, each with at most one file
// descriptor. What comes is taken whole or not at all: a message that is longer, or that brings more descriptors, is
// refused, and every descriptor that came with it is closed.
//
// One thread sends, and one receives. Nothing here waits unless the socket blocks; no allocation.
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
  config::Descriptor descriptor; // none: it brought none
};

enum class Delivery : std::uint8_t {
  done,
  nothing, // receiving: none is there; sending: the other side does not take what was sent before
  refused, // what came is not a message of ours
  closed,  // the other side has gone, or the socket has failed
};

/// Of a socket at `path`. bad_input: it is too long for one.
[[nodiscard]] Result<sockaddr_un> socket_address(const std::filesystem::path& path);

class Channel {
 public:
  /// Takes a connected socket over.
  explicit Channel(config::Descriptor socket) noexcept : socket_(std::move(socket)) {}
  /// Client's side: connects to `path`; blocks. The error says what was refused; Errc::cancelled: nobody listens. With
  /// `patience` no call takes longer: what is not there then is Delivery::nothing.
  [[nodiscard]] static Result<Channel> connect(const std::filesystem::path& path,
                                               std::optional<Duration> patience = {});

  /// `descriptor` is lent; negative: none.
  [[nodiscard]] Delivery send(std::span<const std::byte> bytes, int descriptor = -1) noexcept;
  template <Message M> [[nodiscard]] Delivery send(M message, int descriptor = -1) noexcept {
    return send(bytes_of(message), descriptor);
  }
  /// `letter` is what came where it is done, and has no descriptor where it is not.
  [[nodiscard]] Delivery receive(Letter& letter) noexcept;
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

 private:
  config::Descriptor socket_;
};

} // namespace rtexec::protocol
