#include "hal/board/board_findings.hpp"

#include <algorithm>

namespace rtexec::hal {
namespace {

std::vector<unsigned> cores_left(const Board& board) {
  std::vector<unsigned> cores;
  for (const CoreKind& kind : board.core_kinds)
    for (const unsigned core : kind.cores)
      if (std::ranges::find(board.boot.isolated_cores, core) == board.boot.isolated_cores.end()) cores.push_back(core);
  std::ranges::sort(cores);
  return cores;
}

} // namespace

std::string kernel_command_line(const Board& board) {
  std::string line;
  if (!board.boot.isolated_cores.empty()) {
    const std::string isolated = core_list(board.boot.isolated_cores);
    // isolcpus is written without flags, because kernels before 4.15 isolate no core if flags are given. Kernels
    // without CONFIG_NO_HZ_FULL ignore nohz_full and need rcu_nocbs; on all other kernels nohz_full implies rcu_nocbs.
    line = "isolcpus=" + isolated + " nohz_full=" + isolated + " rcu_nocbs=" + isolated +
           " irqaffinity=" + core_list(cores_left(board));
  }
  if (!line.empty() && !board.boot.command_line.empty()) line += ' ';
  return line + board.boot.command_line;
}

} // namespace rtexec::hal
