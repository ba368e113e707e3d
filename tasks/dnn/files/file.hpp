// Whole files of bytes. Set-up and tools only.
#pragma once

#include "config/files.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace rtexec::tasks {

/// Errors (bad_input) name the file and the reason; a file above `limit` bytes is refused.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit);

} // namespace rtexec::tasks
