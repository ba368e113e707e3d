#include "tasks/media/compressed_picture.hpp"

#include "config/base/files.hpp"
#include "tasks/media/jpeg.hpp"
#include "tasks/media/picture.hpp"

#include <span>

namespace rtexec::tasks {

Result<std::string> read_compressed(const std::filesystem::path& path) {
  auto content = config::read_file(path, kLargestPictureFile);
  if (!content) return content;
  const auto bytes = std::as_bytes(std::span(*content));
  if (is_jpeg(bytes) && inspect_jpeg(bytes))
    if (auto whole = with_huffman_tables(bytes)) return std::move(*whole);
  return content;
}

} // namespace rtexec::tasks
