// Finds the exact worst case of a tiny device that swaps. It visits every state that the real DeviceScheduler can reach
// under any sporadic releases: chunk by chunk, in integer time, with every order of simultaneous events.
#pragma once

#include <rtexec/choices.hpp>

#include <cstddef>
#include <vector>

namespace rtexec::test {

struct TinySwapTask {
  int period = 1;
  int done_by = 0; // deadline of the device part; orders jobs of one rank
  int device = 0;
  int chunks = 0;
  bool constant = false; // its chunks are dropped, not copied out
  int rank = 0;          // smaller first
};

struct TinySwapSet {
  std::vector<TinySwapTask> tasks;
  SwapPolicy policy = SwapPolicy::pipelined;
  int frames = 0;
  int copy_engines = 1;
  int in = 1, out = 1, drop = 0; // of one chunk
  int in_fixed = 0;              // of each load
  /// Fixed cost of each victim of a load, or of each swap-out if operations are not preempted.
  int out_fixed = 0;
  bool early = false; // executions and transfers may take less
};

struct SwapExploration {
  /// The worst response of each task. A value of `period + 1` means that a job can outlast the next release; the others
  /// are then lower estimates.
  std::vector<int> worst;
  std::size_t states = 0;
  bool complete = false; // false: there were more than max_states states
};

/// Explores from frames filled in every order of the tasks.
[[nodiscard]] SwapExploration explore(const TinySwapSet& set, std::size_t max_states);

} // namespace rtexec::test
