#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

void reshape_to(NodeContext& node, Shape shape) {
  node.set_output(node.emit(Reshape{}, {node.tensor(0)}, std::move(shape)));
}

void identity(NodeContext& node) {
  if (node.is_absent(0)) return node.set_output(Absent{});
  if (node.is_sequence(0)) return node.set_output(node.sequence(0));
  reshape_to(node, node.shape(0));
}

void dropout(NodeContext& node) {
  if (node.has(2) && node.ints(2, "training_mode") != std::vector<std::int64_t>{0})
    node.unsupported("training_mode is 1; export the model for inference (in PyTorch after model.eval())");
  node.ignore_attribute("ratio");
  node.ignore_attribute("seed");
  identity(node);
  if (!node.has_output(1)) return;
  const auto shape = node.shape(0);
  node.set_output(node.filled(shape, ElementType::boolean, [](std::int64_t) { return 1; }), 1);
}

void flatten(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto given = node.attribute<std::int64_t>("axis", 1);
  const auto axis = given == static_cast<std::int64_t>(x.size()) ? x.size() : node.axis(given, x.size());
  reshape_to(node, {product(x, 0, axis), product(x, axis, x.size())});
}

void reshape(NodeContext& node) { reshape_to(node, requested_shape(node, node.shape(0), node.ints(1, "the shape"))); }

void squeeze(NodeContext& node) { reshape_to(node, squeezed(node, node.shape(0), axes_of(node))); }
void unsqueeze(NodeContext& node) { reshape_to(node, unsqueezed(node, node.shape(0), axes_of(node))); }

void transpose(NodeContext& node) {
  const auto& x = node.shape(0);
  std::vector<std::int64_t> reversed(x.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto order = node.attribute<std::vector<std::int64_t>>("perm", reversed);
  auto sorted = order;
  std::ranges::sort(sorted);
  if (!std::ranges::equal(sorted, std::views::reverse(reversed)))
    node.bad("perm must be an order of the " + std::to_string(x.size()) + " dimensions of its input");
  const auto strides = dense_strides(x);
  View view;
  Shape shape;
  for (const auto axis : order) {
    shape.push_back(x[static_cast<std::size_t>(axis)]);
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  node.set_output(node.emit(std::move(view), {node.tensor(0)}, std::move(shape)));
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

/// Returns the sizes of the parts of a Split: the sizes that the node specifies, or equal sizes. From opset 18 on, the
/// node specifies num_outputs, and the last part may be smaller.
std::vector<std::int64_t> split_sizes(NodeContext& node, std::int64_t size) {
  const auto parts = static_cast<std::int64_t>(node.outputs());
  std::vector<std::int64_t> sizes;
  if (node.opset() < 13) sizes = node.attribute<std::vector<std::int64_t>>("split", {});
  else if (node.has(1)) sizes = node.ints(1, "the sizes");
  if (node.opset() >= 18) {
    node.require(sizes.empty() == node.has_attribute("num_outputs"), "it needs either sizes or num_outputs");
    node.require(node.attribute("num_outputs", parts) == parts, "num_outputs must be the number of its outputs");
  }
  if (!sizes.empty()) return sizes;
  node.require(node.opset() >= 18 || size % parts == 0, "its input does not divide evenly among its outputs");
  const auto part = (size + parts - 1) / parts;
  sizes.assign(node.outputs(), part);
  sizes.back() = size - part * (parts - 1);
  return sizes;
}

void split(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  const auto sizes = split_sizes(node, x[axis]);
  if (sizes.size() != node.outputs())
    node.bad("it has " + std::to_string(node.outputs()) + " outputs, and " + std::to_string(sizes.size()) + " sizes");
  std::vector<Cut> cuts;
  for (const auto size : x) cuts.push_back({0, 1, size});
  cuts[axis].count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    cuts[axis].start += cuts[axis].count;
    cuts[axis].count = sizes[i];
    if (sizes[i] < 0 || sizes[i] > x[axis] - cuts[axis].start)
      node.bad("its sizes do not match its input, which has " + std::to_string(x[axis]) + " along axis " +
               std::to_string(axis));
    emit_cuts(node, cuts, i);
  }
  node.require(cuts[axis].start + cuts[axis].count == x[axis], "its sizes do not add up to its input");
}

void concat(NodeContext& node) {
  node.require(node.inputs() >= 1, "it has no input");
  require_one_type(node, 0, node.inputs());
  auto shape = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis"), shape.size());
  std::vector<TensorId> inputs{node.tensor(0)};
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    auto other = node.shape(i);
    node.require(other.size() == shape.size(), "its inputs differ in their number of dimensions");
    const auto length = std::exchange(other[axis], shape[axis]);
    if (other != shape)
      node.bad("its inputs have the shapes " + to_string(shape) + " and " + to_string(node.shape(i)) +
               ", which differ outside of axis " + std::to_string(axis));
    shape[axis] += length;
    inputs.push_back(node.tensor(i));
  }
  shape = node.checked(std::move(shape));
  node.set_output(node.emit(Concat{axis}, std::move(inputs), std::move(shape)));
}

/// Lowers Constant. An unsupported constant is refused only if a node reads it.
void constant(NodeContext& node) {
  for (const char* tensor : {"value", "sparse_value"}) {
    if (const auto* why = node.why_unreadable(tensor)) {
      node.ignore_attribute(tensor);
      return node.set_unreadable(*why);
    }
    if (node.has_attribute(tensor)) return node.set_constant(*node.attribute<SharedConstant>(tensor));
  }
  for (const char* text : {"value_string", "value_strings"})
    if (node.has_attribute(text)) {
      node.ignore_attribute(text);
      return node.set_unreadable(" is text, which no supported operator reads; remove its readers from the model");
    }
  if (node.has_attribute("value_int"))
    return node.set_constant({{}, std::vector{node.attribute<std::int64_t>("value_int")}});
  if (node.has_attribute("value_float"))
    return node.set_constant({{}, std::vector{node.attribute<float>("value_float")}});
  if (node.has_attribute("value_ints")) {
    auto values = node.attribute<std::vector<std::int64_t>>("value_ints");
    return node.set_constant({{static_cast<std::int64_t>(values.size())}, std::move(values)});
  }
  auto values = node.attribute<std::vector<float>>("value_floats");
  node.set_constant({{static_cast<std::int64_t>(values.size())}, std::move(values)});
}

void constant_of_shape(NodeContext& node) {
  const Shape shape = node.checked(node.ints(0, "the shape"));
  const auto given = node.attribute<SharedConstant>("value", nullptr);
  const auto fill = given ? *given : Constant{{1}, std::vector<float>{0}};
  node.require(std::visit([](const auto& values) { return values.size() == 1; }, fill.values),
               "its value must have one element");
  if (const auto* floats = std::get_if<std::vector<float>>(&fill.values))
    return node.set_constant({shape, std::vector<float>(node.reserve(shape), floats->front())});
  const auto& integers = std::get<Integers>(fill.values);
  Integers values(integers.type(), node.reserve(shape, stored_size(integers.type())));
  values.fill(integers.front());
  node.set_constant({shape, std::move(values)});
}

void shape_of(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto position = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? std::max(v, -rank) + rank : v, 0, rank);
  };
  const auto start = position(node.attribute<std::int64_t>("start", 0));
  const auto end = std::max(position(node.attribute<std::int64_t>("end", int64_max)), start);
  std::vector<std::int64_t> values(x.begin() + start, x.begin() + end);
  node.set_constant({{end - start}, std::move(values)});
}

void cast_to(NodeContext& node, ElementType to) {
  const auto y = node.cast(node.tensor(0), to);
  node.set_output(y == node.tensor(0) ? node.emit(Reshape{}, {y}, node.shape(0), to) : y);
}

void cast(NodeContext& node) { cast_to(node, cast_target(node)); }

void cast_like(NodeContext& node) {
  node.ignore_attribute("saturate");
  node.ignore_attribute("round_mode");
  cast_to(node, node.element_type(1));
}

void size_of(NodeContext& node) { node.set_constant({{}, std::vector{element_count(node.shape(0))}}); }

} // namespace

void add_shape_operators(OperatorTable& table) {
  table["Identity"] = {identity};
  table["Dropout"] = {dropout, "does nothing: inference"};
  table["Flatten"] = {flatten};
  table["Reshape"] = {reshape, "the shape is known when the model is loaded"};
  table["Squeeze"] = {squeeze, "axes are known when the model is loaded"};
  table["Unsqueeze"] = {unsqueeze, "axes are known when the model is loaded"};
  table["Transpose"] = {transpose};
  table["Slice"] = {slice, "starts, ends, axes and steps are known when the model is loaded"};
  table["Split"] = {split, "sizes are known when the model is loaded"};
  table["Concat"] = {concat};
  table["Constant"] = {constant};
  table["ConstantOfShape"] = {constant_of_shape, "the shape is known when the model is loaded", 9};
  table["Shape"] = {shape_of};
  table["Cast"] = {cast, "not to or from floats of 8 bits or less, INT4, UINT4 and text"};
  table["CastLike"] = {cast_like, "as Cast", 15};
  table["Size"] = {size_of};
}

} // namespace rtexec::tasks::onnx_source
