// Records the files below /sys and /proc that rtexec reads on a board. The recorded folder can replace the board in
// `rtexec probe --root`. Set-up code.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <cstddef>
#include <filesystem>

namespace rtexec::bringup {

/// The name of the file that lists the files that could not be recorded, each on a line with the reason.
inline constexpr const char* unrecorded_file = "not-recorded.txt";

struct Recording {
  std::size_t recorded = 0, unrecorded = 0; // numbers of files
};

/// Records text files of at most 64 KiB, and the kernel's configuration. Does not follow links out of /sys and /proc.
/// Does not read anything that distinguishes the board from other boards of its kind, such as a serial number. `folder`
/// must exist and be empty. Returns refused if `folder` cannot be written.
[[nodiscard]] Result<Recording> record(const Board& board, const hal::Machine& machine,
                                       const std::filesystem::path& folder);

} // namespace rtexec::bringup
