// A device and the tasks that share it, for tests of the device alone, and for the choice of how much each task swaps.
#pragma once

#include <rtexec/board.hpp>
#include "policies/exact_arithmetic.hpp"
#include "policies/scheduler/swap_rule.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::policies {

using Volumes = std::vector<std::uint32_t>; // number of swapped chunks, by task

/// A task with one job in each period: its missing chunks are moved, and it executes.
struct DeviceTask {
  Nanos period = 1;
  Nanos deadline = 0;  // at most the period
  Nanos execution = 0; // C
  /// C as an end-to-end analysis charges it, for (M) while volumes are searched; 0: C
  Nanos charged = 0;
  std::uint32_t least = 0; // number of swapped chunks: fixed if least == most, otherwise chosen up to `most`
  std::uint32_t most = 0;
  std::uint32_t constants = 0; // the number of first chunks that are dropped, and not copied out
  bool real_time = true;       // false: it only blocks
};

struct DeviceSet {
  std::vector<DeviceTask> tasks;    // under static priority the most urgent first
  std::uint32_t overflow = 0;       // V: number of missing chunks
  unsigned copy_engines = 1;        // 2: in and out at once
  SwapRule rule = SwapRule::serial; // for baker, demand and rta: serial or rt_swap
  SwapCost cost;

  /// True if freeing a frame may take a copy.
  [[nodiscard]] bool copies_out(const Volumes& volumes) const {
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (volumes[i] > tasks[i].constants) return true;
    return false;
  }
};

} // namespace rtexec::policies
