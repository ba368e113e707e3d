// How board files say which file of a machine is meant (BoardPath).
#pragma once

#include "config/types.hpp"
#include <rtexec/board.hpp>

#include <string>
#include <string_view>

namespace rtexec::config {

[[nodiscard]] Read<BoardPath> parse_board_path(std::string_view text);
/// As parse_board_path() reads it.
[[nodiscard]] std::string to_string(const BoardPath& path);
[[nodiscard]] Type<BoardPath> board_path();

} // namespace rtexec::config
