// Draws what was recognised onto the picture, and writes it as PNG or JPEG. For tools: allocates.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/picture.hpp"
#include "tasks/media/network_output.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Each box, in picture pixels (Letterbox::to_picture), in the colour of its class, with class number and score. What
/// lies outside is left out, and so are boxes whose edges are no finite numbers.
void draw(Picture& picture, std::span<const Box> boxes);
/// A line for each class, from the top left corner.
void draw(Picture& picture, std::span<const RankedClass> classes);

/// The file appears whole or not at all. Errors name it and the reason.
[[nodiscard]] Result<> write_png(const Picture& picture, const std::filesystem::path& path);

/// Replaces what is in `file`, whose memory is used again. Colours keep their full resolution, as lines of boxes need.
void encode_jpeg(const Picture& picture, std::vector<std::byte>& file);

} // namespace rtexec::tasks
