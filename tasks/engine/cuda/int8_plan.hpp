// Finds the layers that can compute on 8-bit integers. Some are convolutions and products whose weights are known to be
// 8-bit integers, and whose input was dequantised or is integers minus a zero point. Element-wise operations between
// such tensors are int8 layers, too. A layer absorbs the nodes that dequantise its inputs, and the node that quantises
// its result. Pure functions: no device is needed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// A tensor of integers, with the scale and zero point that give the real values it represents.
struct Dequantised {
  TensorId x = 0;
  Dequantise from;
  std::optional<TensorId> zero; // a zero point of x's type that the network computes; it replaces from.zero
};

/// A Conv, Gemm, IntegerConv or IntegerMatMul whose sums are products of (x - zero point) and `weights`.
struct Int8Product {
  Dequantised x;
  std::shared_ptr<const QuantizedConstant> weights;
  std::vector<float> factors; // one for each output channel, which multiplies the sum; empty: the sums are the result
  std::optional<Dequantised> residual;
};

/// An element-wise int8 layer: an Activation, or a Binary addition.
struct Int8Step {
  std::vector<Dequantised> inputs;
};

/// The tensor that a layer writes: its own output, or that of a Quantise node after it.
struct Int8Result {
  TensorId output = 0;
  std::optional<Quantise> quantise;
};

struct Int8Plan {
  std::map<std::size_t, Int8Product> products; // key: index of the node, as in the next two members
  std::map<std::size_t, Int8Step> steps;
  std::map<std::size_t, Int8Result> results;
  std::vector<bool> elsewhere; // true: the node needs no call of its own

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || results.contains(node); }
};

[[nodiscard]] Int8Plan plan_int8(const Graph& graph);

/// True for the types whose elements int8 layers multiply as 8-bit integers.
[[nodiscard]] constexpr bool is_small(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

} // namespace rtexec::tasks::cuda
