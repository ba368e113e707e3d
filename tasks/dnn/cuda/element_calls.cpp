#include "tasks/dnn/cuda/calls.hpp"

namespace rtexec::tasks::cuda {
namespace {

void scale_shift(LoweringContext& context, const Value& x, const Image& from, const Place& scale, const Place& shift,
                 const Value& y, const Image& to, const Activation& activation) {
  ScaleShiftArguments arguments;
  arguments.pixels = from.batch * from.height * from.width;
  arguments.channels = narrow(from.channels);
  arguments.x_stride = narrow(from.pixel);
  arguments.y_stride = narrow(to.pixel);
  arguments.activation = context.activation_of(activation);
  using A = ScaleShiftArguments;
  context.emit<A>(arguments, {{&A::x, x.place}, {&A::scale, scale}, {&A::shift, shift}, {&A::y, y.place}});
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Activation& activation) {
  const auto x = context.numbers(node.inputs[0]);
  const auto image = context.image_of(x);
  const auto y = context.overwriting({node.inputs.data(), 1});
  const auto y_image = context.image_of(y);
  if (image && y_image && x.storage == context.storage() && y.storage == context.storage())
    scale_shift(context, x, *image, {}, {}, y, *y_image, activation);
  else context.copy(x, y, activation);
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

void lower(LoweringContext& context, const Node& node, const Binary& binary) {
  static_assert(static_cast<int>(Binary::Kind::less_or_equal) == BinaryArguments::less_or_equal);
  const auto in = context.computed_in(node);
  const auto a = context.stored(node.inputs[0], in), b = context.stored(node.inputs[1], in);
  const auto to = context.overwriting(node.inputs);
  const auto y = context.computed(to, in);
  BinaryArguments arguments;
  arguments.a_view = kernel_view(y.shape, broadcast(a.shape, a.strides, y.shape));
  arguments.b_view = kernel_view(y.shape, broadcast(b.shape, b.strides, y.shape));
  arguments.y_view = kernel_view(y.shape, y.strides);
  arguments.kind = static_cast<int>(binary.kind);
  arguments.activation = context.activation_of(node.activation);
  simplify(arguments);
  using A = BinaryArguments;
  context.emit<A>(arguments, {{&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}}, in);
  context.finish(node, to, y);
}

namespace {

/// Of three operands. `arguments`: what is done with them.
void ternary(LoweringContext& context, const Node& node, TernaryArguments arguments) {
  const auto in = context.computed_in(node);
  const auto a = context.stored(node.inputs[0], in), b = context.stored(node.inputs[1], in),
             c = context.stored(node.inputs[2], in);
  const auto to = context.overwriting(node.inputs);
  const auto y = context.computed(to, in);
  const auto view = [&](const Value& x) { return kernel_view(y.shape, broadcast(x.shape, x.strides, y.shape)); };
  arguments.a_view = view(a);
  arguments.b_view = view(b);
  arguments.c_view = view(c);
  arguments.y_view = kernel_view(y.shape, y.strides);
  simplify(arguments);
  using A = TernaryArguments;
  context.emit<A>(arguments, {{&A::a, a.place}, {&A::b, b.place}, {&A::c, c.place}, {&A::y, y.place}}, in);
  context.finish(node, to, y);
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Select&) { ternary(context, node, {}); }

void lower(LoweringContext& context, const Node& node, const MultiplyAdd& operation) {
  TernaryArguments arguments;
  arguments.kind = TernaryArguments::multiply_add;
  arguments.alpha = operation.alpha;
  arguments.activation = context.activation_of(node.activation);
  ternary(context, node, arguments);
}

} // namespace rtexec::tasks::cuda
