// Records the tree of a board: the files below /sys and /proc that rtexec reads, in a folder that stands in for the
// board (`rtexec probe --root`). Set-up code.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <cstddef>
#include <filesystem>

namespace rtexec::bringup {

/// The list of files that could not be recorded, one on each line with the reason.
inline constexpr const char* unrecorded_file = "not-recorded.txt";

struct Recording {
  std::size_t recorded = 0, unrecorded = 0; // numbers of files
};

/// Records text of at most 64 KiB a file, and the kernel's configuration. Follows no link out of /sys and /proc, and
/// reads nothing that identifies one board among others of its kind. `folder` must exist and be empty. Returns refused
/// if it cannot be written.
[[nodiscard]] Result<Recording> record(const Board& board, const hal::Machine& machine,
                                       const std::filesystem::path& folder);

} // namespace rtexec::bringup
