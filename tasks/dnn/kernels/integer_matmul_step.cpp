// Matrix products of integers, modulo 2^n.
#include "tasks/dnn/kernels/arithmetic.hpp"
#include "tasks/dnn/kernels/element_types.hpp"
#include "tasks/dnn/kernels/loops.hpp"
#include "tasks/dnn/kernels/steps.hpp"
#include "tasks/dnn/kernels/vectorised.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

struct Sizes {
  std::int64_t m, k, n;
};

/// y [m, n] = a [m, k] b [k, n], row by row, so that the innermost loop runs along rows of b and y.
template <class In, class Out>
RTEXEC_INLINE void multiply_rows(const Sizes& s, Out* y, const In* a, const In* b) noexcept {
  using U = Unsigned<Out>;
  auto* const sums = reinterpret_cast<std::make_unsigned_t<Out>*>(y);
  for (std::int64_t i = 0; i < s.m; ++i) {
    auto* const row = sums + i * s.n;
    std::fill_n(row, s.n, std::make_unsigned_t<Out>{0});
    for (std::int64_t p = 0; p < s.k; ++p) {
      const auto factor = static_cast<U>(static_cast<Out>(a[i * s.k + p]));
      const In* const from = b + p * s.n;
      RTEXEC_INDEPENDENT
      for (std::int64_t j = 0; j < s.n; ++j)
        row[j] = static_cast<std::make_unsigned_t<Out>>(row[j] + factor * static_cast<U>(static_cast<Out>(from[j])));
    }
  }
}

// One name for each pair of types, since versions for instruction sets are made of functions, not of templates.
RTEXEC_VECTORISED void multiply(const Sizes& s, std::int32_t* y, const std::int16_t* a,
                                const std::int16_t* b) noexcept {
  multiply_rows(s, y, a, b);
}
RTEXEC_VECTORISED void multiply(const Sizes& s, std::int32_t* y, const std::int32_t* a,
                                const std::int32_t* b) noexcept {
  multiply_rows(s, y, a, b);
}
RTEXEC_VECTORISED void multiply(const Sizes& s, std::int64_t* y, const std::int64_t* a,
                                const std::int64_t* b) noexcept {
  multiply_rows(s, y, a, b);
}

/// Signed types stand for unsigned ones of the same width: products modulo 2^n have the same bits.
template <class In, class Out> class IntegerMatMulStep final : public Step {
 public:
  IntegerMatMulStep(const Shape& a, const Shape& b, const Shape& y)
      : sizes_{y[y.size() - 2], a.back(), y.back()},
        batches_(batches_of(y), {places(a, y), places(b, y), places(y, y)}) {}

  void run(const Operands& o) const noexcept override {
    const auto& step = batches_.step();
    batches_.run([&](const Loops<3>::Offsets& at) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(batches_.count()); ++i)
        multiply(sizes_, o.output<Out>() + at[2] + i * step[2], o.input<In>(0) + at[0] + i * step[0],
                 o.input<In>(1) + at[1] + i * step[1]);
    });
  }

 private:
  static Shape batches_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }
  /// Strides of the matrices of an operand, broadcast to those of the product.
  static std::vector<std::int64_t> places(const Shape& of, const Shape& y) {
    auto strides = dense_strides(of);
    strides.resize(of.size() - 2);
    return broadcast(batches_of(of), strides, batches_of(y));
  }

  Sizes sizes_;
  Loops<3> batches_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerMatMul&) {
  const auto& a = graph.tensors[node.inputs[0]];
  const auto &b = graph.tensors[node.inputs[1]].shape, &y = graph.tensors[node.output].shape;
  if (a.type == ElementType::int16)
    return std::make_unique<IntegerMatMulStep<std::int16_t, std::int32_t>>(a.shape, b, y);
  if (stored_size(a.type) == 8) return std::make_unique<IntegerMatMulStep<std::int64_t, std::int64_t>>(a.shape, b, y);
  return std::make_unique<IntegerMatMulStep<std::int32_t, std::int32_t>>(a.shape, b, y);
}

} // namespace rtexec::tasks::kernels
