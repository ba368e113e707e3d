// Messages between programs: their header is <rtexec/message.h>. Who reads one believes nothing of it that was not held
// against the size of its memory. Pure functions, for real-time threads too.
#pragma once

#include <rtexec/message.h>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace rtexec::channels {

struct Message {
  const rtexec_message* header = nullptr;
  std::span<const std::byte> payload;
};

/// What the elements of this type and shape take; nothing where the type is unknown, the rank too large, or the size
/// overflows.
[[nodiscard]] std::optional<Bytes> payload_size(const rtexec_message& header) noexcept;

/// The message that these bytes are. Nothing where its magic, version, type, rank or sizes are not of a message, or it
/// says that it is larger than the bytes.
[[nodiscard]] std::optional<Message> read_message(std::span<const std::byte> bytes) noexcept;

} // namespace rtexec::channels
