// The tree of a board: what its kernel shows below /sys and /proc of what rtexec asks for, as files of a folder that
// stands in for the board (`rtexec probe --root`). Set-up code.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <cstddef>
#include <filesystem>

namespace rtexec::bringup {

/// What could not be recorded, a file and the reason on each line.
inline constexpr const char* unrecorded_file = "not-recorded.txt";

struct Recording {
  std::size_t recorded = 0, unrecorded = 0; // files
};

/// Text of at most 64 KiB a file, and the kernel's configuration; no link out of /sys and /proc is followed, and
/// nothing is read that identifies one board among others of its kind. `folder` is there and empty. refused: it cannot
/// be written.
[[nodiscard]] Result<Recording> record(const Board& board, const hal::Machine& machine,
                                       const std::filesystem::path& folder);

} // namespace rtexec::bringup
