#include "tasks/engine/cuda/lowerings.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace rtexec::tasks::cuda {

void lower(LoweringContext& context, const Node& node, const Concat& concat) {
  const auto y = context.exact_destination(node);
  std::int64_t at = 0;
  for (const auto input : node.inputs) {
    const auto& x = context.tensors.value(input);
    const auto part = under(y, x.shape, y.strides, at * y.strides[concat.axis]);
    if (x.location != part.location || !lie_alike(x.shape, x.strides, part.strides)) context.copy(x, part);
    at += x.shape[concat.axis];
  }
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const Reshape&) {
  const auto x = context.stored(node.inputs[0], context.tensors.storage_of(node.output));
  const auto& to = context.shape(node.output);
  if (const auto strides = reshape(x.shape, x.strides, to)) return context.finish(node, under(x, to, *strides));
  auto y = context.tensors.allocate(to, context.tensors.natural(node.output), x.storage);
  auto strides = reshape(to, y.strides, x.shape);
  if (!strides) {
    y = context.tensors.allocate(to, dense_strides(to), y.storage);
    strides = dense_strides(x.shape);
  }
  context.copy(x, under(y, x.shape, *strides));
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const tasks::View& view) {
  const auto of = context.tensors.storage_of(node.output);
  const auto x = context.stored(node.inputs[0], of);
  const auto& to = context.shape(node.output);
  if (const auto found = view_of(view, to, x.shape, x.strides))
    return context.finish(node, under(x, to, found->strides, found->offset));
  context.finish(node, under(context.row_major(node.inputs[0], of), to, view.strides, view.offset));
}

void lower(LoweringContext& context, const Node& node, const GatherConstant& gather) {
  const auto y = context.exact_destination(node);
  const auto x = context.stored(node.inputs[0], y.storage);
  std::vector<int> indices;
  for (const auto index : gather.indices) indices.push_back(narrow(index));
  GatherConstantArguments arguments;
  arguments.x_view = kernel_view(y.shape, x.strides);
  arguments.y_view = kernel_view(y.shape, y.strides);
  arguments.axis = narrow(static_cast<std::int64_t>(gather.axis));
  simplify(arguments);
  using A = GatherConstantArguments;
  context.emit<A>(arguments,
                  {{&A::x, x.location}, {&A::indices, context.tensors.constant(indices)}, {&A::y, y.location}},
                  y.storage);
  context.finish(node, y);
}

namespace {

/// Returns arguments that contain the fill value of the Pad operation, encoded for `storage`.
PadArguments filling(const Pad& operation, Storage storage) {
  PadArguments arguments;
  arguments.value = operation.value;
  if (!holds_integers(storage)) return arguments;
  arguments.wide_value = operation.integer;
  const auto bits = static_cast<std::uint64_t>(operation.integer);
  switch (size_of(storage)) {
  case 1:
    arguments.value = static_cast<float>(static_cast<std::int8_t>(storage == Storage::u8 ? bits ^ 0x80U : bits));
    break;
  case 2: arguments.value = static_cast<float>(static_cast<std::uint16_t>(bits)); break;
  default: arguments.value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  return arguments;
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Pad& operation) {
  const auto y = context.exact_destination(node);
  const auto x = context.stored(node.inputs[0], y.storage);
  context.pad(x, y, operation.before, filling(operation, y.storage));
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
