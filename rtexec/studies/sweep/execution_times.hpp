// Execution times that somebody else measured, one a line.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <vector>

namespace rtexec::study {

/// In nanoseconds or with a unit ("1.5ms"); what follows a # is a comment. bad_input names the line. In nanoseconds.
[[nodiscard]] Result<std::vector<double>> read_execution_times(const std::filesystem::path& file);

} // namespace rtexec::study
