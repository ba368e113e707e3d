// The daemon's socket. The socket is in a directory that only the daemon's user and, if configured, one group may
// enter.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <string>

namespace rtexec::daemon {

/// Listens for clients at `directory`/socket. `group` may be empty. Returns refused if another daemon listens there.
/// Returns refused if the directory belongs to another user, or if other programs seem to use it. Other programs seem
/// to use a directory if two conditions hold: its mode is not the mode that the daemon sets (0700, or 0750 with a
/// group), and it contains a file that is not named `socket`.
[[nodiscard]] Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group);

} // namespace rtexec::daemon
