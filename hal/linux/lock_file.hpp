// Locks of this user's, held by a process until it ends: files that nobody else can open, in a folder that nobody else
// can write to.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"

#include <filesystem>
#include <optional>

namespace rtexec::hal {

/// Root's.
inline constexpr const char* lock_folder = "/run/rtexec";

/// refused: it cannot be made, or is not this user's alone.
[[nodiscard]] Result<> make_lock_folder(const std::filesystem::path& folder);
/// Nothing: another process, or this one, holds it.
[[nodiscard]] Result<std::optional<FileDescriptor>> lock_file(const std::filesystem::path& file);

} // namespace rtexec::hal
