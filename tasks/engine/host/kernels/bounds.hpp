// Activations that clamp their input to two bounds. Kernels apply them to sums that are still in registers.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <limits>
#include <optional>

namespace rtexec::tasks::kernels {

/// The bounds of y = x clamped to [low, high]. NaN stays NaN.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};
[[nodiscard]] constexpr std::optional<Bounds> bounds_of(const Activation& f) {
  switch (f.kind) {
  case Activation::Kind::none: return Bounds{};
  case Activation::Kind::relu: return Bounds{.low = 0};
  case Activation::Kind::clip: return Bounds{f.a, f.b};
  default: return std::nullopt;
  }
}

} // namespace rtexec::tasks::kernels
