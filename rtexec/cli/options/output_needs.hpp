// The files that a set's [output] names, as requirements of a run.
#pragma once

#include <rtexec/task_set.hpp>
#include "rtexec/runtime/executive/needs.hpp"

#include <vector>

namespace rtexec::command {

/// Tries whether `rtexec run` could write each of the files. Changes none.
[[nodiscard]] std::vector<executive::Need> find_output_needs(const OutputOptions& output);

} // namespace rtexec::command
