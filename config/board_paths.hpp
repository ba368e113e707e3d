// The syntax in which board files name the files of a machine (BoardPath).
#pragma once

#include "config/types.hpp"
#include <rtexec/board.hpp>

#include <string>
#include <string_view>

namespace rtexec::config {

[[nodiscard]] Read<BoardPath> parse_board_path(std::string_view text);
/// Returns the text of `path`; parse_board_path() parses the text as an equal path.
[[nodiscard]] std::string to_string(const BoardPath& path);
[[nodiscard]] Type<BoardPath> board_path();

} // namespace rtexec::config
