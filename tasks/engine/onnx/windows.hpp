// Sliding windows over images: the common part of Conv and the pooling operators.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::tasks::onnx_source {

inline constexpr std::size_t max_directions = 3;

/// Returns a kernel, stride, padding or dilation. Refuses one below `least` or so large that sizes could overflow.
std::int64_t checked_extent(NodeContext& node, std::int64_t value, std::int64_t least, const char* what);
/// Returns an attribute of `count` extents, or `count` times `fallback`. `fallback` is also the smallest allowed value.
[[nodiscard]] std::vector<std::int64_t> extents(NodeContext& node, const char* attribute, std::size_t count,
                                                std::int64_t fallback, const char* what);

/// The parameters of a window in one direction over an input of `size`.
struct Direction {
  std::int64_t kernel, stride, dilation, before, after, size;
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }

  /// Sets SAME padding: the output has ceil(size / stride) elements. The odd element of the padding is at the end
  /// (`upper`) or at the beginning.
  void pad_same(bool upper);
  /// Returns the number of windows. With `ceil` the last window may extend over the end, but begins inside the input or
  /// its leading padding.
  [[nodiscard]] std::int64_t outputs(bool ceil) const;
};

using Directions = std::vector<Direction>;

inline constexpr Direction no_direction{1, 1, 1, 0, 0, 1};

/// Refuses shapes that are not images, rows or volumes (3 to 5 dimensions).
void require_images(const NodeContext& node, const Shape& x);
/// Returns the shape of an input of images, rows or volumes.
[[nodiscard]] Shape windowed(NodeContext& node, std::size_t input);
/// Reads the attributes that Conv and the pooling operators share. `kernel` holds the extent in each direction.
[[nodiscard]] Directions place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel);
[[nodiscard]] Window window_of(const Direction& h, const Direction& w);

} // namespace rtexec::tasks::onnx_source
