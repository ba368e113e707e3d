// The files of boards/, which the library carries in itself, so that no installation is needed to find them.
#pragma once

#include <rtexec/board.hpp>

#include <span>
#include <string_view>

namespace rtexec::config {

struct BuiltinBoard {
  std::string_view name; // of the file, without ".toml"
  std::string_view toml;
};

/// Written by make-builtin-boards.
[[nodiscard]] std::span<const BuiltinBoard> builtin_boards();

/// As rtexec::read_board, with names from `builtin`.
[[nodiscard]] Result<Board> read_board(std::string_view name_or_path, std::span<const BuiltinBoard> builtin);

} // namespace rtexec::config
