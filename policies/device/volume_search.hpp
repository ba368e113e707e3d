// Searches for swap volumes (how many chunks of each task are swapped), with tests of the device alone.
//
// Symbols: x_i is the swap volume of task i. V is the overflow: the number of chunks that the device lacks. F = sum of
// x - V is the number of frames: the physical chunks that the swapped chunks share.
//
// - RT-Swap (1c), max x <= F: each job finds room for its chunks (Kang et al., RTSS 2023).
// - (M) of swap_bounds.hpp: under `pipelined`, no job delays a concurrent load of another one.
//
// Formulas, and the reason why the search is exact for serial tests: proofs/volumes.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"

#include <optional>
#include <vector>

namespace rtexec::policies {

/// Returns the inequality of RT-Swap's Theorem 1 for these volumes, with the costs of the set and no other charges.
/// Allocates nothing.
[[nodiscard]] Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes);

/// Returns the largest volume that each task may have.
[[nodiscard]] Volumes max_of(const DeviceSet& set);

/// True if (1c) holds for these volumes. If any volumes fit, the largest volumes fit.
[[nodiscard]] bool fits(const DeviceSet& set, const Volumes& volumes);

/// Returns the first task for which (M) fails, or nullopt if (M) holds. The volumes must fit. If (M) holds for any
/// volumes, it holds for the largest volumes.
[[nodiscard]] std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes);

/// Returns different volumes that fit, the most promising for `test` first. Returns an empty list if no volumes fit.
/// For `pipelined` the volumes meet (M), if any volumes do. For theorem1, the first volumes are the smallest that are
/// proved. For other serial tests, the first volumes are proved if any volumes are, except for a few sets at the edge
/// (proofs/volumes.md). Only some volumes are examined if the number of tasks times the largest number of chunks
/// exceeds 8192 (rta: 2048).
[[nodiscard]] std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order);

/// Returns other volumes for `pipelined`, which need not meet (M). With them fewer chunks move, but some loads are
/// delayed.
[[nodiscard]] std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order);

} // namespace rtexec::policies
