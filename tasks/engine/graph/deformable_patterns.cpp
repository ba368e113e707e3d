#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

class DeformableFusion {
 public:
  explicit DeformableFusion(Graph& graph) : p_(graph) {}

  void run() {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < p_.graph.nodes.size(); ++i) {
      if (const auto found = find(p_.graph.nodes[i])) append(nodes, *found, p_.graph.nodes[i]);
      else nodes.push_back(p_.graph.nodes[i]);
    }
    p_.graph.nodes = std::move(nodes);
  }

 private:
  struct Samples {
    std::vector<const Node*> of;      // the GridSample node of each image
    std::int64_t n, c, q, points = 0; // points: number of points of each image
  };
  struct Found {
    Samples samples;
    TensorId scores = 0; // [n,1,q,count]: the weights; after the removal of `softmax` they are the scores
    const Node* softmax = nullptr;
  };

  /// Returns the node that writes `id`, skipping Reshapes. Returns nullptr if `id` or the input of a skipped Reshape
  /// has another reader.
  [[nodiscard]] const Node* unshaped(TensorId id) const {
    const auto* node = p_.uses.single_reader(id) ? p_.writer(id) : nullptr;
    return node && std::holds_alternative<Reshape>(node->operation) ? unshaped(node->inputs[0]) : node;
  }

  static bool alike(const GridSample& a, const GridSample& b) {
    return a.mode == b.mode && a.padding == b.padding && a.align_corners == b.align_corners;
  }

  /// Matches `id` as samples of shape [n, c, q, count]: for n batch elements, c channels and q queries, the values at
  /// the `count` points of all images together. The last dimension holds first all points of the first image, then all
  /// points of the second image, and so on.
  [[nodiscard]] std::optional<Samples> samples(TensorId id) const {
    const auto* node = unshaped(id);
    const auto* concat = node ? std::get_if<Concat>(&node->operation) : nullptr;
    if (!concat || node->inputs.size() > DeformableAttention::max_images) return std::nullopt;
    const auto& together = p_.shape(node->output);
    const auto rows = element_count({together.begin(), together.begin() + static_cast<std::ptrdiff_t>(concat->axis)});
    Samples found{{}, 0, 0, 0};
    for (const auto input : node->inputs) {
      const auto* sample = unshaped(input);
      const auto* grid = sample ? std::get_if<GridSample>(&sample->operation) : nullptr;
      const auto& shape = grid ? p_.shape(sample->output) : together;
      if (!grid || shape.size() != 4 || shape[0] * shape[1] * shape[2] != rows) return std::nullopt;
      if (found.of.empty()) found = {{}, shape[0], shape[1], shape[2], shape[3]};
      else if (!alike(*grid, std::get<GridSample>(found.of.front()->operation))) return std::nullopt;
      if (shape != Shape{found.n, found.c, found.q, found.points}) return std::nullopt;
      found.of.push_back(sample);
    }
    return found;
  }

  /// Returns how many of the last dimensions together have `count` elements: the smallest such number, or 0 if there is
  /// none.
  [[nodiscard]] static std::size_t last_dimensions(const Shape& shape, std::int64_t count) {
    std::int64_t held = 1;
    for (std::size_t d = shape.size(); d-- > 0;)
      if ((held *= shape[d]) == count) return shape.size() - d;
    return 0;
  }

  /// True if each group of `count` consecutive elements, beginning at a multiple of `count`, is still consecutive after
  /// the node `move`.
  [[nodiscard]] bool keeps(const Node& move, std::int64_t count) const {
    const auto& to = p_.shape(move.output);
    const auto last = last_dimensions(to, count);
    if (last == 0 || last_dimensions(p_.shape(move.inputs[0]), count) == 0) return false;
    const auto* view = std::get_if<View>(&move.operation);
    if (!view) return std::holds_alternative<Reshape>(move.operation);
    const auto dense = dense_strides(to);
    return view->offset == 0 && std::equal(dense.end() - static_cast<std::ptrdiff_t>(last), dense.end(),
                                           view->strides.end() - static_cast<std::ptrdiff_t>(last));
  }

  /// Returns the Softmax from which `id` is computed, if all moves between them keep each row of the Softmax
  /// consecutive. Otherwise returns nullptr.
  [[nodiscard]] const Node* softmax(TensorId id) const {
    const auto count = p_.shape(id).back();
    for (const auto* node = p_.writer(id); node && p_.uses.single_reader(node->output);
         node = p_.writer(node->inputs[0])) {
      if (const auto* softmax = std::get_if<Softmax>(&node->operation)) {
        const bool fits = softmax->inner == 1 && softmax->count == count && !softmax->logarithm;
        return fits && !softmax->may_be_nothing ? node : nullptr;
      }
      if (!keeps(*node, count)) return nullptr;
    }
    return nullptr;
  }

  [[nodiscard]] std::optional<Found> find(const Node& node) const {
    const auto* sum = std::get_if<Reduce>(&node.operation);
    if (!sum || sum->kind != Reduce::Kind::sum || sum->inner != 1 || node.activation.kind != Function::none)
      return std::nullopt;
    const auto* product = unshaped(node.inputs[0]);
    const auto* pair = product ? std::get_if<Binary>(&product->operation) : nullptr;
    if (!pair || pair->kind != Pair::multiply || p_.shape(product->output).size() != 4) return std::nullopt;
    for (const std::size_t i : {0U, 1U}) {
      auto found = samples(product->inputs[i]);
      if (!found || sum->count != std::ssize(found->of) * found->points) continue;
      const Shape all{found->n, found->c, found->q, sum->count}, shares{found->n, 1, found->q, sum->count};
      const auto other = product->inputs[1 - i];
      if (p_.shape(product->inputs[i]) != all || p_.shape(other) != shares) continue;
      if (const auto* shared = softmax(other)) return Found{std::move(*found), other, shared};
    }
    return std::nullopt;
  }

  void append(std::vector<Node>& nodes, const Found& found, const Node& last) {
    for (auto& node : nodes) // the nodes that moved the softmax's output now move its input
      std::ranges::replace(node.inputs, found.softmax->output, found.softmax->inputs[0]);
    const auto& s = found.samples;
    const auto name = p_.graph.tensors[last.output].name;
    Node node{last.name, DeformableAttention{std::get<GridSample>(s.of.front()->operation)}, {found.scores}, 0, {}, {}};
    if (found.scores == found.softmax->output) node.inputs = found.softmax->inputs;
    for (const auto* sample : s.of) node.inputs.insert(node.inputs.end(), sample->inputs.begin(), sample->inputs.end());
    const auto rows = node.output = p_.graph.add({name + ".rows", {s.n, s.q, s.c}, {}});
    nodes.push_back(std::move(node));
    const auto planes = p_.graph.add({name + ".planes", {s.n, s.c, s.q}, {}});
    nodes.push_back({last.name, View{0, {s.q * s.c, 1, s.c}}, {rows}, planes, {}, {}});
    nodes.push_back({last.name, Reshape{}, {planes}, last.output, {}, {}});
  }

  Patterns p_;
};

} // namespace

void fuse_deformable_attention(Graph& graph) {
  DeformableFusion(graph).run();
  remove_unused(graph);
}

} // namespace rtexec::tasks
