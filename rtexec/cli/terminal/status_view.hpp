// Shows a running executive for `rtexec top`, from its status page: as a table for people, and as JSON for scripts.
#pragma once

#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/cli/text/columns.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::command {

enum class TaskOrder { as_listed, by_misses, by_closeness, by_device };
[[nodiscard]] TaskOrder next(TaskOrder order);

/// Returns the view, cut to the lines that fit, with or without colours.
[[nodiscard]] std::string view(const executive::Snapshot& snapshot, unsigned process, TaskOrder order,
                               report::Room room, bool colours);

/// Returns the status. Durations are integers in nanoseconds (_ns), sizes are in bytes (_bytes), and shares are
/// fractions of 1.
[[nodiscard]] nlohmann::json to_json(const executive::Snapshot& snapshot, unsigned process);

} // namespace rtexec::command
