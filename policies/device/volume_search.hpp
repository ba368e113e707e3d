// Searches for how many chunks of each task are swapped, for a device alone.
//
// x_i: chunks of task i that are swapped. V: overflow. F = sum of x - V: frames, which the swapped chunks share.
//
// - RT-Swap (1c), max x <= F: a job finds room for its chunks.
// - (M) of swap_bounds.hpp: under `pipelined`, no job delays a concurrent load.
//
// Formulas and why the search is exact for serial tests: proofs/volumes.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"

#include <optional>
#include <vector>

namespace rtexec::policies {

/// Returns RT-Swap's inequality, at the costs of the set alone. Allocates nothing.
[[nodiscard]] Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes);

/// Returns the largest volumes.
[[nodiscard]] Volumes max_of(const DeviceSet& set);

/// True if (1c) holds. If any volumes fit, the largest do.
[[nodiscard]] bool fits(const DeviceSet& set, const Volumes& volumes);

/// Returns the first task for which (M) fails, for volumes that fit. If (M) holds for any volumes, it holds for the
/// largest.
[[nodiscard]] std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes);

/// Returns different volumes that fit, the most promising for `test` first; for `pipelined` with (M), if that is
/// possible. Empty: none fit. theorem1: the first one is the smallest that is proved. Other serial tests: the first one
/// is proved if any is, except for a few sets at the edge (proofs/volumes.md). If tasks times chunks of the largest
/// exceed 8192 (rta: 2048), only some volumes are examined.
[[nodiscard]] std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order);

/// Returns other volumes for `pipelined`, whether (M) holds or not: fewer chunks move, and some loads are delayed.
[[nodiscard]] std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order);

} // namespace rtexec::policies
