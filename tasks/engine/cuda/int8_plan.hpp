// Finds the layers that compute on 8-bit integers, by what the nodes compute. They are convolutions and products by
// weights that are known to be 8-bit integers. Their input was dequantised, or is integers less a zero point.
// Element-wise operations between such tensors are layers, too. A layer absorbs the nodes that dequantise its inputs,
// and the node that quantises its result. Pure: no device is needed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// A tensor of integers, with the scale and zero point of the real values that it represents.
struct Dequantised {
  TensorId x = 0;
  Dequantise from;
  std::optional<TensorId> zero; // a zero point of x's type that the network computes; from.zero is then unused
};

/// A Conv, Gemm, IntegerConv or IntegerMatMul. It sums the products of (x - zero point) and `weights`.
struct Int8Product {
  Dequantised x;
  std::shared_ptr<const QuantizedConstant> weights;
  std::vector<float> factors; // factors of the sums, one for each output channel; empty if the result is the sums
  std::optional<Dequantised> residual;
};

/// An Activation, or a Binary addition.
struct Int8Step {
  std::vector<Dequantised> inputs;
};

/// The tensor that a layer writes: its own output, or that of a Quantise node after it.
struct Int8Result {
  TensorId output = 0;
  std::optional<Quantise> quantise;
};

struct Int8Plan {
  std::map<std::size_t, Int8Product> products; // by node, like the next two
  std::map<std::size_t, Int8Step> steps;
  std::map<std::size_t, Int8Result> results;
  std::vector<bool> elsewhere; // nodes that need no call of their own

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || results.contains(node); }
};

[[nodiscard]] Int8Plan plan_int8(const Graph& graph);

/// True for the types whose elements int8 layers multiply as bytes.
[[nodiscard]] constexpr bool is_small(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

} // namespace rtexec::tasks::cuda
