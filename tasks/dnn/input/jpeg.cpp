#include "tasks/dnn/input/jpeg.hpp"

#include <cstdint>
#include <numeric>

namespace rtexec::tasks {
namespace {

enum Marker : std::uint8_t {
  kEscaped = 0x00,    // a byte 0xff of a scan's data
  kFirstFrame = 0xc0, // baseline, extended,
  kLastFrame = 0xc2,  // progressive: what stb_image decodes
  kHuffmanTables = 0xc4,
  kFirstRestart = 0xd0,
  kLastRestart = 0xd7,
  kStart = 0xd8,
  kEnd = 0xd9,
  kScan = 0xda,
  kPrefix = 0xff,
};

using Bytes = std::span<const std::byte>;

std::uint8_t at(Bytes bytes, std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); }

bool huffman_tables_fit(Bytes tables) {
  constexpr std::size_t kLengths = 16, kMostCodes = 256;
  while (!tables.empty()) {
    if (tables.size() < 1 + kLengths) return false;
    const auto counts = tables.subspan(1, kLengths);
    const std::size_t codes =
        std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                        [](std::size_t sum, std::byte count) { return sum + static_cast<std::size_t>(count); });
    if (codes > kMostCodes || tables.size() < 1 + kLengths + codes) return false;
    tables = tables.subspan(1 + kLengths + codes);
  }
  return true;
}

/// Of a frame's header: length, precision, height, width.
Extent size_of(Bytes frame) {
  if (frame.size() < 7) return {};
  const auto word = [&](std::size_t i) { return at(frame, i) << 8 | at(frame, i + 1); };
  return {word(5), word(3)};
}

/// Where the data of a scan end: at the next marker that is neither an escaped byte nor a restart.
std::size_t end_of_scan(Bytes file, std::size_t i) {
  for (; i + 1 < file.size(); ++i) {
    const std::uint8_t next = at(file, i + 1);
    const bool inside = next == kEscaped || next == kPrefix || (next >= kFirstRestart && next <= kLastRestart);
    if (at(file, i) == kPrefix && !inside) return i;
  }
  return file.size();
}

} // namespace

bool is_jpeg(Bytes file) { return file.size() >= 2 && at(file, 0) == kPrefix && at(file, 1) == kStart; }

Expected<Extent, std::string_view> inspect_jpeg(Bytes file) {
  const auto truncated = [] { return Unexpected("is a truncated JPEG picture"); };
  Extent size;
  for (std::size_t i = 2;;) {
    if (i >= file.size()) return truncated();
    if (at(file, i) != kPrefix) return Unexpected("is a damaged JPEG picture: no marker where a segment ends");
    while (i < file.size() && at(file, i) == kPrefix) ++i; // any number of them may precede a marker
    if (i >= file.size()) return truncated();
    const std::uint8_t marker = at(file, i++);
    if (marker == kEnd) break;
    if (i + 2 > file.size()) return truncated();
    const std::size_t length = std::size_t{at(file, i)} << 8 | at(file, i + 1);
    if (length < 2) return Unexpected("is a damaged JPEG picture: a segment shorter than its own header");
    if (i + length > file.size()) return truncated();
    if (marker == kHuffmanTables && !huffman_tables_fit(file.subspan(i + 2, length - 2)))
      return Unexpected("is a damaged JPEG picture: a Huffman table that does not fit its segment");
    if (marker >= kFirstFrame && marker <= kLastFrame && size.width == 0) size = size_of(file.subspan(i, length));
    i += length;
    if (marker == kScan) i = end_of_scan(file, i);
  }
  if (size.width == 0 || size.height == 0)
    return Unexpected("is a JPEG picture without a frame that can be read: save it as baseline or progressive");
  return size;
}

} // namespace rtexec::tasks
