// Records the files below /sys and /proc that rtexec reads on a board. The copied folder replaces the board in
// `rtexec probe --root`. Set-up code.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <cstddef>
#include <filesystem>

namespace rtexec::bringup {

/// The name of the file that lists the files that could not be recorded, one a line with the reason.
inline constexpr const char* unrecorded_file = "not-recorded.txt";

struct Recording {
  std::size_t recorded = 0, unrecorded = 0; // numbers of files
};

/// Records text files of at most 64 KiB, and the kernel's configuration. Follows no link out of /sys and /proc, and
/// reads nothing that identifies one board among others of its kind. `folder` must exist and be empty. Returns
/// refused if `folder` cannot be written.
[[nodiscard]] Result<Recording> record(const Board& board, const hal::Machine& machine,
                                       const std::filesystem::path& folder);

} // namespace rtexec::bringup
