// Element-wise steps on integers and booleans, and conversions between element types.
#include "tasks/engine/host/kernels/arithmetic.hpp"
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/typed_steps.hpp"
#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rtexec::tasks::kernels {
namespace {

using Truth = std::uint8_t; // 0 or 1

const Tensor& tensor(const Graph& graph, TensorId id) { return graph.tensors[id]; }
std::size_t count_of(const Graph& graph, TensorId id) {
  return static_cast<std::size_t>(element_count(tensor(graph, id).shape));
}

/// Computes y = f(x), element by element.
template <class To, class From, class F> class ElementStep final : public Step {
 public:
  ElementStep(std::size_t count, F f) : count_(count), f_(f) {}
  bool in_place(std::size_t) const override { return sizeof(To) == sizeof(From); }
  void run(const Operands& o) const noexcept override {
    const From* const x = o.input<From>(0);
    To* const y = o.output<To>();
    RTEXEC_INDEPENDENT
    for (std::size_t i = 0; i < count_; ++i) y[i] = f_(x[i]);
  }

 private:
  std::size_t count_;
  F f_;
};

template <class To, class From, class F> StepPointer element_step(std::size_t count, F f) {
  return std::make_unique<ElementStep<To, From, F>>(count, f);
}

/// The geometry of a step with two operands that are broadcast.
class Pairs {
 public:
  Pairs(const Graph& graph, const Node& node)
      : Pairs(tensor(graph, node.inputs[0]).shape, tensor(graph, node.inputs[1]).shape,
              tensor(graph, node.output).shape) {}

  [[nodiscard]] bool whole(std::size_t input) const { return whole_[input]; }

  /// Computes y = f(a, b), element by element.
  template <class To, class From, class F> void run(const Operands& o, F f) const noexcept {
    const auto n = loops_.count();
    loops_.run([&](const Loops<3>::Offsets& at) {
      Line<From> a(o.input<From>(0) + at[0], loops_.step()[0], n), b(o.input<From>(1) + at[1], loops_.step()[1], n);
      To* y = o.output<To>() + at[2];
      for (std::size_t first = 0; first < n; first += piece, y += piece) {
        const From *const p = a.next(), *const q = b.next();
        const auto count = std::min(piece, n - first);
        RTEXEC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) y[i] = f(p[i], q[i]);
      }
    });
  }

 private:
  static constexpr std::size_t piece = 128; // elements

  /// An operand along the innermost loop, in portions of `piece` elements. For a broadcast operand a portion holds
  /// copies of the operand's single element.
  template <class T> class Line {
   public:
    Line(const T* at, std::int64_t step, std::size_t n) : at_(step == 0 ? same_ : at), step_(step == 0 ? 0 : piece) {
      if (step == 0) std::fill_n(same_, std::min(n, piece), *at);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    const T* next() { return std::exchange(at_, at_ + step_); }

   private:
    T same_[piece];
    const T* at_;
    std::size_t step_;
  };

  Pairs(const Shape& a, const Shape& b, const Shape& y)
      : loops_(y, {broadcast(a, dense_strides(a), y), broadcast(b, dense_strides(b), y), dense_strides(y)}),
        whole_{a == y, b == y} {}

  Loops<3> loops_;
  std::array<bool, 2> whole_; // for each operand, true if it is not broadcast
};

template <class T> class ComparisonStep final : public Step {
 public:
  ComparisonStep(Binary::Kind kind, Pairs pairs) : kind_(kind), pairs_(std::move(pairs)) {}
  bool in_place(std::size_t input) const override { return sizeof(T) == sizeof(Truth) && pairs_.whole(input); }

  void run(const Operands& o) const noexcept override {
    switch (kind_) {
    case Binary::Kind::equal: return run(o, [](T a, T b) { return a == b; });
    case Binary::Kind::not_equal: return run(o, [](T a, T b) { return a != b; });
    case Binary::Kind::less: return run(o, [](T a, T b) { return a < b; });
    default: return run(o, [](T a, T b) { return a <= b; });
    }
  }

 private:
  template <class F> void run(const Operands& o, F f) const noexcept {
    pairs_.run<Truth, T>(o, [f](T a, T b) { return static_cast<Truth>(f(a, b)); });
  }

  Binary::Kind kind_;
  Pairs pairs_;
};

template <class T> class IntegerBinaryStep final : public Step {
 public:
  IntegerBinaryStep(Binary::Kind kind, Pairs pairs) : kind_(kind), pairs_(std::move(pairs)) {}
  bool in_place(std::size_t input) const override { return pairs_.whole(input); }

  void run(const Operands& o) const noexcept override {
    const auto elements = [&](auto f) { pairs_.run<T, T>(o, f); };
    const auto bits = [&](auto f) { elements([f](T a, T b) { return modular(a, b, f); }); };
    switch (kind_) {
    case Binary::Kind::add: return bits([](auto a, auto b) { return a + b; });
    case Binary::Kind::subtract: return bits([](auto a, auto b) { return a - b; });
    case Binary::Kind::multiply: return bits([](auto a, auto b) { return a * b; });
    case Binary::Kind::bit_and: return bits([](auto a, auto b) { return a & b; });
    case Binary::Kind::bit_or: return bits([](auto a, auto b) { return a | b; });
    case Binary::Kind::bit_xor: return bits([](auto a, auto b) { return a ^ b; });
    case Binary::Kind::shift_left: return elements([](T a, T b) { return shifted_left(a, b); });
    case Binary::Kind::shift_right: return elements([](T a, T b) { return shifted_right(a, b); });
    case Binary::Kind::minimum: return elements([](T a, T b) { return b < a ? b : a; });
    case Binary::Kind::maximum: return elements([](T a, T b) { return a < b ? b : a; });
    case Binary::Kind::power: return elements([](T a, T b) { return power(a, b); });
    case Binary::Kind::modulo: return elements([](T a, T b) { return modulo(a, b); });
    case Binary::Kind::remainder: return elements([](T a, T b) { return remainder(a, b); });
    case Binary::Kind::slope:
      return elements([](T a, T b) { return a < 0 ? modular(a, b, [](auto p, auto q) { return p * q; }) : a; });
    default: return elements([](T a, T b) { return quotient(a, b); });
    }
  }

 private:
  Binary::Kind kind_;
  Pairs pairs_;
};

template <class To, class From> To converted(From value) noexcept {
  if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) return truncated<To>(value);
  else return static_cast<To>(value);
}

template <class T> StepPointer truth_step(const Activation& activation, std::size_t count) {
  const bool below = activation.a != 0, above = activation.b != 0;
  switch (activation.kind) {
  // NOLINTNEXTLINE(misc-redundant-expression): a NaN is the one value that differs from itself
  case Activation::Kind::is_nan: return element_step<Truth, T>(count, [](T x) { return static_cast<Truth>(x != x); });
  case Activation::Kind::is_infinite:
    return element_step<Truth, T>(count, [below, above](T x) {
      return static_cast<Truth>(std::isinf(static_cast<float>(x)) && (x < 0 ? below : above));
    });
  case Activation::Kind::is_zero: return element_step<Truth, T>(count, [](T x) { return static_cast<Truth>(x == 0); });
  default: return element_step<Truth, T>(count, [](T x) { return static_cast<Truth>(x != 0); });
  }
}

template <class T> class WhereStep final : public Step {
 public:
  WhereStep(const Shape& condition, const Shape& a, const Shape& b, const Shape& y)
      : loops_(y, {broadcast(condition, dense_strides(condition), y), broadcast(a, dense_strides(a), y),
                   broadcast(b, dense_strides(b), y), dense_strides(y)}),
        whole_{condition == y && sizeof(T) == sizeof(Truth), a == y, b == y} {}

  bool in_place(std::size_t input) const override { return whole_[input]; }

  void run(const Operands& o) const noexcept override {
    const auto length = [&](std::size_t k) { return static_cast<std::size_t>(loops_.step()[k]); };
    loops_.run([&](const typename Loops<4>::Offsets& at) {
      const Truth* const condition = o.input<Truth>(0) + at[0];
      const T *const a = o.input<T>(1) + at[1], *const b = o.input<T>(2) + at[2];
      T* const y = o.output<T>() + at[3];
      const auto n = loops_.count();
      if constexpr (std::is_same_v<T, float>) select(y, condition, length(0), a, length(1), b, length(2), n);
      else
        for (std::size_t i = 0; i < n; ++i) y[i] = condition[i * length(0)] != 0 ? a[i * length(1)] : b[i * length(2)];
    });
  }

 private:
  Loops<4> loops_;
  /// For each operand, true if it is not broadcast and its elements are as wide as the output's.
  std::array<bool, 3> whole_;
};

} // namespace

StepPointer make_comparison_step(const Graph& graph, const Node& node, Binary::Kind kind) {
  return for_element(tensor(graph, node.inputs[0]).type, [&]<class T>() -> StepPointer {
    return std::make_unique<ComparisonStep<T>>(kind, Pairs(graph, node));
  });
}

StepPointer make_integer_step(const Graph& graph, const Node& node, const Binary& binary) {
  return for_integer(tensor(graph, node.inputs[0]).type, [&]<class T>() -> StepPointer {
    return std::make_unique<IntegerBinaryStep<T>>(binary.kind, Pairs(graph, node));
  });
}

StepPointer make_integer_step(const Graph& graph, const Node& node, const Activation& activation) {
  const auto count = count_of(graph, node.output);
  return for_integer(tensor(graph, node.inputs[0]).type, [&]<class T>() -> StepPointer {
    switch (activation.kind) {
    case Activation::Kind::absolute: return element_step<T, T>(count, [](T x) { return x < 0 ? negated(x) : x; });
    case Activation::Kind::sign:
      return element_step<T, T>(count, [](T x) { return static_cast<T>((x > 0) - (x < 0)); });
    default: return element_step<T, T>(count, [](T x) { return x > 0 ? x : T{0}; }); // relu
    }
  });
}

StepPointer make_truth_step(const Graph& graph, const Node& node, const Activation& activation) {
  return for_element(tensor(graph, node.inputs[0]).type,
                     [&]<class T>() { return truth_step<T>(activation, count_of(graph, node.output)); });
}

StepPointer make_step(const Graph& graph, const Node& node, const Cast&) {
  const auto to = tensor(graph, node.output).type;
  const auto count = count_of(graph, node.output);
  return for_element(tensor(graph, node.inputs[0]).type, [&]<class From>() -> StepPointer {
    if (to == ElementType::boolean)
      return element_step<Truth, From>(count, [](From x) { return static_cast<Truth>(x != 0); });
    return for_element(to, [&]<class To>() -> StepPointer {
      return element_step<To, From>(count, [](From x) { return converted<To>(x); });
    });
  });
}

StepPointer make_step(const Graph& graph, const Node& node, const Where&) {
  const auto shape = [&](TensorId id) -> const Shape& { return tensor(graph, id).shape; };
  return for_width(tensor(graph, node.output).type, [&]<class T>() -> StepPointer {
    return std::make_unique<WhereStep<T>>(shape(node.inputs[0]), shape(node.inputs[1]), shape(node.inputs[2]),
                                          shape(node.output));
  });
}

} // namespace rtexec::tasks::kernels
