// Which layers compute on integers of eight bits, found by what nodes compute: convolutions and products by
// weights that are known to be such, of what was dequantised, or of integers less a zero point; and steps between such
// numbers, element by element. They take what dequantises their inputs, and what quantises their result, as their own.
// Pure: no device is needed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// A tensor of integers, and what they stand for.
struct Dequantised {
  TensorId x = 0;
  Dequantise from;
  std::optional<TensorId> zero; // a zero point of x's type that the network computes; from.zero is then unused
};

/// A Conv, Gemm, IntegerConv or IntegerMatMul. Its sums are of x less its zero point, times `weights`.
struct Int8Product {
  Dequantised x;
  std::shared_ptr<const QuantizedConstant> weights;
  std::vector<float> factors; // of the sums, one for each output channel; empty if the result is the sums
  std::optional<Dequantised> residual;
};

/// An Activation, or a Binary that adds.
struct Int8Step {
  std::vector<Dequantised> inputs;
};

/// What a layer writes: its own output, or that of a Quantise behind it.
struct Int8Result {
  TensorId output = 0;
  std::optional<Quantise> quantise;
};

struct Int8Plan {
  std::map<std::size_t, Int8Product> products; // by node, as the following ones
  std::map<std::size_t, Int8Step> steps;
  std::map<std::size_t, Int8Result> results;
  std::vector<bool> elsewhere; // nodes that others compute

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || results.contains(node); }
};

[[nodiscard]] Int8Plan plan_int8(const Graph& graph);

/// True for the types whose elements are stored as bytes that layers multiply.
[[nodiscard]] constexpr bool is_small(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

} // namespace rtexec::tasks::cuda
