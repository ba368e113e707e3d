// The daemon's socket, in a directory that only its user, or also one group, may enter.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <string>

namespace rtexec::daemon {

/// Listens for clients at `directory`/socket; `group` may be empty. Returns refused if another daemon listens there, or
/// the directory belongs to another user, or others already use it.
[[nodiscard]] Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group);

} // namespace rtexec::daemon
