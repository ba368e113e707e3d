// The board that a calibration measures, and the board file for its results.
#pragma once

#include "rtexec/cli/options/options.hpp"
#include "rtexec/cli/options/output_file.hpp"

#include <filesystem>
#include <iosfwd>
#include <string>

namespace rtexec::command {

/// The options `board` and `-o` of calibration commands. They must outlive the parsing of the command line.
struct BoardOptions {
  std::string board = "host"; // by name or path
  std::string output;         // empty: the board's own file, or NAME.toml in the current folder for a builtin one

  void add_to(const Command& command);
};

/// The board to be measured, and the TOML text that receives the results. An existing output file provides both, so
/// that its owner's facts are kept.
struct BoardTarget {
  std::string board; // by name or path
  std::string toml;
  std::filesystem::path output;
  OutputFile file; // of that name

  /// Reports that `what` was written, and how task sets refer to the file.
  void tell(std::ostream& out, const std::string& what) const;
};

/// Opens the output before minutes of measuring. Throws Failed if it cannot be written or merged into.
[[nodiscard]] BoardTarget board_target(const BoardOptions& options);

} // namespace rtexec::command
