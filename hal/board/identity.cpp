#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"

#include <algorithm>

namespace rtexec::hal {

std::vector<std::string> device_tree_names(const Machine& machine) {
  std::vector<std::string> names;
  for (const char* file : {"/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible"}) {
    const auto text = machine.read(file);
    if (!text) continue;
    for (const auto name : config::parts(*text, '\0')) names.emplace_back(name);
    if (!names.empty()) break;
  }
  return names;
}

namespace {

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
  const auto compatible = device_tree_names(machine);
  std::vector<Board> boards;
  for (const std::string& name : board_names())
    if (auto board = read_board(name)) boards.push_back(std::move(*board));
  for (const std::string& name : compatible)
    for (const Board& board : boards)
      if (is_one_of(name, board)) return {.name = board.name, .told = true, .what = "the device tree says " + name};
  if (compatible.empty()) return {.name = "host", .told = false, .what = "no device tree names this board"};
  return {.name = "host", .told = false, .what = "no known board is named in the device tree as " + listed(compatible)};
}

std::string why_not_board(const Board& board, const Machine& machine) {
  const auto compatible = device_tree_names(machine);
  if (compatible.empty() || board.identity.compatible.empty()) return {};
  if (std::ranges::any_of(compatible, [&](const std::string& name) { return is_one_of(name, board); })) return {};
  return "this machine is not board '" + board.name + "': its device tree says " + listed(compatible);
}

std::string emulator_of(const Machine& machine) {
  const std::string qemu_board = "linux,dummy-virt";
  const auto names = device_tree_names(machine);
  if (std::ranges::find(names, qemu_board) != names.end()) return "its device tree says " + qemu_board;
  const std::string vendor = machine.read("/sys/class/dmi/id/sys_vendor").value_or("");
  const std::string clocks =
      machine.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").value_or("");
  if (vendor == "QEMU" && !clocks.contains("kvm-clock")) return "it is a QEMU machine without a KVM clock";
  return {};
}

} // namespace rtexec::hal
