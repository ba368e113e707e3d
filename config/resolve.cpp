#include "config/resolve.hpp"

#include <algorithm>
#include <utility>

namespace rtexec {
namespace {

constexpr Bytes smallest_chunk{2 << 20};

unsigned default_service_core(const std::vector<unsigned>& cores) {
  constexpr std::size_t enough = 4;
  return cores.size() < enough ? cores.front() : cores[cores.size() - 2];
}

ThreadPolicy available(ThreadPolicy asked, const MachineFacts& machine) {
  if (asked != ThreadPolicy::automatic) return asked;
  return !machine.no_fifo.empty() && machine.no_deadline.empty() ? ThreadPolicy::deadline : ThreadPolicy::fifo;
}

Bytes chunk_of(const TaskSet& tasks, const Board& board) {
  const Bytes chunk = tasks.device.chunk.value_or(board.chunk);
  const bool small = tasks.swap.policy == SwapPolicy::min || tasks.swap.policy == SwapPolicy::mo_vmm;
  return small ? std::min(chunk, smallest_chunk) : chunk;
}

std::filesystem::path store_of(const TaskSet& tasks, const Board& board) {
  if (tasks.swap.store) return tasks.swap.store->file;
  if (!board.unified_memory) return {};
  std::filesystem::path file = tasks.file.empty() ? "rtexec" : tasks.file;
  return file.replace_extension(".swap");
}

} // namespace

ResolvedSet resolve(TaskSet tasks, Board board, MachineFacts machine) {
  tasks.executive.threads = available(tasks.executive.threads, machine);
  const unsigned compute_core = board.compute_core.value_or(machine.cores.back());
  const unsigned service_core = board.service_core.value_or(default_service_core(machine.cores));
  const Bytes chunk = chunk_of(tasks, board);
  std::filesystem::path store = store_of(tasks, board);
  return {.tasks = std::move(tasks),
          .board = std::move(board),
          .machine = std::move(machine),
          .compute_core = compute_core,
          .service_core = service_core,
          .chunk = chunk,
          .store = std::move(store)};
}

} // namespace rtexec
