// A task set in which every setting that depends on the board or the machine has a value. Planning, placement and
// execution read their settings only from here. Plain values, owned by the holder of the struct.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/machine.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <filesystem>

namespace rtexec {

struct ResolvedSet {
  /// The task set. Its executive.threads is `fifo` or `deadline`, never `automatic`.
  TaskSet tasks;
  /// The board, from its file. If only the device knows its capacity, the capacity is filled in.
  Board board;
  MachineFacts machine;
  /// The core of the compute engine's thread.
  unsigned compute_core = 0;
  /// The core of the scheduler and the copy engines.
  unsigned service_core = 0;
  /// The unit of physical device memory.
  Bytes chunk{0};
  /// The file to which chunks are swapped. Empty: host memory.
  std::filesystem::path store;
};

} // namespace rtexec
