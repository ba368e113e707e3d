// Converts the layers of a task's device part to the form that the search for segments needs.
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

/// The layers of one task, grouped into pieces of one or more layers.
struct TaskLayers {
  policies::LayeredTask layered;         // layers: the pieces
  std::vector<std::uint32_t> last_layer; // of each piece; empty: it cannot be cut
  /// The reason why it cannot be cut, in words. Empty: it can, or the set forbids it.
  std::string obstacle;
};

/// Returns the layers of `task`. Those of a synthetic task are given; for others, `entry` must contain measured layers
/// (it may be null). The time of a piece is its share of the WCET. `chunk`: the chunk size of streamed constants.
[[nodiscard]] TaskLayers task_layers(const Task& task, const Workload& workload, const ProfileEntry* entry, Bytes chunk,
                                     std::uint32_t launch_ahead);

/// Converts cuts after pieces to cuts after layers. `last_layer`: the last layer of each piece.
[[nodiscard]] std::vector<std::uint32_t> as_layers(std::span<const std::uint32_t> cuts,
                                                   std::span<const std::uint32_t> last_layer);

} // namespace rtexec::executive
