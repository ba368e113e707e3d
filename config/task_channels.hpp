// The keys `inputs` and `outputs` of a task: where its input tensors come from, and where its output tensors go.
#pragma once

#include "config/schema.hpp"
#include <rtexec/task_set.hpp>

#include <vector>

namespace rtexec::config {

[[nodiscard]] std::vector<Key<TaskInput>> task_input_keys();
[[nodiscard]] std::vector<Key<TaskOutput>> task_output_keys();

/// Returns the limit that one of the values breaks, such as "std = 0: ..."; empty if none does.
[[nodiscard]] std::string problem_of(const Preprocessing& preprocessing);

/// Returns the keys and their values as a file spells them.
[[nodiscard]] std::string text_of(const Preprocessing& preprocessing);

/// Reports broken rules between the inputs and outputs of task `index` of `set`.
void check_channels(const TaskSet& set, std::size_t index, Report& report);

/// Resolves the paths of a task's inputs and outputs. Relative ones begin at `folder`, the folder of its file.
void resolve_channel_paths(Task& task, const std::filesystem::path& folder);

} // namespace rtexec::config
