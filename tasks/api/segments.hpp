// Segments of a workload. Cut points (Workload::cut) divide its sequence of layers into segments. The workload can be
// preempted between two segments.
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Returns one layer number for each segment: the number of the first layer after the segment. A segment ends after
/// each layer in `after`, and after the last layer. `layers` is the number of layers. Returns bad_input if `after` does
/// not ascend, or if it names the last layer or a layer that does not exist.
[[nodiscard]] Result<std::vector<std::size_t>> segment_ends(std::span<const std::uint32_t> after, std::size_t layers);

/// Returns the first layer of a segment. `ends` is the result of segment_ends().
[[nodiscard]] inline std::size_t first_layer(std::span<const std::size_t> ends, std::size_t segment) noexcept {
  return segment == 0 ? 0 : ends[segment - 1];
}

} // namespace rtexec::tasks
