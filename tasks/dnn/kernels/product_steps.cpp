// Steps that multiply matrices.
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/gemm.hpp"
#include "tasks/dnn/kernels/loops.hpp"
#include "tasks/dnn/kernels/steps.hpp"

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

class GemmStep final : public Step {
 public:
  GemmStep(const Graph& graph, const Node& node, const Gemm& gemm)
      : gemm_(gemm),
        activation_(node.activation),
        residual_(node.residual.has_value()),
        n_(shape_of(graph, node.output).back()),
        k_(gemm.transpose_a ? shape_of(graph, node.inputs[0]).front() : shape_of(graph, node.inputs[0]).back()) {
    m_ = element_count(shape_of(graph, node.output)) / n_;
    if (node.inputs.size() > 2) {
      const auto& c = shape_of(graph, node.inputs[2]);
      strides_ = broadcast(c, dense_strides(c), {m_, n_});
    }
  }

  void run(const Operands& o) const noexcept override {
    multiply(m_, n_, k_, gemm_.alpha, {o.inputs[0], gemm_.transpose_a ? m_ : k_, gemm_.transpose_a},
             {o.inputs[1], gemm_.transpose_b ? k_ : n_, gemm_.transpose_b}, o.output, n_);
    const auto n = static_cast<std::size_t>(n_);
    for (std::int64_t row = 0; row < m_; ++row) {
      float* y = o.output + row * n_;
      if (!strides_.empty()) add_bias(y, o.inputs[2] + row * strides_[0]);
      if (residual_) combine(Binary::Kind::add, y, y, 1, o.inputs.back() + row * n_, 1, n);
      if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
    }
  }

 private:
  void add_bias(float* y, const float* bias) const noexcept {
    if (strides_[1] == 0) finish({}, y, y, gemm_.beta * *bias, nullptr, static_cast<std::size_t>(n_));
    else accumulate(y, bias, gemm_.beta, static_cast<std::size_t>(n_));
  }

  Gemm gemm_;
  Activation activation_;
  bool residual_;
  std::int64_t m_ = 1, n_, k_;
  std::vector<std::int64_t> strides_; // of the third input; empty where there is none
};

/// Of a tensor of matrices: its shape without them.
Shape outer(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// What each matrix of a tensor is from the next one, broadcast to `to`; in elements.
std::vector<std::int64_t> matrix_strides(const Shape& shape, const Shape& to) {
  auto strides = dense_strides(outer(shape));
  for (auto& stride : strides) stride *= shape.back() * shape[shape.size() - 2];
  return broadcast(outer(shape), strides, to);
}

class ProductStep final : public Step {
 public:
  ProductStep(const Graph& graph, const Node& node, const Product& product)
      : product_(product),
        activation_(node.activation),
        residual_(node.residual.has_value()),
        loops_(outer(shape_of(graph, node.output)), strides_of(graph, node)) {
    const auto &a = shape_of(graph, node.inputs[0]), &y = shape_of(graph, node.output);
    m_ = y[y.size() - 2];
    n_ = y.back();
    k_ = a[a.size() - (product.transpose_a ? 2 : 1)];
  }

  void run(const Operands& o) const noexcept override {
    const auto& step = loops_.step();
    loops_.run([&](const Loops<3>::Offsets& at) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(loops_.count()); ++i)
        multiply_one(o, at[0] + i * step[0], at[1] + i * step[1], at[2] + i * step[2]);
    });
  }

 private:
  static std::array<std::vector<std::int64_t>, 3> strides_of(const Graph& graph, const Node& node) {
    const auto& y = shape_of(graph, node.output);
    const auto of = [&](TensorId id) { return matrix_strides(shape_of(graph, id), outer(y)); };
    return {of(node.inputs[0]), of(node.inputs[1]), of(node.output)};
  }

  void multiply_one(const Operands& o, std::int64_t a, std::int64_t b, std::int64_t at) const noexcept {
    float* y = o.output + at;
    multiply(m_, n_, k_, product_.alpha, {o.inputs[0] + a, product_.transpose_a ? m_ : k_, product_.transpose_a},
             {o.inputs[1] + b, product_.transpose_b ? k_ : n_, product_.transpose_b}, y, n_);
    const auto count = static_cast<std::size_t>(m_ * n_);
    if (residual_) combine(Binary::Kind::add, y, y, 1, o.inputs.back() + at, 1, count);
    if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, count);
  }

  Product product_;
  Activation activation_;
  bool residual_;
  std::int64_t m_ = 1, n_ = 1, k_ = 1;
  Loops<3> loops_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Gemm& gemm) {
  return std::make_unique<GemmStep>(graph, node, gemm);
}
StepPointer make_step(const Graph& graph, const Node& node, const Product& product) {
  return std::make_unique<ProductStep>(graph, node, product);
}

} // namespace rtexec::tasks::kernels
