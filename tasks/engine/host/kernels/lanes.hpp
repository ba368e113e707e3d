// Convolution and pooling with sliding windows over interleaved channels: each lane of a vector register computes one
// channel. Rows need not fill a vector, and taps outside a picture are skipped.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/bounds.hpp"

#include <cstdint>

namespace rtexec::tasks::kernels {

/// A range of picture rows: [first, last).
struct Rows {
  std::int64_t first, last;
  [[nodiscard]] std::int64_t count() const { return last - first; }
};

/// An operation on sliding windows: its kind, the geometry of the windows, and the operands besides the picture.
struct Lanes {
  enum class Kind { products, maximum, average };
  Kind kind;
  const Window& window;
  std::int64_t in_h, in_w, out_w;
  const float* weights; // for products: [tap][lane]
  const float* bias;    // for products: [lane], or null
  const float* factors; // for average: [output pixel], the factor of each window's sum
  Bounds bounds;        // for products
};

/// Returns the number of lanes of a vector register.
[[nodiscard]] std::int64_t lane_count() noexcept;

/// True if there is a kernel for this kind of operation and this window (kernel size, stride, dilation).
[[nodiscard]] bool has_lanes(Lanes::Kind kind, const Window& window);

/// Computes rows `rows` of the output y, whose layout is [pixel][lane]. x has the same layout and starts at input row
/// `x_first`.
void run_lanes(const Lanes& lanes, const float* x, std::int64_t x_first, const Rows& rows, float* y) noexcept;

} // namespace rtexec::tasks::kernels
