// Paths that rtexec writes to. Each component of a path is opened separately, so that a symbolic link of another user
// cannot redirect the output. Every symbolic link in the path must belong to root or to the caller. Set-up and tools
// only.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace rtexec::config {

/// A name in an open folder. A later renaming of folders does not change the folder.
struct OutputPath {
  std::filesystem::path path;         // without symbolic links
  Descriptor folder;                  // O_PATH
  std::string name;                   // name of the file in `folder`
  std::optional<struct stat> found{}; // nullopt: there is no file of this name yet
};

/// Follows the symbolic links of `path`, even if the last link leads to a file that does not exist yet. Returns refused
/// if a folder of the path does not exist, or if a link belongs to another user.
[[nodiscard]] Result<OutputPath> find_output(const std::filesystem::path& path);

/// Returns the error for an existing output file that is neither a regular file nor a device that discards all output.
[[nodiscard]] Unexpected<Error> not_an_output(const std::filesystem::path& path, const struct stat& found);

/// True for /dev/null and /dev/full.
[[nodiscard]] bool discards_output(const struct stat& found);

/// Opens a regular file, /dev/null or /dev/full with `flags` and `mode` of open(2). Never waits for the other end of a
/// pipe. Returns bad_input if the file is of another kind. Returns refused for the reasons of find_output(), or if
/// open(2) fails.
[[nodiscard]] Result<Descriptor> open_output(const std::filesystem::path& path, int flags, mode_t mode = 0666);

/// Creates the folder and its missing parent folders. Returns the folder's path without symbolic links. Returns refused
/// for the reasons of find_output(), or if mkdir(2) fails.
[[nodiscard]] Result<std::filesystem::path> make_output_folder(const std::filesystem::path& folder);

/// Returns the file descriptor that the path denotes: N for "/dev/fd/N" and "/proc/self/fd/N", 1 for "/dev/stdout" and
/// 2 for "/dev/stderr". The process inherited this open descriptor, which may be a pipe. Returns nullopt for any other
/// path.
[[nodiscard]] std::optional<int> inherited_descriptor(const std::filesystem::path& path);

} // namespace rtexec::config
