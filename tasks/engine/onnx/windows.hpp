// Windows that step over images: what Conv and the pooling operators have in common.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::tasks::onnx_source {

inline constexpr std::size_t max_directions = 3;

/// Of kernels, strides, paddings and dilations: refuses what is below `least`, or so large that sizes could overflow.
std::int64_t checked_extent(NodeContext& node, std::int64_t value, std::int64_t least, const char* what);
/// An attribute of `count` of them, or as many times `fallback`, which is the least.
[[nodiscard]] std::vector<std::int64_t> extents(NodeContext& node, const char* attribute, std::size_t count,
                                                std::int64_t fallback, const char* what);

/// One direction of a window over an input of `size`.
struct Direction {
  std::int64_t kernel, stride, dilation, before, after, size;
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }

  /// SAME: the output has ceil(size / stride) elements; an odd padding goes to the end (upper) or to the beginning
  /// (lower).
  void pad_same(bool upper);
  /// With `ceil` a last window may hang over the end, but never begins beyond the input and its leading padding.
  [[nodiscard]] std::int64_t outputs(bool ceil) const;
};

using Directions = std::vector<Direction>;

inline constexpr Direction no_direction{1, 1, 1, 0, 0, 1};

/// Refuses shapes that are not of images, rows or volumes.
void require_images(const NodeContext& node, const Shape& x);
/// The shape of a tensor of images, rows or volumes.
[[nodiscard]] Shape windowed(NodeContext& node, std::size_t input);
/// Reads the attributes that Conv and the pooling operators share. `kernel` has its extent in each direction.
[[nodiscard]] Directions place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel);
[[nodiscard]] Window window_of(const Direction& h, const Direction& w);

} // namespace rtexec::tasks::onnx_source
