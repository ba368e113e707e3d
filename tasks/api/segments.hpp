// Segments of a workload's layers (Workload::cut).
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// Returns the end of each segment: the number of the layer behind its last layer. Segments end after each layer in
/// `after` and after the last of `layers`. Returns bad_input if `after` does not ascend, or names a layer without a
/// successor.
[[nodiscard]] Result<std::vector<std::size_t>> segment_ends(std::span<const std::uint32_t> after, std::size_t layers);

/// Returns the first layer of a segment, from the result of segment_ends().
[[nodiscard]] inline std::size_t first_layer(std::span<const std::size_t> ends, std::size_t segment) noexcept {
  return segment == 0 ? 0 : ends[segment - 1];
}

} // namespace rtexec::tasks
