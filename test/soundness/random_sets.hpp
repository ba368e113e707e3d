// Draws random sets of many shapes. Their periods would keep a single resource that does all work busy all the time;
// the caller scales them afterwards.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include "policies/device/segment_search.hpp"
#include "test/soundness/subjects.hpp"

#include <vector>

namespace rtexec::soundness {

/// Draws a set for the device alone. In most sets the volumes are fixed (least == most).
[[nodiscard]] policies::DeviceSet random_device(Random& random, const Way& way);

/// Draws a set like the one that refutes RT-Swap's analysis. One task swaps much rarely, an urgent one swaps a little
/// often. Jobs between them keep the device busy while chunks leave although no job needs their frames.
[[nodiscard]] policies::DeviceSet random_hole(Random& random, const Way& way);

/// How cores schedule the CPU parts.
enum class Cores { by_priority, regulated, reserved };

/// A set with CPU parts on one to three cores. Some tasks name their core, others leave it to the plan.
struct WholeSet {
  TaskSet tasks;
  Board board;
  std::vector<MemoryDemand> memory;
  std::vector<unsigned> cores;
  Duration line{1};                             // the time in which a core with a budget moves one line
  std::vector<policies::LayeredTask> layered{}; // empty: device parts cannot be cut
};
/// Draws the layers of a device part, with cuts that cost `overhead` each.
[[nodiscard]] policies::Layers random_layers(Random& random, policies::Nanos execution, policies::Nanos overhead);

[[nodiscard]] WholeSet random_whole(Random& random, SwapPolicy policy, Order order, bool swaps,
                                    Cores cores = Cores::by_priority);

/// Draws a WholeSet whose device parts consist of layers. Some tasks state their cuts or their class.
[[nodiscard]] WholeSet random_divisible(Random& random, Order order, bool swaps, Cores cores = Cores::by_priority);

/// Draws a WholeSet without swapping, in which many jobs may execute concurrently.
[[nodiscard]] WholeSet random_co_running(Random& random, Order order);

/// Draws a WholeSet without swapping but with chains. Their tasks follow others, or are released by inputs or by
/// timers, some of which share a grid.
[[nodiscard]] WholeSet random_chained(Random& random, Order order, Cores cores = Cores::by_priority);

} // namespace rtexec::soundness
