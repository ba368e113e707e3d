// How many chunks of each task are swapped, for a device alone.
//
// x_i: chunks of task i that are swapped. V: overflow. F = sum of x - V: frames, which the swapped chunks share.
//
// - RT-Swap (1c), max x <= F: a job finds room for its chunks.
// - (M) of swap_bounds.hpp: what pipelined needs for loads that no job beside them delays.
//
// Formulas and why the search is exact for serial tests: proofs/volumes.md. Set-up only: allocates.
#pragma once

#include "policies/device/device_tests.hpp"
#include "policies/device/swap_bounds.hpp"

#include <optional>
#include <vector>

namespace rtexec::policies {

/// RT-Swap's inequality, at the costs of the set alone. Allocates nothing.
[[nodiscard]] Theorem1 theorem1(const DeviceSet& set, const Volumes& volumes);

/// The largest volumes.
[[nodiscard]] Volumes max_of(const DeviceSet& set);

/// (1c). Where any volumes fit, the largest do.
[[nodiscard]] bool fits(const DeviceSet& set, const Volumes& volumes);

/// (M), for volumes that fit: the first task for which it fails. Where it holds for any volumes, it holds for the
/// largest.
[[nodiscard]] std::optional<std::size_t> without_load_room(const DeviceSet& set, const Volumes& volumes);

/// Volumes that fit, each different, the most promising for `test` first; with (M) for `pipelined`, where that is
/// possible. Empty: none fit. theorem1: the first one is the smallest that is proved. Other serial tests: it is proved,
/// if any is, but for a few sets at the edge (proofs/volumes.md); where tasks times chunks of the largest exceed 8192
/// (rta: 2048), only some are looked at.
[[nodiscard]] std::vector<Volumes> volumes_for(const DeviceSet& set, DeviceTest test, Order order);

/// Others for `pipelined`, whether (M) holds or not: fewer chunks move, and some loads are delayed.
[[nodiscard]] std::vector<Volumes> tight_volumes(const DeviceSet& set, Order order);

} // namespace rtexec::policies
