// Lock files of this user. A process holds a lock until it ends. Nobody else can open the files or write to their
// folder.
#pragma once

#include <rtexec/result.hpp>
#include "hal/resources.hpp"

#include <filesystem>
#include <optional>

namespace rtexec::hal {

/// The folder of root's locks.
inline constexpr const char* lock_folder = "/run/rtexec";

/// Creates the folder. Returns refused if it cannot be created, or if other users own it or may write to it.
[[nodiscard]] Result<> make_lock_folder(const std::filesystem::path& folder);
/// Takes the lock. Returns nullopt if this process or another process holds the lock.
[[nodiscard]] Result<std::optional<FileDescriptor>> lock_file(const std::filesystem::path& file);

} // namespace rtexec::hal
