// The file of a board that a calibration measures and writes into.
#pragma once

#include "rtexec/command/output_file.hpp"

#include <filesystem>
#include <string>

namespace rtexec::command {

/// The board that is measured, and the text that takes what is found. A file that is there already is both: its facts
/// are its owner's.
struct BoardTarget {
  std::string board; // by name or path
  std::string toml;
  std::filesystem::path output;
  OutputFile file; // of that name
};

/// `board`: by name or path. `output`: empty: the board's own file, or NAME.toml in the current folder for one that the
/// program carries in itself. Tells now, not after minutes of measuring, that the output cannot be written or merged
/// into.
[[nodiscard]] BoardTarget board_target(const std::string& board, const std::string& output);

} // namespace rtexec::command
