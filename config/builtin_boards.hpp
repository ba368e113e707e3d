// The board files of boards/, embedded in the library, so that the library needs no installed files.
#pragma once

#include <rtexec/board.hpp>

#include <span>
#include <string_view>

namespace rtexec::config {

struct BuiltinBoard {
  std::string_view name; // the name of the file, without ".toml"
  std::string_view toml;
};

/// Returns the embedded boards. make-builtin-boards generates this function.
[[nodiscard]] std::span<const BuiltinBoard> builtin_boards();

/// Reads a board as rtexec::read_board() does, but searches names in `builtin`.
[[nodiscard]] Result<Board> read_board(std::string_view name_or_path, std::span<const BuiltinBoard> builtin);

} // namespace rtexec::config
