// Searches for swap volumes (how many chunks of each task are swapped), with tests of the device alone.
//
// Symbols: x_i is the swap volume of task i. V is the overflow: the number of chunks that the device lacks. F = sum of
// x - V is the number of frames: the physical chunks that the swapped chunks share.
//
// - Condition (1c) of RT-Swap, max x <= F: there are enough frames for the chunks of each job (Kang et al., RTSS 2023).
// - Condition (M) of proofs/volumes.md (see swap_bounds.hpp): under `pipelined`, no job delays another job's concurrent
//   load.
//
// Serial tests are tests in which chunks do not move during executions. Formulas, and the reason why the search is
// exact for serial tests: proofs/volumes.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"

#include <optional>
#include <vector>

namespace rtexec::policies {

/// Returns the inequality of RT-Swap's Theorem 1 for these swap volumes. Its terms are the costs of the set, without
/// other overheads. Allocates nothing.
[[nodiscard]] Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes);

/// Returns for each task the largest swap volume that it may have.
[[nodiscard]] Volumes max_of(const DeviceSet& set);

/// True if these swap volumes fit: their sum is at least the overflow V, and condition (1c) holds (see the beginning of
/// this file). If any swap volumes fit, the largest swap volumes (max_of()) fit, since larger volumes leave more frames
/// F (proofs/volumes.md).
[[nodiscard]] bool fits(const DeviceSet& set, const Volumes& volumes);

/// Returns the first task that violates condition (M) (see the beginning of this file): a job of this task may delay a
/// concurrent load of another job. Returns nullopt if no task violates (M). The swap volumes must fit. If (M) holds for
/// any swap volumes, (M) holds for the largest swap volumes (max_of()).
[[nodiscard]] std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes);

/// Returns different choices of swap volumes that fit, the most promising for `test` first. Returns an empty list if no
/// swap volumes fit. For `pipelined` the choices meet condition (M), if any swap volumes meet it. For theorem1, the
/// first choice has the smallest volumes with which the set is proved. For other serial tests, the set is proved with
/// the first choice if it is proved with any choice, except for a few sets at the limit of the test
/// (proofs/volumes.md). Only some swap volumes are examined if the number of tasks times the largest number of chunks
/// exceeds 8192 (rta: 2048).
[[nodiscard]] std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order);

/// Returns other swap volumes for `pipelined`, which may violate condition (M). With these swap volumes fewer chunks
/// move, but some loads are delayed.
[[nodiscard]] std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order);

} // namespace rtexec::policies
