// The keys `inputs` and `outputs` of a task: the sources of its input tensors, and the sinks of its output tensors.
#pragma once

#include "config/schema.hpp"
#include <rtexec/task_set.hpp>

#include <vector>

namespace rtexec::config {

[[nodiscard]] std::vector<Key<TaskInput>> task_input_keys();
[[nodiscard]] std::vector<Key<TaskOutput>> task_output_keys();

/// Returns the limit that one of the values breaks, as "std = 0: ..."; empty if none does.
[[nodiscard]] std::string problem_of(const Preprocessing& preprocessing);

/// Returns the keys as a file spells them.
[[nodiscard]] std::string text_of(const Preprocessing& preprocessing);

/// Reports broken rules between these values of task `index` of `set`.
void check_channels(const TaskSet& set, std::size_t index, Report& report);

/// Resolves the paths of a file, which are relative to its `folder`.
void resolve_channel_paths(Task& task, const std::filesystem::path& folder);

} // namespace rtexec::config
