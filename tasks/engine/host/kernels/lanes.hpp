// Sliding windows over interleaved channels, one channel in each lane of a vector register. Short rows need no special
// case, and taps outside a picture are skipped.
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

/// The operation on each window and its operands.
struct Lanes {
  enum class Kind { products, maximum, average };
  Kind kind;
  const Window& window;
  std::int64_t in_h, in_w, out_w;
  const float* weights; // products: [tap][lane]
  const float* bias;    // products: [lane], or null
  const float* factors; // average: [output pixel], the factor for each sum
  Bounds bounds;        // products
};

/// Returns the number of lanes of a vector register.
[[nodiscard]] std::int64_t lane_count() noexcept;

/// True if kernels for this kind and window are compiled in.
[[nodiscard]] bool has_lanes(Lanes::Kind kind, const Window& window);

/// Computes y [pixel][lane] for these rows of the output. x has the same layout and starts at input row `x_first`.
void run_lanes(const Lanes& lanes, const float* x, std::int64_t x_first, const Rows& rows, float* y) noexcept;

} // namespace rtexec::tasks::kernels
