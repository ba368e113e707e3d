#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

/// A pass that moves sums and products with other tensors in front of the permutation that they follow. The layer whose
/// output is permuted can then absorb them.
class Sinking {
 public:
  explicit Sinking(Graph& graph) : graph_(graph), uses_(graph), writer_(graph.tensors.size(), no_node) {}

  void run() {
    for (auto& node : std::exchange(graph_.nodes, {})) {
      if (!sink(node)) add(std::move(node));
    }
  }

 private:
  using Order = std::vector<std::size_t>;
  struct Permuted {
    TensorId x;
    Order order;
  };

  [[nodiscard]] const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }

  void add(Node node) {
    writer_.resize(graph_.tensors.size(), no_node);
    writer_[node.output] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(node));
  }
  [[nodiscard]] const Node* writer(TensorId id) const {
    return id < writer_.size() && writer_[id] != no_node ? &graph_.nodes[writer_[id]] : nullptr;
  }

  /// Returns the permuted tensor and the order of its dimensions if `id` is a pure permutation. Otherwise returns
  /// nullopt.
  [[nodiscard]] std::optional<Permuted> permuted(TensorId id) const {
    const auto* node = writer(id);
    const auto* view = node ? std::get_if<View>(&node->operation) : nullptr;
    if (!view) return std::nullopt;
    auto order = permutation(*view, shape(node->inputs[0]), shape(id));
    if (!order) return std::nullopt;
    return Permuted{node->inputs[0], std::move(*order)};
  }
  [[nodiscard]] bool takes_in(TensorId id) const {
    const auto* node = writer(id);
    return node && (std::holds_alternative<Gemm>(node->operation) ||
                    (std::holds_alternative<Binary>(node->operation) && sunk_.contains(id)));
  }

  bool sink(const Node& node) {
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || (pair->kind != Pair::add && pair->kind != Pair::multiply) || node.activation.kind != Function::none ||
        is_integer(graph_.tensors[node.output].type))
      return false;
    for (const std::size_t i : {0U, 1U}) {
      const auto id = node.inputs[i], other = node.inputs[1 - i];
      if (id >= original_ || !uses_.single_reader(id) || shape(id) != shape(node.output)) continue;
      const auto found = permuted(id);
      if (!found || !takes_in(found->x)) continue;
      const bool constant = graph_.tensors[other].constant();
      if (!constant && shape(other) != shape(node.output)) continue;
      const auto back = constant ? permuted_constant(other, found->order) : inverse(node, other, found->order);
      const auto sum = graph_.add({graph_.tensors[node.output].name + ".permuted", shape(found->x), {}});
      sunk_.insert(sum);
      add({node.name, node.operation, {found->x, back}, sum, {}, {}});
      add({node.name, view_of(shape(found->x), found->order), {sum}, node.output, {}, {}});
      return true;
    }
    return false;
  }

  static View view_of(const Shape& from, const Order& order) {
    View view;
    const auto strides = dense_strides(from);
    for (const auto d : order) view.strides.push_back(strides[d]);
    return view;
  }

  /// Returns `id`, the operand that is not the permuted tensor, in the order of dimensions before the permutation.
  TensorId inverse(const Node& node, TensorId id, const Order& order) {
    if (const auto found = permuted(id); found && found->order == order) return found->x;
    Order back(order.size());
    for (std::size_t d = 0; d < order.size(); ++d) back[order[d]] = d;
    Shape to(order.size());
    for (std::size_t d = 0; d < order.size(); ++d) to[d] = shape(id)[back[d]];
    const auto view = view_of(shape(id), back);
    const auto y = graph_.add({graph_.tensors[id].name + ".permuted", std::move(to), {}});
    add({node.name, view, {id}, y, {}, {}});
    return y;
  }

  TensorId permuted_constant(TensorId id, const Order& order) {
    const auto tensor = graph_.tensors[id];
    Shape from(order.size() - tensor.shape.size(), 1);
    from.insert(from.end(), tensor.shape.begin(), tensor.shape.end());
    const auto strides = dense_strides(from);
    Shape to(order.size());
    std::vector<std::int64_t> steps(order.size());
    for (std::size_t d = 0; d < order.size(); ++d) {
      to[order[d]] = from[d];
      steps[order[d]] = strides[d];
    }
    auto values = values_at(tensor.values, to, steps);
    return graph_.add({tensor.name + ".permuted", std::move(to), std::move(values)});
  }

  Graph& graph_;
  DefUseEditor uses_;
  std::vector<std::size_t> writer_; // for each tensor, the index of its writer among the new nodes
  std::set<TensorId> sunk_;
  std::size_t original_ = graph_.tensors.size();
};

} // namespace

void sink_permutations(Graph& graph) {
  Sinking(graph).run();
  remove_unused(graph);
}

} // namespace rtexec::tasks
