#include "tasks/dnn/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rtexec::tasks::onnx_source {
namespace {

/// A tensor seen as [outer, count, inner], where count is the dimensions [first, last).
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
  const bool flattens = node.opset() < 13; // all dimensions from the axis on are one
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", flattens ? 1 : -1), shape.size());
  const Middle middle(shape, axis, flattens ? shape.size() : axis + 1);
  node.set_output(node.emit(Softmax{middle.outer, middle.count, middle.inner, logarithm}, {node.tensor(0)}, shape));
}

// ---- sums and extremes

/// Which dimensions are reduced, and whether they stay, of one element.
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

/// Each run of adjacent axes in turn, which all stay: a mean of equally many means is the mean, and so for the others;
/// of squares the later runs are sums.
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

struct Reduction {
  Reduce::Kind kind;
  std::optional<Activation> before = {}, after = {};
  std::int64_t by_input = 18; // since this opset axes are an input
};

void reduce(NodeContext& node, const Reduction& reduction) {
  const auto x = node.shape(0);
  const auto reduced = reduced_axes(node, node.opset() >= reduction.by_input);
  auto current = node.tensor(0);
  if (reduction.before) current = node.emit(*reduction.before, {current}, x);
  const bool none = std::ranges::find(reduced.axes, true) == reduced.axes.end();
  if (none && reduction.kind == Reduce::Kind::squares)
    current = node.emit(Binary{Binary::Kind::multiply}, {current, current}, x);
  current = reduce(node, reduction.kind, current, x, reduced.axes);
  if (reduction.after) current = node.emit(*reduction.after, {current}, shape_of(x, {reduced.axes, true}));
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

/// The largest is taken off before, and added again.
void reduce_log_of_powers(NodeContext& node) {
  const auto x = node.shape(0);
  const auto reduced = reduced_axes(node, node.opset() >= 18);
  const auto small = shape_of(x, {reduced.axes, true});
  const auto most = reduce(node, Kind::maximum, node.tensor(0), x, reduced.axes);
  const auto less = node.emit(Binary{Binary::Kind::subtract}, {node.tensor(0), most}, x);
  const auto powers = node.emit(Activation{Activation::Kind::exp}, {less}, x);
  const auto log = node.emit(logarithm, {reduce(node, Kind::sum, powers, x, reduced.axes)}, small);
  const auto sum = node.emit(Binary{Binary::Kind::add}, {log, most}, small);
  node.set_output(node.emit(Reshape{}, {sum}, shape_of(x, reduced)));
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

/// Truths where an index stands in a new dimension.
TensorId one_hot(NodeContext& node, TensorId indices, Shape shape, std::size_t axis, std::int64_t depth,
                 ElementType type) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const auto wide = node.emit(Reshape{}, {indices}, shape);
  Shape line(shape.size(), 1);
  line[axis] = depth;
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < depth; ++i) numbers.push_back(static_cast<float>(i));
  shape[axis] = depth;
  return node.emit(Binary{Binary::Kind::equal}, {wide, node.constant(std::move(line), std::move(numbers))}, shape,
                   type);
}

/// 1 where the first largest stands, else 0.
void hardmax(NodeContext& node) {
  const auto x = node.shape(0);
  const bool flattens = node.opset() < 13;
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", flattens ? 1 : -1), x.size());
  const Middle middle(x, axis, flattens ? x.size() : axis + 1);
  const auto first = node.emit(Reduce{Kind::first_maximum, middle.outer, middle.count, middle.inner}, {node.tensor(0)},
                               {middle.outer, middle.inner}, ElementType::int64);
  const auto y = one_hot(node, first, {middle.outer, middle.inner}, 1, middle.count, ElementType::float32);
  node.set_output(node.emit(Reshape{}, {y}, x));
}

void one_hot(NodeContext& node) {
  const auto indices = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), indices.size() + 1);
  const auto& values = node.floats(2, "the values");
  node.require(values.size() == 2, "it needs two values");
  const float off = values[0], on = values[1];
  const auto type = node.element_type(2);
  const auto& depths = node.floats(1, "the depth");
  node.require(depths.size() == 1 && depths[0] >= 1, "its depth is no number above 0");
  const auto depth = static_cast<std::int64_t>(depths[0]);
  // Indices from the end count, others that are outside are nowhere
  const auto whole = is_integer(node.element_type(0)) ? node.tensor(0)
                                                      : node.emit(Activation{Activation::Kind::truncate},
                                                                  {node.tensor(0)}, indices, ElementType::int64);
  const auto below =
      node.emit(Binary{Binary::Kind::less}, {whole, node.constant({}, {0})}, indices, ElementType::boolean);
  const auto moved = node.emit(Activation{Activation::Kind::scale, 1, static_cast<float>(depth)}, {whole}, indices);
  const auto from_front = node.emit(Select{}, {below, moved, whole}, indices, ElementType::int64);
  auto shape = indices;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto truths = one_hot(node, from_front, indices, axis, depth, ElementType::boolean);
  node.set_output(node.emit(Select{}, {truths, node.constant({}, {on}), node.constant({}, {off})}, shape, type));
}

// ---- order

void running_sum(NodeContext& node) {
  const auto x = node.shape(0);
  const auto& given = node.ints(1, "the axis");
  node.require(given.size() == 1, "its axis must be one number");
  const auto middle = along(x, node.axis(given.front(), x.size()));
  const bool exclusive = node.attribute<std::int64_t>("exclusive", 0) != 0;
  const bool reverse = node.attribute<std::int64_t>("reverse", 0) != 0;
  node.set_output(
      node.emit(RunningSum{middle.outer, middle.count, middle.inner, exclusive, reverse}, {node.tensor(0)}, x));
}

/// The values are taken from where the indices say.
void top(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto kept = node.opset() < 10 ? std::vector{node.attribute<std::int64_t>("k")} : node.ints(1, "k");
  node.require(kept.size() == 1 && kept.front() >= 1 && kept.front() <= x[axis], "its k does not fit its input");
  node.ignore_attribute("sorted");
  const bool largest = node.attribute<std::int64_t>("largest", 1) != 0;
  auto shape = x;
  shape[axis] = kept.front();
  const auto middle = along(x, axis);
  const auto indices = node.emit(TopIndices{middle.outer, middle.count, middle.inner, kept.front(), largest},
                                 {node.tensor(0)}, shape, ElementType::int64);
  node.set_output(node.emit(TakeElements{axis}, {node.tensor(0), indices}, shape, node.element_type(0)));
  if (node.outputs() > 1) node.set_output(indices, 1);
}

// ---- normalisation

/// What LayerNormalization tells beside its result: the mean of each row, and one over its deviation.
void tell_moments(NodeContext& node, const Shape& x, std::size_t axis, float epsilon) {
  const auto outer = product(x, 0, axis), count = product(x, axis, x.size());
  auto small = x;
  std::fill(small.begin() + static_cast<std::ptrdiff_t>(axis), small.end(), 1);
  const auto mean = node.emit(Reduce{Kind::mean, outer, count, 1}, {node.tensor(0)}, small);
  if (node.has_output(1)) node.set_output(mean, 1);
  if (!node.has_output(2)) return;
  const auto centred = node.emit(Binary{Binary::Kind::subtract}, {node.tensor(0), mean}, x);
  auto y = node.emit(Reduce{Kind::squares, outer, count, 1}, {centred}, small);
  y = node.emit(Activation{Activation::Kind::scale, 1 / static_cast<float>(count), epsilon}, {y}, small);
  y = node.emit(root, {y}, small);
  node.set_output(node.emit(Activation{Activation::Kind::reciprocal}, {y}, small), 2);
}

/// Over the dimensions from `axis` on; scale and shift are broadcast to x.
void normalise_rows(NodeContext& node, bool centred) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto epsilon = node.attribute("epsilon", 1e-5F);
  node.ignore_attribute("stash_type"); // of what mean and deviation are computed in: they are in float
  std::vector<TensorId> inputs{node.tensor(0)};
  for (std::size_t i = 1; i < 3; ++i)
    if (node.has(i)) {
      node.require(broadcast(node, x, node.shape(i)) == x, "its scale or bias does not fit its input");
      inputs.push_back(node.tensor(i));
    }
  node.set_output(
      node.emit(Normalise{product(x, 0, axis), product(x, axis, x.size()), centred, epsilon}, std::move(inputs), x));
  if (node.has_output(1) || node.has_output(2)) tell_moments(node, x, axis, epsilon);
}

void layer_normalisation(NodeContext& node) { normalise_rows(node, true); }
void root_mean_square_normalisation(NodeContext& node) { normalise_rows(node, false); }

/// Scales or shifts, one for each channel, as they are broadcast to x.
TensorId for_channels(NodeContext& node, std::size_t input, const Shape& x) {
  Shape shape(x.size(), 1);
  shape[1] = x[1];
  const auto& given = node.shape(input);
  node.require(element_count(given) == x[1], "its scale or bias does not have one value for each channel");
  return node.emit(Reshape{}, {node.tensor(input)}, {shape.begin() + 1, shape.end()});
}

void normalise_groups(NodeContext& node, std::int64_t groups, std::vector<TensorId> affine) {
  const auto x = node.shape(0);
  const auto epsilon = node.attribute("epsilon", 1e-5F);
  std::vector<TensorId> inputs{node.tensor(0)};
  inputs.insert(inputs.end(), affine.begin(), affine.end());
  node.set_output(
      node.emit(Normalise{x[0] * groups, element_count(x) / (x[0] * groups), true, epsilon}, std::move(inputs), x));
}

Shape with_channels(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  return x;
}

void instance_normalisation(NodeContext& node) {
  const auto x = with_channels(node);
  normalise_groups(node, x[1], {for_channels(node, 1, x), for_channels(node, 2, x)});
}

/// Before opset 21 scale and bias are of groups.
void group_normalisation(NodeContext& node) {
  const auto x = with_channels(node);
  const auto groups = node.attribute<std::int64_t>("num_groups");
  node.require(groups >= 1 && x[1] % groups == 0, "its channels do not divide evenly among its groups");
  node.ignore_attribute("stash_type");
  if (node.opset() >= 21) return normalise_groups(node, groups, {for_channels(node, 1, x), for_channels(node, 2, x)});
  const auto spread = [&](std::size_t input) {
    node.require(element_count(node.shape(input)) == groups,
                 "its scale or bias does not have one value for each group");
    const auto each = node.emit(View{0, {1, 0}}, {node.tensor(input)}, {groups, x[1] / groups});
    Shape shape(x.size() - 1, 1);
    shape[0] = x[1];
    return node.emit(Reshape{}, {each}, std::move(shape));
  };
  normalise_groups(node, groups, {spread(1), spread(2)});
}

/// Over the named dimensions, without scale.
void standardise(NodeContext& node) {
  const auto x = node.shape(0);
  std::vector<bool> axes(x.size(), false);
  for (const auto axis : node.attribute<std::vector<std::int64_t>>("axes", {0, 2, 3}))
    axes[node.axis(axis, x.size())] = true;
  auto small = x;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (axes[d]) small[d] = 1;
  const auto mean = reduce(node, Kind::mean, node.tensor(0), x, axes);
  const auto centred = node.emit(Binary{Binary::Kind::subtract}, {node.tensor(0), mean}, x);
  const auto squares = node.emit(Binary{Binary::Kind::multiply}, {centred, centred}, x);
  const auto deviation = node.emit(root, {reduce(node, Kind::mean, squares, x, axes)}, small);
  const auto above_zero = node.emit(Activation{Activation::Kind::scale, 1, 1e-9F}, {deviation}, small);
  node.set_output(node.emit(Binary{Binary::Kind::divide}, {centred, above_zero}, x));
}

/// x over the sum of its magnitudes, or over the root of the sum of its squares.
void unit_length(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto p = node.attribute<std::int64_t>("p", 2);
  if (p != 1 && p != 2) node.unsupported("p is " + std::to_string(p) + "; supported: 1 and 2");
  std::vector<bool> axes(x.size(), false);
  axes[axis] = true;
  auto small = x;
  small[axis] = 1;
  TensorId length;
  if (p == 1) length = reduce(node, Kind::sum, node.emit(magnitude, {node.tensor(0)}, x), x, axes);
  else length = node.emit(root, {reduce(node, Kind::squares, node.tensor(0), x, axes)}, small);
  const auto least = node.constant({}, {std::numeric_limits<float>::min()}); // of zeros comes zero
  const auto above_zero = node.emit(Binary{Binary::Kind::maximum}, {length, least}, small);
  node.set_output(node.emit(Binary{Binary::Kind::divide}, {node.tensor(0), above_zero}, x));
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
  table["OneHot"] = {one_hot, "depth and values are constants", 9};
  table["MeanVarianceNormalization"] = {standardise, "", 9};
  table["CumSum"] = {running_sum, "the axis is a constant", 11};
  table["TopK"] = {top, "k is known when the model is loaded"};
  table["LayerNormalization"] = {layer_normalisation, "", 17};
  table["RMSNormalization"] = {root_mean_square_normalisation, "", 23};
  table["InstanceNormalization"] = {instance_normalisation, "three dimensions or more"};
  table["GroupNormalization"] = {group_normalisation, "three dimensions or more", 18};
  table["LpNormalization"] = {unit_length, "p is 1 or 2"};
}

} // namespace rtexec::tasks::onnx_source
