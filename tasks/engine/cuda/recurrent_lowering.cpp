#include "tasks/engine/cuda/lowerings.hpp"
#include "tasks/engine/cuda/matmul_lowering.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

void lower(LoweringContext& context, const Node& node, const Recurrent& recurrent) {
  static_assert(static_cast<int>(Recurrent::Kind::lstm) == RecurrentArguments::lstm);
  const auto operand = [&](std::size_t input) { return context.row_major(node.inputs[input]); };
  const auto gates = operand(0), state = operand(2);
  const auto& to = context.shape(node.output);
  const auto y = context.tensors.allocate(to, dense_strides(to), context.storage());
  RecurrentArguments r;
  r.steps = narrow(gates.shape[0]);
  r.batch = narrow(gates.shape[1]);
  r.hidden = narrow(state.shape[1]);
  r.kind = static_cast<int>(recurrent.kind);
  r.reverse = recurrent.reverse;
  r.late_reset = recurrent.late_reset;
  r.clips = recurrent.clip.has_value();
  r.clip = recurrent.clip.value_or(0);
  std::ranges::transform(recurrent.activations, r.activations,
                         [&](const Activation& each) { return context.activation_of(each); });
  const bool lstm = recurrent.kind == Recurrent::Kind::lstm;
  using A = RecurrentArguments;
  const auto alone = launch_of(r, context.storage());
  const auto weights = operand(1).location;
  const bool fits = !recurrent.peepholes && weights.region == MemoryLocation::Region::constant;
  const auto persistent = fits ? persistent_launch(r, context.storage()) : std::nullopt;
  if (persistent) r.lanes = persistent->lanes;
  const auto best = persistent ? persistent->launch : clustered(r, alone);
  auto call = kernel_call<A>(best, r,
                             {{&A::gates, gates.location},
                              {&A::weights, weights},
                              {&A::state, state.location},
                              {&A::cell, lstm ? operand(3).location : MemoryLocation{}},
                              {&A::bias, recurrent.late_reset ? operand(3).location : MemoryLocation{}},
                              {&A::peepholes, recurrent.peepholes ? operand(4).location : MemoryLocation{}},
                              {&A::y, y.location}});
  if (best.cluster_z > 1) otherwise(call, cluster_architecture, alone);
  context.emit(std::move(call));
  context.finish(node, y);
}

// ---- fused multi-layer RNNs

namespace {

/// Adds a layer's weights to the constants in the layout of StackArguments, and returns their location.
MemoryLocation fused_weights(LoweringContext& context, const FusedLayer& layer, std::int64_t padded) {
  const auto& gemm = std::get<Gemm>(layer.product->operation);
  const auto& of_input = context.constant_of(layer.product->inputs[1], "the weights");
  const auto& of_state = context.constant_of(layer.recurrent->inputs[1], "the weights");
  const auto rows = context.shape(layer.product->output).back();
  const auto inputs = context.shape(layer.product->inputs[0]).back(),
             hidden = context.shape(layer.recurrent->output)[2];
  std::vector<float> weights(static_cast<std::size_t>(rows * 2 * padded), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto* to = weights.data() + row * 2 * padded;
    for (std::int64_t i = 0; i < inputs; ++i)
      to[i] = gemm.alpha * of_input[static_cast<std::size_t>(gemm.transpose_b ? row * inputs + i : i * rows + row)];
    std::copy_n(of_state.begin() + row * hidden, hidden, to + padded);
  }
  return context.tensors.stored(weights);
}

MemoryLocation fused_bias(LoweringContext& context, const FusedLayer& layer) {
  const auto hidden = context.shape(layer.recurrent->output)[2];
  auto bias = *row_bias(context, *layer.product, std::get<Gemm>(layer.product->operation));
  bias.resize(static_cast<std::size_t>(4 * hidden), 0.0F);
  if (std::get<Recurrent>(layer.recurrent->operation).kind == Recurrent::Kind::gru) {
    std::copy_n(bias.begin() + 2 * hidden, hidden, bias.begin() + 3 * hidden);
    std::ranges::copy(context.constant_of(layer.recurrent->inputs[3], "the bias"), bias.begin() + 2 * hidden);
  }
  return context.tensors.constant(bias);
}

void lower(LoweringContext& context, const std::vector<FusedLayer>& stack) {
  using A = StackArguments;
  const auto& recurrent = std::get<Recurrent>(stack[0].recurrent->operation);
  const auto& gates = context.shape(stack[0].recurrent->inputs[0]);
  A s;
  s.steps = narrow(gates[0]);
  s.batch = narrow(gates[1]);
  s.reverse = recurrent.reverse;
  s.layers = 0;
  for (const auto& layer : stack) {
    s.inputs[s.layers] = narrow(context.shape(layer.product->inputs[0]).back());
    s.hidden[s.layers++] = narrow(context.shape(layer.recurrent->output)[2]);
  }
  s.lanes = *lanes_of_stack(*std::max_element(s.inputs, s.inputs + s.layers),
                            *std::max_element(s.hidden, s.hidden + s.layers));
  std::vector<Operand<A>> operands{{&A::x, context.row_major(stack[0].product->inputs[0]).location}};
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const auto& node = *stack[i].recurrent;
    const auto& to = context.shape(node.output);
    const auto y = context.tensors.allocate(to, dense_strides(to), context.storage());
    operands.emplace_back(&A::weights, i, fused_weights(context, stack[i], std::int64_t{s.lanes} * A::columns));
    operands.emplace_back(&A::bias, i, fused_bias(context, stack[i]));
    operands.emplace_back(&A::state, i, context.row_major(node.inputs[2]).location);
    if (recurrent.kind == Recurrent::Kind::lstm)
      operands.emplace_back(&A::cell, i, context.row_major(node.inputs[3]).location);
    operands.emplace_back(&A::y, i, y.location);
    context.finish(node, y);
  }
  const auto together = stack_launch(s, static_cast<int>(recurrent.kind), context.storage());
  auto alone = together;
  alone.grid_z = alone.cluster_z = 1;
  auto call = kernel_call<A>(together, s, operands);
  otherwise(call, cluster_architecture, alone);
  context.emit(std::move(call));
}

} // namespace

bool lower_fused_rnn(LoweringContext& context, std::size_t number) {
  const auto& plan = context.stack_plan;
  if (const auto stack = plan.stacks.find(number); stack != plan.stacks.end()) lower(context, stack->second);
  return plan.has(number);
}

} // namespace rtexec::tasks::cuda
