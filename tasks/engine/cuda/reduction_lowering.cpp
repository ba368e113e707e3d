#include "tasks/engine/cuda/lowerings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {
namespace {

// ---- sums, means, extremes, softmax

/// A range of dimensions [first, last) of a shape, which together have `count` elements. The dimensions before the
/// range together have `outer` elements.
struct Middle {
  std::size_t first = 0, last = 0;
};

std::optional<Middle> middle_of(const Shape& shape, std::int64_t outer, std::int64_t count) {
  Middle middle;
  std::int64_t product = 1;
  while (middle.first < shape.size() && product < outer) product *= shape[middle.first++];
  if (product != outer) return std::nullopt;
  product = 1;
  middle.last = middle.first;
  while (middle.last < shape.size() && product < count) product *= shape[middle.last++];
  return product == count ? std::optional(middle) : std::nullopt;
}

template <class T> std::vector<T> without(const std::vector<T>& values, const Middle& middle) {
  std::vector<T> rest(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle.first));
  rest.insert(rest.end(), values.begin() + static_cast<std::ptrdiff_t>(middle.last), values.end());
  return rest;
}
template <class T> std::vector<T> within(const std::vector<T>& values, const Middle& middle) {
  return {values.begin() + static_cast<std::ptrdiff_t>(middle.first),
          values.begin() + static_cast<std::ptrdiff_t>(middle.last)};
}

/// Returns tensor `id` with the shape [outer, count, inner], dense, in the storage `in`.
PlacedTensor grouped(LoweringContext& context, TensorId id, std::int64_t outer, std::int64_t count, std::int64_t inner,
                     Storage in) {
  const Shape groups{outer, count, inner};
  return under(context.row_major(id, in), groups, dense_strides(groups));
}

void global_average(LoweringContext& context, const Node& node, const PlacedTensor& y) {
  const auto x = context.pixels(node.inputs[0]);
  GlobalAverageArguments g;
  g.batch = narrow(x.image.batch);
  g.pixels = narrow(x.image.height * x.image.width);
  g.channels = narrow(x.image.channels);
  g.x_stride = narrow(x.image.pixel);
  g.y_stride = narrow(y.strides[0]);
  const auto wanted = split(g);
  g.splits = wanted.splits;
  MemoryLocation partial, counters;
  if (wanted.splits > 1) {
    partial = context.tensors.allocate({wanted.partials}, {1}, Storage::f32).location;
    counters = {MemoryLocation::Region::buffer, context.program.counters_buffer, 0};
    context.program.counters = std::max(context.program.counters, static_cast<std::size_t>(wanted.counters));
  }
  using A = GlobalAverageArguments;
  context.emit<A>(g,
                  {{&A::x, x.value.location}, {&A::y, y.location}, {&A::partial, partial}, {&A::counters, counters}});
  context.finish(node, y);
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Reduce& mean) {
  static_assert(static_cast<int>(Reduce::Kind::last_maximum) == ReduceArguments::last_maximum);
  const auto& x = context.shape(node.inputs[0]);
  if (mean.kind == Reduce::Kind::mean && node.activation.kind == Activation::Kind::none && x.size() == 4 &&
      x[0] <= max_blocks && mean.outer == x[0] * x[1] && mean.inner == 1 && (mean.count > 1 || x[2] * x[3] == 1)) {
    if (auto y = context.tensors.destination(node.output); reshape(y.shape, y.strides, {x[0], x[1]})) {
      global_average(context, node, y);
      return;
    }
  }
  const bool finds = mean.kind >= Reduce::Kind::first_minimum;
  const auto in = finds ? context.tensors.value(node.inputs[0]).storage : context.tensors.storage_of(node.output);
  auto from = context.stored(node.inputs[0], in);
  auto middle = middle_of(from.shape, mean.outer, mean.count);
  if (!middle) {
    from = grouped(context, node.inputs[0], mean.outer, mean.count, mean.inner, in);
    middle = Middle{1, 2};
  }
  const auto kept = without(from.shape, *middle);
  const auto to = context.exact_destination(node);
  auto y = to;
  auto y_strides = reshape(y.shape, y.strides, kept);
  if (!y_strides) {
    y = context.tensors.allocate(y.shape, dense_strides(y.shape), y.storage);
    y_strides = dense_strides(kept);
  }
  ReduceArguments r;
  r.kept = kernel_view(kept, without(from.strides, *middle));
  r.y_kept = kernel_view(kept, *y_strides);
  r.reduced = kernel_view(within(from.shape, *middle), within(from.strides, *middle));
  r.y_reduced = kernel_view(within(from.shape, *middle), Strides(middle->last - middle->first, 0));
  r.kind = static_cast<int>(mean.kind);
  r.activation = context.activation_of(node.activation);
  r.storage = in;
  if (r.kind < ReduceArguments::first_minimum) simplify(r); // other kinds return an index, so the order matters
  context.emit(kernel_call<ReduceArguments>(reduce_launch(r, in), r,
                                            {{&ReduceArguments::x, from.location}, {&ReduceArguments::y, y.location}}));
  context.finish(node, to, y);
}

void lower(LoweringContext& context, const Node& node, const Softmax& softmax) {
  auto x = context.stored(node.inputs[0], context.storage());
  auto y = context.tensors.destination(node.output);
  auto to = y;
  auto middle = middle_of(x.shape, softmax.outer, softmax.count);
  if (!middle) {
    x = grouped(context, node.inputs[0], softmax.outer, softmax.count, softmax.inner, context.storage());
    middle = Middle{1, 2};
    y = context.tensors.allocate(y.shape, dense_strides(y.shape), context.storage());
    to = under(y, x.shape, dense_strides(x.shape));
  }
  ReduceArguments r;
  r.kept = kernel_view(without(x.shape, *middle), without(x.strides, *middle));
  r.y_kept = kernel_view(without(x.shape, *middle), without(to.strides, *middle));
  r.reduced = kernel_view(within(x.shape, *middle), within(x.strides, *middle));
  r.y_reduced = kernel_view(within(x.shape, *middle), within(to.strides, *middle));
  r.may_be_nothing = softmax.may_be_nothing;
  simplify(r);
  const auto launch =
      softmax.logarithm ? log_softmax_launch(r, context.storage()) : softmax_launch(r, context.storage());
  context.emit(
      kernel_call<ReduceArguments>(launch, r, {{&ReduceArguments::x, x.location}, {&ReduceArguments::y, y.location}}));
  context.finish(node, y);
}

// ---- normalisation

namespace {

/// The dimensions of x, divided into two parts. The first part has `outer` elements. If the boundary is inside a
/// dimension of x, that dimension is split in two.
struct Divided {
  Shape shape;
  std::size_t at = 0;            // index of the first dimension of the second part
  std::vector<std::size_t> from; // for each dimension, the dimension of x that it comes from

  Divided(const Shape& x, std::int64_t outer) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      const auto in_outer = std::gcd(outer, x[d]);
      if (outer > 1 && in_outer < x[d]) add(in_outer, d);
      if (outer > 1) at = shape.size() + (in_outer == x[d] ? 1 : 0);
      add(outer > 1 && in_outer < x[d] ? x[d] / in_outer : x[d], d);
      outer /= in_outer;
    }
  }
  [[nodiscard]] Strides strides(const Strides& of) const {
    Strides divided(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d)
      divided[d] = of[from[d]] * (d + 1 < shape.size() && from[d + 1] == from[d] ? shape[d + 1] : 1);
    return divided;
  }
  void set(View& kept, View& reduced, const Strides& of) const {
    const auto all = strides(of);
    const auto middle = static_cast<std::ptrdiff_t>(at);
    kept = kernel_view({shape.begin(), shape.begin() + middle}, {all.begin(), all.begin() + middle});
    reduced = kernel_view({shape.begin() + middle, shape.end()}, {all.begin() + middle, all.end()});
  }

 private:
  void add(std::int64_t extent, std::size_t d) {
    shape.push_back(extent);
    from.push_back(d);
  }
};

} // namespace

void lower(LoweringContext& context, const Node& node, const LayerNorm& normalise) {
  const auto x = context.stored(node.inputs[0], context.storage());
  const auto y = context.tensors.destination(node.output);
  const Divided divided(x.shape, normalise.outer);
  LayerNormArguments n;
  n.epsilon = normalise.epsilon;
  n.centred = normalise.centred;
  n.activation = context.activation_of(node.activation);
  divided.set(n.kept, n.reduced, x.strides);
  divided.set(n.y_kept, n.y_reduced, y.strides);
  n.residual_kept = n.kept;
  n.scale_reduced = n.shift_reduced = n.residual_reduced = n.reduced;
  View same;
  divided.set(n.scale_kept, same, Strides(x.shape.size(), 0));
  n.shift_kept = n.scale_kept;
  const auto operand = [&](TensorId id, View& kept, View& reduced) {
    const auto value = context.stored(id, context.storage());
    divided.set(kept, reduced, broadcast(value.shape, value.strides, x.shape));
    return value.location;
  };
  MemoryLocation scale, shift, residual;
  if (node.inputs.size() > 1) scale = operand(node.inputs[1], n.scale_kept, n.scale_reduced);
  if (node.inputs.size() > 2) shift = operand(node.inputs[2], n.shift_kept, n.shift_reduced);
  if (node.residual) residual = operand(*node.residual, n.residual_kept, n.residual_reduced);
  simplify(n);
  const auto emit = [&]<class A>(const A& arguments) {
    context.emit<A>(
        arguments,
        {{&A::x, x.location}, {&A::scale, scale}, {&A::shift, shift}, {&A::residual, residual}, {&A::y, y.location}});
  };
  const bool whole = std::ranges::all_of(std::array{x.location, scale, shift, residual, y.location},
                                         [](const MemoryLocation& location) { return location.offset % 16 == 0; });
  const auto rows = whole ? whole_rows(n, context.storage()) : std::nullopt;
  if (rows) emit(*rows);
  else emit(n);
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const Lrn& lrn) {
  const auto x = context.pixels(node.inputs[0]);
  const auto y = context.as_pixels(context.tensors.destination(node.output));
  LrnArguments l;
  l.pixels = x.image.batch * x.image.height * x.image.width;
  l.channels = narrow(x.image.channels);
  l.x_stride = narrow(x.image.pixel);
  l.y_stride = narrow(y.image.pixel);
  l.size = narrow(lrn.size);
  l.alpha = lrn.alpha;
  l.beta = lrn.beta;
  l.bias = lrn.bias;
  context.emit<LrnArguments>(l, {{&LrnArguments::x, x.value.location}, {&LrnArguments::y, y.value.location}});
  context.finish(node, y.value);
}

// ---- along one dimension

namespace {

/// Returns a view of the outer and inner dimensions of a tensor of shape [outer, count, inner].
View around(std::int64_t outer, std::int64_t count, std::int64_t inner) {
  return kernel_view({outer, inner}, {count * inner, 1});
}

} // namespace

void lower(LoweringContext& context, const Node& node, const CumSum& running) {
  const auto in = context.tensors.storage_of(node.output);
  const auto x = context.row_major(node.inputs[0], in);
  const auto to = context.exact_destination(node);
  const auto y = context.tensors.allocate(x.shape, x.strides, in);
  CumSumArguments r;
  r.x_view = r.y_view = around(running.outer, running.count, running.inner);
  r.count = narrow(running.count);
  r.x_stride = r.y_stride = running.inner;
  r.exclusive = running.exclusive;
  r.reverse = running.reverse;
  r.storage = in;
  using A = CumSumArguments;
  context.emit<A>(r, {{&A::x, x.location}, {&A::y, y.location}}, in);
  context.finish(node, to, y);
}

void lower(LoweringContext& context, const Node& node, const TopK& top) {
  const auto in = context.tensors.value(node.inputs[0]).storage;
  const auto x = context.row_major(node.inputs[0], in);
  const auto y =
      context.tensors.allocate(context.shape(node.output), dense_strides(context.shape(node.output)), Storage::s64);
  TopKArguments t;
  t.x_view = around(top.outer, top.count, top.inner);
  t.y_view = around(top.outer, top.kept, top.inner);
  if (top.outer * top.inner > max_blocks)
    throw Unsupported{"node '" + node.name + "': the largest elements of more than " + std::to_string(max_blocks) +
                      " rows; supported on a GPU: up to that many"};
  t.count = narrow(top.count);
  t.kept = narrow(top.kept);
  t.x_stride = t.y_stride = top.inner;
  t.largest = top.largest;
  t.storage = in;
  using A = TopKArguments;
  context.emit<A>(t, {{&A::x, x.location}, {&A::y, y.location}}, in);
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
