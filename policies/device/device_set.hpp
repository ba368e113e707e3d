// A device and the tasks that share it, for tests of the device alone and for the choice of swap volumes. The *swap
// volume* of a task is the number of its chunks that are swapped.
#pragma once

#include <rtexec/board.hpp>
#include "policies/exact_arithmetic.hpp"
#include "policies/scheduler/swap_rule.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::policies {

using Volumes = std::vector<std::uint32_t>; // swap volumes: the number of swapped chunks, by task

/// A task with one job in each period. Each job moves its missing chunks, and then executes.
struct DeviceTask {
  Nanos period = 1;
  Nanos deadline = 0;  // at most the period
  Nanos execution = 0; // C: the time that a job executes on the device
  /// The charged execution time: with the overheads that the end-to-end analysis adds; 0: `execution`. Searches for
  /// swap volumes use it for condition (M) (swap_bounds.hpp)
  Nanos charged = 0;
  /// The swap volume is at least `least` and at most `most`; if both are equal, the swap volume is fixed
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  /// The number of constant chunks, which are the task's first chunks. Constant chunks are dropped instead of copied
  /// out
  std::uint32_t constants = 0;
  bool real_time = true; // false: best effort; its jobs only block other tasks
};

struct DeviceSet {
  std::vector<DeviceTask> tasks;    // under static priority sorted by priority, the most urgent first
  std::uint32_t overflow = 0;       // V: the number of chunks that do not fit on the device
  unsigned copy_engines = 1;        // 2: copy-in and copy-out run concurrently
  SwapRule rule = SwapRule::serial; // the rule for the tests baker, demand and rta: serial or rt_swap
  SwapCost cost;

  /// True if a chunk may have to be copied out to free its frame (physical chunk).
  [[nodiscard]] bool copies_out(const Volumes& volumes) const {
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (volumes[i] > tasks[i].constants) return true;
    return false;
  }
};

} // namespace rtexec::policies
