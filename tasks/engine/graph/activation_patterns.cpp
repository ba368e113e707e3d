#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <algorithm>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

/// A match of Gelu. x is the input of 0.5 x (1 + erf(x / sqrt 2)), or of the approximation that has tanh(sqrt(2 / pi)
/// (x + 0.044715 x^3)) in place of erf(x / sqrt 2).
struct Gelu {
  TensorId x;
  Function kind;
};

constexpr double root_of_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

bool is_cube(const Patterns& p, TensorId id, TensorId of) {
  if (const auto* node = p.binary(id, Pair::power)) return node->inputs[0] == of && p.number(node->inputs[1]) == 3.0F;
  const auto product = p.product(id);
  return product.factor == 1 && product.of == std::vector(3, of);
}

bool is_bent(const Patterns& p, TensorId id, TensorId x) {
  const auto inside = p.unscaled(id);
  const auto* sum = p.binary(inside.x, Pair::add);
  if (!sum || !stands_for(inside.factor, root_of_2_over_pi)) return false;
  for (const std::size_t i : {0U, 1U}) {
    const auto other = p.unscaled(sum->inputs[1 - i]);
    if (sum->inputs[i] == x && stands_for(other.factor, 0.044715) && is_cube(p, other.x, x)) return true;
  }
  return false;
}

std::optional<Gelu> gelu_of(const Patterns& p, TensorId y) {
  const auto product = p.product(y);
  if (product.of.size() != 2 || !stands_for(product.factor, 0.5)) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto x = product.of[i];
    float added = 0;
    const auto curve = p.plus(product.of[1 - i], &added);
    if (!curve || added != 1 || p.shape(x) != p.shape(y)) continue;
    if (const auto* erf = p.activation(*curve, Function::erf)) {
      const auto inside = p.unscaled(erf->inputs[0]);
      if (inside.x == x && stands_for(inside.factor, 1 / std::numbers::sqrt2)) return Gelu{x, Function::gelu};
    } else if (const auto* tanh = p.activation(*curve, Function::tanh)) {
      if (is_bent(p, tanh->inputs[0], x)) return Gelu{x, Function::gelu_tanh};
    }
  }
  return std::nullopt;
}

/// A match of log(p / (1 - p)), for a clipped probability p. Numerator and denominator may also be clipped to values of
/// at least `least`.
struct Logit {
  TensorId p;
  float least;
};

std::optional<Logit> logit_of(const Patterns& p, const Node& node) {
  const auto* log = std::get_if<Activation>(&node.operation);
  const auto* quotient = log && log->kind == Function::logarithm ? p.binary(node.inputs[0], Pair::divide) : nullptr;
  if (!quotient) return std::nullopt;
  const auto clipped = [&](TensorId id) {
    const auto* clip = p.activation(id, Function::clip);
    return clip ? &std::get<Activation>(clip->operation) : nullptr;
  };
  auto [above, below] = std::pair(quotient->inputs[0], quotient->inputs[1]);
  float least = 0;
  if (const auto* bound = clipped(below)) {
    const auto* other = clipped(above);
    if (!other || other->a != bound->a || std::min(other->b, bound->b) < 1 || bound->a < 0) return std::nullopt;
    least = bound->a;
    below = p.writer(below)->inputs[0];
    above = p.writer(above)->inputs[0];
  }
  const auto* rest = p.binary(below, Pair::subtract);
  const auto* range = clipped(above);
  if (!rest || p.number(rest->inputs[0]) != 1.0F || rest->inputs[1] != above || !range || range->a < 0 || range->b > 1)
    return std::nullopt;
  return Logit{above, least};
}

} // namespace

void merge_swish(Graph& graph) {
  DefUseEditor uses(graph);
  const auto gate_of = [&](TensorId x, TensorId gate) {
    const auto producer = uses.producer(gate);
    if (producer == no_node || !uses.single_reader(gate) || graph.nodes[producer].inputs[0] != x) return no_node;
    const auto* activation = std::get_if<Activation>(&graph.nodes[producer].operation);
    return activation && activation->kind == Activation::Kind::sigmoid ? producer : no_node;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto& product = graph.nodes[i];
    const auto* binary = std::get_if<Binary>(&product.operation);
    if (!binary || binary->kind != Binary::Kind::multiply || product.activation.kind != Activation::Kind::none)
      continue;
    auto [x, other] = std::pair(product.inputs[0], product.inputs[1]);
    if (gate_of(x, other) == no_node) std::swap(x, other);
    const auto gate = gate_of(x, other);
    if (gate == no_node) continue;
    product.operation = Activation{Activation::Kind::swish};
    product.inputs = {x};
    uses.remove(gate);
  }
  uses.sweep();
}

void merge_logit(Graph& graph) {
  Patterns p(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto logit = logit_of(p, graph.nodes[i])) {
      const auto* range = p.activation(logit->p, Function::clip);
      const auto& bounds = std::get<Activation>(range->operation);
      const bool whole = bounds.a == 0 && bounds.b == 1; // the Logit operation clips p to [0, 1] itself
      p.replace(i, Activation{Function::logit, logit->least, 0}, {whole ? range->inputs[0] : logit->p});
    }
  remove_unused(graph);
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

} // namespace rtexec::tasks
