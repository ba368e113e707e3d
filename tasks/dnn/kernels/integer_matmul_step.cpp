// Matrix products of integers, modulo 2^n.
#include "tasks/dnn/kernels/byte_product.hpp"
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
template <class T> RTEXEC_INLINE void multiply_rows(const Sizes& s, T* y, const T* a, const T* b) noexcept {
  for (std::int64_t i = 0; i < s.m; ++i) {
    T* const row = y + i * s.n;
    std::fill_n(row, s.n, T{0});
    for (std::int64_t p = 0; p < s.k; ++p) {
      const T factor = a[i * s.k + p];
      const T* const from = b + p * s.n;
      RTEXEC_INDEPENDENT
      for (std::int64_t j = 0; j < s.n; ++j) row[j] += factor * from[j];
    }
  }
}

// One name for each type, since versions for instruction sets are made of functions, not of templates.
RTEXEC_VECTORISED void multiply(const Sizes& s, std::uint32_t* y, const std::uint32_t* a,
                                const std::uint32_t* b) noexcept {
  multiply_rows(s, y, a, b);
}
RTEXEC_VECTORISED void multiply(const Sizes& s, std::uint64_t* y, const std::uint64_t* a,
                                const std::uint64_t* b) noexcept {
  multiply_rows(s, y, a, b);
}

/// Signed integers are multiplied as unsigned ones: products modulo 2^n have the same bits.
template <class T> struct ModularProduct {
  Sizes sizes;
  using In = T;
  using Out = T;

  [[nodiscard]] std::size_t workspace() const { return 0; }
  void run(Out* y, const In* a, const In* b, float*) const noexcept { multiply(sizes, y, a, b); }
};

/// Bytes less their zero points.
struct CentredProduct {
  explicit CentredProduct(const Sizes& s) : sizes(s), product(s.m, s.n, s.k) {}
  Sizes sizes;
  ByteProduct product;
  using In = std::int16_t;
  using Out = std::uint32_t;

  [[nodiscard]] std::size_t workspace() const { return product.workspace(); }
  void run(Out* y, const In* a, const In* b, float* workspace) const noexcept {
    using Range = ByteProduct::Range;
    product.run(
        y, workspace,
        [&](float* to, const Range& rows, const Range& depth) { ByteProduct::widen(to, a, sizes.k, rows, depth); },
        [&](float* to, const Range& depth, const Range& columns) {
          ByteProduct::widen(to, b, sizes.n, depth, columns);
        });
  }
};

template <class Product> class IntegerMatMulStep final : public Step {
 public:
  IntegerMatMulStep(const Shape& a, const Shape& b, const Shape& y)
      : product_{Sizes{y[y.size() - 2], a.back(), y.back()}},
        batches_(batches_of(y), {places(a, y), places(b, y), places(y, y)}) {}

  std::size_t workspace() const override { return product_.workspace(); }

  void run(const Operands& o) const noexcept override {
    using In = typename Product::In;
    const auto& step = batches_.step();
    batches_.run([&](const Loops<3>::Offsets& at) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(batches_.count()); ++i)
        product_.run(o.output<typename Product::Out>() + at[2] + i * step[2], o.input<In>(0) + at[0] + i * step[0],
                     o.input<In>(1) + at[1] + i * step[1], o.workspace);
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

  Product product_;
  Loops<3> batches_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerMatMul&) {
  const auto& a = graph.tensors[node.inputs[0]];
  const auto &b = graph.tensors[node.inputs[1]].shape, &y = graph.tensors[node.output].shape;
  if (a.type == ElementType::int16) return std::make_unique<IntegerMatMulStep<CentredProduct>>(a.shape, b, y);
  if (stored_size(a.type) == 8)
    return std::make_unique<IntegerMatMulStep<ModularProduct<std::uint64_t>>>(a.shape, b, y);
  return std::make_unique<IntegerMatMulStep<ModularProduct<std::uint32_t>>>(a.shape, b, y);
}

} // namespace rtexec::tasks::kernels
