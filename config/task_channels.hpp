// The keys `inputs` and `outputs` of a task: where the values of its tensors come from, and where they go.
#pragma once

#include "config/schema.hpp"
#include <rtexec/task_set.hpp>

#include <vector>

namespace rtexec::config {

[[nodiscard]] std::vector<Key<TaskInput>> task_input_keys();
[[nodiscard]] std::vector<Key<TaskOutput>> task_output_keys();

/// "std = 0: ...": the limit that one of its values breaks; empty: none.
[[nodiscard]] std::string problem_of(const Preprocessing& preprocessing);

/// Its keys, as a file has them.
[[nodiscard]] std::string text_of(const Preprocessing& preprocessing);

/// Rules between these values, of the task `index` of `set`.
void check_channels(const TaskSet& set, std::size_t index, Report& report);

/// Paths in a file are meant from `folder`.
void resolve_channel_paths(Task& task, const std::filesystem::path& folder);

} // namespace rtexec::config
