#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <functional>

namespace rtexec::tasks::onnx_source {
namespace {

/// A tensor viewed as [outer, count, inner]. `count` is the product of the dimensions [first, last).
struct Middle {
  std::int64_t outer, count, inner;
  Middle(const Shape& shape, std::size_t first, std::size_t last)
      : outer(product(shape, 0, first)),
        count(product(shape, first, last)),
        inner(product(shape, last, shape.size())) {}
};

Middle along(const Shape& shape, std::size_t axis) { return {shape, axis, axis + 1}; }

template <bool logarithm> void softmax(NodeContext& node) {
  const auto shape = node.shape(0);
  const bool flattens = node.opset() < 13; // true: merges all dimensions from the axis on
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", flattens ? 1 : -1), shape.size());
  const Middle middle(shape, axis, flattens ? shape.size() : axis + 1);
  node.set_output(node.emit(Softmax{middle.outer, middle.count, middle.inner, logarithm}, {node.tensor(0)}, shape));
}

// ---- sums and extremes

/// The dimensions that a node reduces. If `keep` is set, the reduced dimensions remain, with size 1.
struct Reduced {
  std::vector<bool> axes;
  bool keep = true;
};

Reduced reduced_axes(NodeContext& node, bool by_input) {
  const auto rank = node.shape(0).size();
  std::vector<std::int64_t> axes;
  if (!by_input) axes = node.attribute<std::vector<std::int64_t>>("axes", {});
  else if (node.has(1)) axes = node.ints(1, "the axes");
  const bool empty_means_all =
      by_input ? node.attribute<std::int64_t>("noop_with_empty_axes", 0) == 0 : !node.has_attribute("axes");
  Reduced reduced{std::vector<bool>(rank, axes.empty() && empty_means_all)};
  for (const auto axis : axes) reduced.axes[node.axis(axis, rank)] = true;
  reduced.keep = node.attribute<std::int64_t>("keepdims", 1) != 0;
  return reduced;
}

Shape shape_of(const Shape& x, const Reduced& reduced) {
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!reduced.axes[d]) shape.push_back(x[d]);
    else if (reduced.keep) shape.push_back(1);
  return shape;
}

} // namespace

/// Reduces each run of adjacent axes, one run after another. The result equals the reduction over all axes at once: for
/// example, a mean of means over equally many elements is the mean. For sums of squares, all runs after the first run
/// are plain sums.
TensorId reduce(NodeContext& node, Reduce::Kind kind, TensorId x, Shape shape, const std::vector<bool>& axes) {
  for (std::size_t first = 0; first < axes.size(); ++first) {
    if (!axes[first]) continue;
    auto last = first;
    while (last < axes.size() && axes[last]) ++last;
    const Middle middle(shape, first, last);
    std::fill(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(last), 1);
    x = node.emit(Reduce{kind, middle.outer, middle.count, middle.inner}, {x}, shape);
    if (kind == Reduce::Kind::squares) kind = Reduce::Kind::sum;
    first = last;
  }
  return x;
}

namespace {

struct Reduction {
  Reduce::Kind kind;
  std::optional<Activation> before = {}, after = {};
  std::int64_t by_input = 18; // the first opset in which the axes are an input
};

void reduce(NodeContext& node, const Reduction& reduction) {
  const auto x = node.shape(0);
  const auto type = node.element_type(0);
  const auto reduced = reduced_axes(node, node.opset() >= reduction.by_input);
  const auto kept = shape_of(x, {reduced.axes, true});
  const bool divides = is_integer(type) && reduction.kind == Reduce::Kind::mean;
  auto current = node.tensor(0);
  if (reduction.before) current = node.emit(*reduction.before, {current}, x);
  const bool none = std::ranges::find(reduced.axes, true) == reduced.axes.end();
  if (none && reduction.kind == Reduce::Kind::squares)
    current = node.emit(Binary{Binary::Kind::multiply}, {current, current}, x);
  current = reduce(node, divides ? Reduce::Kind::sum : reduction.kind, current, x, reduced.axes);
  if (divides) {
    const auto count = node.scalar(element_count(x) / element_count(kept), type);
    current = node.emit(Binary{Binary::Kind::divide_integers}, {current, count}, kept);
  }
  if (reduction.after) { // the function `after` is computed in floats
    current = node.emit(*reduction.after, {node.cast(current, ElementType::float32)}, kept);
    current = node.cast(current, type);
  }
  auto shape = shape_of(x, reduced);
  if (current == node.tensor(0) || node.shape_of(current) != shape)
    current = node.emit(Reshape{}, {current}, std::move(shape));
  node.set_output(current);
}

using Kind = Reduce::Kind;
constexpr Activation root{Activation::Kind::sqrt}, logarithm{Activation::Kind::logarithm},
    magnitude{Activation::Kind::absolute};

void reduce_mean(NodeContext& node) { reduce(node, {Kind::mean}); }
void reduce_sum(NodeContext& node) { reduce(node, {Kind::sum, {}, {}, 13}); }
void reduce_product(NodeContext& node) { reduce(node, {Kind::product}); }
void reduce_minimum(NodeContext& node) { reduce(node, {Kind::minimum}); }
void reduce_maximum(NodeContext& node) { reduce(node, {Kind::maximum}); }
void reduce_squares(NodeContext& node) { reduce(node, {Kind::squares}); }
void reduce_magnitudes(NodeContext& node) { reduce(node, {Kind::sum, magnitude, {}}); }
void reduce_root(NodeContext& node) { reduce(node, {Kind::squares, {}, root}); }
void reduce_log(NodeContext& node) { reduce(node, {Kind::sum, {}, logarithm}); }

/// Lowers ReduceLogSumExp. Subtracts the maximum before exp, and adds it after log, so that exp does not overflow.
void reduce_log_of_powers(NodeContext& node) {
  const auto x = node.shape(0);
  const auto reduced = reduced_axes(node, node.opset() >= 18);
  const auto small = shape_of(x, {reduced.axes, true});
  const auto type = node.element_type(0);
  const auto floats = node.cast(node.tensor(0), ElementType::float32);
  const auto most = reduce(node, Kind::maximum, floats, x, reduced.axes);
  const auto less = node.emit(Binary{Binary::Kind::subtract}, {floats, most}, x);
  const auto powers = node.emit(Activation{Activation::Kind::exp}, {less}, x);
  const auto log = node.emit(logarithm, {reduce(node, Kind::sum, powers, x, reduced.axes)}, small);
  const auto sum = node.emit(Binary{Binary::Kind::add}, {log, most}, small);
  node.set_output(node.cast(node.emit(Reshape{}, {sum}, shape_of(x, reduced)), type));
}

template <Kind first, Kind last> void index_of(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  const bool takes_last = node.attribute<std::int64_t>("select_last_index", 0) != 0;
  Reduced reduced{std::vector<bool>(x.size(), false), node.attribute<std::int64_t>("keepdims", 1) != 0};
  reduced.axes[axis] = true;
  const auto middle = along(x, axis);
  node.set_output(node.emit(Reduce{takes_last ? last : first, middle.outer, middle.count, middle.inner},
                            {node.tensor(0)}, shape_of(x, reduced), ElementType::int64));
}

/// Returns booleans of shape `shape` with a new dimension of size `depth` at `axis`. Along this dimension only the
/// position that equals the int64 index is true.
TensorId one_hot(NodeContext& node, TensorId indices, Shape shape, std::size_t axis, std::int64_t depth) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const auto wide = node.emit(Reshape{}, {indices}, shape);
  Shape line(shape.size(), 1);
  line[axis] = depth;
  const auto places = node.filled(std::move(line), ElementType::int64, std::identity());
  shape[axis] = depth;
  return node.emit(Binary{Binary::Kind::equal}, {wide, places}, shape, ElementType::boolean);
}

/// Lowers Hardmax: 1 at the first maximum, and 0 elsewhere.
void hardmax(NodeContext& node) {
  const auto x = node.shape(0);
  const bool flattens = node.opset() < 13;
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", flattens ? 1 : -1), x.size());
  const Middle middle(x, axis, flattens ? x.size() : axis + 1);
  const auto first = node.emit(Reduce{Kind::first_maximum, middle.outer, middle.count, middle.inner}, {node.tensor(0)},
                               {middle.outer, middle.inner}, ElementType::int64);
  const auto truths = one_hot(node, first, {middle.outer, middle.inner}, 1, middle.count);
  node.set_output(node.emit(Reshape{}, {node.cast(truths, node.element_type(0))}, x));
}

std::int64_t depth_of(NodeContext& node) {
  const bool integers = is_integer(node.element_type(1));
  const auto& floats = integers ? std::vector<float>{} : node.floats(1, "the depth");
  const auto depths = integers ? node.ints(1, "the depth") : std::vector<std::int64_t>(floats.begin(), floats.end());
  node.require(depths.size() == 1 && depths[0] >= 1, "its depth must be a number above 0");
  if (depths[0] > max_elements)
    node.unsupported("its depth is " + std::to_string(depths[0]) + "; supported: up to " +
                     std::to_string(max_elements));
  return depths[0];
}

void one_hot(NodeContext& node) {
  constexpr auto integer = ElementType::int64;
  const auto indices = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), indices.size() + 1);
  node.require(node.shape(2) == Shape{2}, "it needs two values");
  const auto depth = depth_of(node);
  // Negative indices count from the end. An index outside [-depth, depth) matches no position.
  const auto whole = node.cast(node.tensor(0), integer);
  const auto below =
      node.emit(Binary{Binary::Kind::less}, {whole, node.scalar(0, integer)}, indices, ElementType::boolean);
  const auto moved = node.emit(Binary{Binary::Kind::add}, {whole, node.scalar(depth, integer)}, indices);
  const auto from_front = node.emit(Where{}, {below, moved, whole}, indices, integer);
  auto shape = indices;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto truths = one_hot(node, from_front, indices, axis, depth);
  const auto value = [&](std::int64_t which) { return node.emit(View{which, {}}, {node.tensor(2)}, {}); };
  node.set_output(node.emit(Where{}, {truths, value(1), value(0)}, shape, node.element_type(2)));
}

// ---- cumulative sums and top k

void running_sum(NodeContext& node) {
  const auto x = node.shape(0);
  const auto middle = along(x, node.axis(node.integer(1, "the axis"), x.size()));
  const bool exclusive = node.attribute<std::int64_t>("exclusive", 0) != 0;
  const bool reverse = node.attribute<std::int64_t>("reverse", 0) != 0;
  node.set_output(node.emit(CumSum{middle.outer, middle.count, middle.inner, exclusive, reverse}, {node.tensor(0)}, x));
}

/// Lowers TopK: computes the indices, then gathers the values.
void top(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto kept = node.opset() < 10 ? node.attribute<std::int64_t>("k") : node.integer(1, "k");
  node.require(kept >= 0 && kept <= x[axis], "its k must be from 0 to the size of its axis");
  node.ignore_attribute("sorted");
  const bool largest = node.attribute<std::int64_t>("largest", 1) != 0;
  auto shape = x;
  shape[axis] = kept;
  const auto middle = along(x, axis);
  const auto indices = node.emit(TopK{middle.outer, middle.count, middle.inner, kept, largest}, {node.tensor(0)}, shape,
                                 ElementType::int64);
  node.set_output(node.emit(GatherElements{axis}, {node.tensor(0), indices}, shape, node.element_type(0)));
  if (node.outputs() > 1) node.set_output(indices, 1);
}

} // namespace

void add_reduction_operators(OperatorTable& table) {
  table["Softmax"] = {softmax<false>};
  table["LogSoftmax"] = {softmax<true>};
  table["ReduceMean"] = {reduce_mean, "axes are known when the model is loaded"};
  table["ReduceSum"] = {reduce_sum, "axes are known when the model is loaded"};
  table["ReduceProd"] = {reduce_product, "axes are known when the model is loaded"};
  table["ReduceMin"] = {reduce_minimum, "axes are known when the model is loaded"};
  table["ReduceMax"] = {reduce_maximum, "axes are known when the model is loaded"};
  table["ReduceSumSquare"] = {reduce_squares, "axes are known when the model is loaded"};
  table["ReduceL1"] = {reduce_magnitudes, "axes are known when the model is loaded"};
  table["ReduceL2"] = {reduce_root, "axes are known when the model is loaded"};
  table["ReduceLogSum"] = {reduce_log, "axes are known when the model is loaded"};
  table["ReduceLogSumExp"] = {reduce_log_of_powers, "axes are known when the model is loaded"};
  table["ArgMax"] = {index_of<Kind::first_maximum, Kind::last_maximum>};
  table["ArgMin"] = {index_of<Kind::first_minimum, Kind::last_minimum>};
  table["Hardmax"] = {hardmax};
  table["OneHot"] = {one_hot, "the depth is a constant", 9};
  table["CumSum"] = {running_sum, "the axis is a constant", 11};
  table["TopK"] = {top, "k is known when the model is loaded"};
}

} // namespace rtexec::tasks::onnx_source
