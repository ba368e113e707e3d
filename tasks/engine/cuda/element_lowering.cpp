#include "tasks/engine/cuda/lowerings.hpp"

namespace rtexec::tasks::cuda {
namespace {

void scale_shift(LoweringContext& context, const PlacedTensor& x, const Image& from, const MemoryLocation& scale,
                 const MemoryLocation& shift, const PlacedTensor& y, const Image& to, const Activation& activation) {
  ScaleShiftArguments arguments;
  arguments.pixels = from.batch * from.height * from.width;
  arguments.channels = narrow(from.channels);
  arguments.x_stride = narrow(from.pixel);
  arguments.y_stride = narrow(to.pixel);
  arguments.activation = context.activation_of(activation);
  using A = ScaleShiftArguments;
  context.emit<A>(arguments, {{&A::x, x.location}, {&A::scale, scale}, {&A::shift, shift}, {&A::y, y.location}});
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Activation& activation) {
  const auto x = context.tensors.value(node.inputs[0]);
  const auto y = context.overwriting({node.inputs.data(), 1});
  const auto image = context.image_of(x), y_image = context.image_of(y);
  if (holds_integers(y.storage)) context.cast(x, y, activation);
  else if (image && y_image && x.storage == context.storage())
    scale_shift(context, x, *image, {}, {}, y, *y_image, activation);
  else context.copy(x, y, activation);
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const Cast&) {
  const auto x = context.tensors.value(node.inputs[0]);
  if (is_small(context.graph.tensors[node.inputs[0]].type) && !is_integer(context.graph.tensors[node.output].type))
    return lower(context, node, Dequantise{}); // this kernel converts 16 elements at once
  const auto y = context.exact_destination(node);
  context.cast(x, y);
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const ScaleShift&) {
  const auto x = context.pixels(node.inputs[0]);
  const auto& scale = context.constant_of(node.inputs[1], "the scale");
  const auto& shift = context.constant_of(node.inputs[2], "the shift");
  const auto y = context.as_pixels(context.overwriting({node.inputs.data(), 1}));
  scale_shift(context, x.value, x.image, context.tensors.constant(scale), context.tensors.constant(shift), y.value,
              y.image, node.activation);
  context.finish(node, y.value);
}

namespace {

template <class Arguments>
void set_views(Arguments& arguments, const PlacedTensor& a, const PlacedTensor& b, const PlacedTensor& y) {
  arguments.a_view = kernel_view(y.shape, broadcast(a.shape, a.strides, y.shape));
  arguments.b_view = kernel_view(y.shape, broadcast(b.shape, b.strides, y.shape));
  arguments.y_view = kernel_view(y.shape, y.strides);
}
template <class Arguments>
void set_views(Arguments& arguments, const PlacedTensor& a, const PlacedTensor& b, const PlacedTensor& c,
               const PlacedTensor& y) {
  set_views(arguments, a, b, y);
  arguments.c_view = kernel_view(y.shape, broadcast(c.shape, c.strides, y.shape));
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Binary& binary) {
  static_assert(static_cast<int>(Binary::Kind::shift_right) == BinaryArguments::shift_right);
  const auto in = context.tensors.storage_of(node.inputs[0]);
  const auto a = context.stored(node.inputs[0], in), b = context.stored(node.inputs[1], in);
  const auto y = context.overwriting(node.inputs);
  BinaryArguments arguments;
  set_views(arguments, a, b, y);
  arguments.kind = static_cast<int>(binary.kind);
  arguments.activation = context.activation_of(node.activation);
  arguments.storage = in;
  simplify(arguments);
  const auto launch = holds_integers(y.storage) ? typed_launch(arguments) : launch_of(arguments, in);
  using A = BinaryArguments;
  context.emit(kernel_call<A>(launch, arguments, {{&A::a, a.location}, {&A::b, b.location}, {&A::y, y.location}}));
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const Where&) {
  const auto of = context.tensors.storage_of(node.output);
  const auto a = context.tensors.value(node.inputs[0]), b = context.stored(node.inputs[1], of),
             c = context.stored(node.inputs[2], of);
  const auto y = context.overwriting(node.inputs);
  WhereArguments arguments;
  set_views(arguments, a, b, c, y);
  arguments.width = static_cast<int>(size_of(of));
  simplify(arguments);
  using A = WhereArguments;
  context.emit(kernel_call<A>(launch_of(arguments), arguments,
                              {{&A::a, a.location}, {&A::b, b.location}, {&A::c, c.location}, {&A::y, y.location}}));
  context.finish(node, y);
}

void lower(LoweringContext& context, const Node& node, const MultiplyAdd& operation) {
  const auto in = context.storage();
  const auto a = context.stored(node.inputs[0], in), b = context.stored(node.inputs[1], in),
             c = context.stored(node.inputs[2], in);
  const auto y = context.overwriting(node.inputs);
  MultiplyAddArguments arguments;
  set_views(arguments, a, b, c, y);
  arguments.alpha = operation.alpha;
  arguments.activation = context.activation_of(node.activation);
  simplify(arguments);
  using A = MultiplyAddArguments;
  context.emit<A>(arguments, {{&A::a, a.location}, {&A::b, b.location}, {&A::c, c.location}, {&A::y, y.location}});
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
