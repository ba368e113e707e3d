// Reads compressed picture files for PictureDecoder.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <string>

namespace rtexec::tasks {

/// Returns the contents of a picture file. Inserts the standard Huffman tables into a JPEG that has none. Returns
/// bad_input if the file cannot be read, or has more than kLargestPictureFile bytes.
[[nodiscard]] Result<std::string> read_compressed(const std::filesystem::path& path);

} // namespace rtexec::tasks
