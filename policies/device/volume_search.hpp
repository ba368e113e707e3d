// Searches for swap volumes (how many chunks of each task are swapped), with tests of the device alone.
//
// Symbols: x_i, the swap volume of task i. V, the overflow: the chunks that the device lacks. F = sum of x - V, the
// frames: the physical chunks that the swapped chunks share.
//
// - RT-Swap (1c), max x <= F: a job finds room for its chunks (Kang et al., RTSS 2023).
// - (M) of swap_bounds.hpp: under `pipelined`, no job delays a concurrent load of another one.
//
// Formulas and why the search is exact for serial tests: proofs/volumes.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"

#include <optional>
#include <vector>

namespace rtexec::policies {

/// Returns the inequality of RT-Swap's Theorem 1 for these volumes, with only the costs of the set. Allocates nothing.
[[nodiscard]] Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes);

/// Returns the largest volumes that tasks may have.
[[nodiscard]] Volumes max_of(const DeviceSet& set);

/// True if (1c) holds for these volumes. If any volumes fit, the largest ones do.
[[nodiscard]] bool fits(const DeviceSet& set, const Volumes& volumes);

/// Returns the first task for which (M) fails, for volumes that fit; nullopt if (M) holds. If (M) holds for any
/// volumes, it holds for the largest ones.
[[nodiscard]] std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes);

/// Returns different volumes that fit, the most promising for `test` first. For `pipelined` they meet (M), if any do.
/// Returns an empty list if none fit. For theorem1, the first ones are the smallest that are proved. For other serial
/// tests, the first ones are proved if any are, except for a few sets at the edge (proofs/volumes.md). If the number of
/// tasks times the chunks of the largest exceeds 8192 (rta: 2048), only some volumes are examined.
[[nodiscard]] std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order);

/// Returns other volumes for `pipelined`, which need not meet (M): fewer chunks move, and some loads are delayed.
[[nodiscard]] std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order);

} // namespace rtexec::policies
