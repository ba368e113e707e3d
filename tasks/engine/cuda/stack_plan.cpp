#include "tasks/engine/cuda/stack_plan.hpp"

#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/strides.hpp"
#include "tasks/engine/graph/uses.hpp"

#include <algorithm>
#include <optional>
#include <variant>

namespace rtexec::tasks::cuda {
namespace {

using Stack = std::vector<FusedLayer>;

bool is(const Activation& activation, Activation::Kind kind) { return activation.kind == kind; }

/// True if the kernel of fused RNNs supports the layer's kind, activations and options. Does not check shapes.
bool is_usual(const Recurrent& layer) {
  using enum Activation::Kind;
  const auto& functions = layer.activations;
  if (layer.peepholes || layer.lengths || layer.clip) return false;
  switch (layer.kind) {
  case Recurrent::Kind::simple: return is(functions[0], tanh);
  case Recurrent::Kind::gru: return layer.late_reset && is(functions[0], sigmoid) && is(functions[1], tanh);
  case Recurrent::Kind::lstm: break;
  }
  return is(functions[0], sigmoid) && is(functions[1], tanh) && is(functions[2], tanh);
}

class Planner {
 public:
  Planner(const Graph& graph, const Int8Plan& int8) : graph_(graph), int8_(int8), links_(graph) {
    plan_.elsewhere.resize(graph.nodes.size(), false);
  }

  StackPlan plan() {
    Stack stack;
    for (const auto& node : graph_.nodes) {
      const auto layer = layer_of(node);
      if (!layer) continue;
      if (!continues(stack, *layer)) finish(stack);
      stack.push_back(*layer);
    }
    finish(stack);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }
  [[nodiscard]] const Node* writer(TensorId id) const { return links_.writer(graph_, id); }
  [[nodiscard]] bool constant(TensorId id) const { return graph_.tensors[id].constant(); }
  [[nodiscard]] std::size_t number(const Node& node) const {
    return static_cast<std::size_t>(&node - graph_.nodes.data());
  }

  /// Returns the tensor that `id` is derived from by reshapes and by dense views with offset 0. The first elements of
  /// that tensor are the elements of `id`, in the same order.
  [[nodiscard]] TensorId source(TensorId id) const {
    for (const auto* node = writer(id); node && is_beginning(*node); node = writer(id)) id = node->inputs[0];
    return id;
  }
  [[nodiscard]] bool is_beginning(const Node& node) const {
    const auto* view = std::get_if<tasks::View>(&node.operation);
    if (!view) return std::holds_alternative<Reshape>(node.operation);
    const auto& to = shape(node.output);
    return view->offset == 0 && lie_alike(to, view->strides, dense_strides(to));
  }

  /// Returns a Recurrent node with the product that computes its gates, or nullopt if the kernel of fused RNNs does not
  /// support the node. Does not check shapes.
  [[nodiscard]] std::optional<FusedLayer> layer_of(const Node& node) const {
    const auto* recurrent = std::get_if<Recurrent>(&node.operation);
    if (!recurrent || !is_usual(*recurrent) || !constant(node.inputs[1])) return std::nullopt;
    if (recurrent->kind == Recurrent::Kind::gru && !constant(node.inputs[3])) return std::nullopt;
    auto gates = node.inputs[0];
    for (const auto* from = writer(gates); links_.readers[gates] == 1 && from; from = writer(gates)) {
      if (is_product(*from)) return FusedLayer{from, &node};
      if (!std::holds_alternative<Reshape>(from->operation)) break;
      gates = from->inputs[0];
    }
    return std::nullopt;
  }
  [[nodiscard]] bool is_product(const Node& node) const {
    const auto* gemm = std::get_if<Gemm>(&node.operation);
    if (!gemm || gemm->transpose_a || node.residual || node.activation.kind != Activation::Kind::none ||
        int8_.has(number(node)))
      return false;
    return constant(node.inputs[1]) && adds_a_row(graph_, node);
  }

  [[nodiscard]] bool continues(const Stack& stack, const FusedLayer& layer) const {
    if (stack.empty()) return true;
    const auto& above = *stack.back().recurrent;
    const auto &own = std::get<Recurrent>(layer.recurrent->operation), &other = std::get<Recurrent>(above.operation);
    const auto &gates = shape(layer.recurrent->inputs[0]), &gates_above = shape(above.inputs[0]);
    const auto input = layer.product->inputs[0];
    auto longer = stack;
    longer.push_back(layer);
    return own.kind == other.kind && own.reverse == other.reverse && gates[0] == gates_above[0] &&
           gates[1] == gates_above[1] && source(input) == above.output &&
           shape(input).back() == shape(above.output).back() && begins_before(*layer.recurrent, *stack[0].recurrent) &&
           fits(longer);
  }
  /// True if the initial state of `layer` is known, or computed by a node before `first`.
  [[nodiscard]] bool begins_before(const Node& layer, const Node& first) const {
    const auto last = std::get<Recurrent>(layer.operation).kind == Recurrent::Kind::lstm ? 3U : 2U;
    return std::all_of(layer.inputs.begin() + 2, layer.inputs.begin() + last + 1,
                       [&](TensorId id) { return !writer(id) || links_.producer[id] < number(first); });
  }
  [[nodiscard]] bool fits(const Stack& stack) const {
    std::int64_t inputs = 0, hidden = 0;
    for (const auto& layer : stack) {
      inputs = std::max(inputs, shape(layer.product->inputs[0]).back());
      hidden = std::max(hidden, shape(layer.recurrent->output).back());
    }
    return stack.size() <= StackArguments::max_layers &&
           lanes_of_stack(static_cast<int>(inputs), static_cast<int>(hidden));
  }

  /// Adds the stack to the plan, and empties `stack`. A stack of a single layer is added only if it has few time steps.
  /// With many steps, the products with the inputs would take too long, because the fused kernel computes them step by
  /// step.
  void finish(Stack& stack) {
    constexpr std::int64_t few_steps = 32;
    if (stack.size() > 1 || (!stack.empty() && fits(stack) && steps(stack[0]) <= few_steps)) {
      for (const auto& layer : stack) compute_elsewhere(layer);
      const auto first = number(*stack[0].recurrent);
      plan_.elsewhere[first] = false;
      plan_.stacks.emplace(first, std::move(stack));
    }
    stack.clear();
  }
  [[nodiscard]] std::int64_t steps(const FusedLayer& layer) const { return shape(layer.recurrent->inputs[0])[0]; }
  void compute_elsewhere(const FusedLayer& layer) {
    for (const auto* node = layer.recurrent; node != layer.product; node = writer(node->inputs[0]))
      plan_.elsewhere[number(*node)] = true;
    plan_.elsewhere[number(*layer.product)] = true;
  }

  const Graph& graph_;
  const Int8Plan& int8_;
  DefUse links_;
  StackPlan plan_;
};

} // namespace

StackPlan plan_stacks(const Graph& graph, const Int8Plan& int8) { return Planner(graph, int8).plan(); }

} // namespace rtexec::tasks::cuda
