#include "rtexec/command/board_target.hpp"

#include "config/files.hpp"
#include "config/names.hpp"
#include "config/builtin_boards.hpp"
#include "config/must.hpp"

#include <algorithm>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_board_bytes = std::size_t{1} << 20;

/// `output` is there already, and it was asked to measure `board`.
BoardTarget existing_target(const fs::path& output, OutputFile file, const Board& board) {
  auto text = must(config::read_file(output, max_board_bytes));
  const std::string there = output.string() + ": error: cannot write what is measured into it: it is there already, ";
  const auto owned = parse_board(text, output);
  if (!owned)
    give_up(Errc::bad_input,
            there + "and is no board; mend it, remove it, or name another file with -o\n" + owned.error().what);
  if (owned->device != board.device)
    give_up(Errc::bad_input, there + "with device = \"" + std::string(spelling(owned->device)) +
                                 "\", and that of board '" + board.name + "' is \"" +
                                 std::string(spelling(board.device)) + "\"; name another file with -o");
  return BoardTarget{output.has_parent_path() ? output.string() : "./" + output.string(), std::move(text), output,
                     std::move(file)};
}

} // namespace

BoardTarget board_target(const std::string& name, const std::string& wanted) {
  const auto builtin = config::builtin_boards();
  const auto board = must(read_board(name));
  const auto known = std::ranges::find(builtin, name, &config::BuiltinBoard::name);
  const bool carried = known != builtin.end();
  const fs::path output = !wanted.empty() ? wanted : carried ? name + ".toml" : name;
  auto file = must(OutputFile::open(output));
  if (std::error_code error; fs::exists(output, error)) return existing_target(output, std::move(file), board);
  if (carried) return BoardTarget{name, std::string(known->toml), output, std::move(file)};
  auto text = must(config::read_file(name, max_board_bytes));
  return BoardTarget{name, std::move(text), output, std::move(file)};
}

} // namespace rtexec::command
