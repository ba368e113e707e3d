#include "tasks/dnn/cuda/calls.hpp"

#include <algorithm>
#include <optional>

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
  const auto weights = operand(1).place;
  const bool fits = !recurrent.peepholes && weights.region == Place::Region::constant;
  const auto resident = fits ? resident_launch(r, context.storage()) : std::nullopt;
  if (resident) r.lanes = resident->lanes;
  const auto best = resident ? resident->launch : clustered(r, alone);
  auto call = kernel_call<A>(best, r,
                             {{&A::gates, gates.place},
                              {&A::weights, weights},
                              {&A::state, state.place},
                              {&A::cell, lstm ? operand(3).place : Place{}},
                              {&A::bias, recurrent.late_reset ? operand(3).place : Place{}},
                              {&A::peepholes, recurrent.peepholes ? operand(4).place : Place{}},
                              {&A::y, y.place}});
  if (best.cluster_z > 1) otherwise(call, cluster_architecture, alone);
  context.emit(std::move(call));
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
