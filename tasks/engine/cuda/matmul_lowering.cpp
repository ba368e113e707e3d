#include "tasks/engine/cuda/matmul_lowering.hpp"

#include "tasks/engine/cuda/lowerings.hpp"
#include "tasks/engine/graph/uses.hpp"

#include "tasks/engine/cuda/attention_plan.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace rtexec::tasks::cuda {
namespace {

/// Up to this many pixels, kernels for any number of channels are fast enough, so channels are not padded.
constexpr std::int64_t few_pixels = 16;

// ---- convolutions

/// Returns weights in the layout of ConvArguments, with `channels` input channels. Additional channels are zeros.
std::vector<float> packed_weights(const Tensor& weights, std::int64_t channels) {
  const auto out = weights.shape[0], in = weights.shape[1], window = weights.shape[2] * weights.shape[3];
  std::vector<float> packed(static_cast<std::size_t>(out * window * channels), 0.0F);
  const float* from = weights.values.data();
  const auto place = [&](std::int64_t o, std::int64_t w, std::int64_t c) {
    return static_cast<std::size_t>(channels == 1 ? w * out + o : (o * window + w) * channels + c);
  };
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t c = 0; c < in; ++c)
      for (std::int64_t w = 0; w < window; ++w) packed[place(o, w, c)] = *from++;
  return packed;
}

/// Returns the values rounded to the nearest tf32, ties away from zero, as the GPU's own conversion does. Infinities
/// and NaN do not change.
std::vector<float> rounded_to_tf32(std::vector<float> values) {
  constexpr std::uint32_t half = 0x1000, dropped = 0x1fff;
  for (float& value : values)
    if (std::isfinite(value)) value = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + half) & ~dropped);
  return values;
}

void convolution(LoweringContext& context, const Node& node, ConvArguments arguments, const PlacedTensor& x,
                 const std::vector<float>& weights, const std::vector<float>& bias,
                 const std::optional<Pixels>& residual, const Destination& to) {
  ConvCall call;
  call.x = x.location;
  call.weights =
      context.tensors.stored(context.program.precision == Precision::tf32 ? rounded_to_tf32(weights) : weights);
  if (!bias.empty()) call.bias = context.tensors.constant(bias);
  if (!bias.empty() && context.storage() == Storage::f16) call.half_bias = context.tensors.stored(bias);
  if (residual) {
    call.residual = residual->value.location;
    arguments.residual_stride = narrow(residual->image.pixel);
    arguments.residual_last = node.residual_last;
  }
  call.y = to.y.location;
  arguments.y_stride = narrow(context.image_of(to.flat)->pixel);
  arguments.activation = context.activation_of(node.activation);
  call.arguments = arguments;
  context.emit(std::move(call));
}

/// Extends `bias` with zeros to `first` channels, then appends `more`.
void append(std::vector<float>& bias, std::int64_t first, const std::vector<float>& more) {
  bias.resize(static_cast<std::size_t>(first), 0.0F);
  bias.insert(bias.end(), more.begin(), more.end());
}

/// True if an input of the operation may be a slice of the channels of a larger image.
bool reads_images(const Operation& operation) {
  return std::holds_alternative<Conv>(operation) || std::holds_alternative<Pool>(operation) ||
         std::holds_alternative<Resize>(operation) || std::holds_alternative<Binary>(operation) ||
         std::holds_alternative<Activation>(operation) || std::holds_alternative<Concat>(operation);
}

bool is_read_as_image(const LoweringContext& context, TensorId id) {
  const auto& graph = context.graph;
  return std::ranges::count(graph.outputs, id) == 0 && std::ranges::all_of(graph.nodes, [&](const Node& node) {
           return !reads(node, id) || reads_images(node.operation);
         });
}

/// Returns `node` and the later convolutions of the same image that differ from `node` only in their filters.
std::vector<const Node*> side_by_side(const LoweringContext& context, const Node& node) {
  const auto& graph = context.graph;
  const auto& nodes = graph.nodes;
  const auto fits = [&](const Node& each) {
    const auto& weights = graph.tensors[each.inputs[1]];
    return weights.constant() && weights.shape[1] > 1 && weights.shape[0] % context.tensors.unit() == 0 &&
           std::get<Conv>(each.operation).groups == 1 && !each.residual && !context.tensors.is_part(each.output) &&
           is_read_as_image(context, each.output);
  };
  std::vector<const Node*> all{&node};
  if (!fits(node)) return all;
  for (auto i = static_cast<std::size_t>(&node - nodes.data()) + 1; i < nodes.size(); ++i) {
    const auto& other = nodes[i];
    if (std::holds_alternative<Conv>(other.operation) && other.inputs[0] == node.inputs[0] &&
        other.activation == node.activation && moves_alike(graph, other, node) && !context.int8_plan.has(i) &&
        fits(other))
      all.push_back(&other);
  }
  return all;
}

struct Filters {
  std::vector<float> weights, bias;
  std::int64_t count = 0;
};
Filters joined(const LoweringContext& context, const std::vector<const Node*>& convolutions, std::int64_t channels) {
  Filters all;
  for (const auto* node : convolutions) {
    const auto& weights = context.graph.tensors[node->inputs[1]];
    const auto packed = packed_weights(weights, channels);
    all.weights.insert(all.weights.end(), packed.begin(), packed.end());
    if (node->inputs.size() > 2) append(all.bias, all.count, context.constant_of(node->inputs[2], "the bias"));
    all.count += weights.shape[0];
  }
  if (!all.bias.empty()) append(all.bias, all.count, {});
  return all;
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Conv& conv) {
  if (context.tensors.knows(node.output)) return; // already computed together with another convolution
  const auto& weights = context.graph.tensors[node.inputs[1]];
  (void)context.constant_of(node.inputs[1], "the weights");
  auto out = context.shape(node.output);
  const bool pad = conv.groups == 1 && out[0] * out[2] * out[3] > few_pixels;
  const bool depthwise = conv.groups > 1 && weights.shape[1] == 1;
  const auto x = pad ? context.padded_pixels(node.inputs[0])
                     : context.pixels(node.inputs[0], !depthwise && out[0] * out[2] * out[3] > few_pixels);
  const auto convolutions = side_by_side(context, node);
  const auto filters = joined(context, convolutions, x.image.channels / conv.groups);
  out[1] = filters.count;
  ConvArguments a;
  set_images(a, x.image, out);
  set_window(a, conv.window);
  a.groups = narrow(conv.groups);
  a.channels = narrow(x.image.channels / conv.groups);
  a.out_channels = narrow(out[1] / conv.groups);
  std::optional<Pixels> residual;
  if (node.residual) residual = context.pixels(*node.residual);
  const auto y = convolutions.size() == 1
                     ? context.tensors.destination(node.output)
                     : context.tensors.allocate(out, context.aligned_pixels(out), context.storage());
  convolution(context, node, a, x.value, filters.weights, filters.bias, residual, {y, y});
  std::int64_t first = 0;
  for (const auto* each : convolutions) {
    const auto& shape = context.shape(each->output);
    context.finish(*each, under(y, shape, y.strides, first));
    first += shape[1];
  }
}

void lower(LoweringContext& context, const Node& node, const IntegerConv& operation) {
  const auto x = context.flat_pixels(node.inputs[0], context.shape(node.inputs[0]), Storage::s16, false);
  const auto weights = context.row_major(node.inputs[1], Storage::s16);
  auto y = context.tensors.destination(node.output, Storage::s32);
  if (!context.image_of(y))
    y = context.tensors.allocate(y.shape, context.aligned_pixels(y.shape, Storage::s32), y.storage);
  ConvArguments a;
  set_images(a, x.image, y.shape);
  set_window(a, operation.conv.window);
  a.groups = narrow(operation.conv.groups);
  a.channels = narrow(x.image.channels) / a.groups;
  a.out_channels = narrow(y.shape[1]) / a.groups;
  a.y_stride = narrow(context.image_of(y)->pixel);
  using A = ConvArguments;
  context.emit(kernel_call<A>(integer_conv_launch(a), a,
                              {{&A::x, x.value.location}, {&A::weights, weights.location}, {&A::y, y.location}}));
  context.finish(node, y);
}

// ---- matrix products

std::optional<std::vector<float>> row_bias(const LoweringContext& context, const Node& node, const Gemm& gemm) {
  if (!adds_a_row(context.graph, node)) return std::nullopt;
  if (node.inputs.size() < 3) return std::vector<float>{};
  const auto& c = context.graph.tensors[node.inputs[2]];
  std::vector<float> bias(static_cast<std::size_t>(context.shape(node.output).back()));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = gemm.beta * c.values[c.values.size() == 1 ? 0 : i];
  return bias;
}

Destination row_destination(LoweringContext& context, TensorId id, const Shape& flat, Storage of) {
  const auto& to = context.shape(id);
  if (to.size() == 2) {
    const auto y = context.tensors.destination(id, of);
    return {y, y};
  }
  const auto matrix = context.tensors.allocate(flat, context.aligned_pixels(flat, of), of);
  return {under(matrix, to, *reshape(flat, matrix.strides, to)), matrix};
}

namespace {

/// A product of rows with a constant matrix, which a convolution kernel computes.
struct RowProduct {
  const Node* node;
  const Gemm* gemm;
  std::vector<float> bias; // may be empty
  std::int64_t columns;

  /// Appends the matrix as weights [columns][channels]. `sum` is the number of channels of the matrix. Additional
  /// channels are zeros.
  void append(std::vector<float>& weights, const Tensor& matrix, std::int64_t sum, std::int64_t channels) const {
    const auto begin = weights.size();
    weights.resize(begin + static_cast<std::size_t>(columns * channels), 0.0F);
    for (std::int64_t n = 0; n < columns; ++n)
      for (std::int64_t k = 0; k < sum; ++k)
        weights[begin + static_cast<std::size_t>(n * channels + k)] =
            gemm->alpha * matrix.values[static_cast<std::size_t>(gemm->transpose_b ? n * sum + k : k * columns + n)];
  }
};

std::optional<RowProduct> row_product(const LoweringContext& context, const Node& node) {
  const auto* gemm = std::get_if<Gemm>(&node.operation);
  if (!gemm || !context.graph.tensors[node.inputs[1]].constant() || gemm->transpose_a) return std::nullopt;
  auto bias = row_bias(context, node, *gemm);
  if (!bias) return std::nullopt;
  return RowProduct{&node, gemm, std::move(*bias), context.shape(node.output).back()};
}

/// Returns `first` and the later products of the same rows that differ from `first` only in the constant matrix and its
/// bias. Examples are queries, keys and values.
std::vector<RowProduct> side_by_side(const LoweringContext& context, RowProduct first) {
  std::vector<RowProduct> all{std::move(first)};
  const auto& node = *all.front().node;
  const auto fits = [&](const RowProduct& product) {
    return !product.node->residual && product.columns % context.tensors.unit() == 0;
  };
  if (!fits(all.front())) return all;
  const auto& nodes = context.graph.nodes;
  for (auto i = static_cast<std::size_t>(&node - nodes.data()) + 1; i < nodes.size(); ++i) {
    const auto& other = nodes[i];
    if (other.inputs.empty() || other.inputs[0] != node.inputs[0] || other.activation != node.activation ||
        context.int8_plan.has(i) || context.stack_plan.has(i))
      continue;
    auto product = row_product(context, other);
    if (product && fits(*product)) all.push_back(std::move(*product));
  }
  return all;
}

/// Computes all `products`, which multiply the same rows, as one product.
void matrix_conv(LoweringContext& context, const std::vector<RowProduct>& products) {
  const auto& node = *products.front().node;
  const auto sum = context.shape(node.inputs[0]).back();
  const auto count = element_count(context.shape(node.output)) / products.front().columns;
  // Rows that are shorter than 16 bytes are not padded, because multiplying them unpadded is faster.
  const auto x = context.rows(node.inputs[0], count > few_pixels && sum >= context.tensors.unit());
  const auto channels = x.image.channels;
  std::vector<float> weights, bias;
  std::int64_t columns = 0;
  for (const auto& product : products) {
    product.append(weights, context.graph.tensors[product.node->inputs[1]], sum, channels);
    if (!product.bias.empty()) append(bias, columns, product.bias);
    columns += product.columns;
  }
  if (!bias.empty()) append(bias, columns, {});
  ConvArguments arguments;
  arguments.height = arguments.out_height = narrow(count);
  arguments.channels = narrow(channels);
  arguments.out_channels = narrow(columns);
  arguments.x_stride = narrow(x.image.pixel);
  std::optional<Pixels> residual;
  if (node.residual) residual = context.rows(*node.residual, false);
  if (products.size() == 1) {
    const auto y = row_destination(context, node.output, {count, columns}, context.storage());
    convolution(context, node, arguments, x.value, weights, bias, residual, y);
    return context.finish(node, y.y);
  }
  const auto y = context.tensors.allocate({count, columns}, {columns, 1}, context.storage());
  convolution(context, node, arguments, x.value, weights, bias, residual, {y, y});
  std::int64_t first = 0;
  for (const auto& product : products) {
    const auto part = under(y, {count, product.columns}, y.strides, first);
    const auto& to = context.shape(product.node->output);
    context.finish(*product.node, under(part, to, *reshape(part.shape, part.strides, to)));
    first += product.columns;
  }
}

struct Matrices {
  PlacedTensor value;
  bool transpose = false;
  /// Returns the strides of the rows and columns of the matrix as the product uses it, transposed if `transpose` is
  /// set.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> strides() const {
    const auto& s = value.strides;
    return transpose ? std::pair(s.back(), s[s.size() - 2]) : std::pair(s[s.size() - 2], s.back());
  }
};

/// Returns a view of the batch dimensions of x (all but the last two), broadcast to the batch dimensions of `to`.
View batch_view(const PlacedTensor& x, const Shape& to) {
  const auto outer = [](const auto& of) { return std::vector(of.begin(), of.end() - 2); };
  return kernel_view(outer(to), broadcast(outer(x.shape), outer(x.strides), outer(to)));
}

void multiply(LoweringContext& context, const Node& node, GemmArguments g, const Matrices& a, const Matrices& b,
              const MemoryLocation& c) {
  const auto in = a.value.storage;
  const auto y = context.exact_destination(node);
  g.from = in;
  g.to = y.storage;
  g.m = narrow(y.shape[y.shape.size() - 2]);
  g.n = narrow(y.shape.back());
  g.k = narrow(a.value.shape[a.value.shape.size() - (a.transpose ? 2 : 1)]);
  std::tie(g.a_row, g.a_column) = a.strides();
  std::tie(g.b_row, g.b_column) = b.strides();
  std::tie(g.y_row, g.y_column) = Matrices{y}.strides();
  g.a_batch = batch_view(a.value, y.shape);
  g.b_batch = batch_view(b.value, y.shape);
  g.y_batch = batch_view(y, y.shape);
  g.activation = context.activation_of(node.activation);
  MemoryLocation residual;
  if (node.residual) {
    const auto value = context.stored(*node.residual, in);
    residual = value.location;
    std::tie(g.residual_row, g.residual_column) = Matrices{value}.strides();
    g.residual_batch = batch_view(value, y.shape);
  }
  using A = GemmArguments;
  context.emit<A>(
      g,
      {{&A::a, a.value.location}, {&A::b, b.value.location}, {&A::c, c}, {&A::residual, residual}, {&A::y, y.location}},
      in);
  context.finish(node, y);
}

void generic_gemm(LoweringContext& context, const Node& node, const Gemm& gemm) {
  const auto in = context.storage();
  const auto a = context.stored(node.inputs[0], in), b = context.stored(node.inputs[1], in);
  GemmArguments g;
  g.alpha = gemm.alpha;
  g.beta = gemm.beta;
  MemoryLocation c;
  if (node.inputs.size() > 2) {
    const auto value = context.stored(node.inputs[2], in);
    const auto strides = broadcast(value.shape, value.strides, context.shape(node.output));
    c = value.location;
    g.c_row = strides[0];
    g.c_column = strides[1];
  }
  multiply(context, node, g, {a, gemm.transpose_a}, {b, gemm.transpose_b}, c);
}

} // namespace

void lower(LoweringContext& context, const Node& node, const Gemm& gemm) {
  if (context.tensors.knows(node.output)) return; // already computed together with another product
  if (auto product = row_product(context, node)) matrix_conv(context, side_by_side(context, std::move(*product)));
  else generic_gemm(context, node, gemm);
}

void lower(LoweringContext& context, const Node& node, const MatMul& product) {
  GemmArguments g;
  g.alpha = product.alpha;
  const auto in = context.storage();
  multiply(context, node, g, {context.stored(node.inputs[0], in), product.transpose_a},
           {context.stored(node.inputs[1], in), product.transpose_b}, {});
}

void lower(LoweringContext& context, const Node& node, const IntegerMatMul&) {
  multiply(context, node, {}, {context.tensors.value(node.inputs[0])}, {context.tensors.value(node.inputs[1])}, {});
}

// ---- attention

namespace {

/// Returns tensor `id`. If the row length is a multiple of 16 bytes, the result has a layout in which kernels can copy
/// rows in whole 16-byte chunks.
PlacedTensor rows_in_chunks(LoweringContext& context, TensorId id) {
  const auto value = context.stored(id, context.storage());
  const auto others = std::span(value.strides).first(value.strides.size() - 1);
  const auto whole = [&](std::int64_t stride) { return stride % context.tensors.unit() == 0; };
  if (value.shape.back() % context.tensors.unit() != 0) return value;
  return value.strides.back() == 1 && std::ranges::all_of(others, whole) && context.aligned(value)
             ? value
             : context.row_major(id);
}

} // namespace

PlacedTensor attended(LoweringContext& context, const Node& node) {
  const auto& to = context.shape(node.output);
  if (to.size() < 3) return context.tensors.destination(node.output);
  auto strides = dense_strides(to);
  const auto heads = to.size() - 3;
  strides[heads] = to.back();
  strides[heads + 1] = to[heads] * to.back();
  return context.tensors.allocate(to, std::move(strides), context.storage());
}

void lower(LoweringContext& context, const Node& node, const Attention& attention) {
  const auto q = rows_in_chunks(context, node.inputs[0]), k = rows_in_chunks(context, node.inputs[1]),
             v = rows_in_chunks(context, node.inputs[2]);
  const auto y = attended(context, node);
  AttentionArguments a;
  a.m = narrow(q.shape[q.shape.size() - 2]);
  a.d = narrow(q.shape.back());
  a.n = narrow(v.shape[v.shape.size() - 2]);
  a.e = narrow(v.shape.back());
  a.scale = attention.scale;
  const auto set = [&](const PlacedTensor& x, long long& row, long long& column, View& batch) {
    std::tie(row, column) = Matrices{x}.strides();
    batch = batch_view(x, y.shape);
  };
  set(q, a.q_row, a.q_column, a.q_batch);
  set(k, a.k_row, a.k_column, a.k_batch);
  set(v, a.v_row, a.v_column, a.v_batch);
  set(y, a.y_row, a.y_column, a.y_batch);
  MemoryLocation mask;
  if (node.inputs.size() > 3) {
    auto value = context.stored(node.inputs[3], context.storage());
    Shape scores(q.shape.begin(), q.shape.end() - 1);
    scores.push_back(a.n);
    value.strides = broadcast(value.shape, value.strides, scores);
    value.shape = scores;
    mask = value.location;
    set(value, a.mask_row, a.mask_column, a.mask_batch);
  }
  if (a.e > attention_most_columns || element_count({y.shape.begin(), y.shape.end() - 2}) > max_blocks)
    throw Unsupported{"node '" + node.name + "': attention of more than " + std::to_string(max_blocks) +
                      " heads, or with values of more than " + std::to_string(attention_most_columns) +
                      " elements; supported on a GPU: up to that many"};
  using A = AttentionArguments;
  simplify(a);
  const auto simple = launch_of(a, context.storage());
  const auto planned = context.aligned(y) ? plan_attention(a, context.program.precision) : std::nullopt;
  auto call = kernel_call<A>(
      planned.value_or(simple), a,
      {{&A::q, q.location}, {&A::k, k.location}, {&A::v, v.location}, {&A::mask, mask}, {&A::y, y.location}});
  if (planned) otherwise(call, attention_architecture, simple);
  context.emit(std::move(call));
  context.finish(node, y);
}

} // namespace rtexec::tasks::cuda
