// The table of ONNX operators. It maps the name of each operator to the function that lowers its nodes. Shape
// arithmetic is evaluated while the model is loaded.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// The reason that is reported for an operator that is not in the table.
inline constexpr const char* unknown_operator =
    "this operator is not supported; `rtexec infer --list-operators` lists those that are";
/// Lowers one node. Throws Refusal.
void lower_node(Lowering& lowering, const Node& node);

using Lower = void (*)(NodeContext&);
struct Operator {
  Lower lower = nullptr;
  std::string_view limits = {}; // see SupportedOperator::limits
  std::int64_t since = oldest_opset;
};
using OperatorTable = std::map<std::string_view, Operator>;

/// Returns the table of all operators.
[[nodiscard]] const OperatorTable& operators();

// Each function adds the operators of one family to the table.
void add_element_operators(OperatorTable& table);       // element-wise
void add_matmul_operators(OperatorTable& table);        // matrix products
void add_attention_operators(OperatorTable& table);     // transformer operators
void add_reduction_operators(OperatorTable& table);     // sums, extremes, softmax, sorting
void add_normalisation_operators(OperatorTable& table); // over rows, groups, channels, batch
void add_convolution_operators(OperatorTable& table);   // convolutions and transposed convolutions
void add_pooling_operators(OperatorTable& table);       // windowed and global
void add_sampling_operators(OperatorTable& table);      // resizing, padding, interpolated sampling
void add_shape_operators(OperatorTable& table);         // moves, views, shape arithmetic
void add_index_operators(OperatorTable& table);         // gathers and scatters
void add_sequence_operators(OperatorTable& table);      // lists of tensors
void add_recurrent_operators(OperatorTable& table);     // recurrent layers
void add_quantised_operators(OperatorTable& table);     // quantized integers
void add_control_flow(OperatorTable& table);            // nodes that contain graphs
void add_spectral_operators(OperatorTable& table);      // Fourier transforms

/// Refuses a node whose inputs [first, last) mix integers and floats, or different integer types.
void require_one_type(const NodeContext& node, std::size_t first, std::size_t last);

void einsum(NodeContext& node);
/// Refuses the node if one of its first `inputs` inputs has integers of less than 32 bits. ONNX has the operator
/// MatMulInteger for such integers.
void require_wide_integers(NodeContext& node, std::size_t inputs);
/// Emits the matrix product of a [..., m, k] and b [..., k, n]. Both must be floats, or integers of one type. The
/// product of int16 operands is int32.
TensorId batched_product(NodeContext& node, TensorId a, TensorId b, Shape shape);
/// Emits the matrix product of a [..., m, k] and b [..., k, n].
TensorId matrix_product(NodeContext& node, TensorId a, const Shape& a_shape, TensorId b, const Shape& b_shape);
/// Emits a convolution with the attributes of the node. The weights have the shape [m, channels of a group, ...].
TensorId convolution(NodeContext& node, TensorId x, const Shape& shape, TensorId weights, const Shape& filter,
                     std::optional<TensorId> bias);

/// Emits the reduction of x over the axes whose entry in `axes` is true. The reduced axes remain as dimensions of size
/// 1.
TensorId reduce(NodeContext& node, Reduce::Kind kind, TensorId x, Shape shape, const std::vector<bool>& axes);

/// Evaluates the node if it is shape arithmetic, and returns true. Shape arithmetic is a computation on values known at
/// load: integers, or floats of rank 0 or 1. Returns false if the node is not shape arithmetic.
bool evaluate_shape_arithmetic(NodeContext& node);

} // namespace rtexec::tasks::onnx_source
