// Checks the structure of a PNG file before the library stb_image reads it. stb_image trusts the lengths of chunks and
// ignores their checksums.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/letterbox.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace rtexec::tasks {

[[nodiscard]] bool is_png(std::span<const std::byte> file);

/// Returns the size in the header of a PNG file, or a text with the defect of the file's chunks (ISO/IEC 15948, clause
/// 5). All chunks must lie within the file and have correct checksums. The header must be the first chunk, and an end
/// chunk must follow.
[[nodiscard]] Expected<Extent, std::string_view> inspect_png(std::span<const std::byte> file);

} // namespace rtexec::tasks
