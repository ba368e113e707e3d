#include "tasks/engine/cuda/lowerings.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace rtexec::tasks::cuda {
namespace {

/// Returns `rank` strides. From dimension `to` on, they are the `count` strides of `x` from its dimension `first` on.
/// All other strides are 0.
Strides placed(std::size_t rank, std::size_t to, const Strides& x, std::size_t first, std::size_t count) {
  Strides strides(rank, 0);
  std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), count, strides.begin() + static_cast<std::ptrdiff_t>(to));
  return strides;
}

Strides sum(Strides a, const Strides& b) {
  std::ranges::transform(a, b, a.begin(), std::plus());
  return a;
}

/// Returns the layout of index tuples, each of which refers to a place in x (an element, or the beginning of a slice).
/// Each tuple has `depth` indices. Index d of a tuple counts in dimension first + d of x. The indices of a tuple are
/// `stride` elements apart in memory.
IndexedPlaces places_in(const PlacedTensor& x, std::size_t first, std::size_t depth, std::int64_t stride) {
  IndexedPlaces places;
  places.depth = narrow(static_cast<std::int64_t>(depth));
  places.stride = stride;
  for (std::size_t d = 0; d < depth; ++d) {
    places.sizes[d] = narrow(x.shape[first + d]);
    places.strides[d] = x.strides[first + d];
  }
  return places;
}

template <class Arguments> void add_indices(KernelCall& call, const PlacedTensor& indices) {
  call.pointers.push_back({offsetof(Arguments, places) + offsetof(IndexedPlaces, indices), indices.location});
}

void take(LoweringContext& context, const Node& node, const IndexedPlaces& places, const Strides& x_strides,
          const PlacedTensor& x, const Strides& index_strides, const PlacedTensor& indices) {
  const auto y = context.exact_destination(node);
  GatherArguments t;
  t.places = places;
  t.x_view = kernel_view(y.shape, x_strides);
  t.indices_view = kernel_view(y.shape, index_strides);
  t.y_view = kernel_view(y.shape, y.strides);
  simplify(t);
  auto call = kernel_call<GatherArguments>(launch_of(t, y.storage), t,
                                           {{&GatherArguments::x, x.location}, {&GatherArguments::y, y.location}});
  add_indices<GatherArguments>(call, indices);
  context.emit(std::move(call));
  context.finish(node, y);
}

PlacedTensor source_of(LoweringContext& context, const Node& node) {
  return context.stored(node.inputs[0], context.tensors.storage_of(node.output));
}

PlacedTensor indices_of(LoweringContext& context, const Node& node) { return context.tensors.value(node.inputs[1]); }

} // namespace

void lower(LoweringContext& context, const Node& node, const Gather& operation) {
  const auto x = source_of(context, node), indices = indices_of(context, node);
  const auto rank = context.shape(node.output).size(), axis = operation.axis, wide = indices.shape.size();
  take(context, node, places_in(x, axis, 1, 0),
       sum(placed(rank, 0, x.strides, 0, axis),
           placed(rank, axis + wide, x.strides, axis + 1, x.shape.size() - axis - 1)),
       x, placed(rank, axis, indices.strides, 0, wide), indices);
}

void lower(LoweringContext& context, const Node& node, const GatherElements& operation) {
  const auto x = source_of(context, node), indices = indices_of(context, node);
  auto strides = x.strides;
  strides[operation.axis] = 0;
  take(context, node, places_in(x, operation.axis, 1, 0), strides, x, indices.strides, indices);
}

void lower(LoweringContext& context, const Node& node, const GatherND& operation) {
  const auto x = source_of(context, node), indices = indices_of(context, node);
  const auto rank = context.shape(node.output).size(), batch = operation.batch, wide = indices.shape.size() - 1;
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  take(context, node, places_in(x, batch, depth, indices.strides.back()),
       sum(placed(rank, 0, x.strides, 0, batch),
           placed(rank, wide, x.strides, batch + depth, x.shape.size() - batch - depth)),
       x, placed(rank, 0, indices.strides, 0, wide), indices);
}

void lower(LoweringContext& context, const Node& node, const Scatter& operation) {
  static_assert(static_cast<int>(Scatter::Kind::maximum) == ScatterArguments::maximum);
  const auto to = context.tensors.storage_of(node.output);
  const auto y = context.overwriting({node.inputs.data(), 1});
  const auto x = source_of(context, node), indices = indices_of(context, node),
             updates = context.stored(node.inputs[2], to);
  if (x.location != y.location || !lie_alike(x.shape, x.strides, y.strides)) context.copy(x, y);
  const auto rank = updates.shape.size();
  ScatterArguments p;
  p.kind = static_cast<int>(operation.kind);
  p.storage = to;
  Strides index_strides = indices.strides, y_strides = y.strides;
  /// True for a dimension along which several updates may be combined in the same element. One thread processes all
  /// indices of such a dimension in order.
  std::vector<bool> serial(rank, false);
  if (operation.axis) {
    p.places = places_in(y, *operation.axis, 1, 0);
    y_strides[*operation.axis] = 0;
    serial[*operation.axis] = operation.kind != Scatter::Kind::replace;
  } else {
    const auto wide = indices.shape.size() - 1;
    const auto depth = static_cast<std::size_t>(indices.shape.back());
    p.places = places_in(y, 0, depth, indices.strides.back());
    index_strides = placed(rank, 0, indices.strides, 0, wide);
    y_strides = placed(rank, wide, y.strides, depth, y.shape.size() - depth);
    for (std::size_t d = 0; d < wide; ++d) serial[d] = operation.kind != Scatter::Kind::replace;
  }
  const auto view = [&](const Strides& strides, bool wanted) {
    Shape shape;
    Strides chosen;
    for (std::size_t d = 0; d < rank; ++d)
      if (serial[d] == wanted) {
        shape.push_back(updates.shape[d]);
        chosen.push_back(strides[d]);
      }
    return kernel_view(shape, chosen);
  };
  std::tie(p.x_view, p.x_serial) = std::pair(view(updates.strides, false), view(updates.strides, true));
  std::tie(p.indices_view, p.indices_serial) = std::pair(view(index_strides, false), view(index_strides, true));
  std::tie(p.y_view, p.y_serial) = std::pair(view(y_strides, false), view(y_strides, true));
  using A = ScatterArguments;
  auto call = kernel_call<A>(launch_of(p, to), p, {{&A::x, updates.location}, {&A::y, y.location}});
  add_indices<A>(call, indices);
  context.emit(std::move(call));
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
