// Resolves a task set for a machine that the test describes.
#pragma once

#include "config/resolve.hpp"

#include <utility>
#include <vector>

namespace rtexec::test {

/// Resolves for a machine with the cores `cores`. Unless the board names others, the device's threads run on additional
/// cores, 98 and 99.
inline ResolvedSet resolved(TaskSet tasks, Board board, std::vector<unsigned> cores = {0}) {
  board.compute_core = board.compute_core.value_or(99);
  board.service_core = board.service_core.value_or(98);
  MachineFacts machine;
  machine.cores = std::move(cores);
  return resolve(std::move(tasks), std::move(board), std::move(machine));
}

} // namespace rtexec::test
