// The operators: each is a function of a NodeContext, found by name in a table; shape arithmetic is done at once.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Why an operator that is not in the table is refused.
inline constexpr const char* unknown_operator =
    "this operator is not supported; `rtexec infer --list-operators` lists those that are";
/// Throws Refusal.
void lower_node(Lowering& lowering, const Node& node);

using Lower = void (*)(NodeContext&);
struct Operator {
  Lower lower = nullptr;
  std::string_view limits = {}; // as in SupportedOperator
  std::int64_t since = oldest_opset;
};
using OperatorTable = std::map<std::string_view, Operator>;

/// All of them.
[[nodiscard]] const OperatorTable& operators();

// The operators, by family.
void add_element_operators(OperatorTable& table);       // element by element
void add_product_operators(OperatorTable& table);       // matrix products
void add_attention_operators(OperatorTable& table);     // of transformers
void add_reduction_operators(OperatorTable& table);     // sums, extremes, softmax, order
void add_normalisation_operators(OperatorTable& table); // by rows, groups, channels, batch
void add_convolution_operators(OperatorTable& table);   // and transposed ones
void add_pooling_operators(OperatorTable& table);       // of windows, and of whole planes
void add_sampling_operators(OperatorTable& table);      // resizing, padding, positions between pixels
void add_shape_operators(OperatorTable& table);         // moving and renaming elements, shape arithmetic
void add_index_operators(OperatorTable& table);         // elements from where tensors say, and to there
void add_sequence_operators(OperatorTable& table);      // lists of tensors
void add_recurrent_operators(OperatorTable& table);     // layers over sequences
void add_quantised_operators(OperatorTable& table);     // integers that stand for floats
void add_control_flow(OperatorTable& table);            // nodes that hold graphs, which are in no node of their own
void add_spectral_operators(OperatorTable& table);      // Fourier transforms

/// Refuses inputs of integers beside inputs of floats, and those of several types of integers.
void require_one_type(const NodeContext& node, std::size_t first, std::size_t last);

void einsum(NodeContext& node);
/// Refuses the node if one of its first `inputs` inputs is of integers of less than 32 bits: ONNX has MatMulInteger for
/// those.
void require_wide_integers(NodeContext& node, std::size_t inputs);
/// a [..., m, k] times b [..., k, n], of floats or of one type of integers; int16 gives int32.
TensorId batched_product(NodeContext& node, TensorId a, TensorId b, Shape shape);
/// a [..., m, k] times b [..., k, n].
TensorId matrix_product(NodeContext& node, TensorId a, const Shape& a_shape, TensorId b, const Shape& b_shape);
/// With the attributes of the node. Weights [m, c in a group, ...].
TensorId convolution(NodeContext& node, TensorId x, const Shape& shape, TensorId weights, const Shape& filter,
                     std::optional<TensorId> bias);

/// x over the axes that are marked, which stay, of one element.
TensorId reduce(NodeContext& node, Reduce::Kind kind, TensorId x, Shape shape, const std::vector<bool>& axes);

/// Does shape arithmetic (integers, and floats of rank 0 or 1) at once. False where the node is not such a one.
bool evaluate_shape_arithmetic(NodeContext& node);

} // namespace rtexec::tasks::onnx_source
