#include "tasks/engine/host/kernels/pools.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/vector.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rtexec::tasks::kernels {
namespace {

/// The taps of a window that are inside the input, in one direction: first, first + dilation, and so on up to, but
/// excluding, `end`. An average divides by `counted` taps.
struct Span {
  std::int64_t first, end, counted;
};

/// The geometry of pooling. The step first pools vertically, a whole row of the input at a time, then horizontally.
struct Planes {
  Pool pool;
  std::int64_t count, in_h, in_w, out_h, out_w;
  std::vector<Span> rows; // for each output row
  /// For each output column, the number of taps by which an average divides; padded to whole vectors.
  std::vector<float> columns_counted;
};

struct Maximum {
  static constexpr float outside = -std::numeric_limits<float>::infinity();
  RTEXEC_INLINE static void take(Vector& v, const Vector& other) { take_larger(v, other); }
};

struct Sum {
  static constexpr float outside = 0;
  RTEXEC_INLINE static void take(Vector& v, const Vector& other) { v += other; }
};

/// Loads a vector from `from`. If fewer floats precede `end`, loads only these floats.
RTEXEC_INLINE void load_before(Vector& v, const float* from, const float* end) {
  if (from + lanes <= end) load(v, from);
  else load_part(v, from, end - from);
}

/// Pools in whole vectors. If a vector extends beyond the end of a row, the next row overwrites the excess. Nothing is
/// written beyond the last row.
template <class F> RTEXEC_INLINE void pool_planes(const Planes& p, float* y, const float* x, float* line) {
  const auto& w = p.pool.window;
  const auto plane_size = p.in_h * p.in_w;
  const float *x_end = x + p.count * plane_size, *y_end = y + p.count * p.out_h * p.out_w;
  float* const inside = line + w.pad_left;
  for (std::int64_t plane = 0; plane < p.count; ++plane, x += plane_size)
    for (const auto& row : p.rows) {
      for (std::int64_t i = 0; i < p.in_w; i += lanes) {
        Vector v, other;
        load_before(v, x + row.first * p.in_w + i, x_end);
        for (auto r = row.first + w.dilation_h; r < row.end; r += w.dilation_h) {
          load_before(other, x + r * p.in_w + i, x_end);
          F::take(v, other);
        }
        store(inside + i, v);
      }
      store(inside + p.in_w, Vector{} + F::outside);
      for (std::int64_t i = 0; i < p.out_w; i += lanes) {
        Vector v, other;
        load_strided(v, line + i * w.stride_w, w.stride_w);
        for (std::int64_t tap = 1; tap < w.kernel_w; ++tap) {
          load_strided(other, line + i * w.stride_w + tap * w.dilation_w, w.stride_w);
          F::take(v, other);
        }
        if (p.pool.kind == Pool::Kind::average) {
          load(other, p.columns_counted.data() + i);
          v /= other * static_cast<float>(row.counted);
        }
        if (y + i + lanes <= y_end) store(y + i, v);
        else std::memcpy(y + i, &v, static_cast<std::size_t>(y_end - y - i) * sizeof(float));
      }
      y += p.out_w;
    }
}

RTEXEC_VECTORISED void find_maxima(const Planes& planes, float* y, const float* x, float* line) noexcept {
  pool_planes<Maximum>(planes, y, x, line);
}

RTEXEC_VECTORISED void find_averages(const Planes& planes, float* y, const float* x, float* line) noexcept {
  pool_planes<Sum>(planes, y, x, line);
}

class PoolStep final : public Step {
 public:
  PoolStep(const Pool& pool, const Shape& x, const Shape& y)
      : planes_{pool, x[0] * x[1], x[2], x[3], y[2], y[3], {}, {}} {
    const auto& w = pool.window;
    for (std::int64_t out = 0; out < y[2]; ++out)
      planes_.rows.push_back(span_of(out * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, x[2], w.pad_bottom));
    for (std::int64_t out = 0; out < y[3]; ++out) {
      const auto column = span_of(out * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, x[3], w.pad_right);
      planes_.columns_counted.push_back(static_cast<float>(column.counted));
    }
    const auto columns = rounded_up(y[3], lanes);
    planes_.columns_counted.resize(static_cast<std::size_t>(columns), 1.0F);
    line_ = std::max(w.pad_left + x[3] + 2 * lanes, (columns + lanes) * w.stride_w + (w.kernel_w - 1) * w.dilation_w);
  }
  std::size_t workspace() const override { return static_cast<std::size_t>(line_); }

  /// Returns for each output pixel the factor that turns the sum over its window into the average.
  std::vector<float> factors() const {
    std::vector<float> factors;
    for (const auto& row : planes_.rows)
      for (std::int64_t column = 0; column < planes_.out_w; ++column)
        factors.push_back(
            1.0F / (static_cast<float>(row.counted) * planes_.columns_counted[static_cast<std::size_t>(column)]));
    return factors;
  }

  void run(const Operands& o) const noexcept override {
    // Padding is never the maximum, and adds nothing to a sum.
    const bool maximum = planes_.pool.kind == Pool::Kind::max;
    std::fill_n(o.workspace, line_, maximum ? Maximum::outside : Sum::outside);
    (maximum ? find_maxima : find_averages)(planes_, o.output(), o.input(0), o.workspace);
  }

 private:
  Span span_of(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t size,
               std::int64_t pad_after) const {
    const auto skipped = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    const auto first = start + skipped * dilation, end = std::min(start + (kernel - 1) * dilation + 1, size);
    const auto inside = (end - first + dilation - 1) / dilation;
    // A window may extend beyond the padding (ceil_mode).
    const auto padded_end = std::min(start + (kernel - 1) * dilation + 1, size + pad_after);
    return {first, end, planes_.pool.count_padding ? (padded_end - start + dilation - 1) / dilation : inside};
  }

  Planes planes_;
  std::int64_t line_ = 0; // floats of an input row with margins for windows that extend beyond it
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Pool& pool) {
  const auto &x = graph.tensors[node.inputs[0]].shape, &y = graph.tensors[node.output].shape;
  auto step = std::make_unique<PoolStep>(pool, x, y);
  if (lanes_apply(pool, x)) return make_lanes_pool(pool, x, y, step->factors());
  return step;
}

} // namespace rtexec::tasks::kernels
