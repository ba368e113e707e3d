// The file of a picture, as PictureDecoder takes it.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <string>

namespace rtexec::tasks {

/// A JPEG without Huffman tables gets the standard ones. bad_input: the file cannot be read, or has more than
/// kLargestPictureFile bytes.
[[nodiscard]] Result<std::string> read_compressed(const std::filesystem::path& path);

} // namespace rtexec::tasks
