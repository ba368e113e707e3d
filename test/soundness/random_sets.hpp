// Random sets of many shapes. Periods are such that one resource that does everything would be busy all the time; they
// are scaled afterwards.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include "test/soundness/subjects.hpp"

#include <vector>

namespace rtexec::soundness {

/// Of the device alone; in most sets the volumes are given (least == most).
[[nodiscard]] policies::DeviceSet random_device(Random& random, const Way& way);

/// Like the set by which RT-Swap's analysis is refuted: much is swapped rarely, a little of an urgent task often, and
/// between them are jobs that keep the device busy while chunks leave for nobody.
[[nodiscard]] policies::DeviceSet random_hole(Random& random, const Way& way);

/// With CPU parts on one to three cores.
struct WholeSet {
  TaskSet tasks;
  Board board;
  std::vector<MemoryDemand> memory;
};
[[nodiscard]] WholeSet random_whole(Random& random, SwapPolicy policy, Order order, bool swaps);

} // namespace rtexec::soundness
