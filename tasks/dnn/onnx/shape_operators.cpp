#include "tasks/dnn/onnx/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

/// Axes from an input where this opset has them there, or else from the attribute.
std::vector<std::int64_t> axes_of(NodeContext& node) {
  if (node.opset() >= 13 && node.has(1)) return node.ints(1, "the axes");
  return node.attribute<std::vector<std::int64_t>>("axes", {});
}

void reshape_to(NodeContext& node, Shape shape) { node.set_output(node.emit(Reshape{}, {node.tensor(0)}, std::move(shape))); }

void identity(NodeContext& node) { reshape_to(node, node.shape(0)); }

void dropout(NodeContext& node) {
  if (node.has(2) && node.ints(2, "training_mode") != std::vector<std::int64_t>{0}) node.unsupported("training is not supported; export the model for inference");
  node.ignore_attribute("ratio");
  node.ignore_attribute("seed");
  identity(node);
}

void flatten(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto given = node.attribute<std::int64_t>("axis", 1);
  const auto axis = given == static_cast<std::int64_t>(x.size()) ? x.size() : node.axis(given, x.size());
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < axis; ++d) rows *= x[d];
  reshape_to(node, {rows, element_count(x) / rows});
}

/// The shape that Reshape asks for, for an input of shape `x`: 0 copies a dimension, -1 takes what is left.
Shape requested_shape(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& request) {
  const bool zero_copies = node.attribute<std::int64_t>("allowzero", 0) == 0;
  Shape shape;
  std::int64_t known = 1;
  std::size_t free = request.size();
  if (request.size() > 8) node.unsupported("its output has more than 8 dimensions");
  for (std::size_t d = 0; d < request.size(); ++d) {
    auto dimension = request[d];
    if (dimension == 0 && zero_copies) {
      node.require(d < x.size(), "it copies a dimension that its input does not have");
      dimension = x[d];
    }
    if (dimension == -1) {
      node.require(free == request.size(), "more than one dimension of its shape is -1");
      free = d;
      dimension = 1;
    }
    if (dimension < 1 || dimension > max_elements || known > max_elements / dimension) node.bad("its shape has a dimension of " + std::to_string(request[d]) + ", or is too large");
    known *= dimension;
    shape.push_back(dimension);
  }
  const auto count = element_count(x);
  if (free < request.size() && count % known == 0) shape[free] = count / known;
  if (element_count(shape) != count) node.bad("an input of " + to_string(x) + " cannot take the shape " + to_string(shape));
  return shape;
}

void reshape(NodeContext& node) { reshape_to(node, requested_shape(node, node.shape(0), node.ints(1, "the shape"))); }

Shape squeezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes) {
  std::vector<bool> gone(x.size(), false);
  if (axes.empty())
    for (std::size_t d = 0; d < x.size(); ++d) gone[d] = x[d] == 1;
  for (const auto axis : axes) gone[node.axis(axis, x.size())] = true;
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!gone[d]) shape.push_back(x[d]);
    else if (x[d] != 1) node.bad("it removes dimension " + std::to_string(d) + " of " + to_string(x) + ", which is not 1");
  }
  return shape;
}

Shape unsqueezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes) {
  const auto rank = x.size() + axes.size();
  if (axes.empty() || rank > 8) node.unsupported("its output would have " + std::to_string(rank) + " dimensions, or it names no axis");
  std::vector<bool> added(rank, false);
  for (const auto axis : axes) {
    const auto d = node.axis(axis, rank);
    node.require(!added[d], "it names an axis twice");
    added[d] = true;
  }
  Shape shape;
  for (std::size_t d = 0, from = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : x[from++]);
  return shape;
}

void squeeze(NodeContext& node) { reshape_to(node, squeezed(node, node.shape(0), axes_of(node))); }
void unsqueeze(NodeContext& node) { reshape_to(node, unsqueezed(node, node.shape(0), axes_of(node))); }

void transpose(NodeContext& node) {
  const auto& x = node.shape(0);
  std::vector<std::int64_t> reversed(x.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto order = node.attribute<std::vector<std::int64_t>>("perm", reversed);
  auto sorted = order;
  std::ranges::sort(sorted);
  if (!std::ranges::equal(sorted, std::views::reverse(reversed))) node.bad("perm is not an order of the " + std::to_string(x.size()) + " dimensions of its input");
  const auto strides = dense_strides(x);
  View view;
  Shape shape;
  for (const auto axis : order) {
    shape.push_back(x[static_cast<std::size_t>(axis)]);
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  node.set_output(node.emit(std::move(view), {node.tensor(0)}, std::move(shape)));
}

struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};

/// What start, end and step of Slice select from a dimension of `size`.
Cut cut_of(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto from_end = [size](std::int64_t v) { return v < 0 ? std::max(v, -size - 1) + size : std::min(v, size); }; // in -1 .. size
  Cut cut{from_end(start), std::clamp(step, -size - 1, size + 1), 0};
  if (cut.step > 0) {
    cut.start = std::max<std::int64_t>(cut.start, 0);
    const auto stop = std::max<std::int64_t>(from_end(end), 0);
    cut.count = stop > cut.start ? (stop - cut.start + cut.step - 1) / cut.step : 0;
  } else {
    cut.start = std::min(cut.start, size - 1);
    const auto stop = from_end(end);
    cut.count = cut.start > stop ? (cut.start - stop - cut.step - 1) / -cut.step : 0;
  }
  return cut;
}

/// One cut for each dimension of a Slice of `x`.
std::vector<Cut> cuts_of(NodeContext& node, const Shape& x) {
  const auto& starts = node.ints(1, "the starts");
  const auto& ends = node.ints(2, "the ends");
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3)) axes = node.ints(3, "the axes");
  if (node.has(4)) steps = node.ints(4, "the steps");
  node.require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(), "its starts, ends, axes and steps differ in number");
  std::vector<Cut> cuts;
  for (const auto size : x) cuts.push_back({0, 1, size});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto d = node.axis(axes[i], x.size());
    node.require(steps[i] != 0, "a step is 0");
    cuts[d] = cut_of(x[d], starts[i], ends[i], steps[i]);
  }
  return cuts;
}

void emit_cuts(NodeContext& node, const std::vector<Cut>& cuts, std::size_t output = 0) {
  const auto strides = dense_strides(node.shape(0));
  View view;
  Shape shape;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    shape.push_back(cuts[d].count);
    view.offset += cuts[d].start * strides[d];
    view.strides.push_back(cuts[d].step * strides[d]);
  }
  node.set_output(node.emit(std::move(view), {node.tensor(0)}, std::move(shape)), output);
}

void slice(NodeContext& node) { emit_cuts(node, cuts_of(node, node.shape(0))); }

void split(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  const auto parts = static_cast<std::int64_t>(node.outputs());
  auto sizes = node.attribute<std::vector<std::int64_t>>("split", {});
  if (node.opset() >= 13 && node.has(1)) sizes = node.ints(1, "the sizes");
  if (sizes.empty()) {
    node.require(x[axis] % parts == 0, "its input does not divide evenly among its outputs");
    sizes.assign(node.outputs(), x[axis] / parts);
  }
  node.require(sizes.size() == node.outputs(), "it has not one size for each output");
  std::vector<Cut> cuts;
  for (const auto size : x) cuts.push_back({0, 1, size});
  cuts[axis].count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    cuts[axis].start += cuts[axis].count;
    cuts[axis].count = sizes[i];
    node.require(sizes[i] >= 1 && sizes[i] <= x[axis] - cuts[axis].start, "its sizes do not fit its input");
    emit_cuts(node, cuts, i);
  }
  node.require(cuts[axis].start + cuts[axis].count == x[axis], "its sizes do not add up to its input");
}

/// Indices into a dimension of `size`, negative ones counted from the end.
std::vector<std::int64_t> checked_indices(NodeContext& node, const std::vector<std::int64_t>& given, std::int64_t size) {
  auto indices = given;
  for (auto& index : indices) {
    if (index < -size || index >= size) node.bad("index " + std::to_string(index) + " is outside of its input");
    if (index < 0) index += size;
  }
  return indices;
}

void gather(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  Shape shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), node.shape(1).begin(), node.shape(1).end());
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  node.set_output(node.emit(Gather{axis, checked_indices(node, node.ints(1, "the indices"), x[axis])}, {node.tensor(0)}, std::move(shape)));
}

void concat(NodeContext& node) {
  node.require(node.inputs() >= 1, "it has no input");
  auto shape = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis"), shape.size());
  std::vector<TensorId> inputs{node.tensor(0)};
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    auto other = node.shape(i);
    node.require(other.size() == shape.size(), "its inputs differ in their number of dimensions");
    const auto length = std::exchange(other[axis], shape[axis]);
    if (other != shape) node.bad("its inputs are " + to_string(shape) + " and " + to_string(node.shape(i)) + ", which differ outside of the axis");
    shape[axis] += length;
    shape = node.checked(std::move(shape));
    inputs.push_back(node.tensor(i));
  }
  node.set_output(node.emit(Concat{axis}, std::move(inputs), std::move(shape)));
}

void pad(NodeContext& node) {
  auto shape = node.shape(0);
  if (const auto mode = node.attribute<std::string>("mode", "constant"); mode != "constant") node.unsupported("mode is '" + mode + "'; supported: constant");
  const auto& pads = node.ints(1, "the pads");
  node.require(pads.size() == 2 * shape.size(), "it needs two pads for each dimension");
  Pad pad{{}, 0};
  if (node.has(2)) {
    const auto& value = node.floats(2, "the value");
    node.require(value.size() == 1, "its value must be a scalar");
    pad.value = value.front();
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto before = pads[d], after = pads[d + shape.size()];
    if (before < 0 || after < 0 || before > max_elements || after > max_elements)
      node.unsupported("a padding of " + std::to_string(before < 0 ? before : after) + "; supported: 0 to " + std::to_string(max_elements));
    pad.before.push_back(before);
    shape[d] += before + after;
  }
  node.set_output(node.emit(std::move(pad), {node.tensor(0)}, std::move(shape)));
}

void constant(NodeContext& node) {
  if (node.has_attribute("value")) return node.set_constant(node.attribute<Constant>("value"));
  if (node.has_attribute("value_int")) return node.set_constant({{}, std::vector{node.attribute<std::int64_t>("value_int")}});
  if (node.has_attribute("value_float")) return node.set_constant({{}, std::vector{node.attribute<float>("value_float")}});
  if (node.has_attribute("value_ints")) {
    auto values = node.attribute<std::vector<std::int64_t>>("value_ints");
    return node.set_constant({{static_cast<std::int64_t>(values.size())}, std::move(values)});
  }
  auto values = node.attribute<std::vector<float>>("value_floats");
  node.set_constant({{static_cast<std::int64_t>(values.size())}, std::move(values)});
}

void constant_of_shape(NodeContext& node) {
  const auto shape = node.checked(node.ints(0, "the shape"));
  const auto fill = node.attribute<Constant>("value", Constant{{1}, std::vector<float>{0}});
  const auto count = static_cast<std::size_t>(element_count(shape));
  std::visit([&](const auto& values) {
    node.require(values.size() == 1, "its value must have one element");
    node.set_constant({shape, std::decay_t<decltype(values)>(count, values.front())});
  }, fill.values);
}

void shape_of(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto position = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? std::max(v, -rank) + rank : v, 0, rank); };
  const auto start = position(node.attribute<std::int64_t>("start", 0));
  const auto end = std::max(position(node.attribute<std::int64_t>("end", int64_max)), start);
  std::vector<std::int64_t> values(x.begin() + start, x.begin() + end);
  node.set_constant({{end - start}, std::move(values)});
}

enum class To { floats, ints };

To cast_target(NodeContext& node) {
  switch (const auto to = node.attribute<std::int64_t>("to")) { // numbers of onnx.TensorProto.DataType
    case 1: return To::floats;
    case 6: case 7: return To::ints;
    default: node.unsupported("a cast to data type " + std::to_string(to) + "; supported: FLOAT (1), and INT32 (6) or INT64 (7) of constants");
  }
}

void cast(NodeContext& node) {
  if (cast_target(node) == To::ints) node.unsupported("a cast to integers is supported for values that are known when the model is loaded, of at most one dimension");
  identity(node);
}

// ---- shape arithmetic -----------------------------------------------------------------------------------------------

/// A scalar or a list, of whole numbers or not.
template <class T>
struct List {
  bool scalar = false;
  std::vector<T> values;
};

template <class T>
const std::vector<T>& values_of(const NodeContext& node, std::size_t input) {
  if constexpr (std::is_same_v<T, float>) return node.floats(input, "the input");
  else return node.ints(input, "the input");
}

template <class T>
List<T> list_of(const NodeContext& node, std::size_t input) {
  if (node.shape(input).size() > 1) node.unsupported("integers of more than one dimension are not supported here");
  return {node.shape(input).empty(), values_of<T>(node, input)};
}

template <class T>
void set_list(NodeContext& node, List<T> list) {
  const auto size = static_cast<std::int64_t>(list.values.size());
  node.set_constant({list.scalar ? Shape{} : Shape{size}, std::move(list.values)});
}

template <class T>
T arithmetic(NodeContext& node, T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return node.type() == "Add" ? a + b : node.type() == "Sub" ? a - b : node.type() == "Mul" ? a * b : a / b;
  } else {
    T result = 0;
    if (node.type() == "Div") {
      node.require(b != 0 && !(b == -1 && a == std::numeric_limits<T>::min()), "a division by zero, or one that overflows");
      return a / b;
    }
    const bool overflow = node.type() == "Add"   ? __builtin_add_overflow(a, b, &result)
                          : node.type() == "Sub" ? __builtin_sub_overflow(a, b, &result)
                                                 : __builtin_mul_overflow(a, b, &result);
    node.require(!overflow, "its integers overflow");
    return result;
  }
}

template <class T>
void evaluate_binary(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  const auto a = list_of<T>(node, 0), b = list_of<T>(node, 1);
  const auto m = a.values.size(), n = b.values.size();
  node.require(m == n || m == 1 || n == 1, "its inputs cannot be broadcast together");
  List<T> result{a.scalar && b.scalar, std::vector<T>(m == 0 || n == 0 ? 0 : std::max(m, n))};
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] = arithmetic<T>(node, a.values[m == 1 ? 0 : i], b.values[n == 1 ? 0 : i]);
  set_list(node, std::move(result));
}

std::int64_t to_integer(float value) {
  constexpr float limit = 9.2e18F;
  return value >= limit ? int64_max : value > -limit ? static_cast<std::int64_t>(value) : value <= -limit ? std::numeric_limits<std::int64_t>::min() : 0;
}

template <class T>
void evaluate_cast(NodeContext& node) {
  const auto from = list_of<T>(node, 0);
  if (cast_target(node) == To::floats) {
    List<float> to{from.scalar, {}};
    for (const auto value : from.values) to.values.push_back(static_cast<float>(value));
    set_list(node, std::move(to));
  } else {
    List<std::int64_t> to{from.scalar, {}};
    for (const auto value : from.values) {
      if constexpr (std::is_same_v<T, float>) to.values.push_back(to_integer(value));
      else to.values.push_back(value);
    }
    set_list(node, std::move(to));
  }
}

template <class T>
void evaluate_gather(NodeContext& node) {
  const auto data = list_of<T>(node, 0);
  node.require(!data.scalar, "its input is a scalar");
  (void)node.axis(node.attribute<std::int64_t>("axis", 0), 1);
  List<T> result{node.shape(1).empty(), {}};
  for (const auto index : checked_indices(node, node.ints(1, "the indices"), static_cast<std::int64_t>(data.values.size())))
    result.values.push_back(data.values[static_cast<std::size_t>(index)]);
  set_list(node, std::move(result));
}

template <class T>
void evaluate_slice(NodeContext& node) {
  const auto data = list_of<T>(node, 0);
  node.require(!data.scalar, "its input is a scalar");
  const auto cut = cuts_of(node, {static_cast<std::int64_t>(data.values.size())}).front();
  List<T> result;
  for (std::int64_t i = 0; i < cut.count; ++i) result.values.push_back(data.values[static_cast<std::size_t>(cut.start + i * cut.step)]);
  set_list(node, std::move(result));
}

template <class T>
void evaluate_concat(NodeContext& node) {
  (void)node.axis(node.attribute<std::int64_t>("axis"), 1);
  List<T> result;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const auto part = list_of<T>(node, i);
    node.require(!part.scalar, "an input is a scalar");
    result.values.insert(result.values.end(), part.values.begin(), part.values.end());
  }
  set_list(node, std::move(result));
}

/// Squeeze, Unsqueeze, Reshape and Identity of integers; their result may have any shape.
template <class T>
void evaluate_rename(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto& type = node.type();
  auto shape = type == "Squeeze"     ? squeezed(node, x, axes_of(node))
               : type == "Unsqueeze" ? unsqueezed(node, x, axes_of(node))
               : type == "Reshape"   ? requested_shape(node, x, node.ints(1, "the shape"))
                                     : x;
  node.set_constant({std::move(shape), values_of<T>(node, 0)});
}

template <class T>
void evaluate_rounding(NodeContext& node) {
  auto list = list_of<T>(node, 0);
  if constexpr (std::is_same_v<T, float>)
    for (auto& value : list.values) value = node.type() == "Floor" ? std::floor(value) : std::ceil(value);
  set_list(node, std::move(list));
}

template <class T>
const OperatorTable& arithmetic_operators() {
  static const OperatorTable table{
      {"Add", evaluate_binary<T>},      {"Sub", evaluate_binary<T>},       {"Mul", evaluate_binary<T>},      {"Div", evaluate_binary<T>},
      {"Cast", evaluate_cast<T>},       {"Gather", evaluate_gather<T>},    {"Slice", evaluate_slice<T>},     {"Concat", evaluate_concat<T>},
      {"Squeeze", evaluate_rename<T>},  {"Unsqueeze", evaluate_rename<T>}, {"Reshape", evaluate_rename<T>},  {"Identity", evaluate_rename<T>},
      {"Floor", evaluate_rounding<T>},  {"Ceil", evaluate_rounding<T>}};
  return table;
}

void rounding(NodeContext& node) { node.unsupported("it is supported in shape arithmetic only"); }

} // namespace

bool evaluate_shape_arithmetic(NodeContext& node) {
  if (!arithmetic_operators<float>().contains(node.type()) || !node.has(0)) return false;
  if (node.is_ints(0)) {
    arithmetic_operators<std::int64_t>().at(node.type())(node);
    return true;
  }
  const bool all_data = node.type() == "Concat" || node.type() == "Add" || node.type() == "Sub" || node.type() == "Mul" || node.type() == "Div";
  for (std::size_t i = 0; i < (all_data ? node.inputs() : 1); ++i)
    if (!node.has(i) || node.is_ints(i) || !node.constant_floats(i) || node.shape(i).size() > 1) return false;
  arithmetic_operators<float>().at(node.type())(node);
  return true;
}

void add_shape_operators(OperatorTable& table) {
  table["Identity"] = identity;
  table["Dropout"] = dropout;
  table["Flatten"] = flatten;
  table["Reshape"] = reshape;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Transpose"] = transpose;
  table["Slice"] = slice;
  table["Split"] = split;
  table["Gather"] = gather;
  table["Concat"] = concat;
  table["Pad"] = pad;
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Shape"] = shape_of;
  table["Cast"] = cast;
  table["Floor"] = rounding;
  table["Ceil"] = rounding;
}

} // namespace rtexec::tasks::onnx_source
