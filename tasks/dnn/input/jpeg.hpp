// Checks the structure of a JPEG file before stb_image sees it, which believes its Huffman tables (CVE-2022-28042) and
// takes what is missing for black.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace rtexec::tasks {

[[nodiscard]] bool is_jpeg(std::span<const std::byte> file);

/// What is wrong with the segments of a JPEG file (ITU-T T.81, annex B), or nothing: all are whole, tables have at most
/// 256 codes, and an end marker follows the last scan.
[[nodiscard]] std::optional<std::string_view> jpeg_damage(std::span<const std::byte> file);

} // namespace rtexec::tasks
