// Converts the layers of a task's device part to pieces, which are the input of the search for segments. A piece is a
// sequence of layers between which no cut is possible.
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

/// The layers of one task, grouped into pieces.
struct TaskLayers {
  policies::LayeredTask layered;         // the task; its "layers" are the pieces
  std::vector<std::uint32_t> last_layer; // the last layer of each piece; empty: the task cannot be cut
  /// The reason why the task cannot be cut, in words. Empty: it can be cut, or the task set forbids cuts.
  std::string obstacle;
};

/// Returns the layers of `task`, grouped into pieces (sequences of layers between which no cut is possible). The layers
/// of a synthetic task come from the task set. Other tasks can be cut only if `entry`, their profile entry, is not null
/// and contains measured layers. The time of each piece is its share of the device part's WCET. `chunk` is the chunk
/// size of streamed constants.
[[nodiscard]] TaskLayers task_layers(const Task& task, const Workload& workload, const ProfileEntry* entry, Bytes chunk,
                                     std::uint32_t launch_ahead);

/// Converts cuts from numbers of pieces to numbers of layers: returns the last layer of each piece in `cuts`.
/// `last_layer` holds the last layer of each piece.
[[nodiscard]] std::vector<std::uint32_t> as_layers(std::span<const std::uint32_t> cuts,
                                                   std::span<const std::uint32_t> last_layer);

} // namespace rtexec::executive
