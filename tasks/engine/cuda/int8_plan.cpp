#include "tasks/engine/cuda/int8_plan.hpp"

#include "tasks/engine/graph/uses.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::cuda {
namespace {

constexpr std::int64_t max_terms = 1 << 16; // sums of at most this many products fit into 32 bits

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph), links_(graph) {
    plan_.elsewhere.resize(graph.nodes.size(), false);
  }

  Int8Plan plan() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      auto product = product_of(node);
      if (!product) product = integer_product_of(node);
      if (product) plan_.products.emplace(i, std::move(*product));
      else if (auto step = step_of(node)) plan_.steps.emplace(i, std::move(*step));
      else continue;
      plan_.results.emplace(i, result_of(node));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (links_.readers[graph_.nodes[i].output] == 0) plan_.elsewhere[i] = true;
    return std::move(plan_);
  }

 private:
  /// Removes one reader of tensor `id`. If no reader remains, marks the node that computes `id` as needing no call, and
  /// releases that node's inputs.
  void release(TensorId id) {
    if (--links_.readers[id] > 0 || links_.producer[id] == no_node) return;
    plan_.elsewhere[links_.producer[id]] = true;
    for (const auto input : links_.writer(graph_, id)->inputs) release(input);
  }

  [[nodiscard]] ElementType type(TensorId id) const { return graph_.tensors[id].type; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }

  [[nodiscard]] std::optional<Dequantised> dequantised(TensorId id) const {
    const auto* node = links_.writer(graph_, id);
    const auto* from = node ? std::get_if<Dequantise>(&node->operation) : nullptr;
    if (!from || !is_small(type(node->inputs[0]))) return std::nullopt;
    return Dequantised{node->inputs[0], *from, {}};
  }
  /// Registers that a layer reads the integers of `from` instead of tensor `id`, and returns `from`.
  Dequantised taken(TensorId id, Dequantised from) {
    ++links_.readers[from.x];
    if (from.zero) ++links_.readers[*from.zero];
    release(id);
    return from;
  }
  Dequantised taken(TensorId id) { return taken(id, *dequantised(id)); }

  /// Returns the 8-bit tensor from which a Cast makes `id`, or nullopt.
  [[nodiscard]] std::optional<TensorId> widened(TensorId id) const {
    const auto* node = links_.writer(graph_, id);
    if (!node || !std::holds_alternative<Cast>(node->operation) || !is_small(type(node->inputs[0])))
      return std::nullopt;
    return node->inputs[0];
  }

  /// If `id` is an 8-bit tensor after conversion to a wider type, returns the 8-bit tensor. A zero point may have been
  /// subtracted in `id`; the result then contains the zero point. Otherwise returns nullopt.
  [[nodiscard]] std::optional<Dequantised> centred(TensorId id) const {
    if (const auto x = widened(id)) return Dequantised{*x, {}, {}};
    const auto* node = links_.writer(graph_, id);
    const auto* binary = node ? std::get_if<Binary>(&node->operation) : nullptr;
    if (!binary || binary->kind != Binary::Kind::subtract || element_count(shape(node->inputs[1])) != 1)
      return std::nullopt;
    const auto x = widened(node->inputs[0]);
    if (!x) return std::nullopt;
    const auto& zero = graph_.tensors[node->inputs[1]];
    if (!zero.integers.empty()) return Dequantised{*x, {1, static_cast<float>(zero.integers.front())}, {}};
    const auto computed = widened(node->inputs[1]);
    return computed && type(*computed) == type(*x) ? std::optional(Dequantised{*x, {}, computed}) : std::nullopt;
  }

  std::optional<Int8Product> integer_product_of(const Node& node) {
    const bool is_conv = std::holds_alternative<IntegerConv>(node.operation);
    if (!is_conv && !std::holds_alternative<IntegerMatMul>(node.operation)) return std::nullopt;
    const auto x = centred(node.inputs[0]);
    const auto& weights = graph_.tensors[node.inputs[1]];
    const auto fits = [](std::int64_t value) { return value >= -128 && value <= 127; };
    if (!x || weights.integers.empty() || !std::ranges::all_of(weights.integers, fits) ||
        (!is_conv && weights.shape.size() != 2))
      return std::nullopt;
    const auto channels = is_conv ? weights.shape[0] : weights.shape[1];
    if (element_count(weights.shape) / channels > max_terms) return std::nullopt;
    const QuantizedConstant numbers{{weights.integers.begin(), weights.integers.end()}, {1.0F}, 0};
    return Int8Product{taken(node.inputs[0], *x), std::make_shared<QuantizedConstant>(numbers), {}, {}};
  }

  std::optional<Int8Product> product_of(const Node& node) {
    const bool is_conv = std::holds_alternative<Conv>(node.operation);
    const auto* gemm = std::get_if<Gemm>(&node.operation);
    if ((!is_conv && !gemm) || !dequantised(node.inputs[0])) return std::nullopt;
    const auto& weights = graph_.tensors[node.inputs[1]];
    const auto channels = shape(node.output)[is_conv ? 1 : shape(node.output).size() - 1];
    const bool takes = !gemm || (!gemm->transpose_a && adds_a_row(graph_, node));
    const std::size_t axis = gemm && !gemm->transpose_b ? 1 : 0;
    if (!weights.quantized || !takes || element_count(weights.shape) / channels > max_terms) return std::nullopt;
    const auto& scales = weights.quantized->scales;
    if (scales.size() != 1 && weights.quantized->axis != axis) return std::nullopt;
    Int8Product product{taken(node.inputs[0]), weights.quantized, {}, {}};
    const float scale = product.x.from.scale * (gemm ? gemm->alpha : 1.0F);
    for (std::int64_t c = 0; c < channels; ++c)
      product.factors.push_back(scale * scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    if (node.residual && dequantised(*node.residual)) product.residual = taken(*node.residual);
    return product;
  }

  std::optional<Int8Step> step_of(const Node& node) {
    const auto* binary = std::get_if<Binary>(&node.operation);
    const bool adds = binary && binary->kind == Binary::Kind::add;
    if (!adds && !std::holds_alternative<Activation>(node.operation)) return std::nullopt;
    const auto is_bytes = [&](TensorId id) { return dequantised(id).has_value(); };
    if (is_integer(type(node.output)) || !std::ranges::all_of(node.inputs, is_bytes)) return std::nullopt;
    Int8Step step;
    for (const auto input : node.inputs) step.inputs.push_back(taken(input));
    return step;
  }

  Int8Result result_of(const Node& node) {
    if (links_.readers[node.output] != 1) return {node.output, {}};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& reader = graph_.nodes[i];
      const auto* quantise = std::get_if<Quantise>(&reader.operation);
      if (!quantise || reader.inputs[0] != node.output || !is_small(type(reader.output))) continue;
      plan_.elsewhere[i] = true;
      return {reader.output, *quantise};
    }
    return {node.output, {}};
  }

  const Graph& graph_;
  DefUse links_; // `readers` does not count layers that read the 8-bit integers instead of the tensor
  Int8Plan plan_;
};

} // namespace

Int8Plan plan_int8(const Graph& graph) { return Planner(graph).plan(); }

} // namespace rtexec::tasks::cuda
