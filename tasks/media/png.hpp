// Checks the structure of a PNG file before stb_image sees it, which believes the lengths of its chunks and skips their
// checksums.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/letterbox.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace rtexec::tasks {

[[nodiscard]] bool is_png(std::span<const std::byte> file);

/// The size that the header of a PNG file says, or what is wrong with its chunks (ISO/IEC 15948, clause 5): all lie
/// within the file and have their checksums, the header is the first of them, and the end mark follows.
[[nodiscard]] Expected<Extent, std::string_view> inspect_png(std::span<const std::byte> file);

} // namespace rtexec::tasks
