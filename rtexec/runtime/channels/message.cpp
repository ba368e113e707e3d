#include "rtexec/runtime/channels/message.hpp"

#include <bit>

namespace rtexec::channels {

static_assert(std::endian::native == std::endian::little, "messages are little endian");
static_assert(sizeof(rtexec_message) == RTEXEC_MESSAGE_HEADER && offsetof(rtexec_message, bytes) == 8 &&
              offsetof(rtexec_message, job) == 32 && offsetof(rtexec_message, shape) == 64);

namespace {

std::uint64_t element_size(std::uint8_t element) noexcept {
  switch (element) {
  case RTEXEC_ELEMENT_UINT8:
  case RTEXEC_ELEMENT_BOOLEAN:
  case RTEXEC_ELEMENT_INT8: return 1;
  case RTEXEC_ELEMENT_UINT16:
  case RTEXEC_ELEMENT_INT16:
  case RTEXEC_ELEMENT_FLOAT16: return 2;
  case RTEXEC_ELEMENT_UINT32:
  case RTEXEC_ELEMENT_INT32:
  case RTEXEC_ELEMENT_FLOAT32: return 4;
  case RTEXEC_ELEMENT_UINT64:
  case RTEXEC_ELEMENT_INT64:
  case RTEXEC_ELEMENT_FLOAT64: return 8;
  default: return 0;
  }
}

} // namespace

std::optional<Bytes> payload_size(const rtexec_message& header) noexcept {
  std::uint64_t size = element_size(header.element);
  if (size == 0 || header.rank > RTEXEC_MESSAGE_RANK) return std::nullopt;
  for (std::uint8_t i = 0; i < header.rank; ++i)
    if (__builtin_mul_overflow(size, header.shape[i], &size)) return std::nullopt;
  return Bytes{size};
}

std::optional<Message> read_message(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < RTEXEC_MESSAGE_HEADER) return std::nullopt;
  const auto& header = *reinterpret_cast<const rtexec_message*>(bytes.data());
  if (header.magic != RTEXEC_MESSAGE_MAGIC || header.version != RTEXEC_MESSAGE_VERSION) return std::nullopt;
  const std::uint64_t size = header.bytes; // read only once, because the writer may still change it
  if (size > bytes.size() - RTEXEC_MESSAGE_HEADER || payload_size(header) != Bytes{size}) return std::nullopt;
  return Message{.header = &header, .payload = bytes.subspan(RTEXEC_MESSAGE_HEADER, size)};
}

} // namespace rtexec::channels
