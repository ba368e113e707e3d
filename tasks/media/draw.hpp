// Draws detected boxes and classes onto a picture, and writes the picture as PNG or JPEG. The functions allocate
// memory; use them only in tools.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/picture.hpp"
#include "tasks/media/network_output.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Draws each box in the colour of its class, with class number and score. Coordinates are pixels of the picture
/// (Letterbox::to_picture). Clips boxes at the picture's edges, and skips boxes with edges that are not finite.
void draw(Picture& picture, std::span<const Box> boxes);
/// Draws a line of text for each class. The first line is at the top left corner.
void draw(Picture& picture, std::span<const RankedClass> classes);

/// Writes a PNG file. The file appears complete or not at all. Errors name the file and the reason.
[[nodiscard]] Result<> write_png(const Picture& picture, const std::filesystem::path& path);

/// Writes a JPEG into the vector `file`. Replaces the contents of the vector and reuses its memory. Colours keep their
/// full resolution, which the thin lines of boxes need.
void encode_jpeg(const Picture& picture, std::vector<std::byte>& file);

} // namespace rtexec::tasks
