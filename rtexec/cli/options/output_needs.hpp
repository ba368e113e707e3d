// Checks the files that a set names in [output], as requirements of a run.
#pragma once

#include <rtexec/task_set.hpp>
#include "rtexec/runtime/executive/requirements.hpp"

#include <vector>

namespace rtexec::command {

/// Checks if `rtexec run` could write each of the files, and returns the results. Changes no file.
[[nodiscard]] std::vector<executive::Requirement> find_output_needs(const OutputOptions& output);

} // namespace rtexec::command
