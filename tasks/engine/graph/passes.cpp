#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/uses.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace rtexec::tasks {
namespace {

/// Folds a scale and a shift into a convolution with weights w and bias b, in double precision: scale * (w * x + b) +
/// shift = (scale w) * x + (scale b + shift).
void scale_conv(Graph& graph, Node& conv, const std::vector<float>& scale, const std::vector<float>& shift) {
  const auto& weights = graph.tensors[conv.inputs[1]];
  const auto channels = scale.size(), filter = weights.values.size() / channels;
  std::vector<float> scaled(weights.values.size()), bias(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = scale[c];
    for (std::size_t i = c * filter; i < (c + 1) * filter; ++i)
      scaled[i] = static_cast<float>(factor * static_cast<double>(weights.values[i]));
    const double old = conv.inputs.size() > 2 ? graph.tensors[conv.inputs[2]].values[c] : 0.0F;
    bias[c] = static_cast<float>(factor * old + static_cast<double>(shift[c]));
  }
  const auto name = weights.name;
  const auto shape = weights.shape;
  conv.inputs.resize(1);
  conv.inputs.push_back(graph.add({name, shape, std::move(scaled)}));
  conv.inputs.push_back(graph.add({name + ".bias", {shape[0]}, std::move(bias)}));
}

bool takes_activation(const Node& node) {
  const auto* reduce = std::get_if<Reduce>(&node.operation);
  return takes_residual(node) || (reduce && reduce->kind < Reduce::Kind::first_minimum) ||
         std::holds_alternative<Binary>(node.operation) || std::holds_alternative<MultiplyAdd>(node.operation) ||
         std::holds_alternative<ScaleShift>(node.operation);
}

/// The parameters of a node that computes a x + b from a float tensor x and a number.
struct Scaling {
  TensorId x;
  float a, b;
};
std::optional<Scaling> scaling(const Graph& graph, const Node& node) {
  const auto* pair = std::get_if<Binary>(&node.operation);
  if (!pair || node.activation.kind != Activation::Kind::none) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto x = node.inputs[i];
    const auto& number = graph.tensors[node.inputs[1 - i]];
    if (number.values.size() != 1 || graph.tensors[x].constant() ||
        graph.tensors[x].shape != graph.tensors[node.output].shape ||
        graph.tensors[node.output].type != ElementType::float32)
      continue;
    const float c = number.values[0];
    switch (pair->kind) {
    case Binary::Kind::add: return Scaling{x, 1, c};
    case Binary::Kind::multiply: return Scaling{x, c, 0};
    case Binary::Kind::subtract: return i == 0 ? Scaling{x, 1, -c} : Scaling{x, -1, c};
    case Binary::Kind::divide:
      if (i == 0 && std::isnormal(c) && std::isnormal(1 / c)) return Scaling{x, 1 / c, 0};
      return std::nullopt;
    default: return std::nullopt;
    }
  }
  return std::nullopt;
}

/// True if the graph has a twin of the convolution `node`. A twin is another convolution without a residual that reads
/// the same image with the same windows and activation. Kernels compute two such convolutions as one if neither has a
/// residual.
bool has_twin(const Graph& graph, const Node& node) {
  const auto alike = [&](const Node& other) {
    const bool gone = other.inputs.empty();
    return !gone && &other != &node && std::holds_alternative<Conv>(other.operation) && !other.residual &&
           other.inputs[0] == node.inputs[0] && other.activation == node.activation && moves_alike(graph, node, other);
  };
  return std::holds_alternative<Conv>(node.operation) && std::ranges::any_of(graph.nodes, alike);
}

/// Fuses sums into the layer that computes one of their operands, if `computes(uses, id)` is true for that operand. The
/// layer then adds the other operand before its activation, or after its activation if `last` is set.
template <class Computes> void fuse_sums(Graph& graph, bool last, Computes computes) {
  DefUseEditor uses(graph);
  const auto fits = [&](TensorId id) { return computes(uses, id); };
  const auto twin = [&](TensorId id) { return last && has_twin(graph, graph.nodes[uses.producer(id)]); };
  // If layers compute both operands of a sum, prefers the layer without a twin (has_twin()). If both layers or neither
  // layer has a twin, prefers the layer that executes later: when it executes, the operand of the other layer is
  // already computed.
  const auto is_better = [&](TensorId b, TensorId a) {
    return twin(a) == twin(b) ? uses.producer(b) > uses.producer(a) : twin(a);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& add = graph.nodes[i];
    const auto* binary = std::get_if<Binary>(&add.operation);
    if (!binary || binary->kind != Binary::Kind::add || add.activation.kind != Activation::Kind::none) continue;
    auto [a, b] = std::pair(add.inputs[0], add.inputs[1]);
    if (graph.tensors[a].shape != graph.tensors[b].shape) continue;
    if (!fits(a) || (fits(b) && is_better(b, a))) std::swap(a, b);
    if (!fits(a)) continue;
    const auto layer = uses.producer(a);
    graph.nodes[layer].residual = b;
    graph.nodes[layer].residual_last = last;
    graph.nodes[layer].output = add.output;
    uses.move(layer, i);
  }
  uses.sweep();
}

} // namespace

void merge_scales(Graph& graph) {
  for (auto& node : graph.nodes)
    if (const auto found = scaling(graph, node)) {
      node.operation = Activation{Activation::Kind::scale, found->a, found->b};
      node.inputs = {found->x};
    }
  DefUseEditor uses(graph);
  const auto scale_of = [&](Node* node) {
    auto* activation = node ? std::get_if<Activation>(&node->operation) : nullptr;
    return activation && activation->kind == Activation::Kind::scale ? activation : nullptr;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* second = scale_of(&graph.nodes[i]);
    const auto input = graph.nodes[i].inputs.empty() ? no_node : graph.nodes[i].inputs[0];
    auto* first = second ? scale_of(uses.plain_producer(static_cast<TensorId>(input))) : nullptr;
    if (!first || graph.tensors[input].type != ElementType::float32) continue;
    *first = {Activation::Kind::scale, first->a * second->a, first->b * second->a + second->b};
    uses.absorb(uses.producer(static_cast<TensorId>(input)), i);
  }
  uses.sweep();
}

namespace {

/// A match of alpha * a * b with float tensors a and b. No other node may read the product.
struct Multiplied {
  TensorId a, b;
  float alpha = 1;
};
std::optional<Multiplied> multiplied(const Graph& graph, DefUseEditor& uses, TensorId id) {
  const auto* node = uses.plain_producer(id);
  if (!node || graph.tensors[id].type != ElementType::float32) return std::nullopt;
  const auto* scale = std::get_if<Activation>(&node->operation);
  if (scale && scale->kind == Activation::Kind::scale && scale->b == 0) {
    auto found = multiplied(graph, uses, node->inputs[0]);
    if (found) found->alpha *= scale->a;
    return found;
  }
  const auto* pair = std::get_if<Binary>(&node->operation);
  if (!pair || pair->kind != Binary::Kind::multiply) return std::nullopt;
  return Multiplied{node->inputs[0], node->inputs[1]};
}

} // namespace

void fuse_multiply_adds(Graph& graph) {
  DefUseEditor uses(graph);
  for (auto& add : graph.nodes) {
    const auto* pair = std::get_if<Binary>(&add.operation);
    if (!pair || pair->kind != Binary::Kind::add || add.activation.kind != Activation::Kind::none) continue;
    for (const std::size_t i : {0U, 1U}) {
      const auto product = multiplied(graph, uses, add.inputs[i]);
      if (!product || graph.tensors[add.inputs[i]].shape != graph.tensors[add.output].shape) continue;
      add.inputs = {product->a, product->b, add.inputs[1 - i]};
      add.operation = MultiplyAdd{product->alpha};
      break;
    }
  }
  remove_unused(graph);
}

void fold_scales(Graph& graph) {
  DefUseEditor uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (!std::holds_alternative<ScaleShift>(node.operation)) continue;
    auto* conv = uses.plain_producer(node.inputs[0]);
    if (!conv || !std::holds_alternative<Conv>(conv->operation)) continue;
    scale_conv(graph, *conv, graph.tensors[node.inputs[1]].values, graph.tensors[node.inputs[2]].values);
    conv->activation = node.activation;
    uses.absorb(uses.producer(node.inputs[0]), i);
  }
  uses.sweep();
}

void fuse_residuals(Graph& graph) {
  fuse_sums(graph, false, [](DefUseEditor& uses, TensorId id) {
    const auto* producer = uses.plain_producer(id);
    return producer && takes_residual(*producer);
  });
}

void fuse_activations(Graph& graph) {
  DefUseEditor uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* activation = std::get_if<Activation>(&graph.nodes[i].operation);
    if (!activation || !is_common(activation->kind)) continue;
    const auto input = graph.nodes[i].inputs[0];
    const auto producer = uses.producer(input);
    if (is_integer(graph.tensors[input].type) || !uses.single_reader(input) || producer == no_node ||
        !takes_activation(graph.nodes[producer]) || graph.nodes[producer].activation.kind != Activation::Kind::none)
      continue;
    graph.nodes[producer].activation = *activation;
    uses.absorb(producer, i);
  }
  uses.sweep();
}

void fuse_late_residuals(Graph& graph) {
  fuse_sums(graph, true, [&](DefUseEditor& uses, TensorId id) {
    const auto producer = uses.producer(id);
    return producer != no_node && uses.single_reader(id) && !graph.nodes[producer].residual &&
           std::holds_alternative<Conv>(graph.nodes[producer].operation);
  });
}

void remove_unused(Graph& graph) {
  std::vector<bool> used(graph.tensors.size(), false);
  for (const auto output : graph.outputs) used[output] = true;
  std::vector<Node> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    auto& node = graph.nodes[i];
    if (!used[node.output]) continue;
    for (const auto input : node.inputs) used[input] = true;
    if (node.residual) used[*node.residual] = true;
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  for (TensorId id = 0; id < graph.tensors.size(); ++id)
    if (!used[id]) graph.tensors[id].values = {}, graph.tensors[id].integers = {};
}

void optimise(Graph& graph) {
  remove_unused(graph);
  fold_known_values(graph);
  fold_scales(graph);
  merge_swish(graph);
  merge_gelu(graph);
  merge_logit(graph);
  merge_normalisation(graph);
  fuse_scales_and_shifts(graph);
  fuse_biases(graph);
  sink_permutations(graph);
  fold_row_scales(graph);
  fold_layer_scales(graph);
  simplify_matmuls(graph);
  fuse_attention(graph);
  fuse_deformable_attention(graph);
  simplify_moves(graph);
  sink_reshapes(graph);
  fuse_residuals(graph);
  merge_scales(graph);
  fuse_multiply_adds(graph);
  fuse_activations(graph);
  fuse_late_residuals(graph);
  remove_unused(graph);
}

} // namespace rtexec::tasks
