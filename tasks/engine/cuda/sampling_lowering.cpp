#include "tasks/engine/cuda/lowerings.hpp"
#include "tasks/engine/cuda/matmul_lowering.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace rtexec::tasks::cuda {

void lower(LoweringContext& context, const Node& node, const Pool& pool) {
  const auto x = context.pixels(node.inputs[0]);
  const auto y = context.tensors.destination(node.output);
  PoolArguments p;
  set_images(p, x.image, y.shape);
  set_window(p, pool.window);
  p.pad_bottom = narrow(pool.window.pad_bottom);
  p.pad_right = narrow(pool.window.pad_right);
  p.y_stride = narrow(context.image_of(y)->pixel);
  p.average = pool.kind == Pool::Kind::average;
  p.count_padding = pool.count_padding;
  context.emit<PoolArguments>(p, {{&PoolArguments::x, x.value.location}, {&PoolArguments::y, y.location}});
  context.finish(node, y);
}

namespace {

MemoryLocation taps(LoweringContext& context, const std::vector<Resize::Tap>& taps) {
  std::vector<ResizeTap> packed;
  for (const auto& tap : taps) packed.push_back({narrow(tap.low), narrow(tap.high), tap.weight});
  return context.tensors.constant(packed);
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Resize& resize) {
  const auto x = context.pixels(node.inputs[0]);
  const auto y = context.tensors.destination(node.output);
  ResizeArguments r;
  set_images(r, x.image, y.shape);
  r.y_stride = narrow(context.image_of(y)->pixel);
  using A = ResizeArguments;
  context.emit<A>(r, {{&A::x, x.value.location},
                      {&A::y, y.location},
                      {&A::rows, taps(context, resize.rows)},
                      {&A::columns, taps(context, resize.columns)}});
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const Resample& resample) {
  const auto x = context.row_major(node.inputs[0]);
  const auto& to = context.shape(node.output);
  const Shape from_shape{resample.outer, resample.count, resample.inner};
  const auto positions = static_cast<std::int64_t>(resample.indices.size()) / resample.taps;
  const Shape to_shape{resample.outer, positions, resample.inner};
  const auto y = context.tensors.allocate(to, dense_strides(to), context.storage());
  ResampleArguments r;
  r.x_view = kernel_view(to_shape, dense_strides(from_shape));
  r.y_view = kernel_view(to_shape, dense_strides(to_shape));
  r.axis = 1;
  r.taps = narrow(resample.taps);
  simplify(r);
  std::vector<int> indices;
  for (const auto index : resample.indices) indices.push_back(narrow(index));
  using A = ResampleArguments;
  context.emit<A>(r, {{&A::x, x.location},
                      {&A::indices, context.tensors.constant(indices)},
                      {&A::weights, context.tensors.constant(resample.weights)},
                      {&A::y, y.location}});
  context.finish(node, y);
}

namespace {

/// Returns tensor `id` as an image in which the channels of a pixel are contiguous. The strides between pixels are
/// arbitrary.
PlacedTensor side_by_side(LoweringContext& context, TensorId id) {
  const auto& x = context.tensors.value(id);
  return x.storage == context.storage() && x.strides[1] == 1 ? x : context.pixels(id).value;
}

View by_channels(const PlacedTensor& x) {
  const auto in_order = [](const auto& of) { return std::vector{of[0], of[2], of[3], of[1]}; };
  return kernel_view(in_order(x.shape), in_order(x.strides));
}

Sampling sampling_of(const GridSample& sample) {
  static_assert(static_cast<int>(GridSample::Mode::cubic) == Sampling::cubic &&
                static_cast<int>(GridSample::Padding::reflection) == Sampling::reflection);
  return {static_cast<int>(sample.mode), static_cast<int>(sample.padding), sample.align_corners};
}

} // namespace

void lower(LoweringContext& context, const Node& node, const GridSample& sample) {
  const auto x = side_by_side(context, node.inputs[0]);
  const auto grid = context.stored(node.inputs[1], context.storage());
  const auto y = context.tensors.destination(node.output);
  GridSampleArguments g;
  g.x_view = by_channels(x);
  g.y_view = by_channels(y);
  std::ranges::copy(grid.strides, g.grid_strides);
  g.sampling = sampling_of(sample);
  using A = GridSampleArguments;
  context.emit<A>(g, {{&A::x, x.location}, {&A::grid, grid.location}, {&A::y, y.location}});
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const DeformableAttention& attention) {
  static_assert(DeformableAttention::max_images == max_sampled_images);
  using A = DeformableArguments;
  const auto scores = context.stored(node.inputs[0], context.storage());
  const auto y = attended(context, node);
  A a;
  std::vector<Operand<A>> operands{{&A::scores, scores.location}, {&A::y, y.location}};
  a.images = narrow(static_cast<std::int64_t>(node.inputs.size() / 2));
  for (std::size_t i = 0; i < node.inputs.size() / 2; ++i) {
    const auto x = side_by_side(context, node.inputs[1 + 2 * i]);
    const auto grid = context.stored(node.inputs[2 + 2 * i], context.storage());
    a.image[i] = {narrow(x.shape[2]), narrow(x.shape[3]), {x.strides[0], x.strides[2], x.strides[3]}, {}};
    std::ranges::copy(grid.strides, a.image[i].grid_strides);
    a.points = narrow(grid.shape[2]);
    operands.emplace_back(&A::x, i, x.location);
    operands.emplace_back(&A::grid, i, grid.location);
  }
  a.batch = narrow(y.shape[0]);
  a.queries = narrow(y.shape[1]);
  a.channels = narrow(y.shape[2]);
  std::copy_n(std::array{scores.strides[0], scores.strides[2], scores.strides[3]}.begin(), 3, a.scores_strides);
  std::copy_n(y.strides.begin(), 2, a.y_strides);
  a.sampling = sampling_of(attention.sample);
  context.emit<A>(a, operands);
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
