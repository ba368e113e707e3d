// Paths that rtexec writes to. Each component of a path is opened by itself, so that a symbolic link of another user
// cannot redirect the output. A link anywhere in the path must belong to root or to the caller. Set-up and tools only.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace rtexec::config {

/// A name in an open folder. The folder stays the same, whatever is renamed afterwards.
struct OutputPath {
  std::filesystem::path path;         // without symbolic links
  Descriptor folder;                  // O_PATH
  std::string name;                   // in the folder
  std::optional<struct stat> found{}; // nullopt: nothing has this name yet
};

/// Follows the symbolic links of `path`, even if the last one leads to a file that does not exist yet. Returns refused
/// if a folder of the path does not exist, or a link belongs to another user.
[[nodiscard]] Result<OutputPath> find_output(const std::filesystem::path& path);

/// Returns the error for an existing output file that is neither a regular file nor a device that discards all output.
[[nodiscard]] Unexpected<Error> not_an_output(const std::filesystem::path& path, const struct stat& found);

/// True for /dev/null and /dev/full.
[[nodiscard]] bool discards_output(const struct stat& found);

/// Opens a regular file, /dev/null or /dev/full with `flags` and `mode` of open(2). Never waits for the other end of a
/// pipe. Returns bad_input if the file is of another kind, and refused as find_output() does or if open(2) fails.
[[nodiscard]] Result<Descriptor> open_output(const std::filesystem::path& path, int flags, mode_t mode = 0666);

/// Makes the folder and its parent folders, unless they exist. Returns its path without symbolic links. Returns refused
/// as find_output() does or if mkdir(2) fails.
[[nodiscard]] Result<std::filesystem::path> make_output_folder(const std::filesystem::path& folder);

/// Returns the descriptor that the path stands for: N for "/dev/fd/N" and "/proc/self/fd/N", 1 for "/dev/stdout" and 2
/// for "/dev/stderr". It is an open descriptor that the process inherited, and may be a pipe. Returns nullopt for any
/// other path.
[[nodiscard]] std::optional<int> inherited_descriptor(const std::filesystem::path& path);

} // namespace rtexec::config
