// Boards that a command or a task set names.
#pragma once

#include <rtexec/board.hpp>

#include <span>
#include <string>
#include <string_view>

namespace rtexec::command {

/// Prints warnings of a reader on standard error, each on a line of its own.
void print_warnings(std::span<const std::string> warnings);

/// Reads the board of this name or path, and prints the reader's warnings. Throws Failed if it cannot be read.
[[nodiscard]] Board named_board(std::string_view name_or_path);

} // namespace rtexec::command
