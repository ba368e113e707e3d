#include "config/resolved_set.hpp"

#include <utility>

namespace rtexec {
namespace {

unsigned default_service_core(const std::vector<unsigned>& cores) {
  constexpr std::size_t enough = 4;
  return cores.size() < enough ? cores.front() : cores[cores.size() - 2];
}

ThreadPolicy available(ThreadPolicy asked, const MachineFacts& machine) {
  if (asked != ThreadPolicy::automatic) return asked;
  return !machine.no_fifo.empty() && machine.no_deadline.empty() ? ThreadPolicy::deadline : ThreadPolicy::fifo;
}

} // namespace

ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine) {
  tasks.executive.threads = available(tasks.executive.threads, machine);
  board.cores = machine.cores;
  if (!board.compute_core) board.compute_core = machine.cores.back();
  if (!board.service_core) board.service_core = default_service_core(machine.cores);
  return {.tasks = std::move(tasks), .board = std::move(board), .machine = std::move(machine)};
}

} // namespace rtexec
