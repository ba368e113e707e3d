#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace rtexec::test {
namespace {

template <class F> Array map(const Operator& node, F&& f) {
  Array y = node.in(0);
  for (double& value : y.values) value = f(value);
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Array relu(const Operator& n) {
  return map(n, [](double x) { return std::max(0.0, x); });
}
Array leaky_relu(const Operator& n) {
  const double alpha = n.get("alpha", 0.01F);
  return map(n, [=](double x) { return x < 0 ? alpha * x : x; });
}
Array hard_sigmoid(const Operator& n) {
  const double alpha = n.get("alpha", 0.2F), beta = n.get("beta", 0.5F);
  return map(n, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}
Array hard_swish(const Operator& n) {
  return map(n, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
}
Array clip(const Operator& n) {
  const double low = n.has(1) ? n.in(1)[0] : std::numeric_limits<float>::lowest();
  const double high = n.has(2) ? n.in(2)[0] : std::numeric_limits<float>::max();
  return map(n, [=](double x) { return std::min(std::max(x, low), high); });
}
Array logistic(const Operator& n) { return map(n, sigmoid); }
Array exponential(const Operator& n) {
  return map(n, [](double x) { return std::exp(x); });
}
Array hyperbolic_tangent(const Operator& n) {
  return map(n, [](double x) { return std::tanh(x); });
}
Array square_root(const Operator& n) {
  return map(n, [](double x) { return std::sqrt(x); });
}
Array floor_of(const Operator& n) {
  return map(n, [](double x) { return std::floor(x); });
}
Array same(const Operator& n) { return n.in(0); }

/// The shape that NumPy broadcasts `a` and `b` to.
Ints broadcast(const Ints& a, const Ints& b) {
  Ints shape(std::max(a.size(), b.size()), 1);
  for (const Ints* from : {&a, &b})
    for (std::size_t d = 1; d <= from->size(); ++d) {
      Index& extent = shape[shape.size() - d];
      extent = std::max(extent, (*from)[from->size() - d]);
    }
  return shape;
}

/// The element of `a` that stands at `index` of the broadcast tensor.
double broadcast_element(const Array& a, const Ints& index) {
  Ints at(a.shape.size());
  for (std::size_t d = 1; d <= at.size(); ++d) {
    const std::size_t axis = at.size() - d;
    at[axis] = a.shape[axis] == 1 ? 0 : index[index.size() - d];
  }
  return a[offset(a.shape, at)];
}

template <class F> Array combine(const Operator& n, F&& f) {
  Array y(broadcast(n.in(0).shape, n.in(1).shape), n.in(0).integer);
  for_each_index(y.shape, [&](const Ints& at) {
    y[offset(y.shape, at)] = f(broadcast_element(n.in(0), at), broadcast_element(n.in(1), at));
  });
  return y;
}

Array add(const Operator& n) {
  return combine(n, [](double a, double b) { return a + b; });
}
Array subtract(const Operator& n) {
  return combine(n, [](double a, double b) { return a - b; });
}
Array multiply(const Operator& n) {
  return combine(n, [](double a, double b) { return a * b; });
}
Array divide(const Operator& n) {
  const bool whole = n.in(0).integer;
  return combine(n, [=](double a, double b) { return whole ? std::trunc(a / b) : a / b; });
}

Array gemm(const Operator& n) {
  const Array &a = n.in(0), &b = n.in(1);
  const bool a_turned = n.get<Index>("transA", 0) != 0, b_turned = n.get<Index>("transB", 0) != 0;
  const double alpha = n.get("alpha", 1.0F), beta = n.get("beta", 1.0F);
  const Index rows = a.extent(a_turned ? 1 : 0), inner = a.extent(a_turned ? 0 : 1),
              columns = b.extent(b_turned ? 0 : 1);
  Array y({rows, columns});
  for_each_index(y.shape, [&](const Ints& at) {
    double sum = 0;
    for (Index k = 0; k < inner; ++k)
      sum += a[a_turned ? k * rows + at[0] : at[0] * inner + k] * b[b_turned ? at[1] * inner + k : k * columns + at[1]];
    y[offset(y.shape, at)] = alpha * sum + (n.has(2) ? beta * broadcast_element(n.in(2), at) : 0);
  });
  return y;
}

Array matrix_product(const Operator& n) { return gemm({"Gemm", n.opset, {&n.in(0), &n.in(1)}, {}, 1}); }

/// Softmax over the middle of a tensor seen as [outer, count, inner].
Array softmax_over(Array x, Index outer, Index count, Index inner) {
  for (Index o = 0; o < outer; ++o)
    for (Index i = 0; i < inner; ++i) {
      const auto at = [&](Index k) -> double& { return x[(o * count + k) * inner + i]; };
      double largest = at(0), sum = 0;
      for (Index k = 1; k < count; ++k) largest = std::max(largest, at(k));
      for (Index k = 0; k < count; ++k) sum += at(k) = std::exp(at(k) - largest);
      for (Index k = 0; k < count; ++k) at(k) /= sum;
    }
  return x;
}

Array softmax(const Operator& n) {
  const Array& x = n.in(0);
  const bool flattens = n.opset < 13;
  const Index axis = from_front(n.get<Index>("axis", flattens ? 1 : -1), x.rank());
  const Index outer = product(Ints(x.shape.begin(), x.shape.begin() + axis));
  const Index count = flattens ? x.size() / outer : x.extent(axis);
  return softmax_over(x, outer, count, x.size() / outer / count);
}

Array batch_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const double epsilon = n.get("epsilon", 1e-5F);
  const Index inner = x.size() / x.extent(0) / x.extent(1);
  Array y(x.shape);
  for (Index i = 0; i < x.size(); ++i) {
    const Index c = i / inner % x.extent(1);
    y[i] = (x[i] - n.in(3)[c]) / std::sqrt(n.in(4)[c] + epsilon) * n.in(1)[c] + n.in(2)[c];
  }
  return y;
}

Array reduce_mean(const Operator& n) {
  const Array& x = n.in(0);
  const Ints given = n.opset < 18 ? n.get<Ints>("axes", {}) : n.has(1) ? integers(n.in(1)) : Ints{};
  std::set<Index> axes;
  for (const Index axis : given) axes.insert(from_front(axis, x.rank()));
  if (given.empty() && n.get<Index>("noop_with_empty_axes", 0) == 0)
    for (Index axis = 0; axis < x.rank(); ++axis) axes.insert(axis);
  Ints kept = x.shape, squeezed;
  for (Index axis = 0; axis < x.rank(); ++axis) {
    if (axes.contains(axis)) kept[static_cast<std::size_t>(axis)] = 1;
    else squeezed.push_back(x.extent(axis));
  }
  Array y(kept);
  const double count = static_cast<double>(x.size() / y.size());
  for_each_index(x.shape, [&](Ints at) {
    const double value = x[offset(x.shape, at)];
    for (const Index axis : axes) at[static_cast<std::size_t>(axis)] = 0;
    y[offset(kept, at)] += value / count;
  });
  if (n.get<Index>("keepdims", 1) == 0) y.shape = squeezed;
  return y;
}

} // namespace

const Functions& math_operators() {
  static const Functions functions{{"Relu", relu},
                                   {"LeakyRelu", leaky_relu},
                                   {"Sigmoid", logistic},
                                   {"HardSigmoid", hard_sigmoid},
                                   {"HardSwish", hard_swish},
                                   {"Clip", clip},
                                   {"Exp", exponential},
                                   {"Tanh", hyperbolic_tangent},
                                   {"Sqrt", square_root},
                                   {"Floor", floor_of},
                                   {"Identity", same},
                                   {"Dropout", same},
                                   {"Add", add},
                                   {"Sub", subtract},
                                   {"Mul", multiply},
                                   {"Div", divide},
                                   {"Gemm", gemm},
                                   {"MatMul", matrix_product},
                                   {"Softmax", softmax},
                                   {"BatchNormalization", batch_normalization},
                                   {"ReduceMean", reduce_mean}};
  return functions;
}

} // namespace rtexec::test
