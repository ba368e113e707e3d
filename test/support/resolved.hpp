// A task set resolved for a machine of a test's own.
#pragma once

#include "config/resolve.hpp"

#include <utility>
#include <vector>

namespace rtexec::test {

/// On `cores`. Where the board does not say otherwise, the threads of the device have cores of their own beside these.
inline ResolvedSet resolved(TaskSet tasks, Board board, std::vector<unsigned> cores = {0}) {
  board.compute_core = board.compute_core.value_or(99);
  board.service_core = board.service_core.value_or(98);
  MachineFacts machine;
  machine.cores = std::move(cores);
  return resolve(std::move(tasks), std::move(board), std::move(machine));
}

} // namespace rtexec::test
