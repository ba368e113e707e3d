// Tensors without elements: exporters write them where a slice takes nothing, and something is stored in it.
#include "tasks/dnn/onnx/shape_rules.hpp"

#include <algorithm>

namespace rtexec::tasks::onnx_source {
namespace {

Shape broadcast_inputs(NodeContext& node) {
  Shape shape;
  for (std::size_t i = 0; i < node.inputs(); ++i) shape = broadcast(node, shape, node.shape_or_empty(i));
  return shape;
}
Shape expanded(NodeContext& node) { return broadcast(node, node.shape_or_empty(0), node.ints(1, "the shape")); }
Shape unsqueezed_input(NodeContext& node) { return unsqueezed(node, node.shape_or_empty(0), axes_of(node)); }
Shape same(NodeContext& node) { return node.shape_or_empty(0); }

/// -1 stands for what leaves it without elements.
Shape reshaped(NodeContext& node) {
  auto shape = node.ints(1, "the shape");
  const auto& x = node.shape_or_empty(0);
  const bool zero_copies = node.attribute<std::int64_t>("allowzero", 0) == 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 0 && zero_copies) {
      node.require(d < x.size(), "it copies a dimension that its input does not have");
      shape[d] = x[d];
    }
  std::ranges::replace(shape, -1, std::ranges::find(shape, 0) == shape.end() ? 0 : 1);
  node.require(std::ranges::find(shape, 0) != shape.end(), "its input has no elements, and its output would have some");
  return shape;
}

struct Rule {
  Shape (*shape)(NodeContext&);
  std::size_t data = 1; // the inputs whose elements it computes with
};

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table{{"Add", {broadcast_inputs, 2}},   {"Sub", {broadcast_inputs, 2}},
                                                      {"Mul", {broadcast_inputs, 2}},   {"Div", {broadcast_inputs, 2}},
                                                      {"Where", {broadcast_inputs, 3}}, {"Expand", {expanded}},
                                                      {"Reshape", {reshaped}},          {"Identity", {same}},
                                                      {"Unsqueeze", {unsqueezed_input}}};
  return table;
}

bool has_nothing(const NodeContext& node, std::size_t inputs) {
  for (std::size_t i = 0; i < std::min(inputs, node.inputs()); ++i)
    if (node.is_empty(i)) return true;
  return false;
}

bool expands_to_nothing(const NodeContext& node) {
  if (node.type() != "Expand" || node.inputs() != 2 || !(node.is_ints(1) || node.is_known(1))) return false;
  const auto& shape = node.ints(1, "the shape");
  return std::ranges::find(shape, 0) != shape.end();
}

} // namespace

bool evaluate_without_elements(NodeContext& node) {
  if (node.type() == "ScatterND" && node.inputs() == 3 && node.is_empty(1)) { // which leaves all as it was
    node.ignore_attribute("reduction");
    node.set_output(node.emit(Reshape{}, {node.tensor(0)}, node.shape(0)));
    return true;
  }
  const auto rule = rules().find(node.type());
  if (rule == rules().end() || !(has_nothing(node, rule->second.data) || expands_to_nothing(node))) return false;
  auto shape = rule->second.shape(node);
  auto filled = shape;
  std::ranges::replace(filled, 0, 1);
  (void)node.checked(std::move(filled));
  node.set_output(Empty{std::move(shape), node.element_type(node.type() == "Where" ? 1 : 0)});
  return true;
}

} // namespace rtexec::tasks::onnx_source
