#include "config/text.hpp"
#include "hal/board/board.hpp"

#include <algorithm>

namespace rtexec::hal {
namespace {

/// The device tree's, the most special one first. Empty: there is no device tree.
std::vector<std::string> compatible_of(const Machine& machine) {
  std::vector<std::string> names;
  for (const char* file : {"/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible"}) {
    const auto text = machine.read(file);
    if (!text) continue;
    for (const auto name : config::parts(*text, '\0')) names.emplace_back(name);
    if (!names.empty()) break;
  }
  return names;
}

bool is_one_of(const std::string& name, const Board& board) {
  return std::ranges::find(board.identity.compatible, name) != board.identity.compatible.end();
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + config::printable(name);
  return text;
}

} // namespace

KnownBoard identify_board(const Machine& machine) {
  const auto compatible = compatible_of(machine);
  std::vector<Board> boards;
  for (const std::string& name : board_names())
    if (auto board = read_board(name)) boards.push_back(std::move(*board));
  for (const std::string& name : compatible)
    for (const Board& board : boards)
      if (is_one_of(name, board)) return {.name = board.name, .told = true, .what = "the device tree says " + name};
  if (compatible.empty()) return {.name = "host", .told = false, .what = "no device tree tells which board this is"};
  return {.name = "host", .told = false, .what = "no board is known that the device tree calls " + listed(compatible)};
}

std::string why_not_board(const Board& board, const Machine& machine) {
  const auto compatible = compatible_of(machine);
  if (compatible.empty() || board.identity.compatible.empty()) return {};
  if (std::ranges::any_of(compatible, [&](const std::string& name) { return is_one_of(name, board); })) return {};
  return "this machine is not board '" + board.name + "': its device tree says " + listed(compatible);
}

} // namespace rtexec::hal
