#include "tasks/engine/cuda/lowering_context.hpp"

#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/int8_weights.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

Program& prepare(Program& program, Precision precision) {
  program.precision = precision;
  program.storage = precision == Precision::fp16 ? Storage::f16 : Storage::f32;
  return program;
}

} // namespace

bool lies_dense(const PlacedTensor& value) {
  const auto count = element_count(value.shape);
  return count == 1 || reshape(value.shape, value.strides, {count}) == Strides{1};
}

PlacedTensor under(const PlacedTensor& x, Shape shape, Strides strides, std::int64_t offset) {
  return {x.location.at(static_cast<std::size_t>(offset) * size_of(x.storage)), x.storage, std::move(shape),
          std::move(strides)};
}

LoweringContext::LoweringContext(const Graph& of, Precision precision)
    : graph(of),
      int8_plan(plan_int8(of)),
      stack_plan(plan_stacks(of, int8_plan)),
      tensors(of, prepare(program, precision)) {
  for (const auto& [node, product] : int8_plan.products) {
    tensors.keep(product.x.x);
    if (product.x.zero) tensors.keep(*product.x.zero);
  }
  for (const auto& [node, stack] : stack_plan.stacks) tensors.keep(stack[0].product->inputs[0]);
}

const std::vector<float>& LoweringContext::constant_of(TensorId id, const char* role) const {
  const auto& tensor = graph.tensors[id];
  if (!tensor.constant())
    throw Unsupported{"node '" + node().name + "': " + role +
                      " is computed by the network; on a GPU it must be a constant"};
  return tensor.values;
}

ActivationArguments LoweringContext::activation_of(const Activation& activation) const {
  static_assert(static_cast<int>(Activation::Kind::logit) == ActivationArguments::logit);
  constexpr float min_half = 0x1p-24F;
  const bool vanishes = storage() == Storage::f16 && activation.kind == Activation::Kind::clip && activation.a > 0 &&
                        activation.a < min_half;
  return {static_cast<int>(activation.kind), vanishes ? min_half : activation.a, activation.b};
}

void LoweringContext::emit(std::variant<KernelCall, ConvCall> what) {
  if (in_layers_ && layer_ == Call::no_layer) {
    layer_ = static_cast<std::uint32_t>(program.layers.size());
    program.layers.push_back(node().name);
  }
  program.calls.push_back({layer_, std::move(what)});
}

void LoweringContext::copy(const PlacedTensor& x, const PlacedTensor& y, const Activation& activation) {
  if (x.storage != y.storage && (holds_integers(x.storage) || holds_integers(y.storage))) return cast(x, y, activation);
  CopyArguments arguments;
  arguments.x_view = kernel_view(x.shape, x.strides);
  arguments.y_view = kernel_view(y.shape, y.strides);
  arguments.activation = activation_of(activation);
  simplify(arguments);
  emit(kernel_call<CopyArguments>(launch_of(arguments, x.storage, y.storage), arguments,
                                  {{&CopyArguments::x, x.location}, {&CopyArguments::y, y.location}}));
}

void LoweringContext::cast(const PlacedTensor& x, const PlacedTensor& y, const Activation& function) {
  CastArguments arguments;
  arguments.x_view = kernel_view(x.shape, x.strides);
  arguments.y_view = kernel_view(y.shape, y.strides);
  arguments.from = x.storage;
  arguments.to = y.storage;
  arguments.function = activation_of(function);
  simplify(arguments);
  emit(kernel_call<CastArguments>(launch_of(arguments), arguments,
                                  {{&CastArguments::x, x.location}, {&CastArguments::y, y.location}}));
}

PlacedTensor LoweringContext::copied(const PlacedTensor& x, Strides strides, Storage to) {
  auto y = tensors.allocate(x.shape, std::move(strides), to);
  copy(x, y);
  return y;
}

Pixels LoweringContext::as_pixels(PlacedTensor y) {
  auto image = image_of(y);
  if (!image) {
    y = tensors.allocate(y.shape, aligned_pixels(y.shape), storage());
    image = image_of(y);
  }
  return {std::move(y), *image};
}

Pixels LoweringContext::pixels(TensorId id, bool on_chunks) {
  const auto& value = tensors.value(id);
  const auto image = value.storage == storage() ? image_of(value) : std::nullopt;
  if (image && (!on_chunks || (aligned(value) && image->pixel % tensors.unit() == 0))) return {value, *image};
  const auto [found, missing] = images_.try_emplace(id);
  if (missing) found->second = copied(value, aligned_pixels(value.shape));
  return {found->second, *image_of(found->second)};
}

Pixels LoweringContext::padded_pixels(TensorId id) {
  const auto wanted = round_up(shape(id)[1], tensors.unit());
  auto plain = pixels(id, true);
  if (plain.image.channels == wanted) return plain;
  if (plain.value.zero_channels >= wanted) {
    plain.image.channels = wanted;
    return plain;
  }
  const auto [found, missing] = padded_.try_emplace(id);
  if (missing) found->second = pad_channels(plain, wanted);
  return {found->second, *image_of(found->second)};
}

PlacedTensor LoweringContext::pad_channels(const Pixels& x, std::int64_t channels) {
  auto wide = x.value.shape;
  wide[1] = channels;
  auto y = tensors.allocate(wide, channels_last(wide, channels), storage());
  pad(x.value, y, std::vector<std::int64_t>(wide.size(), 0), {});
  return y;
}

Pixels LoweringContext::rows(TensorId id, bool padded) {
  const auto value = stored(id, storage());
  const Shape flat{element_count(value.shape) / value.shape.back(), value.shape.back()};
  const auto strides = reshape(value.shape, value.strides, flat);
  auto x = strides ? under(value, flat, *strides) : PlacedTensor{};
  auto image = strides ? image_of(x) : std::nullopt;
  if (!image || (padded && (!aligned(x) || image->pixel % tensors.unit() != 0))) {
    const auto [found, missing] = rows_.try_emplace(id);
    if (missing) {
      found->second = tensors.allocate(flat, aligned_pixels(flat), storage());
      copy(value, under(found->second, value.shape, *reshape(flat, found->second.strides, value.shape)));
    }
    x = found->second;
    image = image_of(x);
  }
  const auto wanted = round_up(flat[1], tensors.unit());
  if (!padded || image->channels == wanted) return {x, *image};
  const auto [found, missing] = padded_.try_emplace(id);
  if (missing) found->second = pad_channels({x, *image}, wanted);
  return {found->second, *image_of(found->second)};
}

PlacedTensor LoweringContext::row_major(TensorId id, Storage of) {
  const auto& tensor = graph.tensors[id];
  const auto dense = dense_strides(tensor.shape);
  if (tensor.constant() && !lies_dense({{}, of, tensor.shape, tensors.natural(id, of)})) {
    const auto [found, missing] = dense_.try_emplace({id, of});
    if (missing) found->second = tensors.constant(id, of, dense);
    return found->second;
  }
  const auto value = stored(id, of);
  if (lies_dense(value)) return under(value, value.shape, dense);
  const auto [found, missing] = dense_.try_emplace({id, of});
  if (missing) found->second = copied(value, dense, of);
  return found->second;
}

PlacedTensor LoweringContext::stored(TensorId id, Storage of) {
  const auto& tensor = graph.tensors[id];
  if (tensor.constant() && !is_integer(tensor.type)) return tensors.value(id, of);
  const auto& value = tensors.value(id);
  if (value.storage == of) return value;
  const auto [found, missing] = converted_.try_emplace({id, of});
  if (missing) found->second = copied(value, tensors.natural(id, of), of);
  return found->second;
}

Pixels LoweringContext::flat_pixels(TensorId id, const Shape& flat, Storage of, bool on_chunks) {
  const auto value = tensors.value(id);
  if (const auto strides = reshape(value.shape, value.strides, flat); strides && value.storage == of) {
    auto x = under(value, flat, *strides);
    const auto image = image_of(x);
    if (image && (!on_chunks || (aligned(x) && image->pixel % Tensors::unit(of) == 0))) return {std::move(x), *image};
  }
  const auto [found, missing] = flat_.try_emplace({id, flat, of});
  auto& x = found->second;
  if (missing) {
    x = tensors.allocate(flat, aligned_pixels(flat, of), of);
    copy(value, under(x, value.shape, *reshape(flat, x.strides, value.shape)));
  }
  return {x, *image_of(x)};
}

PlacedTensor LoweringContext::computed(const PlacedTensor& y, Storage in) {
  return y.storage == in ? y : tensors.allocate(y.shape, dense_strides(y.shape), in);
}

void LoweringContext::finish(const Node& node, const PlacedTensor& y, const PlacedTensor& from) {
  if (from.location != y.location) copy(from, y);
  finish(node, y);
}

void LoweringContext::finish(const Node& node, PlacedTensor value) {
  const auto wanted = tensors.storage_of(node.output);
  if (value.storage != wanted) value = copied(value, tensors.natural(node.output, wanted), wanted);
  tensors.set(node.output, std::move(value));
}

PlacedTensor LoweringContext::exact_destination(const Node& node) {
  return tensors.destination(node.output, tensors.storage_of(node.output));
}

void LoweringContext::pad(const PlacedTensor& x, const PlacedTensor& y, const std::vector<std::int64_t>& before,
                          PadArguments arguments) {
  arguments.x_view = kernel_view(x.shape, x.strides);
  arguments.y_view = kernel_view(y.shape, y.strides);
  std::ranges::transform(before, arguments.before, narrow);
  simplify(arguments);
  emit<PadArguments>(arguments, {{&PadArguments::x, x.location}, {&PadArguments::y, y.location}}, y.storage);
}

} // namespace rtexec::tasks::cuda
