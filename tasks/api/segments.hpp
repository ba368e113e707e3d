// Segments of a workload's layers (Workload::cut).
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// The layer behind each segment, where segments end behind the layers `after` and behind the last of `layers`.
/// bad_input: they do not ascend, or one is not the number of a layer with another one behind it.
[[nodiscard]] Result<std::vector<std::size_t>> segment_ends(std::span<const std::uint32_t> after, std::size_t layers);

/// The first layer of a segment, where segments end so.
[[nodiscard]] inline std::size_t first_layer(std::span<const std::size_t> ends, std::size_t segment) noexcept {
  return segment == 0 ? 0 : ends[segment - 1];
}

} // namespace rtexec::tasks
