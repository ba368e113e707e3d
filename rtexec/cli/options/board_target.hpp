// The board that a calibration measures, and the board file for its results.
#pragma once

#include <rtexec/board.hpp>
#include "rtexec/cli/options/options.hpp"
#include "rtexec/cli/options/output_file.hpp"

#include <filesystem>
#include <iosfwd>
#include <string>

namespace rtexec::command {

/// The options `board` and `-o` of calibration commands. This object must exist until the command line has been
/// parsed.
struct BoardOptions {
  std::string board = "host"; // by name or path
  std::string output;         // empty: the board's own file; for a builtin board, NAME.toml in the working directory

  void add_to(const Command& command);
};

/// The board to measure, and the TOML text into which the results are merged. If the output file exists, the board and
/// the text are read from the output file, so that its other facts are kept.
struct BoardTarget {
  std::string name; // by name or path
  Board board;      // the board to measure
  std::string toml;
  std::filesystem::path output;
  OutputFile file; // the file at `output`

  /// Prints that `what` was written, and how a task set refers to the file.
  void tell(std::ostream& out, const std::string& what) const;
};

/// Opens the output file before the measurement, which takes minutes. Throws Failed if the file cannot be written, or
/// the results cannot be merged into it.
[[nodiscard]] BoardTarget board_target(const BoardOptions& options);

} // namespace rtexec::command
