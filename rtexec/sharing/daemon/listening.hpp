// The daemon's socket: in a folder of its user's alone, or of a group's too.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <string>

namespace rtexec::daemon {

/// Where clients connect to `directory`/socket; `group` may be empty. refused: another daemon listens there, or the
/// directory cannot be had as it is asked for.
[[nodiscard]] Result<config::Descriptor> listen_in(const std::filesystem::path& directory, const std::string& group);

} // namespace rtexec::daemon
