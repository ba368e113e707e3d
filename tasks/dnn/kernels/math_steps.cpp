#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/gemm.hpp"
#include "tasks/dnn/kernels/loops.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }
std::size_t count_of(const Graph& graph, TensorId id) {
  return static_cast<std::size_t>(element_count(shape_of(graph, id)));
}

class ActivationStep final : public Step {
 public:
  ActivationStep(Activation activation, std::size_t count) : activation_(activation), count_(count) {}
  bool in_place(std::size_t) const override { return true; }
  void run(const Operands& o) const noexcept override { activate(activation_, o.output, o.inputs[0], count_); }

 private:
  Activation activation_;
  std::size_t count_;
};

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  return broadcast(from, dense_strides(from), to);
}

class BinaryStep final : public Step {
 public:
  BinaryStep(Binary binary, Activation activation, const Shape& a, const Shape& b, const Shape& y)
      : kind_(binary.kind),
        activation_(activation),
        loops_(y, {broadcast_strides(a, y), broadcast_strides(b, y), dense_strides(y)}),
        whole_{a == y, b == y} {}

  bool in_place(std::size_t input) const override { return whole_[input]; }

  void run(const Operands& o) const noexcept override {
    const auto& step = loops_.step();
    loops_.run([&](const Loops<3>::Offsets& at) {
      constexpr std::size_t piece = 2048; // stays in the first-level cache between operation and activation
      for (std::size_t i = 0; i < loops_.count(); i += piece) {
        const auto n = std::min(piece, loops_.count() - i);
        float* y = o.output + at[2] + i;
        combine(kind_, y, o.inputs[0] + at[0] + (step[0] ? i : 0), static_cast<std::size_t>(step[0]),
                o.inputs[1] + at[1] + (step[1] ? i : 0), static_cast<std::size_t>(step[1]), n);
        if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
      }
    });
  }

 private:
  Binary::Kind kind_;
  Activation activation_;
  Loops<3> loops_;
  std::array<bool, 2> whole_; // not broadcast
};

class ScaleShiftStep final : public Step {
 public:
  ScaleShiftStep(Activation activation, const Shape& x)
      : activation_(activation),
        batch_(x[0]),
        channels_(x[1]),
        plane_(static_cast<std::size_t>(element_count(x) / (x[0] * x[1]))) {}
  bool in_place(std::size_t input) const override { return input == 0; }

  void run(const Operands& o) const noexcept override {
    const float *x = o.inputs[0], *scale = o.inputs[1], *shift = o.inputs[2];
    float* y = o.output;
    for (std::int64_t image = 0; image < batch_; ++image)
      for (std::int64_t c = 0; c < channels_; ++c, x += plane_, y += plane_)
        scale_shift(activation_, y, x, scale[c], shift[c], plane_);
  }

 private:
  Activation activation_;
  std::int64_t batch_, channels_;
  std::size_t plane_;
};

class GemmStep final : public Step {
 public:
  GemmStep(const Graph& graph, const Node& node, const Gemm& gemm)
      : gemm_(gemm),
        activation_(node.activation),
        residual_(node.residual.has_value()),
        m_(shape_of(graph, node.output)[0]),
        n_(shape_of(graph, node.output)[1]),
        k_(shape_of(graph, node.inputs[0])[gemm.transpose_a ? 0 : 1]) {
    if (node.inputs.size() > 2) strides_ = broadcast_strides(shape_of(graph, node.inputs[2]), {m_, n_});
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
  std::int64_t m_, n_, k_;
  std::vector<std::int64_t> strides_; // of the third input; empty where there is none
};

class SoftmaxStep final : public Step {
 public:
  explicit SoftmaxStep(const Softmax& softmax) : s_(softmax) {}
  bool in_place(std::size_t) const override { return true; }
  std::size_t workspace() const override { return static_cast<std::size_t>(2 * s_.inner); }

  void run(const Operands& o) const noexcept override {
    if (s_.inner == 1) {
      const auto n = static_cast<std::size_t>(s_.count);
      for (std::int64_t outer = 0; outer < s_.outer; ++outer)
        normalise_row(o.output + outer * s_.count, o.inputs[0] + outer * s_.count, n);
    } else {
      for (std::int64_t outer = 0; outer < s_.outer; ++outer)
        normalise_columns(o.output + outer * s_.count * s_.inner, o.inputs[0] + outer * s_.count * s_.inner,
                          o.workspace);
    }
  }

 private:
  static void normalise_row(float* y, const float* x, std::size_t n) noexcept {
    float most = x[0];
    for (std::size_t i = 1; i < n; ++i) most = std::max(most, x[i]);
    finish({Activation::Kind::exp}, y, x, -most, nullptr, n);
    scale_shift({}, y, y, static_cast<float>(1.0 / sum(y, n)), 0.0F, n);
  }

  /// The same for `inner` columns side by side.
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
    for (std::int64_t i = 0; i < s_.count; ++i)
      combine(Binary::Kind::divide, y + i * s_.inner, y + i * s_.inner, 1, total, 1, n);
  }

  Softmax s_;
};

class MeanStep final : public Step {
 public:
  explicit MeanStep(const Mean& mean) : m_(mean) {}

  void run(const Operands& o) const noexcept override {
    const auto inner = static_cast<std::size_t>(m_.inner);
    for (std::int64_t outer = 0; outer < m_.outer; ++outer) {
      const float* x = o.inputs[0] + outer * m_.count * m_.inner;
      float* y = o.output + outer * m_.inner;
      if (m_.inner == 1) {
        *y = static_cast<float>(sum(x, static_cast<std::size_t>(m_.count)) / static_cast<double>(m_.count));
        continue;
      }
      std::copy_n(x, inner, y);
      for (std::int64_t i = 1; i < m_.count; ++i) accumulate(y, x + i * m_.inner, 1.0F, inner);
      scale_shift({}, y, y, static_cast<float>(1.0 / static_cast<double>(m_.count)), 0.0F, inner);
    }
  }

 private:
  Mean m_;
};

/// y = x / (bias + alpha / size * sum of the squares of `size` neighbouring channels) ^ beta
class LrnStep final : public Step {
 public:
  LrnStep(const Lrn& lrn, const Shape& x)
      : lrn_(lrn), batch_(x[0]), channels_(x[1]), plane_(element_count(x) / (x[0] * x[1])) {}
  std::size_t workspace() const override { return static_cast<std::size_t>(plane_); }

  void run(const Operands& o) const noexcept override {
    const auto n = static_cast<std::size_t>(plane_);
    for (std::int64_t image = 0; image < batch_; ++image)
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float* x = o.inputs[0] + image * channels_ * plane_;
        std::fill_n(o.workspace, n, 0.0F);
        const auto first = std::max<std::int64_t>(c - (lrn_.size - 1) / 2, 0),
                   last = std::min(c + lrn_.size / 2, channels_ - 1);
        for (std::int64_t other = first; other <= last; ++other) accumulate_squares(o.workspace, x + other * plane_, n);
        divide_by_power(o.output + (image * channels_ + c) * plane_, x + c * plane_, o.workspace, lrn_.bias,
                        lrn_.alpha / static_cast<float>(lrn_.size), lrn_.beta, n);
      }
  }

 private:
  Lrn lrn_;
  std::int64_t batch_, channels_, plane_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Activation& activation) {
  return std::make_unique<ActivationStep>(activation, count_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const Gemm& gemm) {
  return std::make_unique<GemmStep>(graph, node, gemm);
}
StepPointer make_step(const Graph& graph, const Node& node, const Binary& binary) {
  return std::make_unique<BinaryStep>(binary, node.activation, shape_of(graph, node.inputs[0]),
                                      shape_of(graph, node.inputs[1]), shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const ScaleShift&) {
  return std::make_unique<ScaleShiftStep>(node.activation, shape_of(graph, node.output));
}
StepPointer make_step(const Graph&, const Node&, const Softmax& softmax) {
  return std::make_unique<SoftmaxStep>(softmax);
}
StepPointer make_step(const Graph&, const Node&, const Mean& mean) { return std::make_unique<MeanStep>(mean); }
StepPointer make_step(const Graph& graph, const Node& node, const Lrn& lrn) {
  return std::make_unique<LrnStep>(lrn, shape_of(graph, node.output));
}

} // namespace rtexec::tasks::kernels
