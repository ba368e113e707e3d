// How a tensor of any shape lies in memory: one stride for each dimension, in elements. Pure arithmetic of
// gpu_lowering.hpp: which reshapes and views of a tensor need no copy, and which tensors are images with their channels
// last.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

using Strides = std::vector<std::int64_t>;

/// Strides of `to` under which its elements, in row-major order, are those of a tensor of shape `from` with `strides`,
/// in the same order. Nothing where there are none: then a reshape must copy.
[[nodiscard]] std::optional<Strides> reshape(const Shape& from, const Strides& strides, const Shape& to);

struct Viewed {
  std::int64_t offset = 0;
  Strides strides;
};
/// Where the elements of `view`, of shape `to`, lie in a tensor of shape `from` with `strides`. Nothing where an index
/// of `to` would carry from one dimension of `from` to the next.
[[nodiscard]] std::optional<Viewed> view_of(const tasks::View& view, const Shape& to, const Shape& from,
                                            const Strides& strides);

/// Whether a tensor of that shape lies alike under both: strides of a dimension of one element say nothing.
[[nodiscard]] bool lie_alike(const Shape& shape, const Strides& a, const Strides& b);

/// [n, c, ...]: channels last, `pixel` elements from one pixel to the next.
[[nodiscard]] Strides channels_last(const Shape& shape, std::int64_t pixel);

/// A tensor [n, c, ...] as kernels see images.
struct Image {
  std::int64_t batch = 1, height = 1, width = 1, channels = 1;
  std::int64_t pixel = 1; // stride of a pixel
};
/// Nothing where the tensor does not lie so. With more or less than two dimensions beyond c, they count as rows of one
/// pixel each. `unit`: the stride of a single pixel is the channels rounded up to this.
[[nodiscard]] std::optional<Image> image_of(const Shape& shape, const Strides& strides, std::int64_t unit);

/// The smallest stretch of memory that holds the tensor, in elements.
[[nodiscard]] std::int64_t extent(const Shape& shape, const Strides& strides);

[[nodiscard]] std::int64_t round_up(std::int64_t value, std::int64_t unit);

/// For a kernel. At most max_dimensions of them, and a scalar has one of one element.
[[nodiscard]] View kernel_view(const Shape& shape, const Strides& strides);

} // namespace rtexec::tasks::cuda
