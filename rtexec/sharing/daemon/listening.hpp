// The daemon's socket. It is in a directory that only the daemon's user may enter and, if configured, one group.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <string>

namespace rtexec::daemon {

/// Listens for clients at `directory`/socket. `group` may be empty. Returns refused if another daemon listens there.
/// Returns refused if the directory belongs to another user, or other programs use it (it has another mode, and other
/// files are in it).
[[nodiscard]] Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group);

} // namespace rtexec::daemon
