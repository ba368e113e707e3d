// How the device part of a task can be cut into segments, as policies want to know it.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "policies/device/segment_search.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::executive {

/// Of one task, in pieces of which each is one or some of its workload's layers.
struct TaskLayers {
  policies::LayeredTask layered;         // layers: the pieces
  std::vector<std::uint32_t> last_layer; // of each; empty: it cannot be cut
  /// Why it cannot be cut, in words. Empty: it can, or the set says that it is not.
  std::string obstacle;
};

/// Of a synthetic task the layers are given; of others the profile must have measured them. The time of a piece is its
/// share of the WCET. `entry` may be null. `chunk`: of constants that are streamed.
[[nodiscard]] TaskLayers task_layers(const Task& task, const Workload& workload, const ProfileEntry* entry, Bytes chunk,
                                     std::uint32_t launch_ahead);

/// Cuts behind pieces, of which these are the last layers, as cuts behind layers.
[[nodiscard]] std::vector<std::uint32_t> as_layers(std::span<const std::uint32_t> cuts,
                                                   std::span<const std::uint32_t> last_layer);

} // namespace rtexec::executive
