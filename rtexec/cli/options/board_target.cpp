#include "rtexec/cli/options/board_target.hpp"

#include "config/base/files.hpp"
#include "config/names.hpp"
#include "config/builtin_boards.hpp"
#include "config/base/must.hpp"
#include "rtexec/cli/options/named_board.hpp"

#include <algorithm>
#include <ostream>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_board_bytes = std::size_t{1} << 20;

/// Returns the target for the existing file `output`. Throws Failed unless the file is a board with the same kind of
/// device as `board`.
BoardTarget existing_target(const fs::path& output, OutputFile file, const Board& board) {
  auto text = must(config::read_file(output, max_board_bytes));
  const std::string there = output.string() + ": error: cannot write the measurements into it: it exists already, ";
  const auto owned = parse_board(text, output);
  if (!owned)
    give_up(Errc::bad_input,
            there + "and is not a board; correct it, remove it, or name another file with -o\n" + owned.error().what);
  if (owned->device != board.device)
    give_up(Errc::bad_input, there + "with device = \"" + std::string(spelling(owned->device)) +
                                 "\", and that of board '" + board.name + "' is \"" +
                                 std::string(spelling(board.device)) + "\"; name another file with -o");
  return BoardTarget{output.has_parent_path() ? output.string() : "./" + output.string(), *owned, std::move(text),
                     output, std::move(file)};
}

/// Opens the target, but prints no warnings.
BoardTarget opened_target(const BoardOptions& options) {
  const std::string &name = options.board, &wanted = options.output;
  const auto builtin = config::builtin_boards();
  auto board = must(read_board(name));
  const auto known = std::ranges::find(builtin, name, &config::BuiltinBoard::name);
  const bool carried = known != builtin.end();
  const fs::path output = !wanted.empty() ? wanted : carried ? name + ".toml" : name;
  auto file = must(OutputFile::open(output));
  if (std::error_code error; fs::exists(output, error)) return existing_target(output, std::move(file), board);
  if (carried) return BoardTarget{name, std::move(board), std::string(known->toml), output, std::move(file)};
  auto text = must(config::read_file(name, max_board_bytes));
  return BoardTarget{name, std::move(board), std::move(text), output, std::move(file)};
}

} // namespace

void BoardOptions::add_to(const Command& command) {
  command.option("board", board, "BOARD", "Board to measure: the name of a built-in board, or the path of a board file")
      .default_shown();
  command.option(
      "-o,--output", output, "FILE.toml",
      "Board file that the results are written into (default: the board's own file; for a built-in board NAME.toml in "
      "the current folder). If the file exists, it is the board that is measured, and its other values are kept");
}

void BoardTarget::tell(std::ostream& out, const std::string& what) const {
  out << "wrote " << what << " to " << output.string() << ": name it in task sets as board = \"./"
      << output.filename().string() << "\"\n";
}

BoardTarget board_target(const BoardOptions& options) {
  BoardTarget target = opened_target(options);
  print_warnings(target.board.warnings);
  return target;
}

} // namespace rtexec::command
