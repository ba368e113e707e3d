// The keys `inputs` and `outputs` of a task: the sources of its input tensors, and the sinks of its output tensors.
#pragma once

#include "config/schema.hpp"
#include <rtexec/task_set.hpp>

#include <vector>

namespace rtexec::config {

[[nodiscard]] std::vector<Key<TaskInput>> task_input_keys();
[[nodiscard]] std::vector<Key<TaskOutput>> task_output_keys();

/// Returns the limit that a value of `preprocessing` breaks, such as "std = 0: ..."; empty if all values are valid.
[[nodiscard]] std::string problem_of(const Preprocessing& preprocessing);

/// Returns the keys and their values in the syntax of a file.
[[nodiscard]] std::string text_of(const Preprocessing& preprocessing);

/// Reports broken rules between the inputs and outputs of task `index` of `set`.
void check_channels(const TaskSet& set, std::size_t index, Report& report);

/// Resolves the paths of a task's inputs and outputs. Relative paths begin at `folder`, the folder of the task set's
/// file.
void resolve_channel_paths(Task& task, const std::filesystem::path& folder);

} // namespace rtexec::config
