// Matrix products of integers, modulo 2^n.
#include "tasks/engine/host/kernels/byte_product.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::kernels {
namespace {

struct Sizes {
  std::int64_t m, k, n;
};

/// Computes y [m, n] = a [m, k] b [k, n], row by row. The innermost loop runs along rows of b and y.
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

// There is an overload for each type, because the attribute target_clones applies to functions, not to templates.
RTEXEC_VECTORISED void multiply(const Sizes& s, std::uint32_t* y, const std::uint32_t* a,
                                const std::uint32_t* b) noexcept {
  multiply_rows(s, y, a, b);
}
RTEXEC_VECTORISED void multiply(const Sizes& s, std::uint64_t* y, const std::uint64_t* a,
                                const std::uint64_t* b) noexcept {
  multiply_rows(s, y, a, b);
}

/// A product modulo 2^n. Signed integers are multiplied as unsigned integers, which gives the same bits.
template <class T> struct ModularProduct {
  Sizes sizes;
  using In = T;
  using Out = T;

  [[nodiscard]] std::size_t workspace() const { return 0; }
  void run(Out* y, const In* a, const In* b, float*) const noexcept { multiply(sizes, y, a, b); }
};

/// A product of matrices of bytes minus their zero points.
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

template <class MatMul> class IntegerMatMulStep final : public Step {
 public:
  IntegerMatMulStep(const Shape& a, const Shape& b, const Shape& y)
      : product_{Sizes{y[y.size() - 2], a.back(), y.back()}},
        batches_(batches_of(y), {places(a, y), places(b, y), places(y, y)}) {}

  std::size_t workspace() const override { return product_.workspace(); }

  void run(const Operands& o) const noexcept override {
    using In = typename MatMul::In;
    const auto& step = batches_.step();
    batches_.run([&](const Loops<3>::Offsets& at) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(batches_.count()); ++i)
        product_.run(o.output<typename MatMul::Out>() + at[2] + i * step[2], o.input<In>(0) + at[0] + i * step[0],
                     o.input<In>(1) + at[1] + i * step[1], o.workspace);
    });
  }

 private:
  static Shape batches_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }
  /// Returns the strides of an operand's matrices over the batch dimensions of the product. The operand's own batch
  /// dimensions are broadcast to these dimensions.
  static std::vector<std::int64_t> places(const Shape& of, const Shape& y) {
    auto strides = dense_strides(of);
    strides.resize(of.size() - 2);
    return broadcast(batches_of(of), strides, batches_of(y));
  }

  MatMul product_;
  Loops<3> batches_;
};

/// A product of bytes minus their zero points with one constant matrix of such values. It is computed as one or more
/// products of floats. Each of these parts has as many terms as floats can sum exactly.
class ConstantMatMulStep final : public Step {
 public:
  ConstantMatMulStep(const Sizes& sizes, const std::vector<TermRange>& terms)
      : s_(sizes), rows_(std::min(s_.m, std::max(min_rows, block_floats / (s_.n + s_.k)))) {
    std::int64_t packed = 0;
    for (const auto& range : terms) {
      parts_.push_back({range, packed});
      packed += rounded_up(product(parts_.back(), rows_).packed_b(), 16);
      depth_ = std::max(depth_, range.count);
      for (const auto rows : {rows_, s_.m % rows_})
        if (rows > 0) tiles_ = std::max(tiles_, product(parts_.back(), rows).workspace());
    }
    packed_ = static_cast<std::size_t>(packed);
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(a_floats() + y_floats() + tiles_); }

  void run(const Operands& o) const noexcept override {
    float *const a = o.workspace, *const sums = a + a_floats(), *const tiles = sums + y_floats();
    for (std::int64_t row = 0; row < s_.m; row += rows_) {
      const auto rows = std::min(rows_, s_.m - row);
      auto* const y = o.output<std::uint32_t>() + row * s_.n;
      std::fill_n(y, rows * s_.n, std::uint32_t{0});
      for (const auto& part : parts_) {
        ByteProduct::widen(a, o.input<std::int16_t>(0), s_.k, {row, rows}, part.terms);
        product(part, rows).run(a, o.input(1) + part.packed, sums, tiles, [](auto, auto) {});
        accumulate(y, sums, static_cast<std::size_t>(rows * s_.n));
      }
    }
  }

  std::string packing() const override {
    std::string name = packing_name("whole product", {s_.n, s_.k});
    for (const auto& part : parts_) name += packing_name(" from", {part.terms.first});
    return name;
  }
  std::vector<float> pack(const std::vector<float>& b) const override {
    std::vector<float> packed(packed_);
    for (const auto& part : parts_)
      product(part, rows_).pack_b(packed.data() + part.packed, b.data() + part.terms.first * s_.n);
    return packed;
  }

 private:
  static constexpr std::int64_t block_floats = 256 * 1024; // floats of a and y: fits into a common level 2 cache
  static constexpr std::int64_t min_rows = 64;

  struct Part {
    TermRange terms;
    std::int64_t packed; // offset of the part's packed rows of b
  };

  [[nodiscard]] TiledProduct product(const Part& part, std::int64_t rows) const {
    return TiledProduct({rows, s_.n, part.terms.count});
  }
  [[nodiscard]] std::int64_t a_floats() const { return rounded_up(rows_ * depth_, 16); }
  [[nodiscard]] std::int64_t y_floats() const { return rounded_up(rows_ * s_.n, 16); }

  Sizes s_;
  std::int64_t rows_; // number of rows that are computed together
  std::int64_t depth_ = 0, tiles_ = 0;
  std::size_t packed_ = 0;
  std::vector<Part> parts_;
};

std::vector<TermRange> exact_terms(const Integers& b, const Sizes& s) {
  return exact_ranges(
      s.n, s.k, [&](std::int64_t j, std::int64_t p) { return std::abs(b[static_cast<std::size_t>(p * s.n + j)]); });
}

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerMatMul&) {
  const auto& a = graph.tensors[node.inputs[0]];
  const auto &b = graph.tensors[node.inputs[1]].shape, &y = graph.tensors[node.output].shape;
  const auto& factor = graph.tensors[node.inputs[1]];
  const Sizes sizes{element_count(y) / y.back(), a.shape.back(), y.back()};
  if (a.type == ElementType::int16 && factor.constant() && element_count(b) == sizes.k * sizes.n &&
      element_count(a.shape) == sizes.m * sizes.k)
    return std::make_unique<ConstantMatMulStep>(sizes, exact_terms(factor.integers, sizes));
  if (a.type == ElementType::int16) return std::make_unique<IntegerMatMulStep<CentredProduct>>(a.shape, b, y);
  if (stored_size(a.type) == 8)
    return std::make_unique<IntegerMatMulStep<ModularProduct<std::uint64_t>>>(a.shape, b, y);
  return std::make_unique<IntegerMatMulStep<ModularProduct<std::uint32_t>>>(a.shape, b, y);
}

} // namespace rtexec::tasks::kernels
