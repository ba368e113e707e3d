#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>

namespace rtexec::tasks::onnx_source {
namespace {

/// Lowers a Gemm of integers and returns its result. Its alpha and beta must be 1.
TensorId gemm_of_integers(NodeContext& node, const Gemm& gemm, const std::vector<TensorId>& inputs,
                          const Shape& shape) {
  if (gemm.alpha != 1 || (inputs.size() > 2 && gemm.beta != 1))
    node.unsupported("alpha or beta is not 1, and its inputs are integers; convert them to floats before");
  const auto factor = [&](std::size_t input, bool transposed) {
    const auto x = node.shape(input);
    return transposed ? node.emit(View{0, {1, x[1]}}, {inputs[input]}, {x[1], x[0]}) : inputs[input];
  };
  const auto y = node.emit(IntegerMatMul{}, {factor(0, gemm.transpose_a), factor(1, gemm.transpose_b)}, shape);
  return inputs.size() > 2 ? node.emit(Binary{Binary::Kind::add}, {y, inputs[2]}, shape) : y;
}

void gemm(NodeContext& node) {
  Gemm gemm{node.attribute<std::int64_t>("transA", 0) != 0, node.attribute<std::int64_t>("transB", 0) != 0,
            node.attribute("alpha", 1.0F), node.attribute("beta", 1.0F)};
  const auto& a = node.shape_of_rank(0, 2);
  const auto& b = node.shape_of_rank(1, 2);
  const auto m = a[gemm.transpose_a ? 1 : 0], k = a[gemm.transpose_a ? 0 : 1];
  const auto n = b[gemm.transpose_b ? 0 : 1];
  if (b[gemm.transpose_b ? 1 : 0] != k)
    node.bad("the matrices are " + to_string(a) + " and " + to_string(b) +
             " before transposition, which cannot be multiplied");
  std::vector<TensorId> inputs{node.tensor(0), node.tensor(1)};
  if (node.has(2)) {
    if (broadcast(node, {m, n}, node.shape(2)) != Shape{m, n})
      node.bad("its third input is " + to_string(node.shape(2)) + ", larger than the product");
    if (gemm.beta != 0) inputs.push_back(node.tensor(2)); // if beta is 0, NaN and infinity in c have no effect
  }
  require_one_type(node, 0, inputs.size());
  require_wide_integers(node, 2);
  if (is_integer(node.element_type(0))) return node.set_output(gemm_of_integers(node, gemm, inputs, {m, n}));
  node.set_output(node.emit(gemm, std::move(inputs), {m, n}));
}

/// Emits the products of two batches of matrices, whose batch dimensions are broadcast, and returns the products.
TensorId matrices(NodeContext& node, TensorId a, const Shape& a_shape, TensorId b, const Shape& b_shape) {
  auto shape = broadcast(node, {a_shape.begin(), a_shape.end() - 2}, {b_shape.begin(), b_shape.end() - 2});
  shape.push_back(a_shape[a_shape.size() - 2]);
  shape.push_back(b_shape.back());
  return batched_product(node, a, b, std::move(shape));
}

} // namespace

void require_wide_integers(NodeContext& node, std::size_t inputs) {
  for (std::size_t i = 0; i < inputs; ++i)
    if (const auto type = node.element_type(i); is_integer(type) && size_of(type) < 4)
      node.bad("it multiplies " + std::string(name(type)) + "; use MatMulInteger, or cast its inputs to int32");
}

TensorId batched_product(NodeContext& node, TensorId a, TensorId b, Shape shape) {
  const auto type = node.type_of(a);
  if (!is_integer(type)) return node.emit(MatMul{}, {a, b}, std::move(shape));
  return node.emit(IntegerMatMul{}, {a, b}, std::move(shape), type == ElementType::int16 ? ElementType::int32 : type);
}

TensorId matrix_product(NodeContext& node, TensorId a, const Shape& a_shape, TensorId b, const Shape& b_shape) {
  if (b_shape.size() != 2 || is_integer(node.type_of(a))) return matrices(node, a, a_shape, b, b_shape);
  auto shape = a_shape;
  shape.back() = b_shape.back();
  return node.emit(Gemm{}, {a, b}, std::move(shape));
}

namespace {

/// Lowers MatMul. A vector as the left operand is a row, and a vector as the right operand is a column. The result has
/// no dimension for this row or column.
void mat_mul(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  auto a_shape = node.shape(0), b_shape = node.shape(1);
  node.require(!a_shape.empty() && !b_shape.empty(), "an input is a scalar");
  require_wide_integers(node, 2);
  auto a = node.tensor(0), b = node.tensor(1);
  const bool row = a_shape.size() == 1, column = b_shape.size() == 1;
  if (row) a = node.emit(Reshape{}, {a}, a_shape = {1, a_shape[0]});
  if (column) b = node.emit(Reshape{}, {b}, b_shape = {b_shape[0], 1});
  if (a_shape.back() != b_shape[b_shape.size() - 2])
    node.bad("the matrices are " + to_string(node.shape(0)) + " and " + to_string(node.shape(1)) +
             ", which cannot be multiplied");
  const auto result = matrix_product(node, a, a_shape, b, b_shape);
  if (!row && !column) return node.set_output(result);
  Shape shape = broadcast(node, {a_shape.begin(), a_shape.end() - 2}, {b_shape.begin(), b_shape.end() - 2});
  if (!row) shape.push_back(a_shape[a_shape.size() - 2]);
  if (!column) shape.push_back(b_shape.back());
  node.set_output(node.emit(Reshape{}, {result}, std::move(shape)));
}

} // namespace

void add_matmul_operators(OperatorTable& table) {
  table["Gemm"] = {gemm};
  table["MatMul"] = {mat_mul};
  table["Einsum"] = {einsum, "", 12};
}

} // namespace rtexec::tasks::onnx_source
