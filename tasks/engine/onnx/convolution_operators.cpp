#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"
#include "tasks/engine/onnx/windows.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

/// The weights [m, c, ...] of a convolution of x [n, c, ...], and an optional bias.
struct Filter {
  Shape shape;
  TensorId weights;
  std::optional<TensorId> bias;
  std::int64_t groups;
};

TensorId convolve_plane(NodeContext& node, TensorId x, const Shape& shape, const Filter& filter, const Direction& h,
                        const Direction& w) {
  const Conv conv{window_of(h, w), filter.groups};
  Shape y{shape[0], filter.shape[0], h.outputs(false), w.outputs(false)};
  std::vector<TensorId> inputs{x, filter.weights};
  if (is_integer(node.type_of(x)))
    return node.emit(IntegerConv{conv}, std::move(inputs), std::move(y), ElementType::int32);
  if (filter.bias) inputs.push_back(*filter.bias);
  return node.emit(conv, std::move(inputs), std::move(y));
}

/// Lowers the convolution of volumes to a convolution of images. The taps of the first direction become channels, and
/// each output along this direction becomes an image plane.
TensorId convolve_volume(NodeContext& node, TensorId x, Shape shape, Filter filter, const Directions& directions) {
  const auto& [d, h, w] = std::tie(directions[0], directions[1], directions[2]);
  if (d.before + d.after > 0) {
    shape[2] += d.before + d.after;
    x = node.emit(Pad{{0, 0, d.before, 0, 0}, 0}, {x}, shape);
  }
  const auto plane = shape[3] * shape[4], volume = shape[2] * plane, outputs = d.outputs(false);
  x = node.emit(View{0, {shape[1] * volume, d.stride * plane, volume, d.dilation * plane, shape[4], 1}}, {x},
                {shape[0], outputs, shape[1], d.kernel, shape[3], shape[4]});
  const Shape planes{shape[0] * outputs, shape[1] * d.kernel, shape[3], shape[4]};
  x = node.emit(Reshape{}, {x}, planes);
  filter.shape = {filter.shape[0], filter.shape[1] * d.kernel, h.kernel, w.kernel};
  filter.weights = node.emit(Reshape{}, {filter.weights}, filter.shape);
  const auto y = convolve_plane(node, x, planes, filter, h, w);
  const auto channels = filter.shape[0], down = h.outputs(false), across = w.outputs(false), out = down * across;
  return node.emit(View{0, {outputs * channels * out, out, channels * out, across, 1}}, {y},
                   {shape[0], channels, outputs, down, across});
}

/// Lowers a convolution with computed weights to a matrix product. The elements of each window become a column
/// (im2col).
TensorId convolve_by_product(NodeContext& node, TensorId x, Shape shape, const Filter& filter,
                             const Directions& directions) {
  Pad pad{{0, 0}, 0};
  for (std::size_t d = 0; d < directions.size(); ++d) {
    pad.before.push_back(directions[d].before);
    shape[d + 2] += directions[d].before + directions[d].after;
  }
  if (shape != node.shape_of(x)) x = node.emit(std::move(pad), {x}, shape);
  const auto strides = dense_strides(shape);
  View windows{0, {strides[1]}};
  Shape columns{shape[0] * shape[1]}, out{shape[0], filter.shape[0]}, bias(shape.size() - 1, 1);
  for (std::size_t d = 0; d < directions.size(); ++d) {
    columns.push_back(directions[d].kernel);
    windows.strides.push_back(directions[d].dilation * strides[d + 2]);
  }
  for (std::size_t d = 0; d < directions.size(); ++d) {
    out.push_back(directions[d].outputs(false));
    columns.push_back(out.back());
    windows.strides.push_back(directions[d].stride * strides[d + 2]);
  }
  const auto rows = filter.shape[0] / filter.groups, plane = product(out, 2, out.size());
  const auto terms = product(filter.shape, 1, filter.shape.size());
  x = node.emit(std::move(windows), {x}, std::move(columns));
  x = node.emit(Reshape{}, {x}, {shape[0], filter.groups, terms, plane});
  const auto weights = node.emit(Reshape{}, {filter.weights}, {filter.groups, rows, terms});
  auto y = batched_product(node, weights, x, {shape[0], filter.groups, rows, plane});
  y = node.emit(Reshape{}, {y}, out);
  if (!filter.bias) return y;
  bias[0] = filter.shape[0];
  return node.emit(Binary{Binary::Kind::add}, {y, node.emit(Reshape{}, {*filter.bias}, std::move(bias))}, out);
}

TensorId convolve(NodeContext& node, TensorId x, const Shape& shape, Filter filter, const Directions& directions) {
  if (!node.is_constant(filter.weights) || (filter.bias && !node.is_constant(*filter.bias)))
    return convolve_by_product(node, x, shape, filter, directions);
  if (directions.size() == 3) return convolve_volume(node, x, shape, filter, directions);
  if (directions.size() == 2) return convolve_plane(node, x, shape, filter, directions[0], directions[1]);
  const Shape row{shape[0], shape[1], 1, shape[2]};
  filter.shape.insert(filter.shape.begin() + 2, 1);
  filter.weights = node.emit(Reshape{}, {filter.weights}, filter.shape);
  const auto y = convolve_plane(node, node.emit(Reshape{}, {x}, row), row, filter, no_direction, directions[0]);
  return node.emit(Reshape{}, {y}, {shape[0], filter.shape[0], directions[0].outputs(false)});
}

std::optional<TensorId> bias_of(NodeContext& node, std::size_t input, std::int64_t channels) {
  if (!node.has(input)) return std::nullopt;
  node.require(node.shape(input) == Shape{channels}, "the bias must have one value for each output channel");
  return node.tensor(input);
}

Shape weights_of(NodeContext& node, const Shape& x) {
  auto weights = node.shape_of_rank(1, x.size());
  const std::vector<std::int64_t> kernel(weights.begin() + 2, weights.end());
  if (node.attribute<std::vector<std::int64_t>>("kernel_shape", kernel) != kernel)
    node.bad("kernel_shape contradicts the weights, which are " + to_string(weights));
  return weights;
}

} // namespace

TensorId convolution(NodeContext& node, TensorId x, const Shape& shape, TensorId weights, const Shape& filter,
                     std::optional<TensorId> bias) {
  const auto groups = node.attribute<std::int64_t>("group", 1);
  require_images(node, shape);
  node.require(filter.size() == shape.size(), "its weights and its input must have the same number of dimensions");
  if (groups < 1 || filter[0] % groups != 0 || shape[1] % groups != 0 || shape[1] / groups != filter[1])
    node.bad("an input of " + to_string(shape) + ", weights of " + to_string(filter) + " and " +
             std::to_string(groups) + " groups do not match");
  const std::vector<std::int64_t> kernel(filter.begin() + 2, filter.end());
  if (node.attribute<std::vector<std::int64_t>>("kernel_shape", kernel) != kernel)
    node.bad("kernel_shape contradicts the weights, which are " + to_string(filter));
  return convolve(node, x, shape, {filter, weights, bias, groups}, place_window(node, shape, kernel));
}

namespace {

void conv(NodeContext& node) {
  for (const std::size_t input : {0U, 1U})
    if (const auto type = node.element_type(input); is_integer(type))
      node.bad("it convolves " + std::string(name(type)) + "; use ConvInteger, or cast its inputs to floats");
  const auto x = windowed(node, 0);
  const auto weights = node.shape_of_rank(1, x.size());
  const auto bias = bias_of(node, 2, weights[0]);
  node.set_output(convolution(node, node.tensor(0), x, node.tensor(1), weights, bias));
}

// ---- transposed convolution

/// One direction of a transposed convolution. Output o is the sum of weight[t] * input[(o + before - t * dilation) /
/// stride] over all taps t for which that index is an integer. The reader lowers it to a convolution of stride 1 that
/// computes `stride` phases. Phase p holds every stride-th output, and uses only the taps that can contribute to these
/// outputs.
struct TransposedDirection {
  std::int64_t size, kernel, stride, dilation, before, outputs;

  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t taps() const { return (reach() + stride - 1) / stride; } // number of taps in a phase
  /// Returns the number of leading outputs that no phase computes. The number is `before`, or 0 if windows would become
  /// longer by skipping `before` outputs.
  [[nodiscard]] std::int64_t skipped() const {
    return before < reach() && (before + stride - 1) / stride + behind(before) < taps() ? before : 0;
  }
  /// Returns the distance from input q back to the first input that output q of a phase reads. The window of output q
  /// begins at input q - behind().
  [[nodiscard]] std::int64_t behind() const { return behind(skipped()); }
  [[nodiscard]] std::int64_t behind(std::int64_t outputs_skipped) const {
    return (reach() - 1 - outputs_skipped) / stride;
  }
  [[nodiscard]] std::int64_t cut() const { return before - skipped(); } // leading outputs of the phases to remove
  /// Returns the number of outputs that each phase of the transposed convolution computes. The number is large enough
  /// for all requested outputs, and for a padding of at least 0 behind the input.
  [[nodiscard]] std::int64_t in_phase() const {
    return std::max((cut() + outputs + stride - 1) / stride, size + behind() - taps() + 1);
  }
  [[nodiscard]] Direction phase() const {
    return {taps(), 1, 1, behind(), in_phase() + taps() - 1 - behind() - size, size};
  }
  /// phase_of() returns the phase that uses the tap at offset `tap`. place_of() returns the index of that tap in the
  /// windows of the phase.
  [[nodiscard]] std::int64_t phase_of(std::int64_t tap) const { return (tap + stride - skipped() % stride) % stride; }
  [[nodiscard]] std::int64_t place_of(std::int64_t tap) const {
    return (phase_of(tap) + skipped() - tap) / stride + behind();
  }
};

std::int64_t outputs_of(const TransposedDirection& d, std::int64_t more, std::int64_t pads) {
  return d.stride * (d.size - 1) + more + d.reach() - pads;
}

std::vector<TransposedDirection> transposed_directions(NodeContext& node, const Shape& x, const Shape& weights) {
  const auto count = x.size() - 2;
  const auto strides = extents(node, "strides", count, 1, "a stride");
  const auto dilations = extents(node, "dilations", count, 1, "a dilation");
  const auto pads = extents(node, "pads", 2 * count, 0, "a padding");
  const auto more = extents(node, "output_padding", count, 0, "an output padding");
  const auto auto_pad = node.attribute<std::string>("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "VALID" && auto_pad != "NOTSET") node.bad("auto_pad is " + config::quoted(auto_pad));
  const auto wanted = node.attribute<std::vector<std::int64_t>>("output_shape", {});
  std::vector<TransposedDirection> directions;
  for (std::size_t d = 0; d < count; ++d) {
    TransposedDirection each{x[d + 2], weights[d + 2], strides[d], dilations[d], 0, 0};
    (void)checked_extent(node, each.kernel, 1, "a kernel");
    if (!wanted.empty() || same) {
      node.require(wanted.empty() || wanted.size() >= count, "its output_shape is too short");
      each.outputs = wanted.empty() ? each.size * each.stride : wanted[wanted.size() - count + d];
      const auto total = std::max<std::int64_t>(outputs_of(each, more[d], 0) - each.outputs, 0);
      each.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else {
      each.before = auto_pad == "VALID" ? 0 : pads[d];
      each.outputs = outputs_of(each, more[d], auto_pad == "VALID" ? 0 : pads[d] + pads[d + count]);
    }
    if (each.outputs < 1) node.bad("its output would have no elements");
    directions.push_back(each);
  }
  return directions;
}

/// Returns the weights [c, m, ...] divided into phases, in the shape [groups * m * phases, c in a group, taps ...]. The
/// taps are in reverse order.
std::vector<float> weights_of_phases(const std::vector<float>& weights, const Shape& from, std::int64_t groups,
                                     const std::vector<TransposedDirection>& directions, const Shape& to) {
  std::vector<float> phases(static_cast<std::size_t>(element_count(to)), 0.0F);
  const auto in = from[0] / groups, out = from[1];
  const auto to_strides = dense_strides(to);
  std::int64_t strides = 1;
  for (const auto& d : directions) strides *= d.stride;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(weights.size()); ++i) {
    auto rest = i;
    std::int64_t phase = 0, place = 0, phases_inside = 1;
    for (std::size_t d = directions.size(); d-- > 0;) {
      const auto tap = rest % directions[d].kernel * directions[d].dilation;
      rest /= directions[d].kernel;
      phase += directions[d].phase_of(tap) * phases_inside;
      phases_inside *= directions[d].stride;
      place += directions[d].place_of(tap) * to_strides[d + 2];
    }
    const auto channel = rest % out, input = rest / out;
    const auto row = ((input / in) * out + channel) * strides + phase;
    phases[static_cast<std::size_t>(row * to_strides[0] + input % in * to_strides[1] + place)] =
        weights[static_cast<std::size_t>(i)];
  }
  return phases;
}

/// Interleaves the phases of `y`, which has the shape [n, m, phases ..., outputs ...], and cuts the result to the
/// requested outputs.
TensorId interleaved(NodeContext& node, TensorId y, std::int64_t batch, std::int64_t channels,
                     const std::vector<TransposedDirection>& directions) {
  std::int64_t plane = 1, phases = 1;
  for (const auto& d : directions) plane *= d.in_phase(), phases *= d.stride;
  Shape split{batch, channels}, whole = split, wanted = split;
  View spread{0, {channels * phases * plane, phases * plane}};
  auto in_plane = plane, in_phases = phases * plane;
  for (const auto& d : directions) {
    in_plane /= d.in_phase();
    in_phases /= d.stride;
    split.insert(split.end(), {d.in_phase(), d.stride});
    spread.strides.insert(spread.strides.end(), {in_plane, in_phases});
    whole.push_back(d.in_phase() * d.stride);
    wanted.push_back(d.outputs);
  }
  if (phases > 1) y = node.emit(std::move(spread), {y}, std::move(split));
  y = node.emit(Reshape{}, {y}, whole);
  if (whole == wanted) return y;
  View cut{0, dense_strides(whole)};
  for (std::size_t d = 0; d < directions.size(); ++d) cut.offset += directions[d].cut() * cut.strides[d + 2];
  return node.emit(std::move(cut), {y}, std::move(wanted));
}

/// Emits a transposed convolution with weights [c, m in a group, ...].
TensorId transposed(NodeContext& node, TensorId x, const Shape& from, const std::vector<float>& values,
                    const Shape& weights, std::optional<TensorId> bias, std::int64_t groups,
                    const std::vector<TransposedDirection>& directions) {
  const auto channels = weights[1] * groups;
  std::int64_t phases = 1;
  Shape shape{channels, weights[0] / groups};
  Directions windows;
  for (const auto& each : directions) {
    phases *= each.stride;
    shape.push_back(each.taps());
    windows.push_back(each.phase());
  }
  shape[0] *= phases;
  (void)node.reserve(shape);
  auto all = weights_of_phases(values, weights, groups, directions, shape);
  if (bias && phases > 1) {
    const auto each = node.emit(View{0, {1, 0}}, {*bias}, {channels, phases});
    bias = node.emit(Reshape{}, {each}, {channels * phases});
  }
  const auto y = convolve(node, x, from, {shape, node.constant(shape, std::move(all)), bias, groups}, windows);
  return interleaved(node, y, from[0], channels, directions);
}

void conv_transpose(NodeContext& node) {
  const auto x = windowed(node, 0);
  const auto weights = weights_of(node, x);
  const auto groups = node.attribute<std::int64_t>("group", 1);
  if (groups < 1 || weights[0] % groups != 0 || weights[0] != x[1])
    node.bad("an input of " + to_string(x) + ", weights of " + to_string(weights) + " and " + std::to_string(groups) +
             " groups do not match");
  const auto directions = transposed_directions(node, x, weights);
  const auto bias = bias_of(node, 2, weights[1] * groups);
  const auto values = node.floats(1, "the weights");
  node.set_output(transposed(node, node.tensor(0), x, values, weights, bias, groups, directions));
}

// ---- deformable convolution: offsets move the taps of each window

/// The shapes of a deformable convolution. A map is one group of channels of one image; the windows of all its channels
/// have the same offsets.
struct Deformed {
  Shape x, filter;
  std::int64_t groups = 1, offset_groups = 1;
  Directions directions{};

  [[nodiscard]] std::int64_t taps() const { return filter[2] * filter[3]; }
  [[nodiscard]] std::int64_t maps() const { return x[0] * offset_groups; }
  [[nodiscard]] std::int64_t rows() const { return directions[0].outputs(false); }
  [[nodiscard]] std::int64_t columns() const { return directions[1].outputs(false); }
};

/// Returns the positions of all taps without offsets, in the coordinates of GridSample. The shape is [taps, 2, rows,
/// columns], with y before x.
std::vector<float> places_of_taps(const Deformed& conv) {
  std::vector<float> places;
  for (std::int64_t tap = 0; tap < conv.taps(); ++tap)
    for (std::size_t d = 0; d < 2; ++d)
      for (std::int64_t row = 0; row < conv.rows(); ++row)
        for (std::int64_t column = 0; column < conv.columns(); ++column) {
          const auto& along = conv.directions[d];
          const auto at_tap = d == 0 ? tap / conv.filter[3] : tap % conv.filter[3];
          const auto at = (d == 0 ? row : column) * along.stride + at_tap * along.dilation - along.before;
          places.push_back(static_cast<float>(2 * at + 1) / static_cast<float>(along.size) - 1);
        }
  return places;
}

/// Returns the positions of all taps with their offsets, in the coordinates of GridSample. The shape is [maps, taps *
/// rows, columns, 2].
TensorId grid_of_taps(NodeContext& node, const Deformed& conv) {
  const auto taps = conv.taps(), rows = conv.rows(), columns = conv.columns(), plane = rows * columns;
  const Shape shape{conv.maps(), taps, 2, rows, columns};
  node.require(node.shape(2) == Shape{conv.x[0], conv.offset_groups * taps * 2, rows, columns},
               "the shape of its offsets does not match its output");
  (void)node.reserve(shape);
  const auto height = static_cast<float>(conv.x[2]), width = static_cast<float>(conv.x[3]);
  const auto offsets = node.emit(Reshape{}, {node.tensor(2)}, shape);
  const auto scaled =
      node.emit(Binary{Binary::Kind::multiply}, {offsets, node.constant({2, 1, 1}, {2 / height, 2 / width})}, shape);
  const auto places = node.constant({taps, 2, rows, columns}, places_of_taps(conv));
  const auto grid = node.emit(Binary{Binary::Kind::add}, {scaled, places}, shape);
  const auto pairs = node.emit(View{plane, {taps * 2 * plane, 2 * plane, columns, 1, -plane}}, {grid},
                               {conv.maps(), taps, rows, columns, 2});
  return node.emit(Reshape{}, {pairs}, {conv.maps(), taps * rows, columns, 2});
}

void deformable_conv(NodeContext& node) {
  Deformed conv{node.shape_of_rank(0, 4), node.shape_of_rank(1, 4)};
  const auto &x = conv.x, &filter = conv.filter;
  conv.groups = node.attribute<std::int64_t>("group", 1);
  conv.offset_groups = node.attribute<std::int64_t>("offset_group", 1);
  node.require(
      conv.groups >= 1 && filter[0] % conv.groups == 0 && x[1] % conv.groups == 0 && x[1] / conv.groups == filter[1],
      "its input, weights and groups do not match");
  node.require(conv.offset_groups >= 1 && x[1] % conv.offset_groups == 0,
               "its channels and offset groups do not match");
  const std::vector<std::int64_t> kernel(filter.begin() + 2, filter.end());
  node.require(node.attribute("kernel_shape", kernel) == kernel, "kernel_shape contradicts the weights");
  conv.directions = place_window(node, x, kernel);
  const auto taps = conv.taps(), maps = conv.maps(), rows = conv.rows(), columns = conv.columns();
  const Shape out = node.checked({x[0], filter[0], rows, columns});
  const auto grid = grid_of_taps(node, conv);
  const auto channels = x[1] / conv.offset_groups;
  const auto images = node.emit(Reshape{}, {node.tensor(0)}, {maps, channels, x[2], x[3]});
  auto seen = node.emit(GridSample{}, {images, grid}, {maps, channels, taps * rows, columns});
  if (node.has(4)) {
    node.require(node.shape(4) == Shape{x[0], conv.offset_groups * taps, rows, columns},
                 "the shape of its mask does not match");
    const auto mask = node.emit(Reshape{}, {node.tensor(4)}, {maps, 1, taps * rows, columns});
    seen = node.emit(Binary{Binary::Kind::multiply}, {seen, mask}, {maps, channels, taps * rows, columns});
  }
  const auto terms = filter[1] * taps, results = filter[0] / conv.groups, plane = rows * columns;
  seen = node.emit(Reshape{}, {seen}, {x[0], conv.groups, terms, plane});
  const auto weights = node.emit(Reshape{}, {node.tensor(1)}, {conv.groups, results, terms});
  auto y = node.emit(MatMul{}, {weights, seen}, {x[0], conv.groups, results, plane});
  y = node.emit(Reshape{}, {y}, out);
  if (const auto bias = bias_of(node, 3, filter[0]))
    y = node.emit(Binary{Binary::Kind::add}, {y, node.emit(Reshape{}, {*bias}, {filter[0], 1, 1})}, out);
  node.set_output(y);
}

/// Lowers Col2Im, which adds columns of patches to an image. It becomes a transposed convolution whose weights move
/// each column to its position in the image.
void columns_to_image(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 3);
  const auto image = node.checked(node.ints(1, "the image's shape")),
             block = node.checked(node.ints(2, "the block's shape"));
  const auto count = image.size();
  node.require(count >= 1 && count <= max_directions && block.size() == count,
               "the shapes of its image and block do not match");
  const auto strides = extents(node, "strides", count, 1, "a stride");
  const auto dilations = extents(node, "dilations", count, 1, "a dilation");
  const auto pads = extents(node, "pads", 2 * count, 0, "a padding");
  const auto taps = element_count(block);
  node.require(taps >= 1 && x[1] % taps == 0, "its columns do not fit its block");
  const auto channels = x[1] / taps;
  std::vector<TransposedDirection> directions;
  Shape from{x[0], x[1]}, weights{x[1], 1};
  for (std::size_t d = 0; d < count; ++d) {
    const auto reach = (block[d] - 1) * dilations[d] + 1;
    const auto blocks = (image[d] + pads[d] + pads[d + count] - reach) / strides[d] + 1;
    directions.push_back({blocks, block[d], strides[d], dilations[d], pads[d], image[d]});
    from.push_back(blocks);
    weights.push_back(block[d]);
  }
  node.require(element_count(from) == element_count(x), "its columns do not fit its image");
  std::vector<float> places(node.reserve(weights), 0.0F);
  for (std::int64_t i = 0; i < x[1]; ++i) places[static_cast<std::size_t>(i * taps + i % taps)] = 1;
  const auto y =
      transposed(node, node.emit(Reshape{}, {node.tensor(0)}, from), from, places, weights, {}, channels, directions);
  node.set_output(y);
}

} // namespace

void add_convolution_operators(OperatorTable& table) {
  table["Conv"] = {conv, "one to three dimensions in addition to batch and channels"};
  table["ConvTranspose"] = {conv_transpose,
                            "weights are constants; one to three dimensions in addition to batch and channels"};
  table["DeformConv"] = {deformable_conv, "two dimensions in addition to batch and channels", 19};
  table["Col2Im"] = {columns_to_image, "shapes are known when the model is loaded", 18};
}

} // namespace rtexec::tasks::onnx_source
