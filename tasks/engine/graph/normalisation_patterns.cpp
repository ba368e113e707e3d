#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <optional>
#include <utility>

namespace rtexec::tasks {
namespace {

/// Returns the Reduce if `node` is a mean over the last dimensions that keeps the number of dimensions. Otherwise
/// returns nullptr.
const Reduce* mean_over(const Patterns& p, const Node* node) {
  const auto* mean = node ? std::get_if<Reduce>(&node->operation) : nullptr;
  const bool fits = mean && mean->kind == Reduce::Kind::mean && mean->inner == 1 &&
                    p.shape(node->output).size() == p.shape(node->inputs[0]).size();
  return fits ? mean : nullptr;
}

/// Matches y = d / sqrt(mean(d d) + epsilon), also if y is written as d times the reciprocal of the root.
std::optional<std::pair<TensorId, LayerNorm>> divided_by_deviation(const Patterns& p, const Node& y) {
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
    return std::pair(d, LayerNorm{mean->outer, mean->count, false, epsilon});
  }
  return std::nullopt;
}

/// Returns x if `d` is x - mean(x) and the mean is over the same rows as in `like`. Otherwise returns nullopt.
std::optional<TensorId> less_its_mean(const Patterns& p, TensorId d, const LayerNorm& like) {
  const auto* difference = p.binary(d, Pair::subtract);
  const auto* writer = difference ? p.writer(difference->inputs[1]) : nullptr;
  const auto* mean = mean_over(p, writer);
  if (!mean || writer->inputs[0] != difference->inputs[0] || mean->count != like.count || mean->outer != like.outer)
    return std::nullopt;
  return difference->inputs[0];
}

/// True if `constant` can be broadcast to `shape` as in NumPy.
bool fits_into(const Shape& constant, const Shape& shape) {
  if (constant.size() > shape.size()) return false;
  for (std::size_t d = 0; d < constant.size(); ++d) {
    const auto extent = constant[constant.size() - 1 - d];
    if (extent != 1 && extent != shape[shape.size() - 1 - d]) return false;
  }
  return true;
}

} // namespace

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
    DefUseEditor uses(graph);
    const std::size_t inputs = kind == Pair::multiply ? 1 : 2;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto& node = graph.nodes[i];
      const auto* pair = std::get_if<Binary>(&node.operation);
      if (!pair || pair->kind != kind || node.activation.kind != Function::none) continue;
      for (const std::size_t x : {0U, 1U}) {
        auto* normalise = uses.plain_producer(node.inputs[x]);
        const auto& constant = graph.tensors[node.inputs[1 - x]];
        if (!normalise || !std::holds_alternative<LayerNorm>(normalise->operation) ||
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

} // namespace rtexec::tasks
