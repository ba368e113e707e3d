// Messages between programs, with the header of <rtexec/message.h>. A reader uses a field only after checking the field
// against the size of the memory. Pure functions, also for real-time threads.
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

/// Returns the size of the whole payload in bytes, computed from the type and shape in `header`. Returns nullopt if the
/// type is unknown, the rank too large, or the size overflows.
[[nodiscard]] std::optional<Bytes> payload_size(const rtexec_message& header) noexcept;

/// Returns the message in `bytes`. Returns nullopt if its magic, version, type, rank or sizes are invalid, or if the
/// size in its header exceeds `bytes`.
[[nodiscard]] std::optional<Message> read_message(std::span<const std::byte> bytes) noexcept;

} // namespace rtexec::channels
