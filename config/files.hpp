// Reading and replacing small text files, whole.
#pragma once

#include "config/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace rtexec::config {

/// The content of `file`, of which at most `limit` + 1 bytes are read: enough to see that it is too large.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file, std::size_t limit);

/// Writes beside `file`, syncs, and renames: whatever fails, `file` holds either its old content or `content`, whole.
[[nodiscard]] Result<> replace_file(const std::filesystem::path& file, std::string_view content);

} // namespace rtexec::config
