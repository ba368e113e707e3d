#include "tasks/dnn/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::int64_t max_extent = 1 << 15; // of kernels, strides, paddings and dilations
constexpr std::size_t most_directions = 3;

std::int64_t checked_extent(NodeContext& node, std::int64_t value, std::int64_t least, const char* what) {
  if (value < least || value > max_extent)
    node.unsupported(std::string(what) + " of " + std::to_string(value) + "; supported: " + std::to_string(least) +
                     " to " + std::to_string(max_extent));
  return value;
}

std::vector<std::int64_t> extents(NodeContext& node, const char* attribute, std::size_t count, std::int64_t fallback,
                                  const char* what) {
  auto values = node.attribute<std::vector<std::int64_t>>(attribute, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count)
    node.bad(std::string(attribute) + " has " + std::to_string(values.size()) + " values, and its input takes " +
             std::to_string(count));
  for (const auto value : values) (void)checked_extent(node, value, fallback, what);
  return values;
}

/// One direction of a window over an input of `size`.
struct Direction {
  std::int64_t kernel, stride, dilation, before, after, size;
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }

  /// SAME: the output has ceil(size / stride) elements; an odd padding goes to the end (upper) or to the beginning
  /// (lower).
  void pad_same(bool upper) {
    const auto total = std::max<std::int64_t>(((size + stride - 1) / stride - 1) * stride + reach() - size, 0);
    before = upper ? total / 2 : total - total / 2;
    after = total - before;
  }
  /// With `ceil` a last window may hang over the end, but never begins beyond the input and its leading padding.
  [[nodiscard]] std::int64_t outputs(bool ceil) const {
    const auto room = size + before + after - reach();
    if (room < 0) return 0;
    auto count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    if (ceil && (count - 1) * stride >= size + before) --count;
    return count;
  }
};

using Directions = std::vector<Direction>;

/// A tensor of images, rows or volumes.
Shape windowed(NodeContext& node, std::size_t input) {
  auto x = node.shape(input);
  if (x.size() < 3 || x.size() > 2 + most_directions)
    node.unsupported("its input has " + dimensions(x) + "; supported: 3, 4 and 5 dimensions");
  return x;
}

/// Reads the attributes that Conv and the pooling operators share. `kernel` has its extent in each direction.
Directions place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel) {
  const auto count = x.size() - 2;
  const auto strides = extents(node, "strides", count, 1, "a stride");
  // An average has none before opset 19.
  const auto dilations = node.type() == "AveragePool" && node.opset() < 19
                             ? std::vector<std::int64_t>(count, 1)
                             : extents(node, "dilations", count, 1, "a dilation");
  const auto pads = extents(node, "pads", 2 * count, 0, "a padding");
  const auto auto_pad = node.attribute<std::string>("auto_pad", "NOTSET");
  Directions directions;
  for (std::size_t d = 0; d < count; ++d) {
    auto& each = directions.emplace_back(Direction{checked_extent(node, kernel[d], 1, "a kernel"), strides[d],
                                                   dilations[d], pads[d], pads[d + count], x[d + 2]});
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") each.pad_same(auto_pad == "SAME_UPPER");
    else if (auto_pad == "VALID") each.before = each.after = 0;
    else if (auto_pad != "NOTSET") node.bad("auto_pad is " + config::quoted(auto_pad));
  }
  return directions;
}

Window window_of(const Direction& h, const Direction& w) {
  return {h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after, h.dilation, w.dilation};
}

constexpr Direction no_direction{1, 1, 1, 0, 0, 1};

// ---- convolution

/// Weights [m, c, ...] and a bias where there is one, over x [n, c, ...].
struct Filter {
  Shape shape;
  TensorId weights;
  std::optional<TensorId> bias;
  std::int64_t groups;
};

TensorId convolve_plane(NodeContext& node, TensorId x, const Shape& shape, const Filter& filter, const Direction& h,
                        const Direction& w) {
  std::vector<TensorId> inputs{x, filter.weights};
  if (filter.bias) inputs.push_back(*filter.bias);
  return node.emit(Conv{window_of(h, w), filter.groups}, std::move(inputs),
                   {shape[0], filter.shape[0], h.outputs(false), w.outputs(false)});
}

/// What stands at each tap of the first direction becomes channels, so that a plane is left for each output of it.
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

/// By a product of matrices, of weights that are computed: what each window sees becomes a column.
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
  auto y = node.emit(Product{}, {weights, x}, {shape[0], filter.groups, rows, plane});
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
  node.require(node.shape(input) == Shape{channels}, "the bias does not have one value for each output channel");
  return node.tensor(input);
}

Shape weights_of(NodeContext& node, const Shape& x) {
  auto weights = node.shape_of_rank(1, x.size());
  (void)node.floats(1, "the weights");
  const std::vector<std::int64_t> kernel(weights.begin() + 2, weights.end());
  if (node.attribute<std::vector<std::int64_t>>("kernel_shape", kernel) != kernel)
    node.bad("kernel_shape contradicts the weights, which are " + to_string(weights));
  return weights;
}

} // namespace

TensorId convolution(NodeContext& node, TensorId x, const Shape& shape, TensorId weights, const Shape& filter,
                     std::optional<TensorId> bias) {
  const auto groups = node.attribute<std::int64_t>("group", 1);
  if (groups < 1 || filter[0] % groups != 0 || shape[1] % groups != 0 || shape[1] / groups != filter[1])
    node.bad("an input of " + to_string(shape) + ", weights of " + to_string(filter) + " and " +
             std::to_string(groups) + " groups do not fit together");
  const std::vector<std::int64_t> kernel(filter.begin() + 2, filter.end());
  if (node.attribute<std::vector<std::int64_t>>("kernel_shape", kernel) != kernel)
    node.bad("kernel_shape contradicts the weights, which are " + to_string(filter));
  return convolve(node, x, shape, {filter, weights, bias, groups}, place_window(node, shape, kernel));
}

namespace {

void conv(NodeContext& node) {
  const auto x = windowed(node, 0);
  const auto weights = node.shape_of_rank(1, x.size());
  const auto bias = bias_of(node, 2, weights[0]);
  node.set_output(convolution(node, node.tensor(0), x, node.tensor(1), weights, bias));
}

// ---- transposed convolution

/// One direction of it: output o is the sum over taps t of input (o + before - t * dilation) / stride, where that is
/// whole. As a convolution of stride 1 its outputs come in `stride` phases, each of every stride-th tap.
struct TransposedDirection {
  std::int64_t size, kernel, stride, dilation, before, outputs;

  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t taps() const { return (reach() + stride - 1) / stride; } // of a phase
  /// Outputs of a phase, so many that all that are wanted are there.
  [[nodiscard]] std::int64_t in_phase() const { return std::max((before + outputs + stride - 1) / stride, size); }
  [[nodiscard]] Direction phase() const { return {taps(), 1, 1, taps() - 1, in_phase() - size, size}; }
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

/// Weights [c, m, ...] of all phases: [groups * m * phases, c in a group, taps ...], the last tap first.
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
      phase += tap % directions[d].stride * phases_inside;
      phases_inside *= directions[d].stride;
      place += (directions[d].taps() - 1 - tap / directions[d].stride) * to_strides[d + 2];
    }
    const auto channel = rest % out, input = rest / out;
    const auto row = ((input / in) * out + channel) * strides + phase;
    phases[static_cast<std::size_t>(row * to_strides[0] + input % in * to_strides[1] + place)] =
        weights[static_cast<std::size_t>(i)];
  }
  return phases;
}

/// The phases [n, m, phases ..., outputs ...] one inside the other, and of that what is wanted.
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
  for (std::size_t d = 0; d < directions.size(); ++d) cut.offset += directions[d].before * cut.strides[d + 2];
  return node.emit(std::move(cut), {y}, std::move(wanted));
}

/// Weights [c, m in a group, ...].
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
  (void)node.checked(shape);
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
             " groups do not fit together");
  const auto directions = transposed_directions(node, x, weights);
  const auto bias = bias_of(node, 2, weights[1] * groups);
  const auto values = node.floats(1, "the weights");
  node.set_output(transposed(node, node.tensor(0), x, values, weights, bias, groups, directions));
}

/// Columns of patches, added where the patches were: a transposed convolution with weights that take each column to its
/// place.
void columns_to_image(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 3);
  const auto image = node.ints(1, "the image's shape"), block = node.ints(2, "the block's shape");
  const auto count = image.size();
  node.require(count >= 1 && count <= most_directions && block.size() == count, "its image and block do not fit");
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
  std::vector<float> places(static_cast<std::size_t>(element_count(weights)), 0.0F);
  for (std::int64_t i = 0; i < x[1]; ++i) places[static_cast<std::size_t>(i * taps + i % taps)] = 1;
  const auto y =
      transposed(node, node.emit(Reshape{}, {node.tensor(0)}, from), from, places, weights, {}, channels, directions);
  node.set_output(y);
}

// ---- pooling

TensorId pool_plane(NodeContext& node, Pool pool, TensorId x, const Shape& shape, const Direction& h,
                    const Direction& w, bool ceil) {
  for (const auto& each : {h, w}) {
    if (std::max(each.before, each.after) >= each.reach()) node.unsupported("its padding is as large as its window");
    // A dilated window can step over a small input altogether; that has no value.
    if (each.dilation > 1 && each.size < each.dilation) node.unsupported("its dilation is larger than its input");
  }
  pool.window = window_of(h, w);
  return node.emit(pool, {x}, {shape[0], shape[1], h.outputs(ceil), w.outputs(ceil)});
}

/// Volumes: their planes first, and then the planes' pixels.
TensorId pool_all(NodeContext& node, const Pool& pool, TensorId y, const Shape& x, const Directions& directions,
                  bool ceil) {
  const auto &h = directions.size() > 1 ? directions[directions.size() - 2] : no_direction, &w = directions.back();
  const auto depth = directions.size() == 3 ? x[2] : 1;
  const Shape planes{x[0], x[1] * depth, h.size, w.size};
  if (planes != x) y = node.emit(Reshape{}, {y}, planes);
  y = pool_plane(node, pool, y, planes, h, w, ceil);
  Shape out{x[0], x[1]};
  for (const auto& each : directions) out.push_back(each.outputs(ceil));
  if (directions.size() == 3) {
    const Shape columns{x[0], x[1], depth, out[3] * out[4]};
    Direction all = no_direction;
    all.size = columns[3];
    y = pool_plane(node, pool, node.emit(Reshape{}, {y}, columns), columns, directions[0], all, ceil);
  }
  return directions.size() == 2 ? y : node.emit(Reshape{}, {y}, std::move(out));
}

std::vector<std::int64_t> pool_kernel(NodeContext& node, const Shape& x) {
  auto kernel = node.attribute<std::vector<std::int64_t>>("kernel_shape");
  if (kernel.size() != x.size() - 2)
    node.bad("kernel_shape has " + std::to_string(kernel.size()) + " values, and its input takes " +
             std::to_string(x.size() - 2));
  return kernel;
}

/// For each window and each of its taps, the tap's index in a plane, or `outside`. Column by column where `by_column`.
std::vector<std::int64_t> taps_of(const Directions& directions, bool ceil, bool by_column, std::int64_t outside) {
  Shape loops;
  for (const auto& each : directions) loops.push_back(each.outputs(ceil));
  for (const auto& each : directions) loops.push_back(each.kernel);
  std::vector<std::int64_t> taps(static_cast<std::size_t>(element_count(loops)));
  const std::size_t rank = directions.size();
  Shape index(loops.size(), 0);
  for (auto& tap : taps) {
    for (std::size_t i = 0; i < rank && tap != outside; ++i) {
      const auto d = by_column ? rank - 1 - i : i;
      const auto& each = directions[d];
      const auto at = index[d] * each.stride + index[rank + d] * each.dilation - each.before;
      tap = at < 0 || at >= each.size ? outside : tap * each.size + at;
    }
    for (std::size_t d = loops.size(); d-- > 0;) {
      if (++index[d] < loops[d]) break;
      index[d] = 0;
    }
  }
  return taps;
}

/// Where in the whole input the first largest element of each window stands.
TensorId largest_indices(NodeContext& node, const Shape& x, const Shape& y, const Directions& directions, bool ceil) {
  const bool by_column = node.attribute<std::int64_t>("storage_order", 0) != 0;
  const auto planes = x[0] * x[1], plane = element_count(x) / planes, windows = element_count(y) / planes;
  constexpr std::int64_t exact = 1 << 24; // integers that floats hold
  std::int64_t taps = 1;
  for (const auto& each : directions) taps = std::min(taps * each.kernel, exact + 1);
  if (element_count(x) > exact || windows * taps > exact)
    node.unsupported("indices into an input of " + to_string(x) +
                     "; supported: up to 2^24 elements, and taps of windows");
  const auto seen = taps_of(directions, ceil, false, plane), told = taps_of(directions, ceil, by_column, plane);
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  auto all = node.emit(Reshape{}, {node.tensor(0)}, {planes, plane});
  all = node.emit(Pad{{0, 0}, nothing}, {all}, {planes, plane + 1});
  all = node.emit(Gather{1, seen}, {all}, {planes, windows * taps});
  const auto tap = node.emit(Reduce{Reduce::Kind::first_maximum, planes * windows, taps, 1}, {all}, {planes, windows},
                             ElementType::int64);
  std::vector<float> rows, firsts;
  for (std::int64_t i = 0; i < windows; ++i) rows.push_back(static_cast<float>(i * taps));
  for (std::int64_t i = 0; i < planes; ++i) firsts.push_back(static_cast<float>(i * plane));
  const Binary add{Binary::Kind::add};
  auto index = node.emit(add, {tap, node.constant({windows}, std::move(rows))}, {planes, windows});
  const auto table = node.constant({windows * taps}, {told.begin(), told.end()});
  index = node.emit(Take{0}, {table, index}, {planes, windows}, ElementType::int64);
  index = node.emit(add, {index, node.constant({planes, 1}, std::move(firsts))}, {planes, windows});
  return node.emit(Reshape{}, {index}, y);
}

template <Pool::Kind kind> void pool(NodeContext& node) {
  const auto x = windowed(node, 0);
  const Pool pool{kind, {}, kind == Pool::Kind::average && node.attribute<std::int64_t>("count_include_pad", 0) != 0};
  const bool ceil = node.attribute<std::int64_t>("ceil_mode", 0) != 0;
  const auto directions = place_window(node, x, pool_kernel(node, x));
  const auto y = pool_all(node, pool, node.tensor(0), x, directions, ceil);
  node.set_output(y);
  if (kind != Pool::Kind::max) return;
  if (node.has_output(1)) node.set_output(largest_indices(node, x, node.shape_of(y), directions, ceil), 1);
  else node.ignore_attribute("storage_order");
}

/// Elements back to where MaxPool found them, among zeros.
void unpool(NodeContext& node) {
  const auto x = windowed(node, 0);
  node.require(node.shape(1) == x, "it has not one index for each element");
  const auto directions = place_window(node, x, pool_kernel(node, x));
  Shape shape{x[0], x[1]};
  for (const auto& each : directions)
    shape.push_back((each.size - 1) * each.stride + each.kernel - each.before - each.after);
  shape = node.checked(std::move(shape));
  const auto count = element_count(shape);
  const auto zeros = node.constant({count}, std::vector<float>(static_cast<std::size_t>(count), 0.0F));
  const auto flat = [&](std::size_t input) { return node.emit(Reshape{}, {node.tensor(input)}, {element_count(x)}); };
  auto y = node.emit(Put{Put::Kind::replace, 0}, {zeros, flat(1), flat(0)}, {count}, node.element_type(0));
  y = node.emit(Reshape{}, {y}, shape);
  if (node.has(2)) { // larger: zeros behind
    const auto wanted = node.ints(2, "the output's shape");
    node.require(wanted.size() == shape.size() && std::ranges::equal(wanted, shape, std::greater_equal()),
                 "its output_shape is smaller than its output");
    if (wanted != shape) y = node.emit(Pad{std::vector<std::int64_t>(shape.size(), 0), 0}, {y}, wanted);
  }
  node.set_output(y);
}

/// The root of the sum of powers of magnitudes.
struct Norm {
  explicit Norm(NodeContext& node) : p(static_cast<float>(node.attribute<std::int64_t>("p", 2))) {
    node.require(p >= 1, "its p is below 1");
  }
  [[nodiscard]] TensorId powers(NodeContext& node, TensorId x, const Shape& shape) const {
    if (p == 2) return node.emit(Binary{Binary::Kind::multiply}, {x, x}, shape);
    x = node.emit(Activation{Activation::Kind::absolute}, {x}, shape);
    return p == 1 ? x : node.emit(Binary{Binary::Kind::power}, {x, node.constant({}, {p})}, shape);
  }
  [[nodiscard]] TensorId root(NodeContext& node, TensorId x, const Shape& shape) const {
    if (p == 1) return x;
    if (p == 2) return node.emit(Activation{Activation::Kind::sqrt}, {x}, shape);
    return node.emit(Binary{Binary::Kind::power}, {x, node.constant({}, {1 / p})}, shape);
  }
  float p;
};

/// The average of all that a window could hold times their number is their sum.
void norm_pool(NodeContext& node) {
  const auto x = windowed(node, 0);
  const Norm norm(node);
  const bool ceil = node.attribute<std::int64_t>("ceil_mode", 0) != 0;
  const auto kernel = pool_kernel(node, x);
  auto directions = place_window(node, x, kernel);
  Shape out{x[0], x[1]}, longer = out;
  for (auto& each : directions) {
    out.push_back(each.outputs(ceil));
    const auto seen = (out.back() - 1) * each.stride + each.reach();
    each.size += std::max<std::int64_t>(seen - each.size - each.before - each.after, 0); // hangs over the end
    longer.push_back(each.size);
  }
  auto powers = norm.powers(node, node.tensor(0), x);
  if (longer != x) powers = node.emit(Pad{std::vector<std::int64_t>(x.size(), 0), 0}, {powers}, longer);
  const auto mean = pool_all(node, {Pool::Kind::average, {}, true}, powers, longer, directions, false);
  const auto count = static_cast<float>(element_count(kernel));
  node.set_output(norm.root(node, node.emit(Activation{Activation::Kind::scale, count, 0}, {mean}, out), out));
}

void global_norm(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  const Norm norm(node);
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto planes = x[0] * x[1];
  const auto powers = norm.powers(node, node.tensor(0), x);
  const auto sum = node.emit(Reduce{Reduce::Kind::sum, planes, element_count(x) / planes, 1}, {powers}, shape);
  node.set_output(norm.root(node, sum, shape));
}

template <Reduce::Kind kind> void global_pool(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto planes = x[0] * x[1];
  node.set_output(node.emit(Reduce{kind, planes, element_count(x) / planes, 1}, {node.tensor(0)}, std::move(shape)));
}

/// By what the batch itself has: exporters leave it so where weights are standardised.
void normalise_by_batch(NodeContext& node) {
  const auto x = node.shape(0);
  const auto rest = element_count(x) / (x[0] * x[1]);
  const auto turned = [&](TensorId from, std::int64_t a, std::int64_t b) {
    return node.emit(View{0, {rest, a * rest, 1}}, {from}, {a, b, rest});
  };
  const auto channels = turned(node.emit(Reshape{}, {node.tensor(0)}, {x[0], x[1], rest}), x[1], x[0]);
  const auto affine = [&](std::size_t input) { return node.emit(Reshape{}, {node.tensor(input)}, {x[1], 1, 1}); };
  const auto y = node.emit(Normalise{x[1], x[0] * rest, true, node.attribute("epsilon", 1e-5F)},
                           {channels, affine(1), affine(2)}, {x[1], x[0], rest});
  node.set_output(node.emit(Reshape{}, {turned(y, x[0], x[1])}, x));
}

void batch_normalization(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 2) node.unsupported("its input has " + dimensions(x) + "; supported: 2 dimensions or more");
  node.ignore_attribute("momentum");
  if (node.opset() < 9 && node.attribute<std::int64_t>("spatial", 1) == 0)
    node.unsupported("spatial is 0; supported: one mean and variance for each channel");
  if (node.attribute<std::int64_t>("training_mode", 0) != 0) {
    for (std::size_t i = 1; i < node.outputs(); ++i)
      if (node.is_read(i))
        node.unsupported("training_mode is 1, and what it learns (output " + std::to_string(i) +
                         ") is read; export the model for inference (in PyTorch after model.eval())");
    return normalise_by_batch(node);
  }
  const auto epsilon = static_cast<double>(node.attribute("epsilon", 1e-5F));
  const auto& gamma = node.floats(1, "the scale");
  const auto& beta = node.floats(2, "the bias");
  const auto& mean = node.floats(3, "the mean");
  const auto& variance = node.floats(4, "the variance");
  const auto channels = static_cast<std::size_t>(x[1]);
  for (const auto* values : {&gamma, &beta, &mean, &variance})
    node.require(values->size() == channels, "its constants do not have one value for each channel");
  std::vector<float> scale(channels), shift(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto factor = static_cast<double>(gamma[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(static_cast<double>(beta[c]) - static_cast<double>(mean[c]) * factor);
  }
  const auto shape = x;
  const auto scale_id = node.constant({shape[1]}, std::move(scale));
  const auto shift_id = node.constant({shape[1]}, std::move(shift));
  node.set_output(node.emit(ScaleShift{}, {node.tensor(0), scale_id, shift_id}, shape));
}

void lrn(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 2) node.unsupported("its input has " + dimensions(x) + "; supported: 2 dimensions or more");
  Lrn lrn;
  lrn.size = checked_extent(node, node.attribute<std::int64_t>("size"), 1, "a size");
  lrn.alpha = node.attribute("alpha", 1e-4F);
  lrn.beta = node.attribute("beta", 0.75F);
  lrn.bias = node.attribute("bias", 1.0F);
  node.set_output(node.emit(lrn, {node.tensor(0)}, x));
}

} // namespace

void add_window_operators(OperatorTable& table) {
  table["Conv"] = {conv, "one to three dimensions beside batch and channels"};
  table["ConvTranspose"] = {conv_transpose, "weights are constants; one to three dimensions beside batch and channels"};
  table["Col2Im"] = {columns_to_image, "shapes are known when the model is loaded", 18};
  table["MaxPool"] = {pool<Pool::Kind::max>, "one to three dimensions beside batch and channels"};
  table["MaxUnpool"] = {unpool, "one to three dimensions beside batch and channels", 9};
  table["AveragePool"] = {pool<Pool::Kind::average>, "one to three dimensions beside batch and channels"};
  table["GlobalAveragePool"] = {global_pool<Reduce::Kind::mean>, "three dimensions or more"};
  table["GlobalLpPool"] = {global_norm, "three dimensions or more"};
  table["LpPool"] = {norm_pool, "one to three dimensions beside batch and channels"};
  table["GlobalMaxPool"] = {global_pool<Reduce::Kind::maximum>, "three dimensions or more"};
  table["BatchNormalization"] = {batch_normalization, "scale, bias, mean and variance are constants, and no outputs"};
  table["LRN"] = {lrn};
}

} // namespace rtexec::tasks::onnx_source
