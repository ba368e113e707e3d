// Sliding windows over images: the common part of Conv and the pooling operators.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::tasks::onnx_source {

inline constexpr std::size_t max_directions = 3;

/// Returns `value`, which is a kernel size, stride, padding or dilation. Refuses a value below `least`, and a value so
/// large that sizes could overflow.
std::int64_t checked_extent(NodeContext& node, std::int64_t value, std::int64_t least, const char* what);
/// Returns the `count` values of an attribute that has a value for each direction. If the attribute is absent, all
/// values are `fallback`. The smallest allowed value is `fallback`, too.
[[nodiscard]] std::vector<std::int64_t> extents(NodeContext& node, const char* attribute, std::size_t count,
                                                std::int64_t fallback, const char* what);

/// The parameters of a window in one direction, over an input of `size` elements.
struct Direction {
  std::int64_t kernel, stride, dilation, before, after, size;
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }

  /// Sets padding of mode SAME: the output has ceil(size / stride) elements. If the number of padding elements is odd,
  /// the additional element is at the end (if `upper`) or at the beginning.
  void pad_same(bool upper);
  /// Returns the number of windows. With `ceil` the last window may extend beyond the end of the input, but must begin
  /// inside the input or its leading padding.
  [[nodiscard]] std::int64_t outputs(bool ceil) const;
};

using Directions = std::vector<Direction>;

inline constexpr Direction no_direction{1, 1, 1, 0, 0, 1};

/// Refuses shapes that are not batches of rows, images or volumes (3 to 5 dimensions).
void require_images(const NodeContext& node, const Shape& x);
/// Returns the shape of an input that must hold rows, images or volumes.
[[nodiscard]] Shape windowed(NodeContext& node, std::size_t input);
/// Reads the attributes that Conv and the pooling operators share. `kernel` holds the window's size in each direction.
[[nodiscard]] Directions place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel);
[[nodiscard]] Window window_of(const Direction& h, const Direction& w);

} // namespace rtexec::tasks::onnx_source
