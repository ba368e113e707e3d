// Windows over pictures whose channels lie side by side, one in each lane of a register: no row is too short for that,
// and taps outside of a picture are left out.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/bounds.hpp"

#include <cstdint>

namespace rtexec::tasks::kernels {

/// Rows of a picture, up to before the last.
struct Rows {
  std::int64_t first, last;
  [[nodiscard]] std::int64_t count() const { return last - first; }
};

/// What becomes of a window.
struct Lanes {
  enum class Kind { products, maximum, average };
  Kind kind;
  const Window& window;
  std::int64_t in_h, in_w, out_w;
  const float* weights; // of products: [tap][lane]
  const float* bias;    // of products: [lane], or null
  const float* factors; // of an average: [output pixel], what its sum is multiplied by
  Bounds bounds;        // of products
};

/// How many lanes there are.
[[nodiscard]] std::int64_t lane_count() noexcept;

/// Whether kernels for it are compiled in.
[[nodiscard]] bool has_lanes(Lanes::Kind kind, const Window& window);

/// y [pixel][lane] of these rows of the output; x likewise, of the input from the row `x_first` on.
void run_lanes(const Lanes& lanes, const float* x, std::int64_t x_first, const Rows& rows, float* y) noexcept;

} // namespace rtexec::tasks::kernels
