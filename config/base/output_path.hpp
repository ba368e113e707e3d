// Paths that rtexec writes to. Each component is opened by itself, so that no symbolic link of another user leads what
// the caller writes elsewhere: a link must belong to root or to the caller, wherever in the path it is. Set-up and
// tools only.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace rtexec::config {

/// A name in an open folder. The folder stays the one that was found, whatever is renamed afterwards.
struct OutputPath {
  std::filesystem::path path;         // without symbolic links
  Descriptor folder;                  // O_PATH
  std::string name;                   // in the folder
  std::optional<struct stat> found{}; // nullopt: nothing has this name yet
};

/// Follows the symbolic links of `path`, also one to a file that does not exist yet. Returns refused if a folder of the
/// path does not exist, or a link belongs to another user.
[[nodiscard]] Result<OutputPath> find_output(const std::filesystem::path& path);

/// Returns the error for an output that exists and is neither a regular file nor a device that discards what is
/// written.
[[nodiscard]] Unexpected<Error> not_an_output(const std::filesystem::path& path, const struct stat& found);

/// True for /dev/null and /dev/full.
[[nodiscard]] bool discards_output(const struct stat& found);

/// Opens a regular file, /dev/null or /dev/full with `flags` and `mode` of open(2). Never waits for the other end of a
/// pipe. Returns bad_input if the file is of another kind, and refused as find_output() does or if open(2) fails.
[[nodiscard]] Result<Descriptor> open_output(const std::filesystem::path& path, int flags, mode_t mode = 0666);

/// Makes the folder and those above it, unless they exist. Returns its path without symbolic links. Returns refused as
/// find_output() does or if mkdir(2) fails.
[[nodiscard]] Result<std::filesystem::path> make_output_folder(const std::filesystem::path& folder);

/// Returns N of "/dev/fd/N" and "/proc/self/fd/N", and the descriptor of "/dev/stdout" and "/dev/stderr": an open
/// descriptor that the caller's parent passed on, which may be a pipe. Returns nullopt for another path.
[[nodiscard]] std::optional<int> inherited_descriptor(const std::filesystem::path& path);

} // namespace rtexec::config
