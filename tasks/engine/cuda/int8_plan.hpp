// Finds the layers that can compute on 8-bit integers (int8 layers). A convolution or matrix product is an int8 layer
// if two conditions hold. Its weights are constant 8-bit integers. Its input was dequantised, or consists of 8-bit
// integers, possibly minus a zero point. An element-wise operation is an int8 layer if all its inputs were dequantised.
// An int8 layer absorbs the nodes that dequantise its inputs, and the node that quantises its result. Pure functions:
// no device is needed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// A tensor of integers, with the scale and zero point that convert the integers to the real values they represent.
struct Dequantised {
  TensorId x = 0;
  Dequantise from;
  /// The tensor of the zero point if the network computes it. It has the type of x and replaces from.zero.
  std::optional<TensorId> zero;
};

/// A Conv, Gemm, IntegerConv or IntegerMatMul that sums products of (x - zero point) and `weights`.
struct Int8Product {
  Dequantised x;
  std::shared_ptr<const QuantizedConstant> weights;
  /// Factors by which the sums of each output channel are multiplied. If there are none, the sums are the result.
  std::vector<float> factors;
  std::optional<Dequantised> residual;
};

/// An element-wise int8 layer: an Activation, or a Binary that adds.
struct Int8Step {
  std::vector<Dequantised> inputs;
};

/// The tensor that an int8 layer writes: the layer's own output, or the output of the Quantise node that the layer
/// absorbs.
struct Int8Result {
  TensorId output = 0;
  std::optional<Quantise> quantise;
};

struct Int8Plan {
  std::map<std::size_t, Int8Product> products; // key: index of the node in the graph, also in `steps` and `results`
  std::map<std::size_t, Int8Step> steps;
  std::map<std::size_t, Int8Result> results;
  std::vector<bool> elsewhere; // for each node, true if it needs no call of its own

  [[nodiscard]] bool has(std::size_t node) const { return elsewhere[node] || results.contains(node); }
};

[[nodiscard]] Int8Plan plan_int8(const Graph& graph);

/// True for the types of 8-bit integers that int8 layers multiply.
[[nodiscard]] constexpr bool is_small(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

} // namespace rtexec::tasks::cuda
