#include "tasks/engine/onnx/operators.hpp"

#include <algorithm>

namespace rtexec::tasks::onnx_source {

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
    add_element_operators(t);
    add_matmul_operators(t);
    add_attention_operators(t);
    add_reduction_operators(t);
    add_normalisation_operators(t);
    add_convolution_operators(t);
    add_pooling_operators(t);
    add_sampling_operators(t);
    add_shape_operators(t);
    add_index_operators(t);
    add_sequence_operators(t);
    add_recurrent_operators(t);
    add_quantised_operators(t);
    add_spectral_operators(t);
    add_control_flow(t);
    return t;
  }();
  return table;
}

void lower_node(Lowering& lowering, const Node& node) {
  NodeContext context(lowering, node);
  const auto found = operators().find(node.type);
  if (found == operators().end()) context.unsupported(unknown_operator);
  if (std::ranges::all_of(node.outputs, &std::string::empty)) context.bad("it has no output");
  if (!evaluate_shape_arithmetic(context)) found->second.lower(context);
  context.require_all_attributes_read();
  context.require_all_outputs_set();
}

void require_one_type(const NodeContext& node, std::size_t first, std::size_t last) {
  const ElementType type = node.element_type(first);
  for (std::size_t i = first; i < last; ++i) {
    const ElementType other = node.element_type(i);
    const bool differ = is_integer(type) && other != type;
    if (is_integer(type) != is_integer(other) || differ)
      node.bad("its inputs " + node.name_of(first) + " and " + node.name_of(i) + " are of types " +
               std::string(name(type)) + " and " + std::string(name(other)));
  }
}

} // namespace rtexec::tasks::onnx_source

namespace rtexec::tasks {

std::vector<SupportedOperator> supported_operators() {
  std::vector<SupportedOperator> all;
  for (const auto& [name, known] : onnx_source::operators())
    all.push_back({.name = name, .oldest = known.since, .limits = known.limits});
  return all;
}

} // namespace rtexec::tasks
