// Random sets of many shapes. Periods are such that one resource that does everything would be busy all the time; they
// are scaled afterwards.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include "policies/device/segment_search.hpp"
#include "test/soundness/subjects.hpp"

#include <vector>

namespace rtexec::soundness {

/// Of the device alone; in most sets the volumes are given (least == most).
[[nodiscard]] policies::DeviceSet random_device(Random& random, const Way& way);

/// Like the set by which RT-Swap's analysis is refuted: much is swapped rarely, a little of an urgent task often, and
/// between them are jobs that keep the device busy while chunks leave for nobody.
[[nodiscard]] policies::DeviceSet random_hole(Random& random, const Way& way);

/// How cores serve the CPU parts.
enum class Cores { by_priority, regulated, reserved };

/// With CPU parts on one to three cores, which some tasks name and others leave to the plan.
struct WholeSet {
  TaskSet tasks;
  Board board;
  std::vector<MemoryDemand> memory;
  std::vector<unsigned> cores;
  Duration line{1};                             // what a core with a budget takes to move one
  std::vector<policies::LayeredTask> layered{}; // empty: device parts cannot be cut
};
/// The layers of a device part, with cuts that cost `overhead` each.
[[nodiscard]] policies::Layers random_layers(Random& random, policies::Nanos execution, policies::Nanos overhead);

[[nodiscard]] WholeSet random_whole(Random& random, SwapPolicy policy, Order order, bool swaps,
                                    Cores cores = Cores::by_priority);

/// The same where device parts consist of layers, and some tasks say where they are cut or which class they are of.
[[nodiscard]] WholeSet random_divisible(Random& random, Order order, bool swaps, Cores cores = Cores::by_priority);

/// The same where nothing is swapped, and many jobs may execute beside each other.
[[nodiscard]] WholeSet random_co_running(Random& random, Order order);

/// The same where nothing is swapped, with chains: of tasks that follow others, that inputs release, and that timers
/// release, some of them on one grid.
[[nodiscard]] WholeSet random_chained(Random& random, Order order, Cores cores = Cores::by_priority);

} // namespace rtexec::soundness
