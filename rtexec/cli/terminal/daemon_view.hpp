// Shows the clients of an rtexecd for `rtexec ps` and `rtexec top`: as a table for people, and as JSON for scripts.
#pragma once

#include "rtexec/cli/terminal/status_view.hpp"
#include "rtexec/sharing/daemon/status.hpp"
#include "rtexec/cli/text/columns.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rtexec::command {

/// The usual directory of rtexecd's socket. The daemon's file may name another directory.
inline constexpr const char* usual_daemon = "/run/rtexec/daemon";

/// Returns the view, cut to the lines that fit. If there is an earlier status `before`, shows rates between the two
/// statuses.
[[nodiscard]] std::string view(const daemon::ServerStatus& status, const std::optional<daemon::ServerStatus>& before,
                               TaskOrder order, report::Room room, bool colours);

/// Returns the status. Durations are integers in nanoseconds (_ns), sizes are in bytes (_bytes). Rates are per
/// second, and null without `before`.
[[nodiscard]] nlohmann::json to_json(const daemon::ServerStatus& status,
                                     const std::optional<daemon::ServerStatus>& before);

} // namespace rtexec::command
