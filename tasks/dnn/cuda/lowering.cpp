#include "tasks/dnn/cuda/lowering.hpp"

#include "tasks/dnn/graph/half.hpp"
#include "tasks/dnn/cuda/kernels/simple_kernels.hpp"
#include "tasks/dnn/cuda/tensors.hpp"
#include "tasks/dnn/kernels/evaluate.hpp"

#include <algorithm>
#include <cstdint>
#include <cmath>
#include <bit>
#include <map>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

/// What a graph holds that the kernels cannot do.
struct Unsupported {
  std::string what;
};

int narrow(std::int64_t value) { return static_cast<int>(value); } // shapes never exceed max_elements

ActivationArguments activation_of(const Activation& activation) {
  static_assert(static_cast<int>(Activation::Kind::scaled_tanh) == ActivationArguments::scaled_tanh);
  return {static_cast<int>(activation.kind), activation.a, activation.b};
}

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
  Lowering(const Graph& graph, Precision precision) : graph_(graph), tensors_(graph, prepare(program_, precision)) {}

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

  // ---- calls

  void emit(std::variant<KernelCall, ConvCall> what) {
    if (in_layers_ && layer_ == Call::no_layer) {
      layer_ = static_cast<std::uint32_t>(program_.layers.size());
      program_.layers.push_back(node().name);
    }
    program_.calls.push_back({layer_, std::move(what)});
  }

  template <class Arguments> void emit(const Arguments& arguments, const std::vector<Operand<Arguments>>& operands) {
    emit(kernel_call(launch_of(arguments, storage()), arguments, operands));
  }

  /// y = activation(x), element by element; shapes are equal.
  void copy(const Value& x, const Value& y, const Activation& activation = {}) {
    CopyArguments arguments;
    arguments.x_view = kernel_view(x.shape, x.strides);
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.activation = activation_of(activation);
    simplify(arguments);
    emit(kernel_call<CopyArguments>(launch_of(arguments, x.storage, y.storage), arguments,
                                    {{&CopyArguments::x, x.place}, {&CopyArguments::y, y.place}}));
  }

  Value copied(const Value& x, Strides strides) {
    auto y = tensors_.allocate(x.shape, std::move(strides), x.storage);
    copy(x, y);
    return y;
  }

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
    return cuda::image_of(value.shape, value.strides, tensors_.unit());
  }
  /// With its channels last, each pixel beginning at a multiple of 16 bytes.
  [[nodiscard]] Strides whole_pixels(const Shape& shape) const {
    return channels_last(shape, round_up(shape[1], tensors_.unit()));
  }
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
    const auto image = image_of(value);
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

  Value row_major(TensorId id) {
    const auto& value = tensors_.value(id);
    const auto dense = dense_strides(value.shape);
    if (lies_dense(value)) return under(value, value.shape, dense);
    const auto [found, missing] = dense_.try_emplace(id);
    if (missing) found->second = copied(value, dense);
    return found->second;
  }

  // ---- inputs and outputs

  void take_in(TensorId id) {
    const auto& tensor = graph_.tensors[id];
    const auto staged = tensors_.allocate(tensor.shape, dense_strides(tensor.shape), Storage::f32);
    program_.inputs.push_back({tensor.name, tensor.type, tensor.shape, staged.place});
    if (tensor.shape.size() == 4) {
      take_in_image(id, staged);
    } else if (storage() == Storage::f32) {
      tensors_.set(id, staged);
      tensors_.keep(id);
    } else {
      auto value = tensors_.allocate(tensor.shape);
      copy(staged, value);
      tensors_.set(id, value);
    }
  }

  void take_in_image(TensorId id, const Value& staged) {
    auto value = tensors_.allocate(staged.shape);
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

  // ---- nodes

  static constexpr std::int64_t few_pixels = 16; // for which kernels that read any channels are fast enough

  void finish(const Node& node, Value value) { tensors_.set(node.output, std::move(value)); }

  void lower(const Node& node, const Activation& activation) {
    const auto& x = tensors_.value(node.inputs[0]);
    const auto image = image_of(x);
    const auto y = tensors_.destination(node_number_, {node.inputs.data(), 1});
    const auto y_image = image_of(y);
    if (image && y_image) scale_shift(x, *image, {}, {}, y, *y_image, activation);
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
    convolution(node, a, x.value, packed, bias);
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
                   const std::vector<float>& bias) {
    ConvCall call;
    call.x = x.place;
    call.weights = tensors_.stored(program_.precision == Precision::tf32 ? rounded_to_tf32(weights) : weights);
    if (!bias.empty()) call.bias = tensors_.constant(bias);
    if (!bias.empty() && storage() == Storage::f16) call.half_bias = tensors_.stored(bias);
    if (node.residual) {
      const auto residual = pixels(*node.residual);
      call.residual = residual.value.place;
      arguments.residual_stride = narrow(residual.image.pixel);
    }
    const auto y = tensors_.destination(node.output);
    call.y = y.place;
    arguments.y_stride = narrow(image_of(y)->pixel);
    arguments.activation = activation_of(node.activation);
    call.arguments = arguments;
    emit(std::move(call));
    finish(node, y);
  }

  // ---- matrix products

  void lower(const Node& node, const Gemm& gemm) {
    const auto& a = tensors_.value(node.inputs[0]);
    const bool is_conv = graph_.tensors[node.inputs[1]].constant() && !gemm.transpose_a && image_of(a);
    const auto bias = is_conv ? row_bias(node, gemm) : std::nullopt;
    if (bias) matrix_conv(node, gemm, *bias);
    else generic_gemm(node, gemm);
  }

  /// beta * c, for every row the same; empty without c. Nothing where c is more than a row.
  std::optional<std::vector<float>> row_bias(const Node& node, const Gemm& gemm) const {
    if (node.inputs.size() < 3) return std::vector<float>{};
    const auto& c = graph_.tensors[node.inputs[2]];
    const auto columns = shape(node.output)[1];
    if (!c.constant() ||
        (c.values.size() != 1 && (c.shape.empty() || c.shape.back() != columns || element_count(c.shape) != columns)))
      return std::nullopt;
    std::vector<float> bias(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = gemm.beta * c.values[c.values.size() == 1 ? 0 : i];
    return bias;
  }

  void matrix_conv(const Node& node, const Gemm& gemm, const std::vector<float>& bias) {
    const auto& b = graph_.tensors[node.inputs[1]];
    const auto rows = shape(node.output)[0], columns = shape(node.output)[1], sum = shape(node.inputs[0])[1];
    const auto x = rows > few_pixels ? padded_pixels(node.inputs[0]) : pixels(node.inputs[0]);
    const auto channels = x.image.channels;
    std::vector<float> weights(static_cast<std::size_t>(columns * channels), 0.0F);
    for (std::int64_t n = 0; n < columns; ++n)
      for (std::int64_t k = 0; k < sum; ++k)
        weights[static_cast<std::size_t>(n * channels + k)] =
            gemm.alpha * b.values[static_cast<std::size_t>(gemm.transpose_b ? n * sum + k : k * columns + n)];
    ConvArguments arguments;
    arguments.height = arguments.out_height = narrow(rows);
    arguments.channels = narrow(channels);
    arguments.out_channels = narrow(columns);
    arguments.x_stride = narrow(x.image.pixel);
    convolution(node, arguments, x.value, weights, bias);
  }

  void generic_gemm(const Node& node, const Gemm& gemm) {
    const auto &a = tensors_.value(node.inputs[0]), &b = tensors_.value(node.inputs[1]);
    const auto y = tensors_.destination(node.output);
    GemmArguments g;
    g.m = narrow(y.shape[0]);
    g.n = narrow(y.shape[1]);
    g.k = narrow(a.shape[gemm.transpose_a ? 0 : 1]);
    std::tie(g.a_row, g.a_column) = std::pair(a.strides[gemm.transpose_a ? 1 : 0], a.strides[gemm.transpose_a ? 0 : 1]);
    std::tie(g.b_row, g.b_column) = std::pair(b.strides[gemm.transpose_b ? 1 : 0], b.strides[gemm.transpose_b ? 0 : 1]);
    g.y_row = y.strides[0];
    g.alpha = gemm.alpha;
    g.beta = gemm.beta;
    g.activation = activation_of(node.activation);
    Place c, residual;
    if (node.inputs.size() > 2) {
      const auto& value = tensors_.value(node.inputs[2]);
      const auto strides = broadcast(value.shape, value.strides, y.shape);
      c = value.place;
      g.c_row = strides[0];
      g.c_column = strides[1];
    }
    if (node.residual) {
      const auto value = pixels(*node.residual);
      residual = value.value.place;
      g.residual_row = value.image.pixel;
    }
    using A = GemmArguments;
    emit<A>(g, {{&A::a, a.place}, {&A::b, b.place}, {&A::c, c}, {&A::residual, residual}, {&A::y, y.place}});
    finish(node, y);
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

  template <class Operation> void lower(const Node& node, const Operation&) {
    throw Unsupported{"node '" + node.name + "': its operation is not supported on a GPU"};
  }

  void lower(const Node& node, const Reduce& mean) {
    static_assert(static_cast<int>(Reduce::Kind::last_maximum) == ReduceArguments::last_maximum);
    const auto& x = shape(node.inputs[0]);
    if (mean.kind == Reduce::Kind::mean && x.size() == 4 && x[0] <= most_blocks && mean.outer == x[0] * x[1] &&
        mean.inner == 1 && (mean.count > 1 || x[2] * x[3] == 1)) {
      if (auto y = tensors_.destination(node.output); reshape(y.shape, y.strides, {x[0], x[1]})) {
        global_average(node, y);
        return;
      }
    }
    auto from = tensors_.value(node.inputs[0]);
    auto middle = middle_of(from.shape, mean.outer, mean.count);
    if (!middle) {
      from = grouped(node.inputs[0], mean.outer, mean.count, mean.inner);
      middle = Middle{1, 2};
    }
    const auto kept = without(from.shape, *middle);
    auto y = tensors_.destination(node.output);
    auto y_strides = reshape(y.shape, y.strides, kept);
    if (!y_strides) {
      y = tensors_.allocate(y.shape, dense_strides(y.shape), storage());
      y_strides = dense_strides(kept);
    }
    ReduceArguments r;
    r.kept = kernel_view(kept, without(from.strides, *middle));
    r.y_kept = kernel_view(kept, *y_strides);
    r.reduced = kernel_view(within(from.shape, *middle), within(from.strides, *middle));
    r.y_reduced = kernel_view(within(from.shape, *middle), Strides(middle->last - middle->first, 0));
    r.kind = static_cast<int>(mean.kind);
    if (r.kind < ReduceArguments::first_minimum) simplify(r); // else the order of indices counts
    emit(kernel_call<ReduceArguments>(reduce_launch(r, storage()), r,
                                      {{&ReduceArguments::x, from.place}, {&ReduceArguments::y, y.place}}));
    finish(node, y);
  }

  /// A tensor as [outer, count, inner].
  Value grouped(TensorId id, std::int64_t outer, std::int64_t count, std::int64_t inner) {
    const Shape groups{outer, count, inner};
    return under(row_major(id), groups, dense_strides(groups));
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
    auto x = tensors_.value(node.inputs[0]);
    auto y = tensors_.destination(node.output);
    auto to = y;
    auto middle = middle_of(x.shape, softmax.outer, softmax.count);
    if (!middle) {
      x = grouped(node.inputs[0], softmax.outer, softmax.count, softmax.inner);
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

  // ---- element-wise, and what only moves

  void lower(const Node& node, const Binary& binary) {
    static_assert(static_cast<int>(Binary::Kind::less_or_equal) == BinaryArguments::less_or_equal);
    const auto a = tensors_.value(node.inputs[0]), b = tensors_.value(node.inputs[1]);
    const auto y = tensors_.destination(node_number_, node.inputs);
    BinaryArguments arguments;
    arguments.a_view = kernel_view(y.shape, broadcast(a.shape, a.strides, y.shape));
    arguments.b_view = kernel_view(y.shape, broadcast(b.shape, b.strides, y.shape));
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.kind = static_cast<int>(binary.kind);
    arguments.activation = activation_of(node.activation);
    simplify(arguments);
    using A = BinaryArguments;
    emit<A>(arguments, {{&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}});
    finish(node, y);
  }

  void lower(const Node& node, const Select&) {
    const auto condition = tensors_.value(node.inputs[0]), a = tensors_.value(node.inputs[1]),
               b = tensors_.value(node.inputs[2]);
    const auto y = tensors_.destination(node_number_, node.inputs);
    const auto view = [&](const Value& x) { return kernel_view(y.shape, broadcast(x.shape, x.strides, y.shape)); };
    SelectArguments arguments;
    arguments.condition_view = view(condition);
    arguments.a_view = view(a);
    arguments.b_view = view(b);
    arguments.y_view = kernel_view(y.shape, y.strides);
    simplify(arguments);
    using A = SelectArguments;
    emit<A>(arguments, {{&A::condition, condition.place}, {&A::a, a.place}, {&A::b, b.place}, {&A::y, y.place}});
    finish(node, y);
  }

  void lower(const Node& node, const Concat& concat) {
    const auto y = tensors_.destination(node.output);
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
    const auto x = tensors_.value(node.inputs[0]);
    const auto& to = shape(node.output);
    if (const auto strides = reshape(x.shape, x.strides, to)) return finish(node, under(x, to, *strides));
    auto y = tensors_.allocate(to);
    auto strides = reshape(to, y.strides, x.shape);
    if (!strides) {
      y = tensors_.allocate(to, dense_strides(to), storage());
      strides = dense_strides(x.shape);
    }
    copy(x, under(y, x.shape, *strides));
    finish(node, y);
  }

  void lower(const Node& node, const tasks::View& view) {
    const auto& x = tensors_.value(node.inputs[0]);
    const auto& to = shape(node.output);
    if (const auto found = view_of(view, to, x.shape, x.strides))
      return finish(node, under(x, to, found->strides, found->offset));
    finish(node, under(row_major(node.inputs[0]), to, view.strides, view.offset));
  }

  void lower(const Node& node, const Gather& gather) {
    const auto x = tensors_.value(node.inputs[0]);
    const auto y = tensors_.destination(node.output);
    std::vector<int> indices;
    for (const auto index : gather.indices) indices.push_back(narrow(index));
    GatherArguments arguments;
    arguments.x_view = kernel_view(y.shape, x.strides);
    arguments.y_view = kernel_view(y.shape, y.strides);
    arguments.axis = narrow(static_cast<std::int64_t>(gather.axis));
    simplify(arguments);
    using A = GatherArguments;
    emit<A>(arguments, {{&A::x, x.place}, {&A::indices, tensors_.constant(indices)}, {&A::y, y.place}});
    finish(node, y);
  }

  void lower(const Node& node, const Pad& operation) {
    const auto x = tensors_.value(node.inputs[0]);
    const auto y = tensors_.destination(node.output);
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
    emit<PadArguments>(arguments, {{&PadArguments::x, x.place}, {&PadArguments::y, y.place}});
  }

  const Graph& graph_;
  Program program_;
  Tensors tensors_;
  std::size_t node_number_ = 0;
  std::uint32_t layer_ = Call::no_layer;
  bool in_layers_ = false;                            // not before the first node, nor after the last
  std::map<TensorId, Value> images_, padded_, dense_; // copies that were made already
};

} // namespace

Result<Program> lower(const Graph& graph, Precision precision) {
  try {
    return Lowering(graph, precision).run();
  } catch (const Unsupported& unsupported) { return fail(Errc::unsupported, unsupported.what); }
}

} // namespace rtexec::tasks::cuda
