#include "tasks/dnn/onnx/lowering.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::onnx_source {
namespace {

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t count = 1;
  for (std::size_t d = first; d < last; ++d) count *= shape[d];
  return count;
}

void activate(NodeContext& node, Activation activation) {
  node.set_output(node.emit(activation, {node.tensor(0)}, node.shape(0)));
}

template <Activation::Kind kind> void plain_activation(NodeContext& node) { activate(node, {kind}); }

void leaky_relu(NodeContext& node) { activate(node, {Activation::Kind::leaky_relu, node.attribute("alpha", 0.01F)}); }

void hard_sigmoid(NodeContext& node) {
  const auto alpha = node.attribute("alpha", 0.2F);
  activate(node, {Activation::Kind::hard_sigmoid, alpha, node.attribute("beta", 0.5F)});
}

void clip(NodeContext& node) {
  const auto bound = [&](std::size_t input, const char* role, float fallback) {
    if (!node.has(input)) return fallback;
    const auto& values = node.floats(input, role);
    node.require(values.size() == 1, "its bounds must be scalars");
    return values.front();
  };
  const auto low = bound(1, "the lower bound", std::numeric_limits<float>::lowest());
  activate(node, {Activation::Kind::clip, low, bound(2, "the upper bound", std::numeric_limits<float>::max())});
}

Shape broadcast(NodeContext& node, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto dimension = [&](const Shape& s) { return d < s.size() ? s[s.size() - 1 - d] : 1; };
    const auto m = dimension(a), n = dimension(b);
    if (m != n && m != 1 && n != 1)
      node.bad("its inputs are " + to_string(a) + " and " + to_string(b) + ", which cannot be broadcast together");
    shape[shape.size() - 1 - d] = std::max(m, n);
  }
  return shape;
}

template <Binary::Kind kind> void binary(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  node.set_output(
      node.emit(Binary{kind}, {node.tensor(0), node.tensor(1)}, broadcast(node, node.shape(0), node.shape(1))));
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
    inputs.push_back(node.tensor(2));
  }
  node.set_output(node.emit(gemm, std::move(inputs), {m, n}));
}

/// a [..., m, k] times a matrix b [k, n].
void mat_mul(NodeContext& node) {
  const auto shape = node.shape(0);
  const auto& b = node.shape_of_rank(1, 2);
  if (shape.size() < 2)
    node.unsupported("its first input is " + to_string(shape) + "; supported: 2 dimensions or more");
  if (shape.back() != b[0])
    node.bad("the matrices are " + to_string(shape) + " and " + to_string(b) + ", which cannot be multiplied");
  const auto rows = product(shape, 0, shape.size() - 1);
  const auto columns = b[1];
  const auto a = shape.size() == 2 ? node.tensor(0) : node.emit(Reshape{}, {node.tensor(0)}, {rows, shape.back()});
  auto result = node.emit(Gemm{}, {a, node.tensor(1)}, {rows, columns});
  if (shape.size() > 2) {
    auto full = shape;
    full.back() = columns;
    result = node.emit(Reshape{}, {result}, std::move(full));
  }
  node.set_output(result);
}

void softmax(NodeContext& node) {
  const auto& shape = node.shape(0);
  const bool flattens = node.opset() < 13; // all dimensions from the axis on are one
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", flattens ? 1 : -1), shape.size());
  const auto last = flattens ? shape.size() : axis + 1;
  node.set_output(
      node.emit(Softmax{product(shape, 0, axis), product(shape, axis, last), product(shape, last, shape.size())},
                {node.tensor(0)}, shape));
}

/// Averages over each run of adjacent axes in turn: a mean of equally many means is the mean.
void reduce_mean(NodeContext& node) {
  auto shape = node.shape(0);
  const bool by_input = node.opset() >= 18; // else by an attribute
  std::vector<std::int64_t> axes;
  if (!by_input) axes = node.attribute<std::vector<std::int64_t>>("axes", {});
  else if (node.has(1)) axes = node.ints(1, "the axes");
  const bool empty_means_all =
      by_input ? node.attribute<std::int64_t>("noop_with_empty_axes", 0) == 0 : !node.has_attribute("axes");
  std::vector<bool> reduced(shape.size(), axes.empty() && empty_means_all);
  for (const auto axis : axes) reduced[node.axis(axis, shape.size())] = true;
  const bool keep = node.attribute<std::int64_t>("keepdims", 1) != 0;
  auto current = node.tensor(0);
  for (std::size_t first = 0; first < reduced.size(); ++first) {
    if (!reduced[first]) continue;
    auto last = first;
    while (last < reduced.size() && reduced[last]) ++last;
    const Mean mean{product(shape, 0, first), product(shape, first, last), product(shape, last, shape.size())};
    std::fill(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(last), 1);
    current = node.emit(mean, {current}, shape);
    first = last;
  }
  if (!keep) {
    Shape kept;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (!reduced[d]) kept.push_back(shape[d]);
    shape = kept;
  }
  if (!keep || current == node.tensor(0)) current = node.emit(Reshape{}, {current}, std::move(shape));
  node.set_output(current);
}

} // namespace

void add_math_operators(OperatorTable& table) {
  using Kind = Activation::Kind;
  table["Relu"] = plain_activation<Kind::relu>;
  table["Sigmoid"] = plain_activation<Kind::sigmoid>;
  table["HardSwish"] = plain_activation<Kind::hard_swish>;
  table["Exp"] = plain_activation<Kind::exp>;
  table["Tanh"] = plain_activation<Kind::tanh>;
  table["Sqrt"] = plain_activation<Kind::sqrt>;
  table["LeakyRelu"] = leaky_relu;
  table["HardSigmoid"] = hard_sigmoid;
  table["Clip"] = clip;
  table["Add"] = binary<Binary::Kind::add>;
  table["Sub"] = binary<Binary::Kind::subtract>;
  table["Mul"] = binary<Binary::Kind::multiply>;
  table["Div"] = binary<Binary::Kind::divide>;
  table["Gemm"] = gemm;
  table["MatMul"] = mat_mul;
  table["Softmax"] = softmax;
  table["ReduceMean"] = reduce_mean;
}

} // namespace rtexec::tasks::onnx_source
