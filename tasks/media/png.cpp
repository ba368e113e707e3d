#include "tasks/media/png.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace rtexec::tasks {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";

/// Returns the table of CRC remainders of each byte, for the checksums of chunks (ISO/IEC 15948, annex D).
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0u);
    table[byte] = rest;
  }
  return table;
}

std::uint32_t crc(Bytes bytes) {
  static constexpr std::array table = crc_table();
  std::uint32_t rest = ~0u;
  for (const std::byte byte : bytes) rest = rest >> 8 ^ table[(rest ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~rest;
}

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::uint32_t word(Bytes bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | static_cast<std::uint32_t>(byte);
  return value;
}

} // namespace

bool is_png(Bytes file) { return text(file).starts_with(kSignature); }

Expected<Extent, std::string_view> inspect_png(Bytes file) {
  constexpr std::size_t kType = 4, kHead = 8, kChecksum = 4; // offsets and sizes within a chunk
  constexpr std::uint32_t kHeader = 13, kMost = std::numeric_limits<std::int32_t>::max();
  Extent size;
  for (Bytes rest = file.subspan(kSignature.size());;) {
    if (rest.size() < kHead + kChecksum || word(rest) > rest.size() - kHead - kChecksum)
      return Unexpected("is a truncated PNG picture, or one with a chunk of a wrong length");
    const std::uint32_t length = word(rest);
    const std::string_view type = text(rest.subspan(kType, 4));
    const Bytes data = rest.subspan(kHead, length);
    if (word(rest.subspan(kHead + length)) != crc(rest.subspan(kType, 4 + length)))
      return Unexpected("is a damaged PNG picture: a checksum is wrong");
    if (size.width == 0) {
      if (type != "IHDR" || length != kHeader) return Unexpected("is a damaged PNG picture: its header is missing");
      const std::uint32_t width = word(data), height = word(data.subspan(4));
      if (width == 0 || height == 0 || width > kMost || height > kMost)
        return Unexpected("is a damaged PNG picture: its header has no size");
      size = {static_cast<int>(width), static_cast<int>(height)};
    }
    if (type == "IEND") return size;
    rest = rest.subspan(kHead + length + kChecksum);
  }
}

} // namespace rtexec::tasks
