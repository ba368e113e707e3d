#include "tasks/engine/cuda/lowerings.hpp"
#include "tasks/engine/cuda/matmul_lowering.hpp"
#include "tasks/engine/cuda/int8_weights.hpp"

#include <cmath>
#include <tuple>

namespace rtexec::tasks::cuda {
namespace {

Pixels bytes(LoweringContext& context, TensorId id, const Shape& flat) {
  return context.flat_pixels(id, flat, context.tensors.storage_of(id), true);
}

const Conv* conv_of(const Node& node) {
  const auto* integers = std::get_if<IntegerConv>(&node.operation);
  return integers ? &integers->conv : std::get_if<Conv>(&node.operation);
}

/// Returns the shape in which the node's kernel sees an operand of shape `shape`: an image for a convolution, a matrix
/// for a product.
Shape flat(const Node& node, const Shape& shape) {
  if (conv_of(node)) return shape;
  return {element_count(shape) / shape.back(), shape.back()};
}

std::vector<float> bias_of(const LoweringContext& context, const Node& node) {
  if (const auto* gemm = std::get_if<Gemm>(&node.operation)) return *row_bias(context, node, *gemm);
  return node.inputs.size() > 2 ? context.constant_of(node.inputs[2], "the bias") : std::vector<float>{};
}

void add_residual(ConvCall& call, ConvArguments& a, const Node& node, const Pixels& residual) {
  call.residual = residual.value.location;
  a.residual_storage = residual.value.storage;
  a.residual_stride = narrow(residual.image.pixel);
  a.residual_last = node.residual_last;
}

/// Returns the call of an int8 layer without its destination y, which the caller must set.
ConvCall int8_call(LoweringContext& context, const Node& node, const Int8Product& product, const PlacedTensor& x,
                   ConvArguments a) {
  ConvCall call;
  a.is_int8 = 1;
  const auto& computed = product.x.zero;
  const auto zero = computed ? 1 : narrow(std::lround(stored_as(x.storage, product.x.from).zero));
  a.outside = (static_cast<unsigned>(zero) & 0xffU) * 0x01010101U;
  auto weights = int8_weights(context.graph, node, *product.weights, a.channels);
  for (auto& sum : weights.sums) sum *= -zero;
  call.x = x.location;
  call.weights = context.tensors.constant(weights.packed);
  if (!product.factors.empty()) call.factors = context.tensors.constant(product.factors);
  if (zero != 0) call.offsets = context.tensors.constant(weights.sums);
  if (computed) call.zero = context.tensors.value(*computed).location;
  if (const auto bias = bias_of(context, node); !bias.empty()) call.bias = context.tensors.constant(bias);
  if (const auto& from = product.residual) {
    const auto residual = bytes(context, from->x, flat(node, context.shape(from->x)));
    const auto [scale, less] = stored_as(residual.value.storage, from->from);
    a.residual_scale = scale;
    a.residual_zero = less;
    add_residual(call, a, node, residual);
  } else if (node.residual) {
    const auto id = *node.residual;
    const auto of = context.tensors.value(id).storage;
    add_residual(call, a, node, context.flat_pixels(id, flat(node, context.shape(id)), of, false));
  }
  call.arguments = a;
  return call;
}

Destination destination(LoweringContext& context, const Node& node, const Int8Result& result) {
  const auto of = context.tensors.storage_of(result.output);
  if (!conv_of(node)) return row_destination(context, result.output, flat(node, context.shape(result.output)), of);
  auto y = context.tensors.destination(result.output, of);
  if (!context.image_of(y)) y = context.tensors.allocate(y.shape, context.aligned_pixels(y.shape, of), of);
  return {y, y};
}

void multiply(LoweringContext& context, const Node& node, const Int8Product& product, const Int8Result& result) {
  const auto x = bytes(context, product.x.x, flat(node, context.shape(product.x.x)));
  const auto out = flat(node, context.shape(result.output));
  ConvArguments a;
  if (const auto* conv = conv_of(node)) {
    set_images(a, x.image, out);
    set_window(a, conv->window);
    a.groups = narrow(conv->groups);
  } else {
    a.height = a.out_height = narrow(out[0]);
    a.x_stride = narrow(x.image.pixel);
  }
  const auto channels = a.groups == 1 ? round_up(x.image.channels, Tensors::unit(Storage::s8)) : x.image.channels;
  a.channels = narrow(channels) / a.groups;
  a.out_channels = narrow(out[1]) / a.groups;
  a.activation = context.activation_of(node.activation);
  const auto y = destination(context, node, result);
  a.y_stride = narrow(context.image_of(y.flat)->pixel);
  a.y_storage = y.flat.storage;
  if (result.quantise) a.levels = stored_as(a.y_storage, *result.quantise);
  auto call = int8_call(context, node, product, x.value, a);
  call.y = y.y.location;
  context.emit(std::move(call));
  context.tensors.set(result.output, y.y);
}

/// Computes y = quantise(activation(sum of one or two inputs)). If there are two inputs, both are int8.
void rescale(LoweringContext& context, const std::vector<Dequantised>& inputs, const PlacedTensor& y,
             const Activation& activation, const std::optional<Quantise>& quantise) {
  const auto operand = [&](TensorId id) {
    const auto& x = context.tensors.value(id);
    return size_of(x.storage) > 1 && holds_integers(x.storage) ? context.stored(id, Storage::f32) : x;
  };
  const auto a = operand(inputs[0].x);
  const auto b = inputs.size() > 1 ? operand(inputs[1].x) : PlacedTensor{};
  const auto view = [&](const PlacedTensor& x) { return kernel_view(y.shape, broadcast(x.shape, x.strides, y.shape)); };
  RescaleArguments r;
  r.a_view = r.b_view = view(a);
  r.y_view = kernel_view(y.shape, y.strides);
  std::tie(r.a_scale, r.a_zero) = std::pair(inputs[0].from.scale, stored_as(a.storage, inputs[0].from).zero);
  if (inputs.size() > 1) {
    r.b_view = view(b);
    std::tie(r.b_scale, r.b_zero) = std::pair(inputs[1].from.scale, stored_as(b.storage, inputs[1].from).zero);
  }
  r.activation = context.activation_of(activation);
  r.to_levels = quantise ? 1 : 0;
  if (quantise) r.levels = stored_as(y.storage, *quantise);
  simplify(r);
  using A = RescaleArguments;
  context.emit(kernel_call<A>(launch_of(r, a.storage, y.storage), r,
                              {{&A::a, a.location}, {&A::b, b.location}, {&A::y, y.location}}));
}

void step(LoweringContext& context, const Node& node, const Int8Step& step, const Int8Result& result) {
  const auto* function = std::get_if<Activation>(&node.operation);
  const auto y = context.tensors.destination(result.output, context.tensors.storage_of(result.output));
  rescale(context, step.inputs, y, function ? *function : node.activation, result.quantise);
  context.tensors.set(result.output, y);
}

} // namespace

bool lower_int8(LoweringContext& context, const Node& node, std::size_t number) {
  const auto& plan = context.int8_plan;
  if (plan.elsewhere[number]) return true;
  const auto result = plan.results.find(number);
  if (result == plan.results.end()) return false;
  const auto product = plan.products.find(number);
  if (product != plan.products.end()) multiply(context, node, product->second, result->second);
  else step(context, node, plan.steps.at(number), result->second);
  return true;
}

void lower(LoweringContext& context, const Node& node, const Quantise& quantise) {
  const auto to = context.exact_destination(node);
  const auto y = is_small(context.graph.tensors[node.output].type) ? to : context.computed(to, Storage::f32);
  rescale(context, {{node.inputs[0], {}, {}}}, y, {}, quantise);
  context.finish(node, to, y);
}

void lower(LoweringContext& context, const Node& node, const Dequantise& dequantise) {
  const auto y = context.exact_destination(node);
  rescale(context, {{node.inputs[0], dequantise, {}}}, y, {}, {});
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
