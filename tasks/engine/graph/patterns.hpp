// The vocabulary for matching patterns in *_patterns.cpp. Exporters write as several nodes operations that one kernel
// computes. The patterns find them by the computation of the nodes, not by their names.
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

/// The largest relative difference between a number in a model and the constant of a formula: rounding to float32 and
/// one division cause as much.
inline constexpr double constant_tolerance = 0x1p-21;
/// True if `given` stands for the constant `exact`: within constant_tolerance of it, or of its value rounded to half
/// precision or bfloat16. The rounded reciprocal counts too, since a model may divide by it.
[[nodiscard]] bool stands_for(double given, double exact);

/// Returns the elements of a tensor of `shape` that `strides` select from `values`.
[[nodiscard]] std::vector<float> values_at(const std::vector<float>& values, const Shape& shape,
                                           const std::vector<std::int64_t>& strides);

/// Returns the dimension of `from` for each dimension of `to`, or nullopt if the View is not a pure permutation.
[[nodiscard]] std::optional<std::vector<std::size_t>> permutation(const View& view, const Shape& from, const Shape& to);

/// A tensor times a number.
struct Scaled {
  TensorId x;
  float factor;
};

/// A graph with the queries that patterns need. Matched tensors are written by nodes without a residual or activation.
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

  /// Returns the node that writes `id` if it has no residual and no activation; else nullptr. The three functions below
  /// also require the given operation.
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

  /// Returns the operands if `node` multiplies one tensor by a number and keeps the tensor's shape; else nullopt.
  [[nodiscard]] std::optional<Scaled> scaled(const Node& node) const;
  /// Returns `id` as another tensor times a number, or as itself times 1.
  [[nodiscard]] Scaled unscaled(TensorId id) const;

  /// Returns x if `id` is x plus a number, which is written to `value`; else nullopt.
  [[nodiscard]] std::optional<TensorId> plus(TensorId id, float* value) const;

  /// Factorises `id`: appends its tensor factors to `found`, and multiplies `factor` by its scalar factors.
  void factors(TensorId id, bool is_root, std::vector<TensorId>& found, float& factor) const;
  struct Product {
    std::vector<TensorId> of;
    float factor = 1;
  };
  [[nodiscard]] Product product(TensorId id) const;

  [[nodiscard]] bool is_square(TensorId id, TensorId of) const;

  /// Turns node `at` into `operation` on other inputs. The producers of its former inputs may become unused.
  void replace(std::size_t at, Operation operation, std::vector<TensorId> inputs) {
    graph.nodes[at].operation = std::move(operation);
    graph.nodes[at].inputs = std::move(inputs);
  }
};

} // namespace rtexec::tasks
