// Checks the structure of a JPEG file before stb_image sees it, which believes its Huffman tables (CVE-2022-28042) and
// takes what is missing for black.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/letterbox.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtexec::tasks {

[[nodiscard]] bool is_jpeg(std::span<const std::byte> file);

/// The size that the frame of a JPEG file has, or what is wrong with its segments (ITU-T T.81, annex B): all are whole,
/// tables have at most 256 codes, and an end marker follows the last scan.
[[nodiscard]] Expected<Extent, std::string_view> inspect_jpeg(std::span<const std::byte> file);

/// A copy of `file`, which inspect_jpeg() accepts, with the standard Huffman tables before its first scan: many cameras
/// leave them out. nullopt: the file has tables, or is progressive and needs its own.
[[nodiscard]] std::optional<std::string> with_huffman_tables(std::span<const std::byte> file);

} // namespace rtexec::tasks
