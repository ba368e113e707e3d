// Reads measured execution times from a file with one time per line.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <vector>

namespace rtexec::study {

/// Reads the times, in nanoseconds. A line contains a number of nanoseconds, or a number with a unit ("1.5ms"). A #
/// begins a comment. Returns bad_input with the number of the malformed line.
[[nodiscard]] Result<std::vector<double>> read_execution_times(const std::filesystem::path& file);

} // namespace rtexec::study
