#include "tasks/engine/cuda/concat_plan.hpp"

#include "tasks/engine/cuda/strides.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::tasks::cuda {
namespace {

using Slot = ConcatPlan::Slot;

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<bool>& rows, std::int64_t unit)
      : graph_(graph),
        rows_(rows),
        unit_(unit),
        written_(graph.tensors.size(), false),
        anywhere_(graph.tensors.size(), false),
        slices_(graph.tensors.size(), nullptr) {
    plan_.slots.resize(graph.tensors.size());
    for (const auto& node : graph.nodes) {
      const bool slice = std::holds_alternative<tasks::View>(node.operation);
      written_[node.output] = !slice && !std::holds_alternative<Reshape>(node.operation);
      anywhere_[node.output] = std::holds_alternative<GridSample>(node.operation);
      if (slice) slices_[node.output] = &node;
    }
  }

  /// Plans the concatenations from the last to the first. Suppose that the inputs of one concatenation are the first
  /// inputs of a later, longer concatenation. The shorter concatenation then becomes a part of the longer one.
  ConcatPlan plan() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const auto* concat = std::get_if<Concat>(&graph_.nodes[i].operation);
      if (!concat || !is_image(graph_.nodes[i].output)) continue;
      if (concat->axis == 1) place(graph_.nodes[i]);
      else place_along(concat->axis, graph_.nodes[i]);
    }
    return std::move(plan_);
  }

 private:
  const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }
  bool is_image(TensorId id) const {
    return shape(id).size() == 4 && !rows_[id] && !is_integer(graph_.tensors[id].type);
  }

  void place(const Node& node) {
    auto& whole = plan_.slots[node.output];
    if (whole.group == Slot::none) {
      if (const auto found = adjacent_inputs(node)) {
        whole = *found;
        return;
      }
      whole = add_group(node, 1);
    }
    auto channel = whole.first;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      place(sliced(node, i).value_or(node.inputs[i]), {whole.group, channel});
      channel += shape(node.inputs[i])[1];
    }
  }
  Slot add_group(const Node& node, std::size_t axis) {
    plan_.groups.push_back({shape(node.output), axis, round_up(shape(node.output)[1], unit_)});
    return {static_cast<std::uint32_t>(plan_.groups.size() - 1), 0};
  }

  /// Plans a concatenation along an axis that is not the channel axis. In its buffer, the pixels of an input are not
  /// evenly spaced as in an image. So only kernels that support any spacing (`anywhere_`) can write the input there.
  void place_along(std::size_t axis, const Node& node) {
    auto& whole = plan_.slots[node.output];
    const auto anywhere = [&](TensorId id) { return plan_.slots[id].group == Slot::none && anywhere_[id]; };
    if (whole.group != Slot::none || std::ranges::none_of(node.inputs, anywhere)) return;
    whole = add_group(node, axis);
    std::int64_t first = 0;
    for (const auto input : node.inputs) {
      if (anywhere(input)) plan_.slots[input] = {whole.group, first};
      first += shape(input)[axis];
    }
  }

  void place(TensorId id, const Slot& slot) {
    auto& part = plan_.slots[id];
    if (part.group == Slot::none && written_[id] && !rows_[id] && slot.first % unit_ == 0) part = slot;
  }

  /// Checks whether the inputs of `node`, from number `first` on, begin with all consecutive slices of one tensor along
  /// its channels. Returns that tensor, or nullopt if there is no such tensor.
  std::optional<TensorId> sliced(const Node& node, std::size_t first) const {
    const auto* slice = slices_[node.inputs[first]];
    if (!slice) return std::nullopt;
    const auto x = slice->inputs[0];
    const auto dense = dense_strides(shape(x));
    std::int64_t channel = 0;
    for (auto i = first; i < node.inputs.size() && channel < shape(x)[1]; ++i) {
      const auto* part = slices_[node.inputs[i]];
      if (!part || part->inputs[0] != x) return std::nullopt;
      const auto& view = std::get<tasks::View>(part->operation);
      if (!is_image(x) || !lie_alike(shape(node.inputs[i]), view.strides, dense) || view.offset != channel * dense[1])
        return std::nullopt;
      channel += shape(node.inputs[i])[1];
    }
    return channel == shape(x)[1] && shape(x)[2] == shape(node.output)[2] && shape(x)[3] == shape(node.output)[3]
               ? std::optional(x)
               : std::nullopt;
  }

  /// Returns the slot of the first input if all inputs of `node` are already adjacent in one group; otherwise nullopt.
  std::optional<Slot> adjacent_inputs(const Node& node) const {
    const auto first = plan_.slots[node.inputs.front()];
    if (first.group == Slot::none || plan_.groups[first.group].axis != 1) return std::nullopt;
    auto channel = first.first;
    for (const auto input : node.inputs) {
      const auto& part = plan_.slots[input];
      if (part.group != first.group || part.first != channel) return std::nullopt;
      channel += shape(input)[1];
    }
    return first;
  }

  const Graph& graph_;
  const std::vector<bool>& rows_;
  std::int64_t unit_;
  std::vector<bool> written_;       // for each tensor, true if a kernel writes it with any distance between pixels
  std::vector<bool> anywhere_;      // for each tensor, true if its kernel can also space pixels unevenly
  std::vector<const Node*> slices_; // for each tensor, the View node that computes it, or null
  ConcatPlan plan_;
};

} // namespace

ConcatPlan plan_concats(const Graph& graph, const std::vector<bool>& rows, std::int64_t unit) {
  return Planner(graph, rows, unit).plan();
}

} // namespace rtexec::tasks::cuda
