#include "rtexec/cli/options/named_board.hpp"

#include "config/base/must.hpp"

#include <iostream>

namespace rtexec::command {

void print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) std::cerr << warning << '\n';
}

Board named_board(std::string_view name_or_path) {
  Board board = must(read_board(name_or_path));
  print_warnings(board.warnings);
  return board;
}

} // namespace rtexec::command
