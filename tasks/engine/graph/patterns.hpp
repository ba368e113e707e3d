// Functions for matching patterns of nodes in *_patterns.cpp. A pattern is a group of nodes in which an exporter writes
// an operation that one kernel computes. The patterns recognise nodes by their computation, not by their names.
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

/// The largest relative difference between a number in a model and the exact constant of a formula. Rounding to float32
/// and one division cause such a difference.
inline constexpr double constant_tolerance = 0x1p-21;
/// True if `given` is within constant_tolerance of `exact`, or of `exact` rounded to half precision or bfloat16. Also
/// true if `given` is within constant_tolerance of 1 / r, where r is 1 / `exact` rounded to either format: a model may
/// store r and divide by it.
[[nodiscard]] bool stands_for(double given, double exact);

/// Returns the elements that a View with `strides` selects from `values`, for a result of shape `shape`.
[[nodiscard]] std::vector<float> values_at(const std::vector<float>& values, const Shape& shape,
                                           const std::vector<std::int64_t>& strides);

/// Returns, for each dimension of `to`, the index of the dimension of `from` that it shows. Returns nullopt if the View
/// is not a pure permutation.
[[nodiscard]] std::optional<std::vector<std::size_t>> permutation(const View& view, const Shape& from, const Shape& to);

/// A tensor times a number.
struct Scaled {
  TensorId x;
  float factor;
};

/// A graph with the queries that patterns need. A node matches only if it has no residual and no activation.
class Patterns {
 public:
  explicit Patterns(Graph& of) : graph(of), uses(of) {}

  Graph& graph;
  DefUseEditor uses;

  [[nodiscard]] const Shape& shape(TensorId id) const { return graph.tensors[id].shape; }
  [[nodiscard]] bool is_constant(TensorId id) const { return graph.tensors[id].constant(); }
  [[nodiscard]] std::optional<float> number(TensorId id) const {
    const auto& values = graph.tensors[id].values;
    return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
  }

  /// Returns the node that writes `id`. Returns nullptr if there is no such node, or if the node has a residual or an
  /// activation. The three functions below also return nullptr if the node is not the requested operation.
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

  /// Returns the tensor and the number if `node` multiplies a tensor by a number and keeps the tensor's shape.
  /// Otherwise returns nullopt.
  [[nodiscard]] std::optional<Scaled> scaled(const Node& node) const;
  /// Returns x and a if the tensor `id` is a * x for a number a. Otherwise returns `id` and 1.
  [[nodiscard]] Scaled unscaled(TensorId id) const;

  /// Returns x if the tensor `id` is the sum of x and a number, and stores the number in `value`. Otherwise returns
  /// nullopt.
  [[nodiscard]] std::optional<TensorId> plus(TensorId id, float* value) const;

  /// Splits the product `id` into its factors. Appends the tensor factors to `found`, and multiplies `factor` by the
  /// scalar factors.
  void factors(TensorId id, bool is_root, std::vector<TensorId>& found, float& factor) const;
  struct MatMul {
    std::vector<TensorId> of;
    float factor = 1;
  };
  [[nodiscard]] MatMul product(TensorId id) const;

  [[nodiscard]] bool is_square(TensorId id, TensorId of) const;

  /// Replaces the operation and the inputs of node number `at`. The nodes that wrote the replaced inputs may become
  /// unused.
  void replace(std::size_t at, Operation operation, std::vector<TensorId> inputs) {
    graph.nodes[at].operation = std::move(operation);
    graph.nodes[at].inputs = std::move(inputs);
  }
};

} // namespace rtexec::tasks
