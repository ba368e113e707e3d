// Steps that reduce rows or columns of floats: sums, softmax, normalisation.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/typed_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

class SoftmaxStep final : public Step {
 public:
  explicit SoftmaxStep(const Softmax& softmax) : s_(softmax) {}
  bool in_place(std::size_t) const override { return !s_.logarithm; }
  std::size_t workspace() const override { return static_cast<std::size_t>(2 * s_.inner); }

  void run(const Operands& o) const noexcept override {
    if (s_.inner == 1) {
      const auto n = static_cast<std::size_t>(s_.count);
      for (std::int64_t outer = 0; outer < s_.outer; ++outer)
        normalise_row(o.output() + outer * s_.count, o.input(0) + outer * s_.count, n);
    } else {
      for (std::int64_t outer = 0; outer < s_.outer; ++outer)
        normalise_columns(o.output() + outer * s_.count * s_.inner, o.input(0) + outer * s_.count * s_.inner,
                          o.workspace);
    }
  }

 private:
  void normalise_row(float* y, const float* x, std::size_t n) const noexcept {
    const float most = maximum(x, n);
    if (s_.may_be_nothing && most == -std::numeric_limits<float>::infinity()) {
      std::fill_n(y, n, 0.0F);
      return;
    }
    const double total = exponentials(y, x, most, n);
    if (s_.logarithm) finish({}, y, x, static_cast<float>(-static_cast<double>(most) - std::log(total)), nullptr, n);
    else scale_shift({}, y, y, static_cast<float>(1.0 / total), 0.0F, n);
  }

  /// Computes the softmax of each of `inner` interleaved columns.
  void normalise_columns(float* y, const float* x, float* workspace) const noexcept {
    const auto n = static_cast<std::size_t>(s_.inner);
    float *most = workspace, *total = workspace + n;
    std::copy_n(x, n, most);
    for (std::int64_t i = 1; i < s_.count; ++i) maximum(most, x + i * s_.inner, n);
    std::fill_n(total, n, 0.0F);
    for (std::int64_t i = 0; i < s_.count; ++i) {
      float* row = y + i * s_.inner;
      combine(Binary::Kind::subtract, row, x + i * s_.inner, 1, most, 1, n);
      activate({Activation::Kind::exp}, row, row, n);
      accumulate(total, row, 1.0F, n);
    }
    if (s_.logarithm) {
      activate({Activation::Kind::logarithm}, total, total, n);
      accumulate(most, total, 1.0F, n);
      for (std::int64_t i = 0; i < s_.count; ++i)
        combine(Binary::Kind::subtract, y + i * s_.inner, x + i * s_.inner, 1, most, 1, n);
      return;
    }
    for (std::int64_t i = 0; i < s_.count; ++i)
      combine(Binary::Kind::divide, y + i * s_.inner, y + i * s_.inner, 1, total, 1, n);
  }

  Softmax s_;
};

class ReduceStep final : public Step {
 public:
  ReduceStep(const Reduce& reduce, const Activation& activation) : r_(reduce), activation_(activation) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t outer = 0; outer < r_.outer; ++outer) {
      const float* x = o.input(0) + outer * r_.count * r_.inner;
      float* y = o.output() + outer * r_.inner;
      if (r_.inner == 1 && by_sum()) *y = total(x, static_cast<std::size_t>(r_.count));
      else if (r_.inner == 1 && r_.kind == Kind::maximum) *y = maximum(x, static_cast<std::size_t>(r_.count));
      else if (r_.inner == 1 && r_.kind == Kind::minimum) *y = minimum(x, static_cast<std::size_t>(r_.count));
      else fold(y, x);
    }
    const auto count = static_cast<std::size_t>(r_.outer * r_.inner);
    if (activation_.kind != Activation::Kind::none) activate(activation_, o.output(), o.output(), count);
  }

 private:
  using Kind = Reduce::Kind;

  [[nodiscard]] bool by_sum() const {
    return r_.kind == Kind::mean || r_.kind == Kind::sum || r_.kind == Kind::squares;
  }

  [[nodiscard]] float total(const float* x, std::size_t n) const noexcept {
    const double all = r_.kind == Kind::squares ? sum_of_squares(x, 0, n) : sum(x, n);
    return static_cast<float>(r_.kind == Kind::mean ? all / static_cast<double>(n) : all);
  }

  /// Reduces each of `inner` interleaved columns.
  void fold(float* y, const float* x) const noexcept {
    const auto n = static_cast<std::size_t>(r_.inner);
    if (r_.kind == Kind::squares) std::fill_n(y, n, 0.0F);
    else std::copy_n(x, n, y);
    for (std::int64_t i = r_.kind == Kind::squares ? 0 : 1; i < r_.count; ++i) fold(y, x + i * r_.inner, n);
    if (r_.kind == Kind::mean) scale_shift({}, y, y, static_cast<float>(1.0 / static_cast<double>(r_.count)), 0.0F, n);
  }

  void fold(float* y, const float* x, std::size_t n) const noexcept {
    switch (r_.kind) {
    case Kind::product: return combine(Binary::Kind::multiply, y, y, 1, x, 1, n);
    case Kind::minimum: return minimum(y, x, n);
    case Kind::maximum: return maximum(y, x, n);
    case Kind::squares: return accumulate_squares(y, x, n);
    default: return accumulate(y, x, 1.0F, n);
    }
  }

  Reduce r_;
  Activation activation_;
};

class LayerNormStep final : public Step {
 public:
  LayerNormStep(const LayerNorm& normalise, const Graph& graph, const Node& node)
      : n_(normalise), activation_(node.activation), residual_(node.residual.has_value()) {
    const auto& x = shape_of(graph, node.output);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const auto& affine = shape_of(graph, node.inputs[i]);
      affine_.emplace_back(x, std::array{broadcast(affine, dense_strides(affine), x), dense_strides(x)});
    }
  }

  /// True only for x: the residual is read after all of x has been read, so the output must not overwrite the residual.
  bool in_place(std::size_t input) const override { return input == 0; }

  void run(const Operands& o) const noexcept override {
    const auto n = static_cast<std::size_t>(n_.count);
    for (std::int64_t outer = 0; outer < n_.outer; ++outer)
      normalise(o.output() + outer * n_.count, o.input(0) + outer * n_.count, n);
    const auto count = static_cast<std::size_t>(n_.outer * n_.count);
    for (std::size_t i = 0; i < affine_.size(); ++i)
      apply(i == 0 ? Binary::Kind::multiply : Binary::Kind::add, affine_[i], o.output(), o.input(i + 1));
    if (residual_) combine(Binary::Kind::add, o.output(), o.output(), 1, o.residual(), 1, count);
    if (activation_.kind != Activation::Kind::none) activate(activation_, o.output(), o.output(), count);
  }

 private:
  void normalise(float* y, const float* x, std::size_t n) const noexcept {
    const double count = static_cast<double>(n);
    const auto mean = static_cast<float>(n_.centred ? sum(x, n) / count : 0.0);
    const double variance = sum_of_squares(x, mean, n) / count;
    const auto factor = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(n_.epsilon)));
    if (std::abs(mean) * factor < max_offset) return scale_shift({}, y, x, factor, -mean * factor, n);
    combine(Binary::Kind::subtract, y, x, 1, &mean, 0, n);
    scale_shift({}, y, y, factor, 0, n);
  }

  static void apply(Binary::Kind kind, const Loops<2>& loops, float* y, const float* affine) noexcept {
    const auto step = static_cast<std::size_t>(loops.step()[0]);
    loops.run([&](const Loops<2>::Offsets& at) {
      combine(kind, y + at[1], y + at[1], 1, affine + at[0], step, loops.count());
    });
  }

  /// Let factor be 1 / deviation. If |mean| * factor is less than this limit, normalise() computes x * factor - mean *
  /// factor in one pass. Otherwise this difference would lose too many digits, and normalise() first subtracts the
  /// mean.
  static constexpr float max_offset = 16;

  LayerNorm n_;
  Activation activation_;
  bool residual_;
  std::vector<Loops<2>> affine_; // loops for the scale, then for the shift
};

/// Computes y = x / (bias + alpha / size * sum of the squares of `size` neighbouring channels) ^ beta.
class LrnStep final : public Step {
 public:
  LrnStep(const Lrn& lrn, const Shape& x)
      : lrn_(lrn), batch_(x[0]), channels_(x[1]), plane_(element_count(x) / (x[0] * x[1])) {}
  std::size_t workspace() const override { return static_cast<std::size_t>(plane_); }

  void run(const Operands& o) const noexcept override {
    const auto n = static_cast<std::size_t>(plane_);
    for (std::int64_t image = 0; image < batch_; ++image)
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float* x = o.input(0) + image * channels_ * plane_;
        std::fill_n(o.workspace, n, 0.0F);
        const auto first = std::max<std::int64_t>(c - (lrn_.size - 1) / 2, 0),
                   last = std::min(c + lrn_.size / 2, channels_ - 1);
        for (std::int64_t other = first; other <= last; ++other) accumulate_squares(o.workspace, x + other * plane_, n);
        divide_by_power(o.output() + (image * channels_ + c) * plane_, x + c * plane_, o.workspace, lrn_.bias,
                        lrn_.alpha / static_cast<float>(lrn_.size), lrn_.beta, n);
      }
  }

 private:
  Lrn lrn_;
  std::int64_t batch_, channels_, plane_;
};

} // namespace

StepPointer make_step(const Graph&, const Node&, const Softmax& softmax) {
  return std::make_unique<SoftmaxStep>(softmax);
}
StepPointer make_step(const Graph& graph, const Node& node, const Reduce& reduce) {
  if (reduce.kind >= Reduce::Kind::first_minimum) return make_index_step(graph, node, reduce);
  if (is_integer(graph.tensors[node.output].type)) return make_integer_step(graph, node, reduce);
  return std::make_unique<ReduceStep>(reduce, node.activation);
}
StepPointer make_step(const Graph& graph, const Node& node, const LayerNorm& normalise) {
  return std::make_unique<LayerNormStep>(normalise, graph, node);
}
StepPointer make_step(const Graph& graph, const Node& node, const Lrn& lrn) {
  return std::make_unique<LrnStep>(lrn, shape_of(graph, node.output));
}

} // namespace rtexec::tasks::kernels
