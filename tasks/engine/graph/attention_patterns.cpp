#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

/// Finds the computation factor * scores + mask. The scores are the product q k^T, and the computation is the input of
/// their softmax.
class Scores {
 public:
  Scores(const Patterns& patterns, TensorId end) : p_(patterns), end_(end) {}

  /// Follows the graph back from the softmax to the product. Returns false if any other operation lies between them.
  bool find() {
    for (auto id = end_; p_.uses.single_reader(id);) {
      const auto* node = p_.writer(id);
      if (!node) return false;
      if (std::holds_alternative<MatMul>(node->operation)) {
        product = node;
        return true;
      }
      if (!pass(*node, id)) return false;
    }
    return false;
  }

  const Node* product = nullptr;
  float factor = 1;
  std::optional<TensorId> mask;     // the mask, if it is a computed tensor
  std::vector<float> constant_mask; // the mask, if it is constant, broadcast to the shape of the scores

 private:
  bool pass(const Node& node, TensorId& id) {
    if (const auto part = p_.scaled(node)) {
      factor *= part->factor;
      id = part->x;
      return true;
    }
    if (std::holds_alternative<Reshape>(node.operation)) {
      reshaped_ = true;
      id = node.inputs[0];
      return true;
    }
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || pair->kind != Pair::add) return false;
    // The scores are the operand that has the shape of the sum.
    const bool swapped = p_.is_constant(node.inputs[0]) || p_.shape(node.inputs[0]) != p_.shape(node.output);
    const auto added = node.inputs[swapped ? 0 : 1];
    id = node.inputs[swapped ? 1 : 0];
    if (p_.shape(id) != p_.shape(node.output)) return false;
    return p_.is_constant(added) ? add_constant(added, p_.shape(node.output)) : add_computed(added);
  }

  bool add_constant(TensorId id, const Shape& shape) {
    constexpr std::int64_t most = 1 << 24;
    if (element_count(shape) > most) return false;
    const auto& tensor = p_.graph.tensors[id];
    const auto all = values_at(tensor.values, shape, broadcast(tensor.shape, dense_strides(tensor.shape), shape));
    constant_mask.resize(all.size(), 0.0F);
    for (std::size_t i = 0; i < all.size(); ++i) constant_mask[i] += factor * all[i];
    return true;
  }
  bool add_computed(TensorId id) {
    if (mask || reshaped_ || factor != 1) return false;
    mask = id;
    return true;
  }

  const Patterns& p_;
  TensorId end_;
  bool reshaped_ = false;
};

/// Adds a View that swaps the last two dimensions of `x`, and returns its output.
TensorId swapped(Graph& graph, std::vector<Node>& before, TensorId x, const std::string& name) {
  auto shape = graph.tensors[x].shape;
  auto strides = dense_strides(shape);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const auto y = graph.add({graph.tensors[x].name + ".swapped", std::move(shape), {}});
  before.push_back({name, View{0, std::move(strides)}, {x}, y, {}, {}});
  return y;
}

/// Replaces each group of nodes from the product q k^T to the product with v by one Attention.
class AttentionFusion {
 public:
  explicit AttentionFusion(Graph& graph) : p_(graph) {}

  void run() {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < p_.graph.nodes.size(); ++i) {
      std::vector<Node> before;
      auto fused = fuse(p_.graph.nodes[i], before);
      nodes.insert(nodes.end(), before.begin(), before.end());
      nodes.push_back(fused ? std::move(*fused) : p_.graph.nodes[i]);
    }
    p_.graph.nodes = std::move(nodes);
  }

 private:
  [[nodiscard]] Shape leading(TensorId id) const {
    const auto& shape = p_.shape(id);
    return {shape.begin(), shape.end() - 2};
  }

  /// A match of the last product: softmax times values, or values times softmax, which gives the transposed result.
  struct Weighted {
    const Node* softmax = nullptr;
    TensorId v = 0;
    bool v_transposed = false; // true: the product with the softmax transposes v
    bool turned = false;       // true: the result is transposed
  };
  std::optional<Weighted> weighted(const Node& last) const {
    const auto* product = std::get_if<MatMul>(&last.operation);
    if (!product || product->alpha != 1 || last.residual || last.activation.kind != Function::none) return std::nullopt;
    for (const bool turned : {false, true}) {
      const auto id = last.inputs[turned ? 1 : 0];
      const auto* softmax = p_.uses.single_reader(id) ? p_.writer_of<Softmax>(id) : nullptr;
      if (!softmax || (turned ? !product->transpose_b : product->transpose_a)) continue;
      return Weighted{softmax, last.inputs[turned ? 0 : 1], turned ? !product->transpose_a : product->transpose_b,
                      turned};
    }
    return std::nullopt;
  }

  std::optional<Node> fuse(const Node& last, std::vector<Node>& before) {
    const auto found = weighted(last);
    if (!found) return std::nullopt;
    const auto& s = std::get<Softmax>(found->softmax->operation);
    const auto scores_shape = p_.shape(found->softmax->output);
    if (s.logarithm || s.inner != 1 || s.count != scores_shape.back()) return std::nullopt;
    Scores scores(p_, found->softmax->inputs[0]);
    if (!scores.find()) return std::nullopt;
    const auto& product = std::get<MatMul>(scores.product->operation);
    const auto q = scores.product->inputs[0], k = scores.product->inputs[1], v = found->v;
    const auto columns = row_of(v, found->v_transposed);
    if (!fits_kernels(std::max(row_of(q, product.transpose_a), columns), leading(q)) ||
        p_.shape(scores.product->output) != scores_shape || leading(q) != leading(k) || leading(q) != leading(v) ||
        (scores.mask && !scores.constant_mask.empty()))
      return std::nullopt;
    Node node{last.name, Attention{product.alpha * scores.factor, s.may_be_nothing}, {}, last.output, {}, {}};
    const auto operand = [&](TensorId id, bool transpose) {
      return transpose ? swapped(p_.graph, before, id, last.name) : id;
    };
    node.inputs = {operand(q, product.transpose_a), operand(k, !product.transpose_b), operand(v, found->v_transposed)};
    if (scores.mask) node.inputs.push_back(*scores.mask);
    else if (!scores.constant_mask.empty()) node.inputs.push_back(mask(last, scores_shape, scores.constant_mask));
    if (!found->turned) return node;
    auto shape = scores_shape;
    shape.back() = columns;
    node.output = p_.graph.add({p_.graph.tensors[last.output].name + ".attended", std::move(shape), {}});
    before.push_back(std::move(node));
    return turned(before.back(), last.output);
  }
  [[nodiscard]] Node turned(const Node& attention, TensorId to) const {
    auto strides = dense_strides(p_.shape(attention.output));
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return {attention.name, View{0, std::move(strides)}, {attention.output}, to, {}, {}};
  }

  /// Returns the number of columns of the operand's matrices. If `transpose` is set, counts the columns of the
  /// transposed matrices.
  [[nodiscard]] std::int64_t row_of(TensorId id, bool transpose) const {
    const auto& shape = p_.shape(id);
    return shape[shape.size() - (transpose ? 2 : 1)];
  }
  /// True if the kernels can compute the attention. They cannot compute attention over channels, whose rows are long
  /// and whose scores are few.
  [[nodiscard]] static bool fits_kernels(std::int64_t columns, const Shape& heads) {
    constexpr std::int64_t max_columns = 1024, max_heads = 65535;
    return columns <= max_columns && element_count(heads) <= max_heads;
  }

  /// Adds a constant mask to the graph and returns its tensor. Reduces each leading dimension along which the mask does
  /// not vary to size 1.
  TensorId mask(const Node& node, Shape shape, std::vector<float> values) {
    for (std::size_t d = 0; d + 2 < shape.size(); ++d) {
      const auto inner =
          static_cast<std::ptrdiff_t>(element_count({shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, shape.end()}));
      const auto outer = element_count({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d)});
      bool same = true;
      for (std::int64_t o = 0; o < outer && same; ++o) {
        const auto first = values.begin() + o * shape[d] * inner;
        for (std::int64_t i = 1; i < shape[d] && same; ++i) same = std::equal(first, first + inner, first + i * inner);
      }
      if (!same) continue;
      std::vector<float> kept;
      for (std::int64_t o = 0; o < outer; ++o) {
        const auto first = values.begin() + o * shape[d] * inner;
        kept.insert(kept.end(), first, first + inner);
      }
      values = std::move(kept);
      shape[d] = 1;
    }
    return p_.graph.add({node.name + ".mask", std::move(shape), std::move(values)});
  }

  Patterns p_;
};

} // namespace

void fuse_attention(Graph& graph) {
  AttentionFusion(graph).run();
  remove_unused(graph);
}

} // namespace rtexec::tasks
