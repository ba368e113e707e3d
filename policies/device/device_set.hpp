// A device and the tasks that share it. For tests of the device alone, and to choose how many chunks each task swaps.
#pragma once

#include <rtexec/board.hpp>
#include "policies/exact_arithmetic.hpp"
#include "policies/scheduler/swap_rule.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::policies {

using Volumes = std::vector<std::uint32_t>; // number of swapped chunks, by task

/// A task with one job in each period. Each job moves its missing chunks, and then executes.
struct DeviceTask {
  Nanos period = 1;
  Nanos deadline = 0;  // at most the period
  Nanos execution = 0; // C
  /// C as an end-to-end analysis charges it, for condition (M) (swap_bounds.hpp) in searches for volumes; 0: C
  Nanos charged = 0;
  std::uint32_t least = 0; // number of swapped chunks: fixed if least == most, otherwise chosen up to `most`
  std::uint32_t most = 0;
  std::uint32_t constants = 0; // the first chunks that are constant: they are dropped instead of copied out
  bool real_time = true;       // false: best effort; its jobs only block
};

struct DeviceSet {
  std::vector<DeviceTask> tasks;    // under static priority in the order of priorities, the most urgent first
  std::uint32_t overflow = 0;       // V: number of missing chunks
  unsigned copy_engines = 1;        // 2: copies in and out run concurrently
  SwapRule rule = SwapRule::serial; // for baker, demand and rta: serial or rt_swap
  SwapCost cost;

  /// True if a chunk may have to be copied out to free its frame (physical chunk).
  [[nodiscard]] bool copies_out(const Volumes& volumes) const {
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (volumes[i] > tasks[i].constants) return true;
    return false;
  }
};

} // namespace rtexec::policies
