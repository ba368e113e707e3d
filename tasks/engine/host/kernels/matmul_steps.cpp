// Steps that multiply matrices.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/engine/host/kernels/tiled_product.hpp"

#include <optional>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

/// Returns the shape of a tensor without its last two dimensions, which are the dimensions of matrices.
Shape outer(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// One or more matrix products. A constant second operand is packed in advance.
class MatMulStep final : public Step {
 public:
  /// `batch` is the shape of the batch of products; it is empty for a single product.
  MatMulStep(const Graph& graph, const Node& node, const MatMulShape& shape, const Shape& batch, float beta = 1)
      : shape_(shape),
        product_(shape),
        packed_(graph.tensors[node.inputs[1]].constant()),
        activation_(node.activation),
        residual_(node.residual.has_value()),
        beta_(beta),
        loops_(batch, strides_of(graph, node, batch)) {
    if (node.inputs.size() > 2) {
      const auto& c = shape_of(graph, node.inputs[2]);
      bias_strides_ = broadcast(c, dense_strides(c), {shape.m, shape.n});
    }
    const bool is_row = bias_strides_.empty() || (bias_strides_ == std::vector<std::int64_t>{0, 1} && beta_ == 1);
    ends_in_tiles_ = is_row && shape.alpha == 1;
    bounds_ = ends_in_tiles_ ? bounds_of(activation_) : std::nullopt;
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(rounded_up(product_.workspace(), 16) + (packed_ ? 0 : product_.packed_b()));
  }

  void run(const Operands& o) const noexcept override {
    const auto& step = loops_.step();
    const float* last = nullptr;
    loops_.run([&](const Loops<3>::Offsets& at) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(loops_.count()); ++i) {
        const float* b = o.input(1) + at[1] + i * step[1];
        multiply_one(o, at[0] + i * step[0], b, b == last, at[2] + i * step[2]);
        last = b;
      }
    });
  }

  std::string packing() const override {
    return packed_ ? packing_name("product", {shape_.n, shape_.k, shape_.transpose_b}) : "";
  }
  std::vector<float> pack(const std::vector<float>& b) const override {
    const auto count = b.size() / static_cast<std::size_t>(shape_.n * shape_.k);
    const auto size = static_cast<std::size_t>(product_.packed_b());
    std::vector<float> packed(count * size);
    for (std::size_t i = 0; i < count; ++i)
      product_.pack_b(packed.data() + i * size, b.data() + i * static_cast<std::size_t>(shape_.n * shape_.k));
    return packed;
  }

 private:
  /// Returns the strides of the matrices of a, b and y in each dimension of `batch`. The strides of a packed b count
  /// packed floats.
  std::array<std::vector<std::int64_t>, 3> strides_of(const Graph& graph, const Node& node, const Shape& batch) const {
    if (batch.empty()) return {};
    const auto of = [&](TensorId id, std::int64_t size) {
      auto strides = dense_strides(outer(shape_of(graph, id)));
      for (auto& stride : strides) stride *= size;
      return broadcast(outer(shape_of(graph, id)), strides, batch);
    };
    return {of(node.inputs[0], shape_.m * shape_.k),
            of(node.inputs[1], packed_ ? product_.packed_b() : shape_.n * shape_.k),
            of(node.output, shape_.m * shape_.n)};
  }

  void multiply_one(const Operands& o, std::int64_t a, const float* b, bool b_packed, std::int64_t at) const noexcept {
    if (!packed_) {
      float* const strips = o.workspace + rounded_up(product_.workspace(), 16);
      if (!b_packed) product_.pack_b(strips, b);
      b = strips;
    }
    product_.run(
        o.input(0) + a, b, o.output() + at, o.workspace,
        [&](std::int64_t row, std::int64_t rows) {
          for (std::int64_t i = row; i < row + rows && !bounds_; ++i) finish_row(o, at, i);
        },
        end_of(o, at));
  }

  TileEnd end_of(const Operands& o, std::int64_t at) const noexcept {
    TileEnd end;
    if (!ends_in_tiles_) return end;
    if (!bias_strides_.empty()) end.column_bias = o.input(2);
    if (residual_) end.residual = o.residual() + at;
    end.bounds = bounds_.value_or(Bounds{});
    return end;
  }

  void finish_row(const Operands& o, std::int64_t at, std::int64_t row) const noexcept {
    const auto n = static_cast<std::size_t>(shape_.n);
    float* y = o.output() + at + row * shape_.n;
    if (!bias_strides_.empty() && !ends_in_tiles_) add_bias(y, o.input(2) + row * bias_strides_[0], n);
    if (residual_ && !ends_in_tiles_) combine(Binary::Kind::add, y, y, 1, o.residual() + at + row * shape_.n, 1, n);
    if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
  }

  void add_bias(float* y, const float* bias, std::size_t n) const noexcept {
    if (bias_strides_[1] == 0) finish({}, y, y, beta_ * *bias, nullptr, n);
    else accumulate(y, bias, beta_, n);
  }

  MatMulShape shape_;
  TiledProduct product_;
  bool packed_;
  Activation activation_;
  bool residual_;
  float beta_;
  Loops<3> loops_;
  std::vector<std::int64_t> bias_strides_; // strides of the third input; empty: there is no third input
  bool ends_in_tiles_ = false;             // tiles add bias and residual to their sums
  std::optional<Bounds> bounds_;           // nullopt: a later pass applies the activation and the rest of the epilogue
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Gemm& gemm) {
  const auto &a = shape_of(graph, node.inputs[0]), &y = shape_of(graph, node.output);
  const MatMulShape shape{element_count(y) / y.back(),
                          y.back(),
                          gemm.transpose_a ? a.front() : a.back(),
                          gemm.transpose_a,
                          gemm.transpose_b,
                          gemm.alpha};
  return std::make_unique<MatMulStep>(graph, node, shape, Shape{}, gemm.beta);
}

StepPointer make_step(const Graph& graph, const Node& node, const MatMul& product) {
  const auto &a = shape_of(graph, node.inputs[0]), &b = shape_of(graph, node.inputs[1]),
             &y = shape_of(graph, node.output);
  MatMulShape shape{y[y.size() - 2],     y.back(),     a[a.size() - (product.transpose_a ? 2 : 1)], product.transpose_a,
                    product.transpose_b, product.alpha};
  const auto count = element_count(outer(y));
  if (element_count(outer(b)) > 1 || element_count(outer(a)) != count || (product.transpose_a && count > 1))
    return std::make_unique<MatMulStep>(graph, node, shape, outer(y));
  shape.m *= count; // the matrices of a are contiguous rows, as are the matrices of y
  return std::make_unique<MatMulStep>(graph, node, shape, Shape{});
}

} // namespace rtexec::tasks::kernels
