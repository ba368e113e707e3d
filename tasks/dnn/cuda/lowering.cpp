#include "tasks/dnn/cuda/lowering.hpp"

#include "tasks/dnn/graph/half.hpp"
#include "tasks/dnn/cuda/attention_plan.hpp"
#include "tasks/dnn/cuda/kernels/simple_kernels.hpp"
#include "tasks/dnn/cuda/tensors.hpp"
#include "tasks/dnn/cuda/whole_plan.hpp"
#include "tasks/dnn/cuda/whole_weights.hpp"
#include "tasks/dnn/kernels/evaluate.hpp"

#include <algorithm>
#include <cstdint>
#include <cmath>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

/// What a graph holds that the kernels cannot do.
struct Unsupported {
  std::string what;
};

int narrow(std::int64_t value) { return static_cast<int>(value); } // shapes never exceed max_elements

/// Dimensions of a shape that make up outer, count and inner.
struct Middle {
  std::size_t first = 0, last = 0; // of count: [first, last)
};

std::optional<Middle> middle_of(const Shape& shape, std::int64_t outer, std::int64_t count) {
  Middle middle;
  std::int64_t product = 1;
  while (middle.first < shape.size() && product < outer) product *= shape[middle.first++];
  if (product != outer) return std::nullopt;
  product = 1;
  middle.last = middle.first;
  while (middle.last < shape.size() && product < count) product *= shape[middle.last++];
  return product == count ? std::optional(middle) : std::nullopt;
}

template <class T> std::vector<T> without(const std::vector<T>& values, const Middle& middle) {
  std::vector<T> rest(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle.first));
  rest.insert(rest.end(), values.begin() + static_cast<std::ptrdiff_t>(middle.last), values.end());
  return rest;
}
template <class T> std::vector<T> within(const std::vector<T>& values, const Middle& middle) {
  return {values.begin() + static_cast<std::ptrdiff_t>(middle.first),
          values.begin() + static_cast<std::ptrdiff_t>(middle.last)};
}

template <class Arguments> void set_window(Arguments& arguments, const Window& window) {
  arguments.kernel_h = narrow(window.kernel_h);
  arguments.kernel_w = narrow(window.kernel_w);
  arguments.stride_h = narrow(window.stride_h);
  arguments.stride_w = narrow(window.stride_w);
  arguments.pad_top = narrow(window.pad_top);
  arguments.pad_left = narrow(window.pad_left);
  arguments.dilation_h = narrow(window.dilation_h);
  arguments.dilation_w = narrow(window.dilation_w);
}

/// Of arguments that lead from pixels to pixels.
template <class Arguments> void set_images(Arguments& arguments, const Image& x, const Shape& out) {
  arguments.batch = narrow(x.batch);
  arguments.height = narrow(x.height);
  arguments.width = narrow(x.width);
  arguments.channels = narrow(x.channels);
  arguments.x_stride = narrow(x.pixel);
  arguments.out_height = narrow(out[2]);
  arguments.out_width = narrow(out[3]);
}

class Lowering {
 public:
  Lowering(const Graph& graph, Precision precision)
      : graph_(graph), whole_(plan_whole(graph)), tensors_(graph, prepare(program_, precision), whole_.bytes) {
    for (const auto& [node, product] : whole_.products) tensors_.keep(product.x.x);
  }

  Program run() {
    program_.buffers.push_back(0); // the counters
    for (const auto& ports : {graph_.inputs, graph_.outputs})
      for (const auto port : ports) require_type(graph_.tensors[port]);
    for (const auto input : graph_.inputs) take_in(input);
    in_layers_ = true;
    for (node_number_ = 0; node_number_ < graph_.nodes.size(); ++node_number_) {
      layer_ = Call::no_layer;
      const auto& node = this->node();
      program_.flops += product_flops(graph_, node);
      require_on_gpu(node);
      if (whole_.elsewhere[node_number_] || lower_whole(node)) continue;
      std::visit([&](const auto& operation) { lower(node, operation); }, node.operation);
    }
    layer_ = Call::no_layer;
    in_layers_ = false;
    for (const auto output : graph_.outputs) give_out(output);
    return std::move(program_);
  }

 private:
  static Program& prepare(Program& program, Precision precision) {
    program.precision = precision;
    program.storage = precision == Precision::fp16 ? Storage::f16 : Storage::f32;
    return program;
  }

  static void require_type(const Tensor& port) {
    if (port.type >= ElementType::uint16)
      throw Unsupported{"input or output '" + port.name + "' is of " + std::string(name(port.type)) +
                        ", which is not supported on a GPU; cast it in the model"};
  }

  /// Of what an operation may be, some forms are the host's only.
  void require_on_gpu(const Node& node) const {
    const auto* recurrent = std::get_if<Recurrent>(&node.operation);
    if (recurrent && recurrent->lengths)
      throw Unsupported{"node '" + node.name + "': sequences of different lengths are not supported on a GPU"};
    if (std::holds_alternative<GridSample>(node.operation) && shape(node.output).size() != 4)
      throw Unsupported{"node '" + node.name + "': sampling of volumes is not supported on a GPU"};
  }

  [[noreturn]] static void refuse(const Node& node, const std::string& what) {
    throw Unsupported{"node '" + node.name + "': " + what +
                      " is not supported on a GPU; end the network before it, or run it on the host device"};
  }
  [[noreturn]] void lower(const Node& node, const RegionAlign&) { refuse(node, "RoiAlign"); }
  [[noreturn]] void lower(const Node& node, const NonMaxSuppression&) { refuse(node, "NonMaxSuppression"); }

  [[nodiscard]] const Node& node() const { return graph_.nodes[node_number_]; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }
  [[nodiscard]] Storage storage() const { return program_.storage; }

  [[nodiscard]] const std::vector<float>& constant_of(TensorId id, const char* role) const {
    const auto& tensor = graph_.tensors[id];
    if (!tensor.constant())
      throw Unsupported{"node '" + node().name + "': " + role +
                        " is computed by the network; on a GPU it must be a constant"};
    return tensor.values;
  }

  /// A bound that half precision would make zero (it keeps from dividing by that) is the least number above it there.
  [[nodiscard]] ActivationArguments activation_of(const Activation& activation) const {
    static_assert(static_cast<int>(Activation::Kind::scaled_tanh) == ActivationArguments::scaled_tanh);
    constexpr float least_half = 0x1p-24F;
    const bool vanishes = storage() == Storage::f16 && activation.kind == Activation::Kind::clip && activation.a > 0 &&
                          activation.a < least_half;
    return {static_cast<int>(activation.kind), vanishes ? least_half : activation.a, activation.b};
  }

  // ---- calls

  void emit(std::variant<KernelCall, ConvCall> what) {
    if (in_layers_ && layer_ == Call::no_layer) {
      layer_ = static_cast<std::uint32_t>(program_.layers.size());
      program_.layers.push_back(node().name);
    }
    program_.calls.push_back({layer_, std::move(what)});
  }

  template <class Arguments>
  void emit(const Arguments& arguments, const std::vector<Operand<Arguments>>& operands, Storage of) {
    emit(kernel_call(launch_of(arguments, of), arguments, operands));
  }
  template <class Arguments> void emit(const Arguments& arguments, const std::vector<Operand<Arguments>>& operands) {
    emit(arguments, operands, storage());
  }

  /// y = activation(x), element by element; shapes are equal. Bytes are copied without activation.
  void copy(const Value& x, const Value& y, const Activation& activation = {}) {
    CopyArguments arguments;
    arguments.x_view = kernel_view(x.shape, x.strides);
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.activation = activation_of(activation);
    if (const float shift = shift_of(x.storage) - shift_of(y.storage); shift != 0)
      arguments.activation = {ActivationArguments::scale, 1, shift};
    simplify(arguments);
    emit(kernel_call<CopyArguments>(launch_of(arguments, x.storage, y.storage), arguments,
                                    {{&CopyArguments::x, x.place}, {&CopyArguments::y, y.place}}));
  }

  Value copied(const Value& x, Strides strides, Storage to) {
    auto y = tensors_.allocate(x.shape, std::move(strides), to);
    copy(x, y);
    return y;
  }
  Value copied(const Value& x, Strides strides) { return copied(x, std::move(strides), storage()); }

  static Value under(const Value& x, Shape shape, Strides strides, std::int64_t offset = 0) {
    return {x.place.at(static_cast<std::size_t>(offset) * size_of(x.storage)), x.storage, std::move(shape),
            std::move(strides)};
  }

  // ---- tensors as kernels want them

  struct Pixels {
    Value value;
    Image image;
  };

  [[nodiscard]] std::optional<Image> image_of(const Value& value) const {
    return cuda::image_of(value.shape, value.strides, std::max(tensors_.unit(), Tensors::unit(value.storage)));
  }
  /// With its channels last, each pixel beginning at a multiple of 16 bytes.
  [[nodiscard]] Strides whole_pixels(const Shape& shape, Storage of) const {
    return channels_last(shape, round_up(shape[1], std::max(tensors_.unit(), Tensors::unit(of))));
  }
  [[nodiscard]] Strides whole_pixels(const Shape& shape) const { return whole_pixels(shape, storage()); }
  [[nodiscard]] bool aligned(const Value& value) const { return value.place.offset % 16 == 0; }

  /// A destination, or another one in its place that has its channels last.
  Pixels as_pixels(Value y) {
    auto image = image_of(y);
    if (!image) {
      y = tensors_.allocate(y.shape, whole_pixels(y.shape), storage());
      image = image_of(y);
    }
    return {std::move(y), *image};
  }

  /// `id` with its channels last; a copy, made once, where it lies otherwise. `whole`: pixels begin at multiples of 16
  /// bytes.
  Pixels pixels(TensorId id, bool whole = false) {
    const auto& value = tensors_.value(id);
    const auto image = value.storage == storage() ? image_of(value) : std::nullopt;
    if (image && (!whole || (aligned(value) && image->pixel % tensors_.unit() == 0))) return {value, *image};
    const auto [found, missing] = images_.try_emplace(id);
    if (missing) found->second = copied(value, whole_pixels(value.shape));
    return {found->second, *image_of(found->second)};
  }

  /// As pixels(whole), and zeros in what a pixel has beyond its channels, up to a multiple of 16 bytes.
  Pixels padded_pixels(TensorId id) {
    const auto wanted = round_up(shape(id)[1], tensors_.unit());
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

  Value pad_channels(const Pixels& x, std::int64_t channels) {
    auto wide = x.value.shape;
    wide[1] = channels;
    auto y = tensors_.allocate(wide, channels_last(wide, channels), storage());
    pad(x.value, y, std::vector<std::int64_t>(wide.size(), 0), 0);
    return y;
  }

  static bool lies_dense(const Value& value) {
    const auto count = element_count(value.shape);
    return count == 1 || reshape(value.shape, value.strides, {count}) == Strides{1};
  }

  Value row_major(TensorId id, Storage of) {
    const auto value = stored(id, of);
    const auto dense = dense_strides(value.shape);
    if (lies_dense(value)) return under(value, value.shape, dense);
    const auto [found, missing] = dense_.try_emplace({id, of});
    if (missing) found->second = copied(value, dense, of);
    return found->second;
  }
  Value row_major(TensorId id) { return row_major(id, storage()); }

  /// `id` in that storage; a copy, made once, where it has another one.
  Value stored(TensorId id, Storage of) {
    if (graph_.tensors[id].constant()) return tensors_.value(id, of);
    const auto& value = tensors_.value(id);
    if (value.storage == of) return value;
    const auto [found, missing] = converted_.try_emplace({id, of});
    if (missing) found->second = copied(value, tensors_.natural(id), of);
    return found->second;
  }
  /// In that which it has, if that is not bytes.
  Value numbers(TensorId id) {
    const auto& value = tensors_.value(id);
    return size_of(value.storage) == 1 ? stored(id, storage()) : value;
  }
  /// In which a node computes.
  [[nodiscard]] Storage computed_in(const Node& node) const {
    const auto counts = [&](TensorId id) { return is_counted(graph_.tensors[id]); };
    return counts(node.output) || std::ranges::any_of(node.inputs, counts) ? Storage::f32 : storage();
  }
  /// y, or where that has another storage, what is to be copied there.
  Value computed(const Value& y, Storage in) {
    return y.storage == in ? y : tensors_.allocate(y.shape, dense_strides(y.shape), in);
  }
  void finish(const Node& node, const Value& y, const Value& from) {
    if (from.place != y.place) copy(from, y);
    finish(node, y);
  }

  // ---- inputs and outputs

  void take_in(TensorId id) {
    const auto& tensor = graph_.tensors[id];
    const auto staged = tensors_.allocate(tensor.shape, dense_strides(tensor.shape), Storage::f32);
    program_.inputs.push_back({tensor.name, tensor.type, tensor.shape, staged.place});
    if (tensor.shape.size() == 4 && tensors_.storage_of(id) == storage()) {
      take_in_image(id, staged);
    } else if (tensors_.storage_of(id) == Storage::f32) {
      tensors_.set(id, staged);
      tensors_.keep(id);
    } else {
      auto value = tensors_.allocate(tensor.shape, tensors_.natural(id), storage());
      copy(staged, value);
      tensors_.set(id, value);
    }
  }

  void take_in_image(TensorId id, const Value& staged) {
    auto value = tensors_.allocate(staged.shape, whole_pixels(staged.shape), storage());
    const auto pixel = round_up(staged.shape[1], tensors_.unit());
    value.zero_channels = pixel;
    ImageInArguments in;
    in.batch = narrow(staged.shape[0]);
    in.channels = narrow(staged.shape[1]);
    in.height = narrow(staged.shape[2]);
    in.width = narrow(staged.shape[3]);
    in.y_stride = narrow(pixel);
    emit<ImageInArguments>(in, {{&ImageInArguments::x, staged.place}, {&ImageInArguments::y, value.place}});
    tensors_.set(id, std::move(value));
  }

  void give_out(TensorId id) {
    const auto& tensor = graph_.tensors[id];
    auto value = tensors_.value(id);
    if (value.storage != Storage::f32 || !lies_dense(value)) {
      const auto staged = tensors_.allocate(tensor.shape, dense_strides(tensor.shape), Storage::f32);
      copy(value, staged);
      value = staged;
    }
    program_.outputs.push_back({tensor.name, tensor.type, tensor.shape, value.place});
  }

  /// A matrix of all rows, under the output's shape.
  struct Destination {
    Value y, flat;
  };

  // ---- nodes

  static constexpr std::int64_t few_pixels = 16; // for which kernels that read any channels are fast enough

  void finish(const Node& node, Value value) {
    const auto wanted = tensors_.storage_of(node.output);
    if (value.storage != wanted) value = copied(value, tensors_.natural(node.output), wanted);
    tensors_.set(node.output, std::move(value));
  }
  /// In the storage that the output has.
  Value exact_destination(const Node& node) {
    return tensors_.destination(node.output, tensors_.storage_of(node.output));
  }

  void lower(const Node& node, const Activation& activation) {
    const auto x = numbers(node.inputs[0]);
    const auto image = image_of(x);
    const auto y = tensors_.destination(node_number_, {node.inputs.data(), 1});
    const auto y_image = image_of(y);
    if (image && y_image && x.storage == storage() && y.storage == storage())
      scale_shift(x, *image, {}, {}, y, *y_image, activation);
    else copy(x, y, activation);
    finish(node, y);
  }

  void scale_shift(const Value& x, const Image& from, const Place& scale, const Place& shift, const Value& y,
                   const Image& to, const Activation& activation) {
    ScaleShiftArguments arguments;
    arguments.pixels = from.batch * from.height * from.width;
    arguments.channels = narrow(from.channels);
    arguments.x_stride = narrow(from.pixel);
    arguments.y_stride = narrow(to.pixel);
    arguments.activation = activation_of(activation);
    using A = ScaleShiftArguments;
    emit<A>(arguments, {{&A::x, x.place}, {&A::scale, scale}, {&A::shift, shift}, {&A::y, y.place}});
  }

  void lower(const Node& node, const ScaleShift&) {
    const auto x = pixels(node.inputs[0]);
    const auto& scale = constant_of(node.inputs[1], "the scale");
    const auto& shift = constant_of(node.inputs[2], "the shift");
    const auto y = as_pixels(tensors_.destination(node_number_, {node.inputs.data(), 1}));
    scale_shift(x.value, x.image, tensors_.constant(scale), tensors_.constant(shift), y.value, y.image,
                node.activation);
    finish(node, y.value);
  }

  void lower(const Node& node, const Conv& conv) {
    const auto& weights = graph_.tensors[node.inputs[1]];
    (void)constant_of(node.inputs[1], "the weights");
    if (tensors_.storage_of(node.output) != storage()) return convolve_counted(node, conv);
    const auto out = shape(node.output);
    const bool pad = conv.groups == 1 && out[0] * out[2] * out[3] > few_pixels;
    const bool depthwise = conv.groups > 1 && weights.shape[1] == 1;
    const auto x = pad ? padded_pixels(node.inputs[0])
                       : pixels(node.inputs[0], !depthwise && out[0] * out[2] * out[3] > few_pixels);
    ConvArguments a;
    set_images(a, x.image, out);
    set_window(a, conv.window);
    a.groups = narrow(conv.groups);
    a.channels = narrow(x.image.channels / conv.groups);
    a.out_channels = narrow(out[1] / conv.groups);
    const auto packed = packed_weights(weights, a.channels);
    std::vector<float> bias;
    if (node.inputs.size() > 2) bias = constant_of(node.inputs[2], "the bias");
    std::optional<Pixels> residual;
    if (node.residual) residual = pixels(*node.residual);
    const auto y = tensors_.destination(node.output);
    convolution(node, a, x.value, packed, bias, residual, {y, y});
  }

  /// [out][kernel_h][kernel_w][channels], zero in channels that the weights do not have.
  static std::vector<float> packed_weights(const Tensor& weights, std::int64_t channels) {
    const auto out = weights.shape[0], in = weights.shape[1], window = weights.shape[2] * weights.shape[3];
    std::vector<float> packed(static_cast<std::size_t>(out * window * channels), 0.0F);
    const float* from = weights.values.data();
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t c = 0; c < in; ++c)
        for (std::int64_t w = 0; w < window; ++w)
          packed[static_cast<std::size_t>((o * window + w) * channels + c)] = *from++;
    return packed;
  }

  /// To nearest, ties away from zero, as the matrix units' own conversion; what is not finite stays.
  static std::vector<float> rounded_to_tf32(std::vector<float> values) {
    constexpr std::uint32_t half = 0x1000, dropped = 0x1fff;
    for (float& value : values)
      if (std::isfinite(value)) value = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + half) & ~dropped);
    return values;
  }

  void convolution(const Node& node, ConvArguments arguments, const Value& x, const std::vector<float>& weights,
                   const std::vector<float>& bias, const std::optional<Pixels>& residual, const Destination& to) {
    ConvCall call;
    call.x = x.place;
    call.weights = tensors_.stored(program_.precision == Precision::tf32 ? rounded_to_tf32(weights) : weights);
    if (!bias.empty()) call.bias = tensors_.constant(bias);
    if (!bias.empty() && storage() == Storage::f16) call.half_bias = tensors_.stored(bias);
    if (residual) {
      call.residual = residual->value.place;
      arguments.residual_stride = narrow(residual->image.pixel);
    }
    call.y = to.y.place;
    arguments.y_stride = narrow(image_of(to.flat)->pixel);
    arguments.activation = activation_of(node.activation);
    call.arguments = arguments;
    emit(std::move(call));
    finish(node, to.y);
  }

  // ---- whole numbers

  /// False where the node is none that computes on them.
  bool lower_whole(const Node& node) {
    const auto result = whole_.results.find(node_number_);
    if (result == whole_.results.end()) return false;
    const auto product = whole_.products.find(node_number_);
    if (product != whole_.products.end()) multiply_whole(node, product->second, result->second);
    else step_whole(node, whole_.steps.at(node_number_), result->second);
    return true;
  }

  /// `id` under the shape `flat`, in that storage, with its channels last; a copy, made once, where it lies otherwise.
  /// `whole`: pixels begin at multiples of 16 bytes.
  Pixels flat_pixels(TensorId id, const Shape& flat, Storage of, bool whole) {
    const auto value = tensors_.value(id);
    if (const auto strides = reshape(value.shape, value.strides, flat); strides && value.storage == of) {
      auto x = under(value, flat, *strides);
      const auto image = image_of(x);
      if (image && (!whole || (aligned(x) && image->pixel % Tensors::unit(of) == 0))) return {std::move(x), *image};
    }
    const auto [found, missing] = flat_.try_emplace({id, flat, of});
    auto& x = found->second;
    if (missing) {
      x = tensors_.allocate(flat, whole_pixels(flat, of), of);
      copy(value, under(x, value.shape, *reshape(flat, x.strides, value.shape)));
    }
    return {x, *image_of(x)};
  }
  Pixels bytes(TensorId id, const Shape& flat) {
    return flat_pixels(id, flat, graph_.tensors[id].type == ElementType::int8 ? Storage::s8 : Storage::u8, true);
  }

  /// The shape under which a Conv or a Gemm sees what it reads and writes.
  static Shape flat(const Node& node, const Shape& shape) {
    if (std::holds_alternative<Conv>(node.operation)) return shape;
    return {element_count(shape) / shape.back(), shape.back()};
  }

  void multiply_whole(const Node& node, const WholeProduct& product, const WholeResult& result) {
    const auto x = bytes(product.x.x, flat(node, shape(product.x.x)));
    const auto out = flat(node, shape(result.output));
    ConvArguments a;
    if (const auto* conv = std::get_if<Conv>(&node.operation)) {
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
    a.activation = activation_of(node.activation);
    const auto y = whole_destination(node, result);
    a.y_stride = narrow(image_of(y.flat)->pixel);
    a.y_storage = y.flat.storage;
    if (result.quantise) a.levels = stored_as(a.y_storage, *result.quantise);
    auto call = whole_call(node, product, x.value, a);
    call.y = y.y.place;
    emit(std::move(call));
    tensors_.set(result.output, y.y);
  }

  Destination whole_destination(const Node& node, const WholeResult& result) {
    const auto of = tensors_.storage_of(result.output);
    if (std::holds_alternative<Gemm>(node.operation))
      return row_destination(result.output, flat(node, shape(result.output)), of);
    auto y = tensors_.destination(result.output, of);
    if (!image_of(y)) y = tensors_.allocate(y.shape, whole_pixels(y.shape, of), of);
    return {y, y};
  }

  /// All but the result.
  ConvCall whole_call(const Node& node, const WholeProduct& product, const Value& x, ConvArguments a) {
    ConvCall call;
    a.whole = 1;
    const auto zero = narrow(std::lround(stored_as(x.storage, product.x.from).zero));
    a.outside = (static_cast<unsigned>(zero) & 0xffU) * 0x01010101U;
    auto weights = whole_weights(graph_, node, *product.weights, a.channels);
    for (auto& sum : weights.sums) sum *= -zero;
    call.x = x.place;
    call.weights = tensors_.constant(weights.packed);
    call.factors = tensors_.constant(product.factors);
    if (zero != 0) call.offsets = tensors_.constant(weights.sums);
    if (const auto bias = whole_bias(node); !bias.empty()) call.bias = tensors_.constant(bias);
    if (const auto& from = product.residual) {
      const auto residual = bytes(from->x, flat(node, shape(from->x)));
      const auto [scale, less] = stored_as(residual.value.storage, from->from);
      a.residual_scale = scale;
      a.residual_zero = less;
      add_residual(call, a, residual);
    } else if (node.residual) {
      const auto id = *node.residual;
      add_residual(call, a, flat_pixels(id, flat(node, shape(id)), numbers(id).storage, false));
    }
    call.arguments = a;
    return call;
  }

  /// To whole numbers that bytes do not hold, and half precision does not either.
  void convolve_counted(const Node& node, const Conv& conv) {
    const auto in = Storage::f32;
    const auto x = flat_pixels(node.inputs[0], shape(node.inputs[0]), in, false);
    const auto y = whole_destination(node, {node.output, {}});
    ConvArguments a;
    set_images(a, x.image, y.y.shape);
    set_window(a, conv.window);
    a.groups = narrow(conv.groups);
    a.channels = narrow(x.image.channels / conv.groups);
    a.out_channels = narrow(y.y.shape[1] / conv.groups);
    a.y_stride = narrow(image_of(y.flat)->pixel);
    a.activation = activation_of(node.activation);
    Place bias, residual;
    if (node.inputs.size() > 2) bias = tensors_.constant(constant_of(node.inputs[2], "the bias"));
    if (node.residual) {
      const auto added = flat_pixels(*node.residual, y.y.shape, in, false);
      residual = added.value.place;
      a.residual_stride = narrow(added.image.pixel);
    }
    const auto weights = tensors_.stored(packed_weights(graph_.tensors[node.inputs[1]], a.channels), in);
    using A = ConvArguments;
    emit<A>(a,
            {{&A::x, x.value.place},
             {&A::weights, weights},
             {&A::bias, bias},
             {&A::residual, residual},
             {&A::y, y.y.place}},
            in);
    tensors_.set(node.output, y.y);
  }

  static void add_residual(ConvCall& call, ConvArguments& a, const Pixels& residual) {
    call.residual = residual.value.place;
    a.residual_storage = residual.value.storage;
    a.residual_stride = narrow(residual.image.pixel);
  }

  [[nodiscard]] std::vector<float> whole_bias(const Node& node) const {
    if (const auto* gemm = std::get_if<Gemm>(&node.operation)) return *row_bias(node, *gemm);
    return node.inputs.size() > 2 ? constant_of(node.inputs[2], "the bias") : std::vector<float>{};
  }

  void step_whole(const Node& node, const WholeStep& step, const WholeResult& result) {
    const auto* function = std::get_if<Activation>(&node.operation);
    const auto y = tensors_.destination(result.output, tensors_.storage_of(result.output));
    rescale(step.inputs, y, function ? *function : node.activation, result.quantise);
    tensors_.set(result.output, y);
  }

  void lower(const Node& node, const Quantise& quantise) {
    const auto y = exact_destination(node);
    rescale({{node.inputs[0], {}}}, y, {}, quantise);
    finish(node, y);
  }
  void lower(const Node& node, const Dequantise& dequantise) {
    const auto y = exact_destination(node);
    rescale({{node.inputs[0], dequantise}}, y, {}, {});
    finish(node, y);
  }

  /// y = quantise(activation(the sum of one or two inputs)); two are bytes.
  void rescale(const std::vector<Dequantised>& inputs, const Value& y, const Activation& activation,
               const std::optional<Quantise>& quantise) {
    const auto a = tensors_.value(inputs[0].x);
    const auto b = inputs.size() > 1 ? tensors_.value(inputs[1].x) : Value{};
    const auto view = [&](const Value& x) { return kernel_view(y.shape, broadcast(x.shape, x.strides, y.shape)); };
    RescaleArguments r;
    r.a_view = r.b_view = view(a);
    r.y_view = kernel_view(y.shape, y.strides);
    std::tie(r.a_scale, r.a_zero) = std::pair(inputs[0].from.scale, stored_as(a.storage, inputs[0].from).zero);
    if (inputs.size() > 1) {
      r.b_view = view(b);
      std::tie(r.b_scale, r.b_zero) = std::pair(inputs[1].from.scale, stored_as(b.storage, inputs[1].from).zero);
    }
    r.activation = activation_of(activation);
    r.to_levels = quantise ? 1 : 0;
    if (quantise) r.levels = stored_as(y.storage, *quantise);
    simplify(r);
    using A = RescaleArguments;
    emit(kernel_call<A>(launch_of(r, a.storage, y.storage), r, {{&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}}));
  }

  // ---- matrix products

  void lower(const Node& node, const Gemm& gemm) {
    const bool is_conv =
        graph_.tensors[node.inputs[1]].constant() && !gemm.transpose_a && computed_in(node) == storage();
    const auto bias = is_conv ? row_bias(node, gemm) : std::nullopt;
    if (bias) matrix_conv(node, gemm, *bias);
    else generic_gemm(node, gemm);
  }

  /// beta * c, for every row the same; empty without c. Nothing where c is more than a row.
  std::optional<std::vector<float>> row_bias(const Node& node, const Gemm& gemm) const {
    if (node.inputs.size() < 3) return std::vector<float>{};
    const auto& c = graph_.tensors[node.inputs[2]];
    const auto columns = shape(node.output).back();
    if (!c.constant() ||
        (c.values.size() != 1 && (c.shape.empty() || c.shape.back() != columns || element_count(c.shape) != columns)))
      return std::nullopt;
    std::vector<float> bias(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = gemm.beta * c.values[c.values.size() == 1 ? 0 : i];
    return bias;
  }

  /// All dimensions but the last as rows of pixels; `whole` and `padded` as of pixels().
  Pixels rows(TensorId id, bool padded) {
    const auto value = stored(id, storage());
    const Shape flat{element_count(value.shape) / value.shape.back(), value.shape.back()};
    const auto strides = reshape(value.shape, value.strides, flat);
    auto x = strides ? under(value, flat, *strides) : Value{};
    auto image = strides ? image_of(x) : std::nullopt;
    if (!image || (padded && (!aligned(x) || image->pixel % tensors_.unit() != 0))) {
      const auto [found, missing] = rows_.try_emplace(id);
      if (missing) {
        found->second = tensors_.allocate(flat, whole_pixels(flat), storage());
        copy(value, under(found->second, value.shape, *reshape(flat, found->second.strides, value.shape)));
      }
      x = found->second;
      image = image_of(x);
    }
    const auto wanted = round_up(flat[1], tensors_.unit());
    if (!padded || image->channels == wanted) return {x, *image};
    const auto [found, missing] = padded_.try_emplace(id);
    if (missing) found->second = pad_channels({x, *image}, wanted);
    return {found->second, *image_of(found->second)};
  }

  void matrix_conv(const Node& node, const Gemm& gemm, const std::vector<float>& bias) {
    const auto& b = graph_.tensors[node.inputs[1]];
    const auto columns = shape(node.output).back(), sum = shape(node.inputs[0]).back();
    const auto count = element_count(shape(node.output)) / columns;
    const auto x = rows(node.inputs[0], count > few_pixels);
    const auto channels = x.image.channels;
    std::vector<float> weights(static_cast<std::size_t>(columns * channels), 0.0F);
    for (std::int64_t n = 0; n < columns; ++n)
      for (std::int64_t k = 0; k < sum; ++k)
        weights[static_cast<std::size_t>(n * channels + k)] =
            gemm.alpha * b.values[static_cast<std::size_t>(gemm.transpose_b ? n * sum + k : k * columns + n)];
    ConvArguments arguments;
    arguments.height = arguments.out_height = narrow(count);
    arguments.channels = narrow(channels);
    arguments.out_channels = narrow(columns);
    arguments.x_stride = narrow(x.image.pixel);
    auto y = row_destination(node.output, {count, columns}, storage());
    std::optional<Pixels> residual;
    if (node.residual) residual = rows(*node.residual, false);
    convolution(node, arguments, x.value, weights, bias, residual, y);
  }

  Destination row_destination(TensorId id, const Shape& flat, Storage of) {
    const auto& to = shape(id);
    if (to.size() == 2) {
      const auto y = tensors_.destination(id, of);
      return {y, y};
    }
    const auto matrix = tensors_.allocate(flat, whole_pixels(flat, of), of);
    return {under(matrix, to, *reshape(flat, matrix.strides, to)), matrix};
  }

  void generic_gemm(const Node& node, const Gemm& gemm) {
    const auto in = computed_in(node);
    const auto a = stored(node.inputs[0], in), b = stored(node.inputs[1], in);
    GemmArguments g;
    g.alpha = gemm.alpha;
    g.beta = gemm.beta;
    Place c;
    if (node.inputs.size() > 2) {
      const auto value = stored(node.inputs[2], in);
      const auto strides = broadcast(value.shape, value.strides, shape(node.output));
      c = value.place;
      g.c_row = strides[0];
      g.c_column = strides[1];
    }
    multiply(node, g, {a, gemm.transpose_a}, {b, gemm.transpose_b}, c);
  }

  void lower(const Node& node, const Product& product) {
    GemmArguments g;
    g.alpha = product.alpha;
    const auto in = computed_in(node);
    multiply(node, g, {stored(node.inputs[0], in), product.transpose_a},
             {stored(node.inputs[1], in), product.transpose_b}, {});
  }

  struct Matrices {
    Value value;
    bool transpose = false;
    /// Of the last two dimensions, as they are multiplied.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> strides() const {
      const auto& s = value.strides;
      return transpose ? std::pair(s.back(), s[s.size() - 2]) : std::pair(s[s.size() - 2], s.back());
    }
  };

  /// All dimensions but the last two, broadcast to those of `to`.
  static View batch_view(const Value& x, const Shape& to) {
    const auto outer = [](const auto& of) { return std::vector(of.begin(), of.end() - 2); };
    return kernel_view(outer(to), broadcast(outer(x.shape), outer(x.strides), outer(to)));
  }

  void multiply(const Node& node, GemmArguments g, const Matrices& a, const Matrices& b, const Place& c) {
    const auto in = a.value.storage;
    const auto y = tensors_.destination(node.output, in);
    g.m = narrow(y.shape[y.shape.size() - 2]);
    g.n = narrow(y.shape.back());
    g.k = narrow(a.value.shape[a.value.shape.size() - (a.transpose ? 2 : 1)]);
    std::tie(g.a_row, g.a_column) = a.strides();
    std::tie(g.b_row, g.b_column) = b.strides();
    std::tie(g.y_row, g.y_column) = Matrices{y}.strides();
    g.a_batch = batch_view(a.value, y.shape);
    g.b_batch = batch_view(b.value, y.shape);
    g.y_batch = batch_view(y, y.shape);
    g.activation = activation_of(node.activation);
    Place residual;
    if (node.residual) {
      const auto value = stored(*node.residual, in);
      residual = value.place;
      std::tie(g.residual_row, g.residual_column) = Matrices{value}.strides();
      g.residual_batch = batch_view(value, y.shape);
    }
    using A = GemmArguments;
    emit<A>(g, {{&A::a, a.value.place}, {&A::b, b.value.place}, {&A::c, c}, {&A::residual, residual}, {&A::y, y.place}},
            in);
    finish(node, y);
  }

  // ---- attention

  /// Rows that kernels can copy in whole chunks, where their length allows it.
  Value rows_in_chunks(TensorId id) {
    const auto value = stored(id, storage());
    const auto others = std::span(value.strides).first(value.strides.size() - 1);
    const auto whole = [&](std::int64_t stride) { return stride % tensors_.unit() == 0; };
    if (value.shape.back() % tensors_.unit() != 0) return value;
    return value.strides.back() == 1 && std::ranges::all_of(others, whole) && aligned(value) ? value : row_major(id);
  }

  /// [..., heads, m, e], of which heads and rows are exchanged in memory: what follows wants the heads of a row side by
  /// side.
  Value attended(const Node& node) {
    const auto& to = shape(node.output);
    if (to.size() < 3) return tensors_.destination(node.output);
    auto strides = dense_strides(to);
    const auto heads = to.size() - 3;
    strides[heads] = to.back();
    strides[heads + 1] = to[heads] * to.back();
    return tensors_.allocate(to, std::move(strides), storage());
  }

  void lower(const Node& node, const Attention& attention) {
    const auto q = rows_in_chunks(node.inputs[0]), k = rows_in_chunks(node.inputs[1]),
               v = rows_in_chunks(node.inputs[2]);
    const auto y = attended(node);
    AttentionArguments a;
    a.m = narrow(q.shape[q.shape.size() - 2]);
    a.d = narrow(q.shape.back());
    a.n = narrow(v.shape[v.shape.size() - 2]);
    a.e = narrow(v.shape.back());
    a.scale = attention.scale;
    const auto set = [&](const Value& x, long long& row, long long& column, View& batch) {
      std::tie(row, column) = Matrices{x}.strides();
      batch = batch_view(x, y.shape);
    };
    set(q, a.q_row, a.q_column, a.q_batch);
    set(k, a.k_row, a.k_column, a.k_batch);
    set(v, a.v_row, a.v_column, a.v_batch);
    set(y, a.y_row, a.y_column, a.y_batch);
    Place mask;
    if (node.inputs.size() > 3) {
      auto value = stored(node.inputs[3], storage());
      Shape scores(q.shape.begin(), q.shape.end() - 1);
      scores.push_back(a.n);
      value.strides = broadcast(value.shape, value.strides, scores);
      value.shape = scores;
      mask = value.place;
      set(value, a.mask_row, a.mask_column, a.mask_batch);
    }
    if (a.e > attention_most_columns || element_count({y.shape.begin(), y.shape.end() - 2}) > most_blocks)
      throw Unsupported{"node '" + node.name + "': attention of more than " + std::to_string(most_blocks) +
                        " heads, or with values of more than " + std::to_string(attention_most_columns) +
                        " elements; supported on a GPU: up to that many"};
    using A = AttentionArguments;
    const auto simple = launch_of(a, storage());
    const auto planned = plan_attention(a, program_.precision);
    auto call =
        kernel_call<A>(planned.value_or(simple), a,
                       {{&A::q, q.place}, {&A::k, k.place}, {&A::v, v.place}, {&A::mask, mask}, {&A::y, y.place}});
    if (planned) otherwise(call, attention_architecture, simple);
    emit(std::move(call));
    finish(node, y);
  }

  static void otherwise(KernelCall& call, int minimum_architecture, const Launch& launch) {
    call.minimum_architecture = minimum_architecture;
    call.otherwise = launch;
  }

  // ---- windows

  void lower(const Node& node, const Pool& pool) {
    const auto x = pixels(node.inputs[0]);
    const auto y = tensors_.destination(node.output);
    PoolArguments p;
    set_images(p, x.image, y.shape);
    set_window(p, pool.window);
    p.pad_bottom = narrow(pool.window.pad_bottom);
    p.pad_right = narrow(pool.window.pad_right);
    p.y_stride = narrow(image_of(y)->pixel);
    p.average = pool.kind == Pool::Kind::average;
    p.count_padding = pool.count_padding;
    emit<PoolArguments>(p, {{&PoolArguments::x, x.value.place}, {&PoolArguments::y, y.place}});
    finish(node, y);
  }

  void lower(const Node& node, const Resize& resize) {
    const auto x = pixels(node.inputs[0]);
    const auto y = tensors_.destination(node.output);
    ResizeArguments r;
    set_images(r, x.image, y.shape);
    r.y_stride = narrow(image_of(y)->pixel);
    using A = ResizeArguments;
    emit<A>(
        r,
        {{&A::x, x.value.place}, {&A::y, y.place}, {&A::rows, taps(resize.rows)}, {&A::columns, taps(resize.columns)}});
    finish(node, y);
  }

  Place taps(const std::vector<Resize::Tap>& taps) {
    std::vector<ResizeTap> packed;
    for (const auto& tap : taps) packed.push_back({narrow(tap.low), narrow(tap.high), tap.weight});
    return tensors_.constant(packed);
  }

  void lower(const Node& node, const Lrn& lrn) {
    const auto x = pixels(node.inputs[0]);
    const auto y = as_pixels(tensors_.destination(node.output));
    LrnArguments l;
    l.pixels = x.image.batch * x.image.height * x.image.width;
    l.channels = narrow(x.image.channels);
    l.x_stride = narrow(x.image.pixel);
    l.y_stride = narrow(y.image.pixel);
    l.size = narrow(lrn.size);
    l.alpha = lrn.alpha;
    l.beta = lrn.beta;
    l.bias = lrn.bias;
    emit<LrnArguments>(l, {{&LrnArguments::x, x.value.place}, {&LrnArguments::y, y.value.place}});
    finish(node, y.value);
  }

  // ---- reductions

  void lower(const Node& node, const Reduce& mean) {
    static_assert(static_cast<int>(Reduce::Kind::last_maximum) == ReduceArguments::last_maximum);
    const auto& x = shape(node.inputs[0]);
    if (mean.kind == Reduce::Kind::mean && node.activation.kind == Activation::Kind::none && x.size() == 4 &&
        x[0] <= most_blocks && mean.outer == x[0] * x[1] && mean.inner == 1 && (mean.count > 1 || x[2] * x[3] == 1)) {
      if (auto y = tensors_.destination(node.output); reshape(y.shape, y.strides, {x[0], x[1]})) {
        global_average(node, y);
        return;
      }
    }
    const bool finds = mean.kind >= Reduce::Kind::first_minimum;
    const auto in = finds ? numbers(node.inputs[0]).storage : computed_in(node);
    auto from = stored(node.inputs[0], in);
    auto middle = middle_of(from.shape, mean.outer, mean.count);
    if (!middle) {
      from = grouped(node.inputs[0], mean.outer, mean.count, mean.inner, in);
      middle = Middle{1, 2};
    }
    const auto kept = without(from.shape, *middle);
    const auto to = exact_destination(node);
    auto y = computed(to, finds ? Storage::f32 : in);
    auto y_strides = reshape(y.shape, y.strides, kept);
    if (!y_strides) {
      y = tensors_.allocate(y.shape, dense_strides(y.shape), y.storage);
      y_strides = dense_strides(kept);
    }
    ReduceArguments r;
    r.kept = kernel_view(kept, without(from.strides, *middle));
    r.y_kept = kernel_view(kept, *y_strides);
    r.reduced = kernel_view(within(from.shape, *middle), within(from.strides, *middle));
    r.y_reduced = kernel_view(within(from.shape, *middle), Strides(middle->last - middle->first, 0));
    r.kind = static_cast<int>(mean.kind);
    r.activation = activation_of(node.activation);
    if (r.kind < ReduceArguments::first_minimum) simplify(r); // else the order of indices counts
    emit(kernel_call<ReduceArguments>(reduce_launch(r, in), r,
                                      {{&ReduceArguments::x, from.place}, {&ReduceArguments::y, y.place}}));
    finish(node, to, y);
  }

  /// A tensor as [outer, count, inner].
  Value grouped(TensorId id, std::int64_t outer, std::int64_t count, std::int64_t inner, Storage in) {
    const Shape groups{outer, count, inner};
    return under(row_major(id, in), groups, dense_strides(groups));
  }

  void global_average(const Node& node, const Value& y) {
    const auto x = pixels(node.inputs[0]);
    GlobalAverageArguments g;
    g.batch = narrow(x.image.batch);
    g.pixels = narrow(x.image.height * x.image.width);
    g.channels = narrow(x.image.channels);
    g.x_stride = narrow(x.image.pixel);
    g.y_stride = narrow(y.strides[0]);
    const auto wanted = split(g);
    g.splits = wanted.splits;
    Place partial, counters;
    if (wanted.splits > 1) {
      partial = tensors_.allocate({wanted.partials}, {1}, Storage::f32).place;
      counters = {Place::Region::buffer, program_.counters_buffer, 0};
      program_.counters = std::max(program_.counters, static_cast<std::size_t>(wanted.counters));
    }
    using A = GlobalAverageArguments;
    emit<A>(g, {{&A::x, x.value.place}, {&A::y, y.place}, {&A::partial, partial}, {&A::counters, counters}});
    finish(node, y);
  }

  void lower(const Node& node, const Softmax& softmax) {
    auto x = stored(node.inputs[0], storage());
    auto y = tensors_.destination(node.output);
    auto to = y;
    auto middle = middle_of(x.shape, softmax.outer, softmax.count);
    if (!middle) {
      x = grouped(node.inputs[0], softmax.outer, softmax.count, softmax.inner, storage());
      middle = Middle{1, 2};
      y = tensors_.allocate(y.shape, dense_strides(y.shape), storage());
      to = under(y, x.shape, dense_strides(x.shape));
    }
    ReduceArguments r;
    r.kept = kernel_view(without(x.shape, *middle), without(x.strides, *middle));
    r.y_kept = kernel_view(without(x.shape, *middle), without(to.strides, *middle));
    r.reduced = kernel_view(within(x.shape, *middle), within(x.strides, *middle));
    r.y_reduced = kernel_view(within(x.shape, *middle), within(to.strides, *middle));
    r.may_be_nothing = softmax.may_be_nothing;
    simplify(r);
    const auto launch = softmax.logarithm ? log_softmax_launch(r, storage()) : softmax_launch(r, storage());
    emit(kernel_call<ReduceArguments>(launch, r, {{&ReduceArguments::x, x.place}, {&ReduceArguments::y, y.place}}));
    finish(node, y);
  }

  /// `outer` first elements of x's shape, and the rest: a dimension that has some of both is divided.
  struct Divided {
    Shape shape;
    std::size_t at = 0;            // of the first dimension of the rest
    std::vector<std::size_t> from; // of each dimension, the undivided one

    Divided(const Shape& x, std::int64_t outer) {
      for (std::size_t d = 0; d < x.size(); ++d) {
        const auto in_outer = std::gcd(outer, x[d]);
        if (outer > 1 && in_outer < x[d]) add(in_outer, d);
        if (outer > 1) at = shape.size() + (in_outer == x[d] ? 1 : 0);
        add(outer > 1 && in_outer < x[d] ? x[d] / in_outer : x[d], d);
        outer /= in_outer;
      }
    }
    [[nodiscard]] Strides strides(const Strides& of) const {
      Strides divided(shape.size());
      for (std::size_t d = 0; d < shape.size(); ++d)
        divided[d] = of[from[d]] * (d + 1 < shape.size() && from[d + 1] == from[d] ? shape[d + 1] : 1);
      return divided;
    }
    void set(View& kept, View& reduced, const Strides& of) const {
      const auto all = strides(of);
      const auto middle = static_cast<std::ptrdiff_t>(at);
      kept = kernel_view({shape.begin(), shape.begin() + middle}, {all.begin(), all.begin() + middle});
      reduced = kernel_view({shape.begin() + middle, shape.end()}, {all.begin() + middle, all.end()});
    }

   private:
    void add(std::int64_t extent, std::size_t d) {
      shape.push_back(extent);
      from.push_back(d);
    }
  };

  void lower(const Node& node, const Normalise& normalise) {
    const auto x = stored(node.inputs[0], storage());
    const auto y = tensors_.destination(node.output);
    const Divided divided(x.shape, normalise.outer);
    NormaliseArguments n;
    n.epsilon = normalise.epsilon;
    n.centred = normalise.centred;
    n.activation = activation_of(node.activation);
    divided.set(n.kept, n.reduced, x.strides);
    divided.set(n.y_kept, n.y_reduced, y.strides);
    n.scale_kept = n.shift_kept = n.residual_kept = n.kept;
    n.scale_reduced = n.shift_reduced = n.residual_reduced = n.reduced;
    const auto operand = [&](TensorId id, View& kept, View& reduced) {
      const auto value = stored(id, storage());
      divided.set(kept, reduced, broadcast(value.shape, value.strides, x.shape));
      return value.place;
    };
    Place scale, shift, residual;
    if (node.inputs.size() > 1) scale = operand(node.inputs[1], n.scale_kept, n.scale_reduced);
    if (node.inputs.size() > 2) shift = operand(node.inputs[2], n.shift_kept, n.shift_reduced);
    if (node.residual) residual = operand(*node.residual, n.residual_kept, n.residual_reduced);
    simplify(n);
    using A = NormaliseArguments;
    emit<A>(n, {{&A::x, x.place}, {&A::scale, scale}, {&A::shift, shift}, {&A::residual, residual}, {&A::y, y.place}});
    finish(node, y);
  }

  /// x as [outer, count, inner] without its middle.
  static View around(std::int64_t outer, std::int64_t count, std::int64_t inner) {
    return kernel_view({outer, inner}, {count * inner, 1});
  }

  void lower(const Node& node, const RunningSum& running) {
    const auto in = computed_in(node);
    const auto x = row_major(node.inputs[0], in);
    const auto to = exact_destination(node);
    const auto y = tensors_.allocate(x.shape, x.strides, in);
    RunningSumArguments r;
    r.x_view = r.y_view = around(running.outer, running.count, running.inner);
    r.count = narrow(running.count);
    r.x_stride = r.y_stride = running.inner;
    r.exclusive = running.exclusive;
    r.reverse = running.reverse;
    using A = RunningSumArguments;
    emit<A>(r, {{&A::x, x.place}, {&A::y, y.place}}, in);
    finish(node, to, y);
  }

  void lower(const Node& node, const TopIndices& top) {
    const auto in = numbers(node.inputs[0]).storage;
    const auto x = row_major(node.inputs[0], in);
    const auto y = tensors_.allocate(shape(node.output), dense_strides(shape(node.output)), Storage::f32);
    TopIndicesArguments t;
    t.x_view = around(top.outer, top.count, top.inner);
    t.y_view = around(top.outer, top.kept, top.inner);
    if (top.outer * top.inner > most_blocks)
      throw Unsupported{"node '" + node.name + "': the largest elements of more than " + std::to_string(most_blocks) +
                        " rows; supported on a GPU: up to that many"};
    t.count = narrow(top.count);
    t.kept = narrow(top.kept);
    t.x_stride = t.y_stride = top.inner;
    t.largest = top.largest;
    using A = TopIndicesArguments;
    emit<A>(t, {{&A::x, x.place}, {&A::y, y.place}}, in);
    finish(node, y);
  }

  void lower(const Node& node, const Recurrent& recurrent) {
    static_assert(static_cast<int>(Recurrent::Kind::lstm) == RecurrentArguments::lstm);
    const auto operand = [&](std::size_t input) { return row_major(node.inputs[input]); };
    const auto gates = operand(0), state = operand(2);
    const auto& to = shape(node.output);
    const auto y = tensors_.allocate(to, dense_strides(to), storage());
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
                           [&](const Activation& each) { return activation_of(each); });
    const bool lstm = recurrent.kind == Recurrent::Kind::lstm;
    using A = RecurrentArguments;
    const auto alone = launch_of(r, storage());
    const auto resident = recurrent.peepholes ? std::nullopt : resident_launch(r, storage());
    if (resident) r.lanes = resident->lanes;
    const auto best = resident ? resident->launch : clustered(r, alone);
    auto call = kernel_call<A>(best, r,
                               {{&A::gates, gates.place},
                                {&A::weights, operand(1).place},
                                {&A::state, state.place},
                                {&A::cell, lstm ? operand(3).place : Place{}},
                                {&A::bias, recurrent.late_reset ? operand(3).place : Place{}},
                                {&A::peepholes, recurrent.peepholes ? operand(4).place : Place{}},
                                {&A::y, y.place}});
    if (best.cluster_z > 1) otherwise(call, cluster_architecture, alone);
    emit(std::move(call));
    finish(node, y);
  }

  // ---- element-wise, and what only moves

  void lower(const Node& node, const Binary& binary) {
    static_assert(static_cast<int>(Binary::Kind::less_or_equal) == BinaryArguments::less_or_equal);
    const auto in = computed_in(node);
    const auto a = stored(node.inputs[0], in), b = stored(node.inputs[1], in);
    const auto to = tensors_.destination(node_number_, node.inputs);
    const auto y = computed(to, in);
    BinaryArguments arguments;
    arguments.a_view = kernel_view(y.shape, broadcast(a.shape, a.strides, y.shape));
    arguments.b_view = kernel_view(y.shape, broadcast(b.shape, b.strides, y.shape));
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.kind = static_cast<int>(binary.kind);
    arguments.activation = activation_of(node.activation);
    simplify(arguments);
    using A = BinaryArguments;
    emit<A>(arguments, {{&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}}, in);
    finish(node, to, y);
  }

  void lower(const Node& node, const Select&) {
    const auto in = computed_in(node);
    const auto condition = stored(node.inputs[0], in), a = stored(node.inputs[1], in), b = stored(node.inputs[2], in);
    const auto to = tensors_.destination(node_number_, node.inputs);
    const auto y = computed(to, in);
    const auto view = [&](const Value& x) { return kernel_view(y.shape, broadcast(x.shape, x.strides, y.shape)); };
    SelectArguments arguments;
    arguments.condition_view = view(condition);
    arguments.a_view = view(a);
    arguments.b_view = view(b);
    arguments.y_view = kernel_view(y.shape, y.strides);
    simplify(arguments);
    using A = SelectArguments;
    emit<A>(arguments, {{&A::condition, condition.place}, {&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}}, in);
    finish(node, to, y);
  }

  void lower(const Node& node, const Concat& concat) {
    const auto y = exact_destination(node);
    std::int64_t at = 0;
    for (const auto input : node.inputs) {
      const auto& x = tensors_.value(input);
      const auto part = under(y, x.shape, y.strides, at * y.strides[concat.axis]);
      if (x.place != part.place || x.strides != part.strides) copy(x, part);
      at += x.shape[concat.axis];
    }
    finish(node, y);
  }

  void lower(const Node& node, const Reshape&) {
    const auto x = stored(node.inputs[0], tensors_.storage_of(node.output));
    const auto& to = shape(node.output);
    if (const auto strides = reshape(x.shape, x.strides, to)) return finish(node, under(x, to, *strides));
    auto y = tensors_.allocate(to, tensors_.natural(node.output), x.storage);
    auto strides = reshape(to, y.strides, x.shape);
    if (!strides) {
      y = tensors_.allocate(to, dense_strides(to), y.storage);
      strides = dense_strides(x.shape);
    }
    copy(x, under(y, x.shape, *strides));
    finish(node, y);
  }

  void lower(const Node& node, const tasks::View& view) {
    const auto of = tensors_.storage_of(node.output);
    const auto x = stored(node.inputs[0], of);
    const auto& to = shape(node.output);
    if (const auto found = view_of(view, to, x.shape, x.strides))
      return finish(node, under(x, to, found->strides, found->offset));
    finish(node, under(row_major(node.inputs[0], of), to, view.strides, view.offset));
  }

  void lower(const Node& node, const Gather& gather) {
    const auto y = exact_destination(node);
    const auto x = stored(node.inputs[0], y.storage);
    std::vector<int> indices;
    for (const auto index : gather.indices) indices.push_back(narrow(index));
    GatherArguments arguments;
    arguments.x_view = kernel_view(y.shape, x.strides);
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.axis = narrow(static_cast<std::int64_t>(gather.axis));
    simplify(arguments);
    using A = GatherArguments;
    emit<A>(arguments, {{&A::x, x.place}, {&A::indices, tensors_.constant(indices)}, {&A::y, y.place}}, y.storage);
    finish(node, y);
  }

  // ---- by indices

  /// Strides of y's dimensions that come from `x`'s from `first` on, at `to`; others have none.
  static Strides placed(std::size_t rank, std::size_t to, const Strides& x, std::size_t first, std::size_t count) {
    Strides strides(rank, 0);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), count,
                strides.begin() + static_cast<std::ptrdiff_t>(to));
    return strides;
  }
  static Strides sum(Strides a, const Strides& b) {
    std::ranges::transform(a, b, a.begin(), std::plus());
    return a;
  }
  /// Where indices along dimensions `first` and on of x lead.
  static IndexedPlaces places_in(const Value& x, std::size_t first, std::size_t depth, std::int64_t stride) {
    IndexedPlaces places;
    places.depth = narrow(static_cast<std::int64_t>(depth));
    places.stride = stride;
    for (std::size_t d = 0; d < depth; ++d) {
      places.sizes[d] = narrow(x.shape[first + d]);
      places.strides[d] = x.strides[first + d];
    }
    return places;
  }

  void take(const Node& node, const IndexedPlaces& places, const Strides& x_strides, const Value& x,
            const Strides& index_strides, const Value& indices) {
    const auto y = exact_destination(node);
    TakeArguments t;
    t.places = places;
    t.x_view = kernel_view(y.shape, x_strides);
    t.indices_view = kernel_view(y.shape, index_strides);
    t.y_view = kernel_view(y.shape, y.strides);
    simplify(t);
    auto call = kernel_call<TakeArguments>(launch_of(t, y.storage), t,
                                           {{&TakeArguments::x, x.place}, {&TakeArguments::y, y.place}});
    add_indices<TakeArguments>(call, indices);
    emit(std::move(call));
    finish(node, y);
  }
  template <class Arguments> static void add_indices(KernelCall& call, const Value& indices) {
    call.pointers.push_back({offsetof(Arguments, places) + offsetof(IndexedPlaces, indices), indices.place});
  }

  [[nodiscard]] Value source_of(const Node& node) { return stored(node.inputs[0], tensors_.storage_of(node.output)); }
  [[nodiscard]] Value indices_of(const Node& node) { return stored(node.inputs[1], Storage::f32); }

  void lower(const Node& node, const Take& operation) {
    const auto x = source_of(node), indices = indices_of(node);
    const auto rank = shape(node.output).size(), axis = operation.axis, wide = indices.shape.size();
    take(node, places_in(x, axis, 1, 0),
         sum(placed(rank, 0, x.strides, 0, axis),
             placed(rank, axis + wide, x.strides, axis + 1, x.shape.size() - axis - 1)),
         x, placed(rank, axis, indices.strides, 0, wide), indices);
  }

  void lower(const Node& node, const TakeElements& operation) {
    const auto x = source_of(node), indices = indices_of(node);
    auto strides = x.strides;
    strides[operation.axis] = 0;
    take(node, places_in(x, operation.axis, 1, 0), strides, x, indices.strides, indices);
  }

  void lower(const Node& node, const TakeSlices& operation) {
    const auto x = source_of(node), indices = indices_of(node);
    const auto rank = shape(node.output).size(), batch = operation.batch, wide = indices.shape.size() - 1;
    const auto depth = static_cast<std::size_t>(indices.shape.back());
    take(node, places_in(x, batch, depth, indices.strides.back()),
         sum(placed(rank, 0, x.strides, 0, batch),
             placed(rank, wide, x.strides, batch + depth, x.shape.size() - batch - depth)),
         x, placed(rank, 0, indices.strides, 0, wide), indices);
  }

  void lower(const Node& node, const Put& operation) {
    static_assert(static_cast<int>(Put::Kind::maximum) == PutArguments::maximum);
    const auto to = tensors_.storage_of(node.output);
    const auto y = tensors_.destination(node_number_, {node.inputs.data(), 1});
    const auto x = source_of(node), indices = indices_of(node), updates = stored(node.inputs[2], to);
    if (x.place != y.place || x.strides != y.strides) copy(x, y);
    const auto rank = updates.shape.size();
    PutArguments p;
    p.kind = static_cast<int>(operation.kind);
    Strides index_strides = indices.strides, y_strides = y.strides;
    std::vector<bool> serial(rank, false); // dimensions in which several updates may mean the same element
    if (operation.axis) {
      p.places = places_in(y, *operation.axis, 1, 0);
      y_strides[*operation.axis] = 0;
      serial[*operation.axis] = operation.kind != Put::Kind::replace;
    } else {
      const auto wide = indices.shape.size() - 1;
      const auto depth = static_cast<std::size_t>(indices.shape.back());
      p.places = places_in(y, 0, depth, indices.strides.back());
      index_strides = placed(rank, 0, indices.strides, 0, wide);
      y_strides = placed(rank, wide, y.strides, depth, y.shape.size() - depth);
      for (std::size_t d = 0; d < wide; ++d) serial[d] = operation.kind != Put::Kind::replace;
    }
    const auto view = [&](const Strides& strides, bool wanted) {
      Shape shape;
      Strides chosen;
      for (std::size_t d = 0; d < rank; ++d)
        if (serial[d] == wanted) {
          shape.push_back(updates.shape[d]);
          chosen.push_back(strides[d]);
        }
      return kernel_view(shape, chosen);
    };
    std::tie(p.x_view, p.x_serial) = std::pair(view(updates.strides, false), view(updates.strides, true));
    std::tie(p.indices_view, p.indices_serial) = std::pair(view(index_strides, false), view(index_strides, true));
    std::tie(p.y_view, p.y_serial) = std::pair(view(y_strides, false), view(y_strides, true));
    using A = PutArguments;
    auto call = kernel_call<A>(launch_of(p, to), p, {{&A::x, updates.place}, {&A::y, y.place}});
    add_indices<A>(call, indices);
    emit(std::move(call));
    finish(node, y);
  }

  // ---- between elements

  void lower(const Node& node, const Resample& resample) {
    const auto x = row_major(node.inputs[0]);
    const auto& to = shape(node.output);
    const Shape from_shape{resample.outer, resample.count, resample.inner};
    const auto positions = static_cast<std::int64_t>(resample.indices.size()) / resample.taps;
    const Shape to_shape{resample.outer, positions, resample.inner};
    const auto y = tensors_.allocate(to, dense_strides(to), storage());
    ResampleArguments r;
    r.x_view = kernel_view(to_shape, dense_strides(from_shape));
    r.y_view = kernel_view(to_shape, dense_strides(to_shape));
    r.axis = 1;
    r.taps = narrow(resample.taps);
    simplify(r);
    std::vector<int> indices;
    for (const auto index : resample.indices) indices.push_back(narrow(index));
    using A = ResampleArguments;
    emit<A>(r, {{&A::x, x.place},
                {&A::indices, tensors_.constant(indices)},
                {&A::weights, tensors_.constant(resample.weights)},
                {&A::y, y.place}});
    finish(node, y);
  }

  void lower(const Node& node, const GridSample& sample) {
    static_assert(static_cast<int>(GridSample::Mode::cubic) == GridSampleArguments::cubic &&
                  static_cast<int>(GridSample::Padding::reflection) == GridSampleArguments::reflection);
    const auto x = pixels(node.inputs[0]);
    const auto grid = stored(node.inputs[1], storage());
    const auto y = as_pixels(tensors_.destination(node.output));
    GridSampleArguments g;
    set_images(g, x.image, y.value.shape);
    g.y_stride = narrow(y.image.pixel);
    std::ranges::copy(grid.strides, g.grid_strides);
    g.mode = static_cast<int>(sample.mode);
    g.padding = static_cast<int>(sample.padding);
    g.align_corners = sample.align_corners;
    using A = GridSampleArguments;
    emit<A>(g, {{&A::x, x.value.place}, {&A::grid, grid.place}, {&A::y, y.value.place}});
    finish(node, y.value);
  }

  // ---- what only moves

  void lower(const Node& node, const Pad& operation) {
    const auto y = exact_destination(node);
    const auto x = stored(node.inputs[0], y.storage);
    pad(x, y, operation.before, operation.value);
    finish(node, y);
  }

  void pad(const Value& x, const Value& y, const std::vector<std::int64_t>& before, float value) {
    PadArguments arguments;
    arguments.x_view = kernel_view(x.shape, x.strides);
    arguments.y_view = kernel_view(y.shape, y.strides);
    std::ranges::transform(before, arguments.before, narrow);
    arguments.value = value;
    simplify(arguments);
    emit<PadArguments>(arguments, {{&PadArguments::x, x.place}, {&PadArguments::y, y.place}}, y.storage);
  }

  const Graph& graph_;
  Program program_;
  WholePlan whole_;
  Tensors tensors_;
  std::size_t node_number_ = 0;
  std::uint32_t layer_ = Call::no_layer;
  bool in_layers_ = false;                           // not before the first node, nor after the last
  std::map<TensorId, Value> images_, padded_, rows_; // copies that were made already
  std::map<std::pair<TensorId, Storage>, Value> dense_, converted_;
  std::map<std::tuple<TensorId, Shape, Storage>, Value> flat_;
};

} // namespace

Result<Program> lower(const Graph& graph, Precision precision) {
  try {
    return Lowering(graph, precision).run();
  } catch (const Unsupported& unsupported) { return fail(Errc::unsupported, unsupported.what); }
}

} // namespace rtexec::tasks::cuda
