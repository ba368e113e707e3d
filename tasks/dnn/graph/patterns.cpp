// What exporters write in many nodes and kernels compute in one: found by what nodes compute, not by their names.
#include "tasks/dnn/graph/passes.hpp"

#include "tasks/dnn/graph/uses.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace rtexec::tasks {
namespace {

using Function = Activation::Kind;
using Pair = Binary::Kind;

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); }

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
  [[nodiscard]] std::optional<Scaled> scaled(const Node& node) const {
    const auto keeps = [&](TensorId x) { return shape(x) == shape(node.output); };
    if (const auto* f = std::get_if<Activation>(&node.operation)) {
      if (f->kind == Function::scale && f->b == 0) return Scaled{node.inputs[0], f->a};
      return std::nullopt;
    }
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || node.activation.kind != Function::none) return std::nullopt;
    for (const std::size_t i : {0U, 1U}) {
      const auto x = node.inputs[i];
      const auto value = number(node.inputs[1 - i]);
      if (!value || !keeps(x)) continue;
      if (pair->kind == Pair::multiply) return Scaled{x, *value};
      if (pair->kind == Pair::divide && i == 0 && *value != 0) return Scaled{x, 1 / *value};
    }
    return std::nullopt;
  }
  /// `id` as another tensor times a number; itself times 1 where it is not.
  [[nodiscard]] Scaled unscaled(TensorId id) const {
    const auto* node = writer(id);
    const auto found = node ? scaled(*node) : std::nullopt;
    return found ? *found : Scaled{id, 1};
  }

  /// The tensor to which a number is added.
  [[nodiscard]] std::optional<TensorId> plus(TensorId id, float* value) const {
    if (const auto* node = activation(id, Function::scale); node && std::get<Activation>(node->operation).a == 1) {
      *value = std::get<Activation>(node->operation).b;
      return node->inputs[0];
    }
    const auto* sum = binary(id, Pair::add);
    if (!sum) return std::nullopt;
    for (const std::size_t i : {0U, 1U})
      if (const auto found = number(sum->inputs[1 - i])) {
        *value = *found;
        return sum->inputs[i];
      }
    return std::nullopt;
  }

  /// What `id` is a product of, numbers aside, which are in `factor`.
  void factors(TensorId id, bool is_root, std::vector<TensorId>& found, float& factor) const {
    const auto* node = is_root || uses.single_reader(id) ? writer(id) : nullptr;
    if (const auto part = node ? scaled(*node) : std::nullopt) {
      factor *= part->factor;
      return factors(part->x, false, found, factor);
    }
    const auto* product = node ? binary(id, Pair::multiply) : nullptr;
    if (!product) return found.push_back(id);
    factors(product->inputs[0], false, found, factor);
    factors(product->inputs[1], false, found, factor);
  }
  struct Product {
    std::vector<TensorId> of;
    float factor = 1;
  };
  [[nodiscard]] Product product(TensorId id) const {
    Product result;
    factors(id, true, result.of, result.factor);
    return result;
  }

  [[nodiscard]] bool is_square(TensorId id, TensorId of) const {
    if (const auto* node = binary(id, Pair::multiply)) return node->inputs[0] == of && node->inputs[1] == of;
    const auto* node = binary(id, Pair::power);
    return node && node->inputs[0] == of && number(node->inputs[1]) == 2.0F;
  }

  /// Node `at` becomes `operation` of other inputs; what it read before may be unused then.
  void replace(std::size_t at, Operation operation, std::vector<TensorId> inputs) {
    graph.nodes[at].operation = std::move(operation);
    graph.nodes[at].inputs = std::move(inputs);
  }
};

// ---- gelu

/// x of 0.5 x (1 + erf(x / sqrt 2)), or of the same with tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
struct Gelu {
  TensorId x;
  Function kind;
};

bool is_cube(const Patterns& p, TensorId id, TensorId of) {
  if (const auto* node = p.binary(id, Pair::power)) return node->inputs[0] == of && p.number(node->inputs[1]) == 3.0F;
  const auto product = p.product(id);
  return product.factor == 1 && product.of == std::vector(3, of);
}

bool is_bent(const Patterns& p, TensorId id, TensorId x) {
  const auto inside = p.unscaled(id);
  const auto* sum = p.binary(inside.x, Pair::add);
  if (!sum || !is_near(inside.factor, 0.7978846)) return false;
  for (const std::size_t i : {0U, 1U}) {
    const auto other = p.unscaled(sum->inputs[1 - i]);
    if (sum->inputs[i] == x && is_near(other.factor, 0.044715) && is_cube(p, other.x, x)) return true;
  }
  return false;
}

std::optional<Gelu> gelu_of(const Patterns& p, TensorId y) {
  const auto product = p.product(y);
  if (product.of.size() != 2 || !is_near(product.factor, 0.5)) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto x = product.of[i];
    float added = 0;
    const auto curve = p.plus(product.of[1 - i], &added);
    if (!curve || added != 1 || p.shape(x) != p.shape(y)) continue;
    if (const auto* erf = p.activation(*curve, Function::erf)) {
      const auto inside = p.unscaled(erf->inputs[0]);
      if (inside.x == x && is_near(inside.factor, 0.70710678)) return Gelu{x, Function::gelu};
    } else if (const auto* tanh = p.activation(*curve, Function::tanh)) {
      if (is_bent(p, tanh->inputs[0], x)) return Gelu{x, Function::gelu_tanh};
    }
  }
  return std::nullopt;
}

// ---- normalisation

/// Of the last dimensions, all of them within `count`.
const Reduce* mean_over(const Patterns& p, const Node* node) {
  const auto* mean = node ? std::get_if<Reduce>(&node->operation) : nullptr;
  const bool fits = mean && mean->kind == Reduce::Kind::mean && mean->inner == 1 &&
                    p.shape(node->output).size() == p.shape(node->inputs[0]).size();
  return fits ? mean : nullptr;
}

/// y = d / sqrt(mean(d d) + epsilon), or times the reciprocal of the root.
std::optional<std::pair<TensorId, Normalise>> divided_by_deviation(const Patterns& p, const Node& y) {
  const auto* pair = std::get_if<Binary>(&y.operation);
  if (!pair || (pair->kind != Pair::divide && pair->kind != Pair::multiply)) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto d = y.inputs[i];
    auto root = y.inputs[1 - i];
    if (pair->kind == Pair::divide && i == 1) continue;
    if (pair->kind == Pair::multiply) {
      const auto* reciprocal = p.activation(root, Function::reciprocal);
      const auto* one_over = p.binary(root, Pair::divide);
      if (reciprocal) root = reciprocal->inputs[0];
      else if (one_over && p.number(one_over->inputs[0]) == 1.0F) root = one_over->inputs[1];
      else continue;
    }
    const auto* sqrt = p.activation(root, Function::sqrt);
    if (!sqrt) continue;
    float epsilon = 0;
    const auto variance = p.plus(sqrt->inputs[0], &epsilon);
    const auto* writer = variance ? p.writer(*variance) : nullptr;
    const auto* mean = mean_over(p, writer);
    if (!mean || !p.is_square(writer->inputs[0], d) || p.shape(writer->inputs[0]) != p.shape(y.output)) continue;
    return std::pair(d, Normalise{mean->outer, mean->count, false, epsilon});
  }
  return std::nullopt;
}

/// x of d = x - mean(x), over as many.
std::optional<TensorId> less_its_mean(const Patterns& p, TensorId d, const Normalise& like) {
  const auto* difference = p.binary(d, Pair::subtract);
  const auto* writer = difference ? p.writer(difference->inputs[1]) : nullptr;
  const auto* mean = mean_over(p, writer);
  if (!mean || writer->inputs[0] != difference->inputs[0] || mean->count != like.count || mean->outer != like.outer)
    return std::nullopt;
  return difference->inputs[0];
}

/// A constant of the same rank or less: what NumPy broadcasts it to is `shape`.
bool fits_into(const Shape& constant, const Shape& shape) {
  if (constant.size() > shape.size()) return false;
  for (std::size_t d = 0; d < constant.size(); ++d) {
    const auto extent = constant[constant.size() - 1 - d];
    if (extent != 1 && extent != shape[shape.size() - 1 - d]) return false;
  }
  return true;
}

// ---- products

/// Whether a View only swaps the last two dimensions.
bool swaps_matrices(const View& view, const Shape& from, const Shape& to) {
  if (from.size() < 2 || from.size() != to.size() || view.offset != 0) return false;
  auto strides = dense_strides(from);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return view.strides == strides;
}

/// A tensor of `shape` whose elements are those of `values` that strides lead to.
std::vector<float> values_at(const std::vector<float>& values, const Shape& shape,
                             const std::vector<std::int64_t>& strides) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(element_count(shape)));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t at = 0;
  for (auto left = element_count(shape); left > 0; --left) {
    result.push_back(values[static_cast<std::size_t>(at)]);
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

/// How scores become what softmax reads: factor * scores + mask.
class Scores {
 public:
  Scores(const Patterns& patterns, TensorId end) : p_(patterns), end_(end) {}

  /// Walks back to the product; false where something else lies between.
  bool find() {
    for (auto id = end_; p_.uses.single_reader(id);) {
      const auto* node = p_.writer(id);
      if (!node) return false;
      if (std::holds_alternative<Product>(node->operation)) {
        product = node;
        return true;
      }
      if (!pass(*node, id)) return false;
    }
    return false;
  }

  const Node* product = nullptr;
  float factor = 1;
  std::optional<TensorId> mask;     // that is computed
  std::vector<float> constant_mask; // shaped as the scores

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
    // Scores are what is as large as the sum.
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

/// The same matrices with those dimensions swapped, by a View.
TensorId swapped(Graph& graph, std::vector<Node>& before, TensorId x, const std::string& name) {
  auto shape = graph.tensors[x].shape;
  auto strides = dense_strides(shape);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  const auto y = graph.add({graph.tensors[x].name + ".swapped", std::move(shape), {}});
  before.push_back({name, View{0, std::move(strides)}, {x}, y, {}, {}});
  return y;
}

/// One attention in place of the nodes from a product to the next but one.
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

  std::optional<Node> fuse(const Node& last, std::vector<Node>& before) {
    const auto* weighted = std::get_if<Product>(&last.operation);
    if (!weighted || weighted->transpose_a || weighted->alpha != 1 || last.residual ||
        last.activation.kind != Function::none || !p_.uses.single_reader(last.inputs[0]))
      return std::nullopt;
    const auto* softmax = p_.writer_of<Softmax>(last.inputs[0]);
    if (!softmax) return std::nullopt;
    const auto& s = std::get<Softmax>(softmax->operation);
    const auto scores_shape = p_.shape(softmax->output);
    if (s.logarithm || s.inner != 1 || s.count != scores_shape.back()) return std::nullopt;
    Scores scores(p_, softmax->inputs[0]);
    if (!scores.find()) return std::nullopt;
    const auto& product = std::get<Product>(scores.product->operation);
    const auto q = scores.product->inputs[0], k = scores.product->inputs[1], v = last.inputs[1];
    if (!fits_kernels(q, v) || p_.shape(scores.product->output) != scores_shape || leading(q) != leading(k) ||
        leading(q) != leading(v) || (scores.mask && !scores.constant_mask.empty()))
      return std::nullopt;
    Node node{last.name, Attention{product.alpha * scores.factor, s.may_be_nothing}, {}, last.output, {}, {}};
    const auto operand = [&](TensorId id, bool transpose) {
      return transpose ? swapped(p_.graph, before, id, last.name) : id;
    };
    node.inputs = {operand(q, product.transpose_a), operand(k, !product.transpose_b),
                   operand(v, weighted->transpose_b)};
    if (scores.mask) node.inputs.push_back(*scores.mask);
    else if (!scores.constant_mask.empty()) node.inputs.push_back(mask(last, scores_shape, scores.constant_mask));
    return node;
  }

  /// What attention over channels has in rows is long, and its scores are few.
  [[nodiscard]] bool fits_kernels(TensorId q, TensorId v) const {
    constexpr std::int64_t most_columns = 1024, most_heads = 65535;
    return p_.shape(q).back() <= most_columns && p_.shape(v).back() <= most_columns &&
           element_count(leading(q)) <= most_heads;
  }

  /// Leading dimensions along which it is the same are of one element.
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

// ---- permutations

/// Which dimension of `from` each dimension of `to` is; nothing where the View does more than to permute.
std::optional<std::vector<std::size_t>> permutation(const View& view, const Shape& from, const Shape& to) {
  if (view.offset != 0 || from.size() != to.size()) return std::nullopt;
  const auto strides = dense_strides(from);
  std::vector<std::size_t> order(to.size(), to.size());
  std::vector<bool> taken(from.size(), false);
  for (const bool single : {false, true}) // dimensions of one element have any stride
    for (std::size_t d = 0; d < to.size(); ++d) {
      if ((to[d] == 1) != single) continue;
      for (std::size_t x = 0; x < from.size() && order[d] == to.size(); ++x)
        if (!taken[x] && from[x] == to[d] && (single || strides[x] == view.strides[d])) {
          order[d] = x;
          taken[x] = true;
        }
      if (order[d] == to.size()) return std::nullopt;
    }
  return order;
}

/// Moves sums and products with other tensors from behind a permutation to before it, so that the layer that is
/// permuted takes them in.
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

  /// Where `id` is a permutation of what a layer computes that takes such operations in.
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
    if (!pair || (pair->kind != Pair::add && pair->kind != Pair::multiply) || node.activation.kind != Function::none)
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

  /// The other operand as it lies before the permutation.
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
  Uses uses_;
  std::vector<std::size_t> writer_; // among the new nodes
  std::set<TensorId> sunk_;
  std::size_t original_ = graph_.tensors.size();
};

} // namespace

void sink_permutations(Graph& graph) {
  Sinking(graph).run();
  remove_unused(graph);
}

void fold_row_scales(Graph& graph) {
  Uses uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || pair->kind != Pair::multiply || node.activation.kind != Function::none) continue;
    for (const std::size_t x : {0U, 1U}) {
      auto* gemm = uses.plain_producer(node.inputs[x]);
      const auto scale = graph.tensors[node.inputs[1 - x]];
      const auto is_constant = [&](TensorId id) { return graph.tensors[id].constant(); };
      const auto columns = graph.tensors[node.output].shape.empty() ? 0 : graph.tensors[node.output].shape.back();
      if (!gemm || !std::holds_alternative<Gemm>(gemm->operation) || !scale.constant() ||
          graph.tensors[node.inputs[x]].shape != graph.tensors[node.output].shape || scale.shape.empty() ||
          scale.shape.back() != columns || element_count(scale.shape) != columns ||
          !std::all_of(gemm->inputs.begin() + 1, gemm->inputs.end(), is_constant) ||
          (gemm->inputs.size() > 2 && graph.tensors[gemm->inputs[2]].shape != Shape{columns}))
        continue;
      const bool in_rows = std::get<Gemm>(gemm->operation).transpose_b; // a column of the product is a row of b
      for (std::size_t input = 1; input < gemm->inputs.size(); ++input) {
        auto tensor = graph.tensors[gemm->inputs[input]];
        tensor.whole = nullptr;
        const auto length = tensor.values.size() / static_cast<std::size_t>(columns);
        for (std::size_t at = 0; at < tensor.values.size(); ++at)
          tensor.values[at] *=
              scale.values[input == 1 && in_rows ? at / length : at % static_cast<std::size_t>(columns)];
        gemm->inputs[input] = graph.add(std::move(tensor));
      }
      uses.absorb(uses.producer(node.inputs[x]), i);
      break;
    }
  }
  uses.sweep();
}

void merge_gelu(Graph& graph) {
  Patterns p(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!std::holds_alternative<Binary>(graph.nodes[i].operation)) continue;
    if (graph.nodes[i].activation.kind != Function::none) continue;
    if (const auto gelu = gelu_of(p, graph.nodes[i].output)) p.replace(i, Activation{gelu->kind}, {gelu->x});
  }
  remove_unused(graph);
}

void merge_normalisation(Graph& graph) {
  Patterns p(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto found = divided_by_deviation(p, graph.nodes[i]);
    if (!found) continue;
    auto [x, normalise] = *found;
    if (const auto whole = less_its_mean(p, x, normalise)) {
      x = *whole;
      normalise.centred = true;
    }
    p.replace(i, normalise, {x});
  }
  remove_unused(graph);
}

void fuse_scales_and_shifts(Graph& graph) {
  for (const auto kind : {Pair::multiply, Pair::add}) {
    Uses uses(graph);
    const std::size_t inputs = kind == Pair::multiply ? 1 : 2;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto& node = graph.nodes[i];
      const auto* pair = std::get_if<Binary>(&node.operation);
      if (!pair || pair->kind != kind || node.activation.kind != Function::none) continue;
      for (const std::size_t x : {0U, 1U}) {
        auto* normalise = uses.plain_producer(node.inputs[x]);
        const auto& constant = graph.tensors[node.inputs[1 - x]];
        if (!normalise || !std::holds_alternative<Normalise>(normalise->operation) ||
            normalise->inputs.size() != inputs || !constant.constant() ||
            !fits_into(constant.shape, graph.tensors[node.output].shape) ||
            graph.tensors[node.inputs[x]].shape != graph.tensors[node.output].shape)
          continue;
        normalise->inputs.push_back(node.inputs[1 - x]);
        uses.absorb(uses.producer(node.inputs[x]), i);
        break;
      }
    }
    uses.sweep();
  }
}

void fuse_biases(Graph& graph) {
  Uses uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    const auto* pair = std::get_if<Binary>(&node.operation);
    if (!pair || pair->kind != Pair::add || node.activation.kind != Function::none) continue;
    for (const std::size_t x : {0U, 1U}) {
      auto* gemm = uses.plain_producer(node.inputs[x]);
      const auto bias = node.inputs[1 - x];
      const auto columns = graph.tensors[node.output].shape.empty() ? 0 : graph.tensors[node.output].shape.back();
      const auto& values = graph.tensors[bias];
      if (!gemm || !std::holds_alternative<Gemm>(gemm->operation) || gemm->inputs.size() != 2 || !values.constant() ||
          values.shape.empty() || values.shape.back() != columns || element_count(values.shape) != columns ||
          graph.tensors[node.inputs[x]].shape != graph.tensors[node.output].shape)
        continue;
      const auto producer = uses.producer(node.inputs[x]);
      std::get<Gemm>(gemm->operation).beta = 1;
      gemm->inputs.push_back(graph.add({values.name, {columns}, values.values}));
      uses.absorb(producer, i);
      break;
    }
  }
  uses.sweep();
}

void simplify_products(Graph& graph) {
  Patterns p(graph);
  for (auto& node : graph.nodes) {
    auto* product = std::get_if<Product>(&node.operation);
    if (!product) continue;
    for (const std::size_t i : {0U, 1U})
      for (bool changed = true; changed;) {
        changed = false;
        const auto input = node.inputs[i];
        if (const auto* view = p.writer_of<View>(input);
            view && swaps_matrices(std::get<View>(view->operation), p.shape(view->inputs[0]), p.shape(input))) {
          bool& transpose = i == 0 ? product->transpose_a : product->transpose_b;
          transpose = !transpose;
          node.inputs[i] = view->inputs[0];
          changed = true;
        } else if (const auto part = p.unscaled(input); part.x != input) {
          product->alpha *= part.factor;
          node.inputs[i] = part.x;
          changed = true;
        }
      }
  }
  remove_unused(graph);
}

void fuse_attention(Graph& graph) {
  AttentionFusion(graph).run();
  remove_unused(graph);
}

} // namespace rtexec::tasks
