// The layout of a tensor of any shape in memory: one stride for each dimension, in elements. The functions decide for
// gpu_lowering.hpp which reshapes and views of a tensor need no copy, and which tensors are images with channels last.
// Pure arithmetic.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

using Strides = std::vector<std::int64_t>;

/// Returns strides for shape `to` that visit the elements of a tensor of shape `from` with `strides` in the same
/// row-major order. Returns nullopt if there are no such strides, so that a reshape must copy.
[[nodiscard]] std::optional<Strides> reshape(const Shape& from, const Strides& strides, const Shape& to);

struct Viewed {
  std::int64_t offset = 0;
  Strides strides;
};
/// Returns the offset and strides of `view`, whose shape is `to`, in a tensor of shape `from` with `strides`. `view`
/// itself refers to a dense tensor. Returns nullopt if an index of `to` would carry over from one dimension of `from`
/// to the next.
[[nodiscard]] std::optional<Viewed> view_of(const tasks::View& view, const Shape& to, const Shape& from,
                                            const Strides& strides);

/// True if `a` and `b` give a tensor of `shape` the same layout. The strides of dimensions with one element are
/// ignored.
[[nodiscard]] bool lie_alike(const Shape& shape, const Strides& a, const Strides& b);

/// Returns the strides of a tensor [n, c, ...] with channels last and `pixel` elements from one pixel to the next.
[[nodiscard]] Strides channels_last(const Shape& shape, std::int64_t pixel);

/// A tensor [n, c, ...] as an image with channels last, the form that kernels use.
struct Image {
  std::int64_t batch = 1, height = 1, width = 1, channels = 1;
  std::int64_t pixel = 1; // number of elements from one pixel to the next
};
/// Returns the tensor as an image, or nullopt if it is not stored as one. If exactly two dimensions follow c, they are
/// height and width. Otherwise the height is the product of all dimensions after c, and the width is 1. If there is
/// only one pixel, its stride is the number of channels rounded up to a multiple of `unit`.
[[nodiscard]] std::optional<Image> image_of(const Shape& shape, const Strides& strides, std::int64_t unit);

/// Returns the size of the smallest memory range that contains the tensor, in elements.
[[nodiscard]] std::int64_t extent(const Shape& shape, const Strides& strides);

[[nodiscard]] std::int64_t round_up(std::int64_t value, std::int64_t unit);

/// Returns the View argument of kernels for a tensor. The view has at most max_dimensions dimensions. A scalar becomes
/// a view of one dimension with one element.
[[nodiscard]] View kernel_view(const Shape& shape, const Strides& strides);

} // namespace rtexec::tasks::cuda
