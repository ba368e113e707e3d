#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"
#include "tasks/engine/onnx/windows.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

TensorId pool_plane(NodeContext& node, Pool pool, TensorId x, const Shape& shape, const Direction& h,
                    const Direction& w, bool ceil) {
  for (const auto& each : {h, w}) {
    if (std::max(each.before, each.after) >= each.reach())
      node.unsupported("its padding must be smaller than its window; use a separate Pad node");
    // A dilated window can step over a small input entirely. The result of such a window would be undefined.
    if (each.dilation > 1 && each.size < each.dilation)
      node.unsupported("its dilation is larger than its input; use a larger input");
  }
  pool.window = window_of(h, w);
  return node.emit(pool, {x}, {shape[0], shape[1], h.outputs(ceil), w.outputs(ceil)});
}

/// Pools rows, images or volumes. Volumes take two steps: over height and width, then over depth.
TensorId pool_all(NodeContext& node, const Pool& pool, TensorId y, const Shape& x, const Directions& directions,
                  bool ceil) {
  const auto &h = directions.size() > 1 ? directions[directions.size() - 2] : no_direction, &w = directions.back();
  const auto depth = directions.size() == 3 ? x[2] : 1;
  const Shape planes{x[0], x[1] * depth, h.size, w.size};
  if (planes != x) y = node.emit(Reshape{}, {y}, planes);
  y = pool_plane(node, pool, y, planes, h, w, ceil);
  Shape out{x[0], x[1]};
  for (const auto& each : directions) out.push_back(each.outputs(ceil));
  if (directions.size() == 3) {
    const Shape columns{x[0], x[1], depth, out[3] * out[4]};
    Direction all = no_direction;
    all.size = columns[3];
    y = pool_plane(node, pool, node.emit(Reshape{}, {y}, columns), columns, directions[0], all, ceil);
  }
  return directions.size() == 2 ? y : node.emit(Reshape{}, {y}, std::move(out));
}

std::vector<std::int64_t> pool_kernel(NodeContext& node, const Shape& x) {
  auto kernel = node.attribute<std::vector<std::int64_t>>("kernel_shape");
  if (kernel.size() != x.size() - 2)
    node.bad("kernel_shape has " + std::to_string(kernel.size()) + " values, and its input takes " +
             std::to_string(x.size() - 2));
  return kernel;
}

/// Returns for each window and each tap of the window the index, within its plane, of the element that the tap reads.
/// The index of a tap outside the input is `outside`. Indices are column-major if `by_column` is set.
std::vector<std::int64_t> taps_of(const Directions& directions, bool ceil, bool by_column, std::int64_t outside) {
  Shape loops;
  for (const auto& each : directions) loops.push_back(each.outputs(ceil));
  for (const auto& each : directions) loops.push_back(each.kernel);
  std::vector<std::int64_t> taps(static_cast<std::size_t>(element_count(loops)));
  const std::size_t rank = directions.size();
  Shape index(loops.size(), 0);
  for (auto& tap : taps) {
    for (std::size_t i = 0; i < rank && tap != outside; ++i) {
      const auto d = by_column ? rank - 1 - i : i;
      const auto& each = directions[d];
      const auto at = index[d] * each.stride + index[rank + d] * each.dilation - each.before;
      tap = at < 0 || at >= each.size ? outside : tap * each.size + at;
    }
    for (std::size_t d = loops.size(); d-- > 0;) {
      if (++index[d] < loops[d]) break;
      index[d] = 0;
    }
  }
  return taps;
}

/// Returns the index of the largest element of each window, or the smallest such index if several elements are equal.
/// An index counts the elements of all batches and channels of the input.
TensorId largest_indices(NodeContext& node, const Shape& x, const Shape& y, const Directions& directions, bool ceil) {
  const bool by_column = node.attribute<std::int64_t>("storage_order", 0) != 0;
  const auto planes = x[0] * x[1], plane = product(x, 2, x.size()), windows = product(y, 2, y.size());
  std::int64_t taps = 1;
  for (const auto& each : directions) taps = std::min(taps * each.kernel, max_elements + 1);
  (void)node.checked({planes, windows, taps});
  node.charge(static_cast<std::size_t>(2 * windows * taps), sizeof(std::int64_t));
  const auto seen = taps_of(directions, ceil, false, plane), told = taps_of(directions, ceil, by_column, plane);
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  auto all = node.emit(Reshape{}, {node.cast(node.tensor(0), ElementType::float32)}, {planes, plane});
  all = node.emit(Pad{{0, 0}, nothing}, {all}, {planes, plane + 1});
  all = node.emit(GatherConstant{1, seen}, {all}, {planes, windows * taps});
  const auto tap = node.emit(Reduce{Reduce::Kind::first_maximum, planes * windows, taps, 1}, {all}, {planes, windows},
                             ElementType::int64);
  constexpr auto integer = ElementType::int64;
  const auto rows = node.filled({windows}, integer, [&](std::int64_t i) { return i * taps; });
  const auto firsts = node.filled({planes, 1}, integer, [&](std::int64_t i) { return i * plane; });
  const Binary add{Binary::Kind::add};
  auto index = node.emit(add, {tap, rows}, {planes, windows});
  const auto table = node.integer_constant({windows * taps}, Integers({told.begin(), told.end()}, integer));
  index = node.emit(Gather{0}, {table, index}, {planes, windows}, integer);
  index = node.emit(add, {index, firsts}, {planes, windows});
  return node.emit(Reshape{}, {index}, y);
}

template <Pool::Kind kind> void pool(NodeContext& node) {
  const auto x = windowed(node, 0);
  const Pool pool{kind, {}, kind == Pool::Kind::average && node.attribute<std::int64_t>("count_include_pad", 0) != 0};
  const bool ceil = node.attribute<std::int64_t>("ceil_mode", 0) != 0;
  const auto directions = place_window(node, x, pool_kernel(node, x));
  const auto type = node.element_type(0);
  const auto pooled = pool_all(node, pool, node.cast(node.tensor(0), ElementType::float32), x, directions, ceil);
  const auto y = node.cast(pooled, type); // converts 8-bit results back; floats represent 8-bit values exactly
  node.set_output(y);
  if (kind != Pool::Kind::max) return;
  if (node.has_output(1)) node.set_output(largest_indices(node, x, node.shape_of(y), directions, ceil), 1);
  else node.ignore_attribute("storage_order");
}

/// Lowers MaxUnpool, which writes elements into a tensor of zeros, at the indices that MaxPool returned.
void unpool(NodeContext& node) {
  const auto x = windowed(node, 0);
  node.require(node.shape(1) == x, "it must have one index for each element");
  const auto directions = place_window(node, x, pool_kernel(node, x));
  Shape shape{x[0], x[1]};
  for (const auto& each : directions)
    shape.push_back((each.size - 1) * each.stride + each.kernel - each.before - each.after);
  shape = node.checked(std::move(shape));
  const auto count = element_count(shape);
  const auto zeros =
      node.emit(View{0, {0}}, {node.emit(Reshape{}, {node.scalar(0, node.element_type(0))}, {1})}, {count});
  const auto flat = [&](TensorId tensor) { return node.emit(Reshape{}, {tensor}, {element_count(x)}); };
  auto y = node.emit(Scatter{Scatter::Kind::replace, 0}, {zeros, flat(node.indices(1)), flat(node.tensor(0))}, {count},
                     node.element_type(0));
  y = node.emit(Reshape{}, {y}, shape);
  if (node.has(2)) { // a larger output_shape appends zeros
    const auto wanted = node.ints(2, "the output's shape");
    node.require(wanted.size() == shape.size() && std::ranges::equal(wanted, shape, std::greater_equal()),
                 "its output_shape is smaller than its output");
    if (wanted != shape) y = node.emit(Pad{std::vector<std::int64_t>(shape.size(), 0), 0}, {y}, wanted);
  }
  node.set_output(y);
}

/// The operations of a p-norm, which is the p-th root of the sum of the p-th powers of magnitudes.
struct Norm {
  explicit Norm(NodeContext& node) : p(static_cast<float>(node.attribute<std::int64_t>("p", 2))) {
    node.require(p >= 1, "its p is below 1");
  }
  [[nodiscard]] TensorId powers(NodeContext& node, TensorId x, const Shape& shape) const {
    if (p == 2) return node.emit(Binary{Binary::Kind::multiply}, {x, x}, shape);
    x = node.emit(Activation{Activation::Kind::absolute}, {x}, shape);
    return p == 1 ? x : node.emit(Binary{Binary::Kind::power}, {x, node.constant({}, {p})}, shape);
  }
  [[nodiscard]] TensorId root(NodeContext& node, TensorId x, const Shape& shape) const {
    if (p == 1) return x;
    if (p == 2) return node.emit(Activation{Activation::Kind::sqrt}, {x}, shape);
    return node.emit(Binary{Binary::Kind::power}, {x, node.constant({}, {1 / p})}, shape);
  }
  float p;
};

/// Lowers LpPool. The sum over a window is computed as the average over the window times the number of its taps.
void norm_pool(NodeContext& node) {
  const auto x = windowed(node, 0);
  const Norm norm(node);
  const bool ceil = node.attribute<std::int64_t>("ceil_mode", 0) != 0;
  const auto kernel = pool_kernel(node, x);
  auto directions = place_window(node, x, kernel);
  Shape out{x[0], x[1]}, longer = out;
  for (auto& each : directions) {
    out.push_back(each.outputs(ceil));
    const auto seen = (out.back() - 1) * each.stride + each.reach();
    // Appends elements so that the last window is inside the input.
    each.size += std::max<std::int64_t>(seen - each.size - each.before - each.after, 0);
    longer.push_back(each.size);
  }
  auto powers = norm.powers(node, node.tensor(0), x);
  if (longer != x) powers = node.emit(Pad{std::vector<std::int64_t>(x.size(), 0), 0}, {powers}, longer);
  const auto mean = pool_all(node, {Pool::Kind::average, {}, true}, powers, longer, directions, false);
  const auto count = static_cast<float>(element_count(kernel));
  node.set_output(norm.root(node, node.emit(Activation{Activation::Kind::scale, count, 0}, {mean}, out), out));
}

void global_norm(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  const Norm norm(node);
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto planes = x[0] * x[1];
  const auto powers = norm.powers(node, node.tensor(0), x);
  const auto sum = node.emit(Reduce{Reduce::Kind::sum, planes, product(x, 2, x.size()), 1}, {powers}, shape);
  node.set_output(norm.root(node, sum, shape));
}

template <Reduce::Kind kind> void global_pool(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto planes = x[0] * x[1];
  node.set_output(node.emit(Reduce{kind, planes, product(x, 2, x.size()), 1}, {node.tensor(0)}, std::move(shape)));
}

} // namespace

void add_pooling_operators(OperatorTable& table) {
  table["MaxPool"] = {pool<Pool::Kind::max>, "one to three dimensions in addition to batch and channels"};
  table["MaxUnpool"] = {unpool, "one to three dimensions in addition to batch and channels", 9};
  table["AveragePool"] = {pool<Pool::Kind::average>, "one to three dimensions in addition to batch and channels"};
  table["GlobalAveragePool"] = {global_pool<Reduce::Kind::mean>, "three dimensions or more"};
  table["GlobalLpPool"] = {global_norm, "three dimensions or more"};
  table["LpPool"] = {norm_pool, "one to three dimensions in addition to batch and channels"};
  table["GlobalMaxPool"] = {global_pool<Reduce::Kind::maximum>, "three dimensions or more"};
}

} // namespace rtexec::tasks::onnx_source
