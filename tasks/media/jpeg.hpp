// Checks the structure of a JPEG file before the library stb_image reads it. stb_image trusts Huffman tables without a
// check (CVE-2022-28042), and decodes missing data as black.
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

/// Returns the size of the picture in a JPEG file, or a text with the defect of the file's segments (ITU-T T.81, annex
/// B). All segments must be complete, tables must have at most 256 codes, and an end marker must follow the last scan.
[[nodiscard]] Expected<Extent, std::string_view> inspect_jpeg(std::span<const std::byte> file);

/// Returns a copy of `file` with the standard Huffman tables before its first scan. Many cameras omit these tables.
/// Requires that inspect_jpeg() accepts `file`. Returns nullopt if the file has tables, or is progressive and needs its
/// own tables.
[[nodiscard]] std::optional<std::string> with_huffman_tables(std::span<const std::byte> file);

} // namespace rtexec::tasks
