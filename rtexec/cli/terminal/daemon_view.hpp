// The clients of an rtexecd as `rtexec ps` and `rtexec top` show them: as a table for people, as JSON for scripts.
#pragma once

#include "rtexec/cli/terminal/status_view.hpp"
#include "rtexec/sharing/daemon/status.hpp"
#include "rtexec/cli/text/columns.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rtexec::command {

/// The directory of rtexecd's socket, unless its file names another one.
inline constexpr const char* usual_daemon = "/run/rtexec/daemon";

/// Returns as many lines as fit. With an earlier status in `before`, also shows rates since then.
[[nodiscard]] std::string view(const daemon::ServerStatus& status, const std::optional<daemon::ServerStatus>& before,
                               TaskOrder order, report::Room room, bool colours);

/// Durations are integers in nanoseconds (_ns), sizes in bytes (_bytes); rates per second, null without `before`.
[[nodiscard]] nlohmann::json to_json(const daemon::ServerStatus& status,
                                     const std::optional<daemon::ServerStatus>& before);

} // namespace rtexec::command
