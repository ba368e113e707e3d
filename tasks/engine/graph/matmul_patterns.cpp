#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rtexec::tasks {
namespace {

/// True if the View swaps the last two dimensions and moves no other dimension.
bool swaps_matrices(const View& view, const Shape& from, const Shape& to) {
  if (from.size() < 2 || from.size() != to.size() || view.offset != 0) return false;
  auto strides = dense_strides(from);
  auto shape = from;
  for (auto* each : {&strides, &shape}) std::swap(each->back(), (*each)[each->size() - 2]);
  // If the last dimension of `from` has size 1, both swapped dimensions have the same stride. The strides alone then do
  // not show the swap, so the shape is compared too.
  return view.strides == strides && shape == to;
}

/// True if the factor is so close to 1 that weights in half precision keep their accuracy when they are multiplied by
/// it.
bool is_mild(float factor) { return std::abs(factor) <= 64 && std::abs(factor) >= 1.0F / 64; }

/// Returns the Gemm or Conv whose result `id` holds, possibly after Reshapes or Views. Returns nullptr if there is no
/// such layer or its constants have another reader.
Node* layer_behind(Patterns& p, TensorId id) {
  const auto is_float = [&](TensorId x) { return p.graph.tensors[x].type == ElementType::float32; };
  const auto own_constant = [&](TensorId x) {
    return p.is_constant(x) && !p.graph.tensors[x].quantized && p.uses.single_reader(x);
  };
  auto* node = is_float(id) ? p.uses.plain_producer(id) : nullptr;
  while (node && (std::holds_alternative<Reshape>(node->operation) || std::holds_alternative<View>(node->operation)))
    node = is_float(node->inputs[0]) ? p.uses.plain_producer(node->inputs[0]) : nullptr;
  const bool computes =
      node && (std::holds_alternative<Gemm>(node->operation) || std::holds_alternative<Conv>(node->operation));
  return computes && std::all_of(node->inputs.begin() + 1, node->inputs.end(), own_constant) ? node : nullptr;
}

void scale_constants(Graph& graph, const Node& layer, double factor) {
  for (std::size_t i = 1; i < layer.inputs.size(); ++i)
    for (auto& value : graph.tensors[layer.inputs[i]].values)
      value = static_cast<float>(factor * static_cast<double>(value));
}

} // namespace

void fold_layer_scales(Graph& graph) {
  Patterns p(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (node.residual || node.activation.kind != Function::none ||
        graph.tensors[node.output].type != ElementType::float32)
      continue;
    const auto scaled = p.scaled(node);
    auto* layer = scaled && is_mild(scaled->factor) ? layer_behind(p, scaled->x) : nullptr;
    if (!layer) continue;
    scale_constants(graph, *layer, scaled->factor);
    p.uses.absorb(p.uses.producer(scaled->x), i);
  }
  p.uses.sweep();
  remove_unused(graph);
}

void fold_row_scales(Graph& graph) {
  DefUseEditor uses(graph);
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
        tensor.quantized = nullptr;
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

void fuse_biases(Graph& graph) {
  DefUseEditor uses(graph);
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

void simplify_matmuls(Graph& graph) {
  Patterns p(graph);
  for (auto& node : graph.nodes) {
    auto* product = std::get_if<MatMul>(&node.operation);
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

} // namespace rtexec::tasks
