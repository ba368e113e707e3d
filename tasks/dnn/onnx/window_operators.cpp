#include "tasks/dnn/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::int64_t max_extent = 1 << 15; // of kernels, strides, paddings and dilations

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
    node.unsupported(std::string(attribute) + " has " + std::to_string(values.size()) +
                     " values; supported: " + std::to_string(count) + " (height and width)");
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

struct Placement {
  Window window;
  std::int64_t height = 0, width = 0; // of the output
};

/// Reads the attributes that Conv and the pooling operators share. `kernel` is {height, width}.
Placement place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel, bool ceil) {
  const auto strides = extents(node, "strides", 2, 1, "a stride");
  // An average has none before opset 19.
  const auto dilations = node.type() == "AveragePool" && node.opset() < 19
                             ? std::vector<std::int64_t>{1, 1}
                             : extents(node, "dilations", 2, 1, "a dilation");
  const auto pads = extents(node, "pads", 4, 0, "a padding");
  const auto auto_pad = node.attribute<std::string>("auto_pad", "NOTSET");
  Direction h{checked_extent(node, kernel[0], 1, "a kernel"), strides[0], dilations[0], pads[0], pads[2], x[2]};
  Direction w{checked_extent(node, kernel[1], 1, "a kernel"), strides[1], dilations[1], pads[1], pads[3], x[3]};
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    h.pad_same(auto_pad == "SAME_UPPER");
    w.pad_same(auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    h.before = h.after = w.before = w.after = 0;
  } else if (auto_pad != "NOTSET") {
    node.bad("auto_pad is " + config::quoted(auto_pad));
  }
  return {{h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after, h.dilation, w.dilation},
          h.outputs(ceil),
          w.outputs(ceil)};
}

void conv(NodeContext& node) {
  const auto& x = node.shape_of_rank(0, 4);
  const auto& weights = node.shape_of_rank(1, 4);
  (void)node.floats(1, "the weights");
  const auto groups = node.attribute<std::int64_t>("group", 1);
  if (groups < 1 || weights[0] % groups != 0 || x[1] % groups != 0 || x[1] / groups != weights[1])
    node.bad("an input of " + to_string(x) + ", weights of " + to_string(weights) + " and " + std::to_string(groups) +
             " groups do not fit together");
  if (node.attribute<std::vector<std::int64_t>>("kernel_shape", {weights[2], weights[3]}) !=
      Shape{weights[2], weights[3]})
    node.bad("kernel_shape contradicts the weights, which are " + to_string(weights));
  std::vector<TensorId> inputs{node.tensor(0), node.tensor(1)};
  if (node.has(2)) {
    node.require(node.floats(2, "the bias").size() == static_cast<std::size_t>(weights[0]),
                 "the bias does not have one value for each output channel");
    inputs.push_back(node.tensor(2));
  }
  const auto placed = place_window(node, x, {weights[2], weights[3]}, false);
  node.set_output(
      node.emit(Conv{placed.window, groups}, std::move(inputs), {x[0], weights[0], placed.height, placed.width}));
}

template <Pool::Kind kind> void pool(NodeContext& node) {
  const auto& x = node.shape_of_rank(0, 4);
  const auto kernel = node.attribute<std::vector<std::int64_t>>("kernel_shape");
  if (kernel.size() != 2)
    node.unsupported("kernel_shape has " + std::to_string(kernel.size()) + " values; supported: 2 (height and width)");
  const bool count_padding = kind == Pool::Kind::average && node.attribute<std::int64_t>("count_include_pad", 0) != 0;
  if (kind == Pool::Kind::max) node.ignore_attribute("storage_order"); // concerns the indices
  const auto placed = place_window(node, x, kernel, node.attribute<std::int64_t>("ceil_mode", 0) != 0);
  const auto& w = placed.window;
  const auto reach_h = (w.kernel_h - 1) * w.dilation_h + 1, reach_w = (w.kernel_w - 1) * w.dilation_w + 1;
  if (std::max(w.pad_top, w.pad_bottom) >= reach_h || std::max(w.pad_left, w.pad_right) >= reach_w)
    node.unsupported("its padding is as large as its window");
  if (w.dilation_h > 1 || w.dilation_w > 1) {
    // A dilated window can step over a small input altogether; that has no value.
    if (x[2] < w.dilation_h || x[3] < w.dilation_w) node.unsupported("its dilation is larger than its input");
  }
  node.set_output(node.emit(Pool{kind, w, count_padding}, {node.tensor(0)}, {x[0], x[1], placed.height, placed.width}));
}

void global_average_pool(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input is " + to_string(x) + "; supported: 3 dimensions or more");
  Shape shape(x.size(), 1);
  std::copy_n(x.begin(), 2, shape.begin());
  const auto planes = x[0] * x[1];
  node.set_output(node.emit(Mean{planes, element_count(x) / planes, 1}, {node.tensor(0)}, std::move(shape)));
}

void batch_normalization(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 2) node.unsupported("its input is " + to_string(x) + "; supported: 2 dimensions or more");
  if (node.attribute<std::int64_t>("training_mode", 0) != 0)
    node.unsupported("training is not supported; export the model for inference");
  node.ignore_attribute("momentum");
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
  if (x.size() < 2) node.unsupported("its input is " + to_string(x) + "; supported: 2 dimensions or more");
  Lrn lrn;
  lrn.size = checked_extent(node, node.attribute<std::int64_t>("size"), 1, "a size");
  lrn.alpha = node.attribute("alpha", 1e-4F);
  lrn.beta = node.attribute("beta", 0.75F);
  lrn.bias = node.attribute("bias", 1.0F);
  node.set_output(node.emit(lrn, {node.tensor(0)}, x));
}

// ---- Resize ----

struct ResizeRule {
  bool linear = false;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  std::optional<std::vector<std::int64_t>> axes = {}; // that sizes or scales are of; all where it names none
};

float source_position(const ResizeRule& rule, std::int64_t out, std::int64_t out_size, std::int64_t in_size,
                      float scale) {
  const auto x = static_cast<float>(out);
  if (rule.coordinates == "asymmetric") return x / scale;
  if (rule.coordinates == "align_corners")
    return out_size == 1 ? 0.0F : x * static_cast<float>(in_size - 1) / static_cast<float>(out_size - 1);
  if (rule.coordinates == "pytorch_half_pixel" && out_size == 1) return 0.0F;
  return (x + 0.5F) / scale - 0.5F;
}

std::int64_t nearest_index(const std::string& rule, float position) {
  if (rule == "floor") return static_cast<std::int64_t>(std::floor(position));
  if (rule == "ceil") return static_cast<std::int64_t>(std::ceil(position));
  if (rule == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(position + 0.5F));
  return static_cast<std::int64_t>(std::ceil(position - 0.5F));
}

std::vector<Resize::Tap> taps(const ResizeRule& rule, std::int64_t in_size, std::int64_t out_size, float scale) {
  std::vector<Resize::Tap> table(static_cast<std::size_t>(out_size));
  const auto last = in_size - 1;
  for (std::int64_t out = 0; out < out_size; ++out) {
    auto& tap = table[static_cast<std::size_t>(out)];
    const auto position =
        std::clamp(source_position(rule, out, out_size, in_size, scale), -1.0F, static_cast<float>(in_size));
    if (rule.linear) {
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

void emit_resize(NodeContext& node, const ResizeRule& rule, std::size_t scales_input, std::size_t sizes_input) {
  const auto& x = node.shape_of_rank(0, 4);
  const auto axes = named_axes(node, 4, rule.axes ? &*rule.axes : nullptr);
  std::vector<float> scales(4, 1.0F);
  Shape out = x;
  if (node.has(sizes_input)) {
    const auto& sizes = node.ints(sizes_input, "the sizes");
    node.require(sizes.size() == axes.size(), "it needs one size for each dimension, or for each of its axes");
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = sizes[i];
    out = node.checked(out);
    for (std::size_t d = 0; d < 4; ++d) scales[d] = static_cast<float>(out[d]) / static_cast<float>(x[d]);
  } else {
    const auto& given = node.floats(scales_input, "the scales");
    node.require(given.size() == axes.size(), "it needs one scale for each dimension, or for each of its axes");
    for (std::size_t i = 0; i < axes.size(); ++i) scales[axes[i]] = given[i];
    for (std::size_t d = 0; d < 4; ++d) {
      if (!(scales[d] > 0) || scales[d] > static_cast<float>(max_extent))
        node.bad("a scale of " + std::to_string(scales[d]));
      out[d] = static_cast<std::int64_t>(static_cast<float>(x[d]) * scales[d]);
    }
    out = node.checked(out);
  }
  if (out[0] != x[0] || out[1] != x[1]) node.unsupported("it resizes batch or channels; supported: height and width");
  Resize resize{taps(rule, x[2], out[2], scales[2]), taps(rule, x[3], out[3], scales[3])};
  node.set_output(node.emit(std::move(resize), {node.tensor(0)}, std::move(out)));
}

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

void resize(NodeContext& node) {
  ResizeRule rule;
  rule.linear = one_of(node, "mode", "nearest", {"nearest", "linear"}) == "linear";
  rule.coordinates = one_of(node, "coordinate_transformation_mode", "half_pixel",
                            {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"});
  rule.nearest =
      one_of(node, "nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (node.attribute<std::int64_t>("exclude_outside", 0) != 0) node.unsupported("exclude_outside is not supported");
  if (node.opset() >= 18) {
    if (node.has_attribute("axes")) rule.axes = node.attribute<std::vector<std::int64_t>>("axes");
    if (node.attribute<std::int64_t>("antialias", 0) != 0 && rule.linear)
      node.unsupported("antialias is not supported");
    (void)one_of(node, "keep_aspect_ratio_policy", "stretch", {"stretch"});
  }
  node.ignore_attribute("cubic_coeff_a");
  node.ignore_attribute("extrapolation_value");
  emit_resize(node, rule, 2, 3);
}

/// Not of opset 10 and later, but still written by some exporters.
void upsample(NodeContext& node) {
  const ResizeRule rule{one_of(node, "mode", "nearest", {"nearest", "linear"}) == "linear", "asymmetric", "floor"};
  emit_resize(node, rule, 1, 2);
}

} // namespace

void add_window_operators(OperatorTable& table) {
  table["Conv"] = conv;
  table["MaxPool"] = pool<Pool::Kind::max>;
  table["AveragePool"] = pool<Pool::Kind::average>;
  table["GlobalAveragePool"] = global_average_pool;
  table["BatchNormalization"] = batch_normalization;
  table["LRN"] = lrn;
  table["Resize"] = resize;
  table["Upsample"] = upsample;
}

} // namespace rtexec::tasks::onnx_source
