#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr float max_scale = 1 << 15;

std::string one_of(NodeContext& node, const char* attribute, const char* fallback,
                   const std::vector<std::string>& known) {
  auto value = node.attribute<std::string>(attribute, fallback);
  if (std::ranges::find(known, value) == known.end()) {
    std::string list;
    for (const auto& name : known) list += (list.empty() ? "" : ", ") + name;
    node.unsupported(std::string(attribute) + " is " + config::quoted(value) + "; supported: " + list);
  }
  return value;
}

// ---- Resize ----

struct ResizeRule {
  enum class Mode { nearest, linear, cubic };
  Mode mode = Mode::nearest;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  std::optional<std::vector<std::int64_t>> axes = {}; // the axes to which sizes or scales refer; nullopt: all axes
  float cubic = -0.75F;
  bool exclude_outside = false, antialias = false;
  std::optional<std::vector<float>> scales = {}; // the scales, if they are an attribute
  std::optional<float> extrapolation = {};       // value outside the input, in mode tf_crop_and_resize
};

/// The scaling of one dimension from size `from` to size `to`.
struct Scaled {
  std::int64_t from = 1, to = 1;
  float scale = 1;
  float start = 0, end = 1; // region of tf_crop_and_resize

  [[nodiscard]] bool same(const ResizeRule& rule) const {
    return from == to && scale == 1 && (!rule.extrapolation || (start == 0 && end == 1));
  }
};

float source_position(const ResizeRule& rule, const Scaled& d, std::int64_t out) {
  const auto x = static_cast<float>(out), last = static_cast<float>(d.from - 1);
  if (rule.coordinates == "asymmetric") return x / d.scale;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (x + 0.5F) / d.scale;
  if (rule.coordinates == "align_corners") return d.to == 1 ? 0.0F : x * last / static_cast<float>(d.to - 1);
  if (rule.coordinates == "pytorch_half_pixel" && d.to == 1) return 0.0F;
  if (rule.coordinates == "tf_crop_and_resize")
    return d.to == 1 ? 0.5F * (d.start + d.end) * last
                     : d.start * last + x * (d.end - d.start) * last / static_cast<float>(d.to - 1);
  const float centred = (x + 0.5F) / d.scale - 0.5F;
  if (rule.coordinates != "half_pixel_symmetric") return centred;
  const float length = d.scale * static_cast<float>(d.from);
  return static_cast<float>(d.from) / 2 * (1 - static_cast<float>(d.to) / length) + centred;
}

std::int64_t nearest_index(const std::string& rule, float position) {
  if (rule == "floor") return static_cast<std::int64_t>(std::floor(position));
  if (rule == "ceil") return static_cast<std::int64_t>(std::ceil(position));
  if (rule == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(position + 0.5F));
  return static_cast<std::int64_t>(std::ceil(position - 0.5F));
}

float clamped_position(const ResizeRule& rule, const Scaled& d, std::int64_t out) {
  return std::clamp(source_position(rule, d, out), -1.0F, static_cast<float>(d.from));
}

std::vector<Resize::Tap> two_taps(const NodeContext& node, const ResizeRule& rule, const Scaled& d) {
  node.charge(static_cast<std::size_t>(d.to), sizeof(Resize::Tap));
  std::vector<Resize::Tap> table(static_cast<std::size_t>(d.to));
  const auto last = d.from - 1;
  for (std::int64_t out = 0; out < d.to; ++out) {
    auto& tap = table[static_cast<std::size_t>(out)];
    const auto position = clamped_position(rule, d, out);
    if (rule.mode == ResizeRule::Mode::linear) {
      const auto inside = std::clamp(position, 0.0F, static_cast<float>(last));
      tap.low = static_cast<std::int64_t>(inside);
      tap.high = std::min(tap.low + 1, last);
      tap.weight = inside - static_cast<float>(tap.low);
    } else {
      tap.low = tap.high = std::clamp<std::int64_t>(nearest_index(rule.nearest, position), 0, last);
    }
  }
  return table;
}

float cubic_weight(float x, float a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0.0F;
}

/// Returns the taps of an interpolation and their weights for each output: 2 taps for linear, 4 for cubic, more for
/// antialiased interpolation. Half of the taps are on each side of the position.
Resample many_taps(const NodeContext& node, const ResizeRule& rule, const Scaled& d) {
  const bool cubic = rule.mode == ResizeRule::Mode::cubic;
  const float scale = rule.antialias ? std::min(d.scale, 1.0F) : 1.0F;
  const float neighbours = d.to == 0 ? 1.0F : std::ceil((cubic ? 2.0F : 1.0F) / scale); // number of taps on each side
  if (!(neighbours <= static_cast<float>(max_elements)))
    node.unsupported("it smooths with a scale of " + std::to_string(scale) + "; use a larger one");
  const auto reach = static_cast<std::int64_t>(neighbours);
  node.charge(static_cast<std::size_t>(2 * reach * d.to), sizeof(std::int64_t) + sizeof(float));
  Resample resample{.count = d.from, .taps = 2 * reach, .indices = {}, .weights = {}};
  for (std::int64_t out = 0; out < d.to; ++out) {
    const auto position = source_position(rule, d, out);
    const auto base = std::ceil(position) - 1;
    std::vector<float> weights;
    float sum = 0;
    for (std::int64_t i = 1 - reach; i <= reach; ++i) {
      const float distance = (static_cast<float>(i) - (position - base)) * scale;
      float weight = cubic ? cubic_weight(distance, rule.cubic) : std::max(1 - std::abs(distance), 0.0F);
      const auto index = static_cast<std::int64_t>(base) + i;
      if (rule.exclude_outside && (index < 0 || index >= d.from)) weight = 0;
      weights.push_back(weight);
      sum += weight;
      resample.indices.push_back(std::clamp<std::int64_t>(index, 0, d.from - 1));
    }
    const bool normalised = rule.exclude_outside || rule.antialias;
    for (const float weight : weights) resample.weights.push_back(normalised ? weight / sum : weight);
  }
  return resample;
}

TensorId resize_dimension(NodeContext& node, const ResizeRule& rule, const Scaled& d, TensorId x, Shape& shape,
                          std::size_t axis) {
  const auto from = shape;
  shape[axis] = d.to;
  if (rule.mode == ResizeRule::Mode::nearest) {
    GatherConstant gather{axis, {}};
    for (const auto& tap : two_taps(node, rule, d)) gather.indices.push_back(tap.low);
    return node.emit(std::move(gather), {x}, shape);
  }
  auto resample = many_taps(node, rule, d);
  resample.outer = product(from, 0, axis);
  resample.inner = product(from, axis + 1, from.size());
  return node.emit(std::move(resample), {x}, shape);
}

/// Returns `y`, in which an element is the extrapolation value if its position along this dimension is outside the
/// input.
TensorId with_outside(NodeContext& node, const ResizeRule& rule, const Scaled& d, TensorId y, const Shape& shape,
                      std::size_t axis) {
  Shape line(shape.size(), 1);
  line[axis] = d.to;
  const auto is_inside = [&](std::int64_t out) {
    const auto position = source_position(rule, d, out);
    return position >= 0 && position <= static_cast<float>(d.from - 1);
  };
  bool all = true;
  for (std::int64_t out = 0; out < d.to && all; ++out) all = is_inside(out);
  if (all) return y;
  const auto mask = node.filled(std::move(line), ElementType::boolean, is_inside);
  return node.emit(Where{}, {mask, y, node.constant({}, {*rule.extrapolation})}, shape, ElementType::float32);
}

void emit_resize(NodeContext& node, const ResizeRule& rule, const std::vector<Scaled>& dimensions) {
  auto shape = node.shape(0);
  if (node.is_empty(0)) {
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = dimensions[d].to;
    return node.set_output(node.emit(Reshape{}, {node.tensor(0)}, std::move(shape)));
  }
  const auto type = node.element_type(0);
  // Nearest interpolation of integers gathers the integers themselves. Weighted means of integers are computed in
  // floats and truncated.
  const bool takes = is_integer(type) && rule.mode == ResizeRule::Mode::nearest && !rule.extrapolation;
  auto x = takes ? node.tensor(0) : node.cast(node.tensor(0), ElementType::float32);
  const bool images = !takes && shape.size() == 4 && dimensions[0].same(rule) && dimensions[1].same(rule);
  const bool two = rule.mode == ResizeRule::Mode::nearest ||
                   (rule.mode == ResizeRule::Mode::linear && !rule.exclude_outside && !rule.antialias);
  if (images && two) {
    shape[2] = dimensions[2].to;
    shape[3] = dimensions[3].to;
    x = node.emit(Resize{two_taps(node, rule, dimensions[2]), two_taps(node, rule, dimensions[3])}, {x}, shape);
  } else {
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      if (!dimensions[d].same(rule)) x = resize_dimension(node, rule, dimensions[d], x, shape, d);
    if (x == node.tensor(0)) x = node.emit(Reshape{}, {x}, shape);
  }
  for (std::size_t d = 0; rule.extrapolation && d < dimensions.size(); ++d)
    x = with_outside(node, rule, dimensions[d], x, shape, d);
  node.set_output(node.cast(x, type));
}

/// Returns the scaling of each dimension, from the sizes or scales of the node.
std::vector<Scaled> scaled(NodeContext& node, const ResizeRule& rule, const std::string& policy,
                           std::size_t scales_input, std::size_t sizes_input) {
  const auto x = node.shape(0);
  const auto axes = named_axes(node, x.size(), rule.axes ? &*rule.axes : nullptr);
  std::vector<Scaled> dimensions;
  for (const auto size : x) dimensions.push_back({size, size});
  if (node.has(sizes_input)) {
    const auto& sizes = node.ints(sizes_input, "the sizes");
    node.require(sizes.size() == axes.size(), "it needs one size for each dimension, or for each of its axes");
    std::optional<float> common;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      auto& d = dimensions[axes[i]];
      d.to = sizes[i];
      if (d.from == 0) continue;
      d.scale = static_cast<float>(d.to) / static_cast<float>(d.from);
      if (policy == "not_larger") common = std::min(common.value_or(d.scale), d.scale);
      if (policy == "not_smaller") common = std::max(common.value_or(d.scale), d.scale);
    }
    for (const auto axis : axes)
      if (common) {
        auto& d = dimensions[axis];
        d.scale = *common;
        d.to = static_cast<std::int64_t>(std::floor(*common * static_cast<float>(d.from) + 0.5F));
      }
  } else {
    const auto& scales = rule.scales ? *rule.scales : node.floats(scales_input, "the scales");
    node.require(scales.size() == axes.size(), "it needs one scale for each dimension, or for each of its axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      auto& d = dimensions[axes[i]];
      d.scale = scales[i];
      if (!(d.scale > 0) || d.scale > max_scale) node.bad("a scale of " + std::to_string(d.scale));
      d.to = static_cast<std::int64_t>(static_cast<float>(d.from) * d.scale);
    }
  }
  Shape out;
  for (const auto& d : dimensions) out.push_back(d.to);
  (void)node.checked(out);
  if (rule.extrapolation) {
    const auto& region = node.floats(1, "the region");
    node.require(region.size() == 2 * axes.size(), "its region does not match its axes");
    constexpr float farthest = 1 << 15; // in multiples of the input's size
    for (const float edge : region)
      if (!(std::abs(edge) <= farthest)) node.unsupported("a region's edge at " + std::to_string(edge));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      dimensions[axes[i]].start = region[i];
      dimensions[axes[i]].end = region[i + axes.size()];
    }
  }
  return dimensions;
}

ResizeRule::Mode mode_of(NodeContext& node, const std::vector<std::string>& known) {
  const auto mode = one_of(node, "mode", "nearest", known);
  return mode == "nearest" ? ResizeRule::Mode::nearest
         : mode == "cubic" ? ResizeRule::Mode::cubic
                           : ResizeRule::Mode::linear;
}

/// Lowers Upsample, which is deprecated since opset 10, but which some exporters still write. Upsample is equivalent to
/// Resize of opset 10.
void upsample(NodeContext& node) {
  ResizeRule rule;
  rule.mode = mode_of(node, {"nearest", "linear"});
  rule.coordinates = "asymmetric";
  rule.nearest = "floor";
  if (node.opset() < 9) rule.scales = node.attribute<std::vector<float>>("scales");
  emit_resize(node, rule, scaled(node, rule, "stretch", 1, 2));
}

void resize(NodeContext& node) {
  if (node.opset() < 11) return upsample(node);
  ResizeRule rule;
  rule.mode = mode_of(node, {"nearest", "linear", "cubic"});
  rule.coordinates = one_of(node, "coordinate_transformation_mode", "half_pixel",
                            {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                             "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  rule.nearest =
      one_of(node, "nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  rule.exclude_outside = node.attribute<std::int64_t>("exclude_outside", 0) != 0;
  rule.cubic = node.attribute("cubic_coeff_a", -0.75F);
  const auto outside = node.attribute("extrapolation_value", 0.0F);
  if (rule.coordinates == "tf_crop_and_resize") rule.extrapolation = outside;
  std::string policy = "stretch";
  if (node.opset() >= 18) {
    if (node.has_attribute("axes")) rule.axes = node.attribute<std::vector<std::int64_t>>("axes");
    rule.antialias = node.attribute<std::int64_t>("antialias", 0) != 0 && rule.mode != ResizeRule::Mode::nearest;
    policy = one_of(node, "keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  }
  emit_resize(node, rule, scaled(node, rule, policy, 2, 3));
}

// ---- Pad ----

/// Returns the input index that index i of a padded dimension copies.
std::int64_t mirrored(const std::string& mode, std::int64_t i, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, size - 1);
  if (mode == "wrap") return ((i % size) + size) % size;
  if (size == 1) return 0;
  const auto period = 2 * (size - 1);
  const auto at = ((i % period) + period) % period;
  return at < size ? at : period - at;
}

struct Padding {
  std::int64_t before = 0, after = 0;
};

/// Crops x by the negative paddings, and sets these paddings to 0.
TensorId cropped(NodeContext& node, TensorId x, Shape& shape, std::vector<Padding>& pads) {
  View view{0, dense_strides(shape)};
  const auto from = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    view.offset -= std::min<std::int64_t>(pads[d].before, 0) * view.strides[d];
    shape[d] += std::min<std::int64_t>(pads[d].before, 0) + std::min<std::int64_t>(pads[d].after, 0);
    pads[d] = {std::max<std::int64_t>(pads[d].before, 0), std::max<std::int64_t>(pads[d].after, 0)};
  }
  shape = node.checked(shape);
  return shape == from ? x : node.emit(std::move(view), {x}, shape);
}

/// Returns a Pad with the node's padding value. The caller must set Pad::before.
Pad padding(NodeContext& node) {
  Pad pad;
  if (node.opset() < 11) {
    pad.value = node.attribute("value", 0.0F);
    pad.integer = static_cast<std::int64_t>(pad.value);
  } else if (node.has(2)) {
    node.require(element_count(node.shape(2)) == 1, "its value must be a scalar");
    if (is_integer(node.element_type(0))) pad.integer = node.ints(2, "the value").front();
    else pad.value = node.floats(2, "the value").front();
  }
  return pad;
}

void pad(NodeContext& node) {
  auto shape = node.shape(0);
  const auto mode = one_of(node, "mode", "constant", {"constant", "reflect", "edge", "wrap"});
  const bool by_attributes = node.opset() < 11;
  const auto given = by_attributes ? node.attribute<std::vector<std::int64_t>>("pads") : node.ints(1, "the pads");
  std::optional<std::vector<std::int64_t>> named;
  if (node.opset() >= 18 && node.has(3)) named = node.ints(3, "the axes");
  const auto axes = named_axes(node, shape.size(), named ? &*named : nullptr);
  node.require(given.size() == 2 * axes.size(), "it needs two pads for each dimension, or for each of its axes");
  std::vector<Padding> pads(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads[axes[i]] = {given[i], given[i + axes.size()]};
    for (const auto each : {given[i], given[i + axes.size()]})
      if (each < -max_elements || each > max_elements)
        node.unsupported("a padding of " + std::to_string(each) + "; supported: up to " + std::to_string(max_elements));
  }
  auto constant = padding(node);
  auto x = cropped(node, node.tensor(0), shape, pads);
  if (mode != "constant") {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (pads[d].before + pads[d].after == 0) continue;
      node.require(shape[d] > 0, "a dimension without elements has none to pad with");
      auto padded = shape;
      padded[d] += pads[d].before + pads[d].after;
      (void)node.checked(padded);
      node.charge(static_cast<std::size_t>(padded[d]), sizeof(std::int64_t));
      GatherConstant gather{d, {}};
      for (auto i = -pads[d].before; i < shape[d] + pads[d].after; ++i)
        gather.indices.push_back(mirrored(mode, i, shape[d]));
      shape = std::move(padded);
      x = node.emit(std::move(gather), {x}, shape);
    }
    return node.set_output(x == node.tensor(0) ? node.emit(Reshape{}, {x}, shape) : x);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    constant.before.push_back(pads[d].before);
    shape[d] += pads[d].before + pads[d].after;
  }
  node.set_output(node.emit(std::move(constant), {x}, std::move(shape)));
}

// ---- GridSample ----

void grid_sample(NodeContext& node) {
  const auto x = node.shape(0), grid = node.shape_of_rank(1, x.size());
  if (x.size() != 4 && x.size() != 5)
    node.unsupported("its input has " + dimensions(x) + "; supported: 4 and 5 dimensions");
  node.require(grid[0] == x[0] && grid.back() == std::ssize(x) - 2, "the shape of its grid does not match its input");
  const auto mode = one_of(node, "mode", node.opset() < 20 ? "bilinear" : "linear",
                           {"bilinear", "linear", "nearest", "bicubic", "cubic"});
  const auto padding = one_of(node, "padding_mode", "zeros", {"zeros", "border", "reflection"});
  GridSample sample;
  sample.mode = mode == "nearest"                      ? GridSample::Mode::nearest
                : mode == "bicubic" || mode == "cubic" ? GridSample::Mode::cubic
                                                       : GridSample::Mode::linear;
  sample.padding = padding == "zeros"    ? GridSample::Padding::zeros
                   : padding == "border" ? GridSample::Padding::border
                                         : GridSample::Padding::reflection;
  sample.align_corners = node.attribute<std::int64_t>("align_corners", 0) != 0;
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  node.set_output(node.emit(sample, {node.tensor(0), node.tensor(1)}, std::move(shape)));
}

/// Returns evenly spaced positions in [-1, 1] in homogeneous coordinates, as a matrix [places, rank + 1]. The
/// coordinate of the last dimension is first.
std::vector<float> even_places(const Shape& sizes, bool corners) {
  std::vector<float> places;
  Shape index(sizes.size(), 0);
  for (auto left = element_count(sizes); left > 0; --left) {
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const auto i = static_cast<float>(index[d]), n = static_cast<float>(sizes[d]);
      places.push_back(!corners ? (2 * i + 1) / n - 1 : n > 1 ? 2 * i / (n - 1) - 1 : 0);
    }
    places.push_back(1);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  return places;
}

/// Lowers AffineGrid: multiplies the evenly spaced positions by the matrix of each batch element.
void affine_grid(NodeContext& node) {
  const auto size = node.checked(node.ints(1, "the size"));
  node.require(size.size() == 4 || size.size() == 5, "its size has not 4 or 5 dimensions");
  const auto rank = std::ssize(size) - 2;
  node.require(node.shape(0) == Shape{size[0], rank, rank + 1}, "the shape of its matrices does not match its size");
  const Shape sizes(size.begin() + 2, size.end());
  const auto count = element_count(sizes);
  (void)node.reserve({count, rank + 1});
  const auto places =
      node.constant({count, rank + 1}, even_places(sizes, node.attribute<std::int64_t>("align_corners", 0) != 0));
  const auto grid = node.emit(MatMul{false, true, 1}, {places, node.tensor(0)}, {size[0], count, rank});
  auto shape = sizes;
  shape.insert(shape.begin(), size[0]);
  shape.push_back(rank);
  node.set_output(node.emit(Reshape{}, {grid}, std::move(shape)));
}

void region_align(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 4), regions = node.shape_of_rank(1, 2);
  node.require(regions[1] == 4 && node.shape(2) == Shape{regions[0]}, "its regions and their images do not match");
  RoiAlign align;
  if (one_of(node, "mode", "avg", {"avg", "max"}) == "max") align.kind = RoiAlign::Kind::maximum;
  align.samples = node.attribute<std::int64_t>("sampling_ratio", 0);
  if (align.samples < 0 || align.samples > RoiAlign::max_samples)
    node.unsupported("sampling_ratio is " + std::to_string(align.samples) + "; supported: 0 to " +
                     std::to_string(RoiAlign::max_samples));
  align.scale = node.attribute("spatial_scale", 1.0F);
  // Before opset 16 the attribute does not exist, and positions are computed as for output_half_pixel.
  align.half_pixel = node.opset() >= 16 && one_of(node, "coordinate_transformation_mode", "half_pixel",
                                                  {"half_pixel", "output_half_pixel"}) == "half_pixel";
  const auto height = node.attribute<std::int64_t>("output_height", 1),
             width = node.attribute<std::int64_t>("output_width", 1);
  node.set_output(
      node.emit(align, {node.tensor(0), node.tensor(1), node.indices(2)}, {regions[0], x[1], height, width}));
}

// ---- CenterCropPad

void crop_or_pad_around_centre(NodeContext& node) {
  auto shape = node.shape(0);
  const auto& wanted = node.ints(1, "the shape");
  const auto given = node.attribute<std::vector<std::int64_t>>("axes", {});
  const auto axes = named_axes(node, shape.size(), node.has_attribute("axes") ? &given : nullptr);
  node.require(wanted.size() == axes.size(), "it needs one size for each dimension, or for each of its axes");
  std::vector<Padding> pads(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (wanted[i] < 0 || wanted[i] > max_elements)
      node.unsupported("a size of " + std::to_string(wanted[i]) + "; supported: 0 to " + std::to_string(max_elements));
    const auto more = wanted[i] - shape[axes[i]];
    const auto before = more < 0 ? -(-more / 2) : more / 2;
    pads[axes[i]] = {before, more - before};
  }
  const auto x = cropped(node, node.tensor(0), shape, pads);
  Pad pad{{}, 0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    pad.before.push_back(pads[d].before);
    shape[d] += pads[d].before + pads[d].after;
  }
  node.set_output(node.emit(std::move(pad), {x}, std::move(shape), node.element_type(0)));
}

} // namespace

void add_sampling_operators(OperatorTable& table) {
  table["Resize"] = {resize, "sizes or scales, and regions, are constants", 10};
  table["Upsample"] = {upsample, "scales are constants; as older exporters write it"};
  table["Pad"] = {pad, "pads, axes and value are constants"};
  table["CenterCropPad"] = {crop_or_pad_around_centre, "the shape is known when the model is loaded", 18};
  table["GridSample"] = {grid_sample, "four or five dimensions; five on the host device only", 16};
  table["AffineGrid"] = {affine_grid, "the size is known when the model is loaded", 20};
  table["RoiAlign"] = {region_align, "on the host device only", 10};
}

} // namespace rtexec::tasks::onnx_source
