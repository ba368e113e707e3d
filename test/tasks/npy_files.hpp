// Writes .npy files for tests.
#pragma once

#include "tasks/media/npy.hpp"

namespace rtexec::tasks {

[[nodiscard]] inline Result<> write_floats(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                                           const std::vector<float>& values) {
  return write_npy(path, shape, ElementType::float32, std::as_bytes(std::span(values)));
}

} // namespace rtexec::tasks
