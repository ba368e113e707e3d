// The clients of an rtexecd as `rtexec ps` and `rtexec top` show them: as a table for people, as JSON for scripts.
#pragma once

#include "rtexec/cli/terminal/status_view.hpp"
#include "rtexec/sharing/daemon/status.hpp"
#include "rtexec/cli/text/columns.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rtexec::command {

/// Where rtexecd listens unless its file says otherwise.
inline constexpr const char* usual_daemon = "/run/rtexec/daemon";

/// Lines that have room. With what was so `before`, rates since then stand beside.
[[nodiscard]] std::string view(const daemon::ServerStatus& status, const std::optional<daemon::ServerStatus>& before,
                               TaskOrder order, report::Room room, bool colours);

/// Durations are integers in nanoseconds (_ns), sizes in bytes (_bytes); rates per second, null without `before`.
[[nodiscard]] nlohmann::json to_json(const daemon::ServerStatus& status,
                                     const std::optional<daemon::ServerStatus>& before);

} // namespace rtexec::command
