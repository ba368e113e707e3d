// Segments of a workload: its sequence of layers is cut into segments (Workload::cut), between which it can be
// preempted.
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Returns one layer number for each segment: that of the first layer after the segment. Segments end after each layer
/// in `after`, and after the last of `layers` layers. Returns bad_input if `after` does not ascend, or names a layer
/// that has no successor.
[[nodiscard]] Result<std::vector<std::size_t>> segment_ends(std::span<const std::uint32_t> after, std::size_t layers);

/// Returns the first layer of a segment. `ends` is the result of segment_ends().
[[nodiscard]] inline std::size_t first_layer(std::span<const std::size_t> ends, std::size_t segment) noexcept {
  return segment == 0 ? 0 : ends[segment - 1];
}

} // namespace rtexec::tasks
