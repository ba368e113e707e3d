#include "tasks/dnn/cuda/concat_plan.hpp"

#include "tasks/dnn/cuda/strides.hpp"

#include <optional>

namespace rtexec::tasks::cuda {
namespace {

using Slot = ConcatPlan::Slot;

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<bool>& rows, std::int64_t unit)
      : graph_(graph), rows_(rows), unit_(unit), written_(graph.tensors.size(), false) {
    plan_.slots.resize(graph.tensors.size());
    for (const auto& node : graph.nodes)
      written_[node.output] =
          !std::holds_alternative<Reshape>(node.operation) && !std::holds_alternative<tasks::View>(node.operation);
  }

  /// From the last to the first, so that a concatenation whose inputs begin a later, longer one becomes part of that
  /// one.
  ConcatPlan plan() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const auto* concat = std::get_if<Concat>(&graph_.nodes[i].operation);
      if (concat && concat->axis == 1 && is_image(graph_.nodes[i].output)) place(graph_.nodes[i]);
    }
    return std::move(plan_);
  }

 private:
  const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }
  bool is_image(TensorId id) const { return shape(id).size() == 4 && !rows_[id] && !is_counted(graph_.tensors[id]); }

  void place(const Node& node) {
    auto& whole = plan_.slots[node.output];
    if (whole.group == Slot::none) {
      if (const auto found = adjacent_inputs(node)) {
        whole = *found;
        return;
      }
      whole = {static_cast<std::uint32_t>(plan_.groups.size()), 0};
      plan_.groups.push_back({shape(node.output), round_up(shape(node.output)[1], unit_)});
    }
    auto channel = whole.channel;
    for (const auto input : node.inputs) {
      auto& part = plan_.slots[input];
      if (part.group == Slot::none && written_[input] && !rows_[input] && channel % unit_ == 0)
        part = {whole.group, channel};
      channel += shape(input)[1];
    }
  }

  /// Where all inputs of `node` already lie one behind the other.
  std::optional<Slot> adjacent_inputs(const Node& node) const {
    const auto first = plan_.slots[node.inputs.front()];
    auto channel = first.channel;
    for (const auto input : node.inputs) {
      const auto& part = plan_.slots[input];
      if (part.group == Slot::none || part.group != first.group || part.channel != channel) return std::nullopt;
      channel += shape(input)[1];
    }
    return first;
  }

  const Graph& graph_;
  const std::vector<bool>& rows_;
  std::int64_t unit_;
  std::vector<bool> written_; // by a kernel, which can write it anywhere
  ConcatPlan plan_;
};

} // namespace

ConcatPlan plan_concats(const Graph& graph, const std::vector<bool>& rows, std::int64_t unit) {
  return Planner(graph, rows, unit).plan();
}

} // namespace rtexec::tasks::cuda
