// The file of a board that a calibration measures and writes into.
#pragma once

#include "rtexec/cli/options/options.hpp"
#include "rtexec/cli/options/output_file.hpp"

#include <filesystem>
#include <iosfwd>
#include <string>

namespace rtexec::command {

/// Options `board` and `-o` of what calibrates; they outlive the parsing of the command line.
struct BoardOptions {
  std::string board = "host"; // by name or path
  std::string output;         // empty: the board's own file, or NAME.toml in the current folder for a builtin one

  void add_to(const Command& command);
};

/// The board that is measured, and the text that takes what is found. A file that is there already is both: its facts
/// are its owner's.
struct BoardTarget {
  std::string board; // by name or path
  std::string toml;
  std::filesystem::path output;
  OutputFile file; // of that name

  /// That `what` was written, and how task sets name it.
  void tell(std::ostream& out, const std::string& what) const;
};

/// Tells now, not after minutes of measuring, that the output cannot be written or merged into.
[[nodiscard]] BoardTarget board_target(const BoardOptions& options);

} // namespace rtexec::command
