// The daemon's socket. The socket is in a directory that only the daemon's user and, if configured, one group may
// enter.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <string>

namespace rtexec::daemon {

/// Listens for clients at `directory`/socket. `group` may be empty. Returns refused if another daemon listens there.
/// Returns refused if the directory belongs to another user, or if other programs use it. A directory with another mode
/// and other files counts as used by other programs.
[[nodiscard]] Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group);

} // namespace rtexec::daemon
