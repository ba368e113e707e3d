// Element-wise steps on floats.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/typed_steps.hpp"

#include <algorithm>
#include <array>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }
std::size_t count_of(const Graph& graph, TensorId id) {
  return static_cast<std::size_t>(element_count(shape_of(graph, id)));
}

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  return broadcast(from, dense_strides(from), to);
}

class ActivationStep final : public Step {
 public:
  ActivationStep(Activation activation, std::size_t count) : activation_(activation), count_(count) {}
  bool in_place(std::size_t) const override { return true; }
  void run(const Operands& o) const noexcept override { activate(activation_, o.output(), o.input(0), count_); }

 private:
  Activation activation_;
  std::size_t count_;
};

/// Calls f(first, count) for consecutive pieces of the elements. A piece is small enough to stay in the level 1 cache
/// between two operations on it.
template <class F> void each_piece(std::size_t count, F f) {
  constexpr std::size_t piece = 2048;
  for (std::size_t i = 0; i < count; i += piece) f(i, std::min(piece, count - i));
}

template <class T> class QuantiseStep final : public Step {
 public:
  QuantiseStep(const Quantise& quantise, std::size_t count) : quantise_(quantise), count_(count) {}
  void run(const Operands& o) const noexcept override { quantise(quantise_, o.output<T>(), o.input(0), count_); }

 private:
  Quantise quantise_;
  std::size_t count_;
};

template <class T> class DequantiseStep final : public Step {
 public:
  DequantiseStep(const Dequantise& dequantise, std::size_t count) : dequantise_(dequantise), count_(count) {}
  void run(const Operands& o) const noexcept override { dequantise(dequantise_, o.output(), o.input<T>(0), count_); }

 private:
  Dequantise dequantise_;
  std::size_t count_;
};

/// Calls f.operator()<T>() with the type T of quantized elements.
template <class F> StepPointer for_quantised(ElementType type, F f) {
  switch (type) {
  case ElementType::uint8: return f.template operator()<std::uint8_t>();
  case ElementType::int8: return f.template operator()<std::int8_t>();
  case ElementType::uint16: return f.template operator()<std::uint16_t>();
  case ElementType::int16: return f.template operator()<std::int16_t>();
  default: return f.template operator()<std::int32_t>();
  }
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
      each_piece(loops_.count(), [&](std::size_t i, std::size_t n) {
        float* y = o.output() + at[2] + i;
        combine(kind_, y, o.input(0) + at[0] + (step[0] ? i : 0), static_cast<std::size_t>(step[0]),
                o.input(1) + at[1] + (step[1] ? i : 0), static_cast<std::size_t>(step[1]), n);
        if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
      });
    });
  }

 private:
  Binary::Kind kind_;
  Activation activation_;
  Loops<3> loops_;
  std::array<bool, 2> whole_; // for each operand, true if it is not broadcast
};

class MultiplyAddStep final : public Step {
 public:
  MultiplyAddStep(MultiplyAdd operation, Activation activation, const Shape& a, const Shape& b, const Shape& c,
                  const Shape& y)
      : alpha_(operation.alpha),
        activation_(activation),
        loops_(y, {broadcast_strides(a, y), broadcast_strides(b, y), broadcast_strides(c, y), dense_strides(y)}),
        whole_{a == y, b == y} {}

  // The output must not overwrite c, because c is read after the product has been written to the output.
  bool in_place(std::size_t input) const override { return input < 2 && whole_[input]; }

  void run(const Operands& o) const noexcept override {
    const auto& step = loops_.step();
    const auto length = [&](std::size_t k) { return static_cast<std::size_t>(step[k]); };
    loops_.run([&](const Loops<4>::Offsets& at) {
      each_piece(loops_.count(), [&](std::size_t i, std::size_t n) {
        const auto input = [&](std::size_t k) { return o.input(k) + at[k] + (step[k] ? i : 0); };
        float* y = o.output() + at[3] + i;
        combine(Binary::Kind::multiply, y, input(0), length(0), input(1), length(1), n);
        if (alpha_ != 1) scale_shift({}, y, y, alpha_, 0.0F, n);
        combine(Binary::Kind::add, y, y, 1, input(2), length(2), n);
        if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
      });
    });
  }

 private:
  float alpha_;
  Activation activation_;
  Loops<4> loops_;
  std::array<bool, 2> whole_; // for a and b, true if the operand is not broadcast
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
    const float *x = o.input(0), *scale = o.input(1), *shift = o.input(2);
    float* y = o.output();
    for (std::int64_t image = 0; image < batch_; ++image) {
      if (plane_ == 1) {
        scale_shift_row(y, x, scale, shift);
        x += channels_, y += channels_;
        continue;
      }
      for (std::int64_t c = 0; c < channels_; ++c, x += plane_, y += plane_)
        scale_shift(activation_, y, x, scale[c], shift[c], plane_);
    }
  }

 private:
  /// Scales and shifts images that have only one element for each channel.
  void scale_shift_row(float* y, const float* x, const float* scale, const float* shift) const noexcept {
    const auto n = static_cast<std::size_t>(channels_);
    combine(Binary::Kind::multiply, y, x, 1, scale, 1, n);
    combine(Binary::Kind::add, y, y, 1, shift, 1, n);
    if (activation_.kind != Activation::Kind::none) activate(activation_, y, y, n);
  }

  Activation activation_;
  std::int64_t batch_, channels_;
  std::size_t plane_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Activation& activation) {
  if (graph.tensors[node.output].type == ElementType::boolean) return make_truth_step(graph, node, activation);
  if (is_integer(graph.tensors[node.output].type)) return make_integer_step(graph, node, activation);
  return std::make_unique<ActivationStep>(activation, count_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const Quantise& quantise) {
  return for_quantised(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<QuantiseStep<T>>(quantise, count_of(graph, node.output));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Dequantise& dequantise) {
  return for_quantised(graph.tensors[node.inputs[0]].type, [&]<class T>() -> StepPointer {
    return std::make_unique<DequantiseStep<T>>(dequantise, count_of(graph, node.output));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Binary& binary) {
  if (is_comparison(binary.kind)) return make_comparison_step(graph, node, binary.kind);
  if (is_integer(graph.tensors[node.output].type)) return make_integer_step(graph, node, binary);
  return std::make_unique<BinaryStep>(binary, node.activation, shape_of(graph, node.inputs[0]),
                                      shape_of(graph, node.inputs[1]), shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const MultiplyAdd& operation) {
  return std::make_unique<MultiplyAddStep>(operation, node.activation, shape_of(graph, node.inputs[0]),
                                           shape_of(graph, node.inputs[1]), shape_of(graph, node.inputs[2]),
                                           shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const ScaleShift&) {
  return std::make_unique<ScaleShiftStep>(node.activation, shape_of(graph, node.output));
}

} // namespace rtexec::tasks::kernels
