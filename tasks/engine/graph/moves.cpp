// Simplifies operations that only move elements, and reorders them to reduce their cost.
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/graph/patterns.hpp"
#include "tasks/engine/graph/uses.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::tasks {
namespace {

/// A graph that is rewritten node by node.
class Rewriting {
 public:
  explicit Rewriting(Graph& graph) : graph_(graph), uses_(graph), writer_(graph.tensors.size(), no_node) {}

  /// Calls `rewrite` for each node. `rewrite` must return true if it has added nodes that replace the node; otherwise
  /// the node is kept.
  template <class Rewrite> void run(Rewrite rewrite) {
    for (auto& node : std::exchange(graph_.nodes, {}))
      if (!rewrite(node)) add(std::move(node));
    remove_unused(graph_);
  }

  void add(Node node) {
    writer_.resize(graph_.tensors.size(), no_node);
    writer_[node.output] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(node));
  }
  TensorId add(const std::string& name, Operation operation, std::vector<TensorId> inputs, const Shape& shape,
               ElementType type) {
    const auto y = graph_.add({graph_.tensors[inputs[0]].name + ".moved", shape, {}, type});
    add({name, std::move(operation), std::move(inputs), y, {}, {}});
    return y;
  }

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return tensor(id).shape; }
  /// Returns the node that writes `id`, or nullptr if no node that was added so far does.
  [[nodiscard]] const Node* writer(TensorId id) const {
    return id < writer_.size() && writer_[id] != no_node ? &graph_.nodes[writer_[id]] : nullptr;
  }
  template <class Op> [[nodiscard]] const Node* writer(TensorId id) const {
    const auto* node = writer(id);
    return node && std::holds_alternative<Op>(node->operation) ? node : nullptr;
  }
  /// True if exactly one node reads `id`. A tensor that a rewrite added always has one reader.
  [[nodiscard]] bool single_reader(TensorId id) const { return id >= original_ || uses_.single_reader(id); }

 private:
  Graph& graph_;
  DefUseEditor uses_;
  std::vector<std::size_t> writer_; // for each tensor, the index of its writer among the new nodes
  TensorId original_ = static_cast<TensorId>(graph_.tensors.size());
};

/// True if the view keeps the order of all elements: every dimension of more than one element has its dense stride.
bool keeps_order(const View& view, const Shape& from, const Shape& to) {
  if (view.offset != 0 || element_count(from) != element_count(to)) return false;
  const auto dense = dense_strides(to);
  for (std::size_t d = 0; d < to.size(); ++d)
    if (to[d] != 1 && view.strides[d] != dense[d]) return false;
  return true;
}

bool pads_nothing(const Pad& pad, const Shape& from, const Shape& to) {
  return from == to && std::ranges::all_of(pad.before, [](std::int64_t count) { return count == 0; });
}

/// Returns the first index of the slice if `view` is a slice along `axis` alone. Otherwise returns nullopt.
std::optional<std::int64_t> slice_along(std::size_t axis, const View& view, const Shape& from, const Shape& to) {
  const auto dense = dense_strides(from);
  if (to.size() != from.size() || view.strides != dense || view.offset % dense[axis] != 0) return std::nullopt;
  for (std::size_t d = 0; d < to.size(); ++d)
    if (d != axis && to[d] != from[d]) return std::nullopt;
  const auto first = view.offset / dense[axis];
  return first + to[axis] <= from[axis] ? std::optional(first) : std::nullopt;
}

/// Returns for each dimension of `to` the dimensions of `from` that a Reshape merges into it, except dimensions of size
/// 1. Returns nullopt if the Reshape splits a dimension of `from`.
std::optional<std::vector<Shape>> merged(const Shape& from, const Shape& to) {
  std::vector<Shape> groups;
  std::size_t next = 0;
  for (const auto size : to) {
    auto& group = groups.emplace_back();
    std::int64_t count = 1;
    for (; count < size; ++next) {
      count *= from[next];
      if (from[next] != 1) group.push_back(from[next]);
    }
    if (count != size) return std::nullopt;
  }
  return groups;
}

/// A pass that replaces each node that moves elements by cheaper nodes.
class Simplifying {
 public:
  explicit Simplifying(Rewriting& graph) : graph_(graph) {}

  bool operator()(const Node& node) {
    if (moves_nothing(node)) return reshape(node, node.inputs[0]);
    if (const auto* concat = std::get_if<Concat>(&node.operation)) return gather(node, concat->axis);
    if (const auto* view = std::get_if<View>(&node.operation)) return permute(node, *view);
    return false;
  }

 private:
  [[nodiscard]] bool moves_nothing(const Node& node) const {
    if (std::holds_alternative<Reshape>(node.operation)) return true;
    const auto* view = std::get_if<View>(&node.operation);
    const auto* pad = std::get_if<Pad>(&node.operation);
    if (!view && !pad) return false;
    const auto &from = graph_.shape(node.inputs[0]), &to = graph_.shape(node.output);
    return view ? keeps_order(*view, from, to) : pads_nothing(*pad, from, to);
  }

  /// Adds a Reshape of x. If x is itself written by a Reshape without type conversion, the new Reshape reads the input
  /// of that Reshape instead.
  bool reshape(const Node& node, TensorId x) {
    const auto* before = graph_.writer<Reshape>(x);
    if (before && graph_.tensor(before->inputs[0]).type == graph_.tensor(x).type) x = before->inputs[0];
    graph_.add({node.name, Reshape{}, {x}, node.output, {}, {}});
    return true;
  }

  /// Replaces a permutation that follows a merging Reshape: permutes the dimensions first, then merges them by a
  /// Reshape. Elements that are permuted a second time are then moved only once.
  bool permute(const Node& node, const View& view) {
    const auto moved = node.inputs[0];
    const auto* before = graph_.writer<Reshape>(moved);
    if (!before || !graph_.single_reader(moved)) return false;
    const auto x = before->inputs[0];
    const auto order = permutation(view, graph_.shape(moved), graph_.shape(node.output));
    const auto groups = merged(graph_.shape(x), graph_.shape(moved));
    if (!order || !groups || graph_.tensor(x).type != graph_.tensor(moved).type ||
        std::ranges::none_of(*groups, [](const Shape& group) { return group.size() > 1; }))
      return false;
    Shape to;
    View turned;
    const auto steps = dense_strides(graph_.shape(moved));
    for (const auto d : *order) {
      const auto& group = (*groups)[d];
      to.insert(to.end(), group.begin(), group.end());
      for (const auto stride : dense_strides(group)) turned.strides.push_back(steps[d] * stride);
    }
    const auto y = graph_.add(node.name, std::move(turned), {x}, to, graph_.tensor(x).type);
    graph_.add({node.name, Reshape{}, {y}, node.output, {}, {}});
    return true;
  }

  /// Replaces a Concat of slices of one tensor by a Gather. Returns false if an operand of the Concat is not such a
  /// slice.
  bool gather(const Node& node, std::size_t axis) {
    if (axis + 1 >= graph_.shape(node.output).size()) return false; // a Gather would move single elements
    const auto* first = graph_.writer<View>(node.inputs[0]);
    if (!first) return false;
    const auto x = first->inputs[0];
    std::vector<std::int64_t> indices;
    for (const auto input : node.inputs) {
      const auto* slice = graph_.writer<View>(input);
      if (!slice || slice->inputs[0] != x) return false;
      const auto begin = slice_along(axis, std::get<View>(slice->operation), graph_.shape(x), graph_.shape(input));
      if (!begin) return false;
      for (std::int64_t i = 0; i < graph_.shape(input)[axis]; ++i) indices.push_back(*begin + i);
    }
    graph_.add({node.name, GatherConstant{axis, std::move(indices)}, {x}, node.output, {}, {}});
    return true;
  }

  Rewriting& graph_;
};

/// A pass that moves operations on two tensors in front of the Reshape that they follow. A layer can then absorb the
/// sum, or a kernel can read a permutation as a strided operand. The Reshape would prevent both.
class Sinking {
 public:
  explicit Sinking(Rewriting& graph) : graph_(graph) {}

  bool operator()(const Node& node) {
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || node.activation.kind != Activation::Kind::none || is_integer(graph_.tensor(node.output).type))
      return false;
    const bool sum = pair->kind == Binary::Kind::add;
    for (const std::size_t i : {0U, 1U}) {
      const auto moved = node.inputs[i], other = node.inputs[1 - i];
      if (graph_.shape(moved) != graph_.shape(node.output) || graph_.shape(other) != graph_.shape(node.output) ||
          graph_.tensor(other).constant())
        continue;
      const auto* reshape = graph_.writer<Reshape>(moved);
      if (!reshape || !graph_.single_reader(moved) || is_converted(*reshape)) continue;
      const auto x = reshape->inputs[0];
      if (!graph_.single_reader(x)) continue;
      if (!(sum && takes_sum(x)) && !(graph_.writer<View>(x) && !(sum && takes_sum(other)))) continue;
      sink(node, i, x, other);
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_converted(const Node& reshape) const {
    return graph_.tensor(reshape.inputs[0]).type != graph_.tensor(reshape.output).type;
  }
  [[nodiscard]] bool takes_sum(TensorId id) const {
    const auto* node = graph_.writer(id);
    return node && takes_residual(*node) && !node->residual && node->activation.kind == Activation::Kind::none;
  }

  void sink(const Node& node, std::size_t which, TensorId x, TensorId other) {
    const auto shape = graph_.shape(x);
    const auto type = graph_.tensor(node.output).type;
    std::vector<TensorId> operands(2, x);
    operands[1 - which] = under(node.name, other, shape);
    const auto y = graph_.add(node.name, node.operation, operands, shape, type);
    graph_.add({node.name, Reshape{}, {y}, node.output, {}, {}});
  }
  TensorId under(const std::string& name, TensorId id, const Shape& shape) {
    const auto* reshape = graph_.writer<Reshape>(id);
    if (reshape && !is_converted(*reshape) && graph_.shape(reshape->inputs[0]) == shape) return reshape->inputs[0];
    return graph_.add(name, Reshape{}, {id}, shape, graph_.tensor(id).type);
  }

  Rewriting& graph_;
};

} // namespace

void simplify_moves(Graph& graph) {
  Rewriting rewriting(graph);
  rewriting.run(Simplifying(rewriting));
}

void sink_reshapes(Graph& graph) {
  Rewriting rewriting(graph);
  rewriting.run(Sinking(rewriting));
}

} // namespace rtexec::tasks
