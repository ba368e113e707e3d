// What exporters write in many nodes and kernels compute in one is found by what nodes compute, not by their names: the
// words in which *_patterns.cpp say that.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/graph/uses.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::tasks {

using Function = Activation::Kind;
using Pair = Binary::Kind;

/// How far a number of a model may be from the constant of a formula, relative to it: what rounding to float32, and
/// one division, leave.
inline constexpr double constant_tolerance = 0x1p-21;
/// True if `given` stands for the constant `exact`: within constant_tolerance, or as near as half precision or bfloat16
/// come to it or to its reciprocal, by which a model divides instead.
[[nodiscard]] bool stands_for(double given, double exact);

/// A tensor of `shape` whose elements are those of `values` that strides lead to.
[[nodiscard]] std::vector<float> values_at(const std::vector<float>& values, const Shape& shape,
                                           const std::vector<std::int64_t>& strides);

/// Which dimension of `from` each dimension of `to` is; nothing where the View does more than to permute.
[[nodiscard]] std::optional<std::vector<std::size_t>> permutation(const View& view, const Shape& from, const Shape& to);

/// A tensor times a number.
struct Scaled {
  TensorId x;
  float factor;
};

/// A graph as patterns look at it. What is matched is written by nodes without residual and activation of their own.
class Patterns {
 public:
  explicit Patterns(Graph& of) : graph(of), uses(of) {}

  Graph& graph;
  Uses uses;

  [[nodiscard]] const Shape& shape(TensorId id) const { return graph.tensors[id].shape; }
  [[nodiscard]] bool is_constant(TensorId id) const { return graph.tensors[id].constant(); }
  [[nodiscard]] std::optional<float> number(TensorId id) const {
    const auto& values = graph.tensors[id].values;
    return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
  }

  /// The node that writes `id`, where it is of that operation.
  [[nodiscard]] const Node* writer(TensorId id) const {
    const auto producer = uses.producer(id);
    if (producer == no_node) return nullptr;
    const auto& node = graph.nodes[producer];
    return node.residual || node.activation.kind != Function::none ? nullptr : &node;
  }
  template <class Operation> [[nodiscard]] const Node* writer_of(TensorId id) const {
    const auto* node = writer(id);
    return node && std::holds_alternative<Operation>(node->operation) ? node : nullptr;
  }
  [[nodiscard]] const Node* binary(TensorId id, Pair kind) const {
    const auto* node = writer_of<Binary>(id);
    return node && std::get<Binary>(node->operation).kind == kind ? node : nullptr;
  }
  [[nodiscard]] const Node* activation(TensorId id, Function kind) const {
    const auto* node = writer_of<Activation>(id);
    return node && std::get<Activation>(node->operation).kind == kind ? node : nullptr;
  }

  /// What `node` computes of one tensor and a number; neither changes the tensor's shape.
  [[nodiscard]] std::optional<Scaled> scaled(const Node& node) const;
  /// `id` as another tensor times a number; itself times 1 where it is not.
  [[nodiscard]] Scaled unscaled(TensorId id) const;

  /// The tensor to which a number is added.
  [[nodiscard]] std::optional<TensorId> plus(TensorId id, float* value) const;

  /// What `id` is a product of, numbers aside, which are in `factor`.
  void factors(TensorId id, bool is_root, std::vector<TensorId>& found, float& factor) const;
  struct Product {
    std::vector<TensorId> of;
    float factor = 1;
  };
  [[nodiscard]] Product product(TensorId id) const;

  [[nodiscard]] bool is_square(TensorId id, TensorId of) const;

  /// Node `at` becomes `operation` of other inputs; what it read before may be unused then.
  void replace(std::size_t at, Operation operation, std::vector<TensorId> inputs) {
    graph.nodes[at].operation = std::move(operation);
    graph.nodes[at].inputs = std::move(inputs);
  }
};

} // namespace rtexec::tasks
