#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rtexec::test {
namespace {

/// Returns the source of position `at`, which may be outside [0, extent), or -1 for the padding's constant.
Index source(Index at, Index extent, const std::string& mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == "edge") return std::clamp<Index>(at, 0, extent - 1);
  const auto modulo = [](Index a, Index b) { return (a % b + b) % b; };
  if (mode == "wrap") return modulo(at, extent);
  if (mode != "reflect") return -1;
  if (extent == 1) return 0;
  const Index period = 2 * (extent - 1), within = modulo(at, period);
  return std::min(within, period - within);
}

/// Padding of one axis. A negative padding cuts elements off before others are added.
struct Padding {
  Index cut = 0, kept = 0, before = 0, out = 0;
};

Padding padding(Index extent, Index before, Index after) {
  const Index cut = std::max<Index>(0, -before), kept = extent - cut - std::max<Index>(0, -after);
  return {cut, kept, std::max<Index>(0, before), extent + before + after};
}

Array pad(const Operator& n) {
  const Array& x = n.in(0);
  const Ints pads = integers(n.in(1));
  const auto mode = n.get<std::string>("mode", "constant");
  const double value = n.has(2) ? n.in(2)[0] : 0;
  std::vector<Padding> all;
  for (const Index extent : x.shape) all.push_back(padding(extent, 0, 0));
  const Ints axes = n.has(3) ? integers(n.in(3)) : every_axis(x.rank()); // an input from opset 18 on
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = place(axes[i], x.rank());
    all[d] = padding(x.shape[d], pads[i], pads[i + axes.size()]);
  }
  Ints shape;
  for (const Padding& axis : all) shape.push_back(axis.out);
  Array y(shape, x.kind);
  for_each_index(shape, [&](const Ints& at) {
    Ints from;
    bool inside = true;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Index in = source(at[d] - all[d].before, all[d].kept, mode);
      inside = inside && in >= 0;
      from.push_back(in + all[d].cut);
    }
    y[offset(shape, at)] = inside ? x[offset(x.shape, from)] : value;
  });
  return y;
}

/// An element that contributes to a sample.
struct Tap {
  Index at = 0; // -1: a zero
  double weight = 0;
};
using Taps = std::vector<Tap>;

double linear_weight(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

/// Returns the weight of Keys' cubic convolution.
double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

struct Sampling {
  std::string mode = "nearest", coordinates = "asymmetric", nearest = "floor"; // the defaults of Upsample
  double a = -0.75, extrapolated = 0;
  bool antialias = false, exclude_outside = false;
};

/// A resampled axis.
struct Axis {
  Index in = 0, out = 0;
  double scale = 1, start = 0, end = 1; // start and end of the region of interest
};

double original_coordinate(const std::string& mode, const Axis& axis, double at) {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") return out > 1 ? at * (in - 1) / (out - 1) : 0;
  if (mode == "tf_crop_and_resize")
    return out > 1 ? axis.start * (in - 1) + at * (axis.end - axis.start) * (in - 1) / (out - 1)
                   : 0.5 * (axis.start + axis.end) * (in - 1);
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale; // up to opset 12
  if (mode == "pytorch_half_pixel" && out <= 1) return 0;
  const double half_pixel = (at + 0.5) / axis.scale - 0.5;
  return mode == "half_pixel_symmetric" ? half_pixel + in / 2 * (1 - out / (axis.scale * in)) : half_pixel;
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

Taps taps_around(const Sampling& how, const Axis& axis, double position) {
  if (how.mode == "nearest") return {{static_cast<Index>(rounded(how.nearest, position)), 1}};
  const double stretch = how.antialias ? std::max(1.0, 1 / axis.scale) : 1, reach = 2 * stretch;
  Taps taps;
  for (double i = std::ceil(position - reach); i <= position + reach; ++i) {
    const double distance = (i - position) / stretch;
    taps.push_back(
        {static_cast<Index>(i), how.mode == "linear" ? linear_weight(distance) : cubic_weight(distance, how.a)});
  }
  return taps;
}

/// Returns the contributions to the sample at `position`: elements inside, with weights whose sum is one.
Taps taps_inside(const Sampling& how, const Axis& axis, double position) {
  Taps taps = taps_around(how, axis, position);
  if (how.exclude_outside) std::erase_if(taps, [&](const Tap& tap) { return tap.at < 0 || tap.at >= axis.in; });
  double sum = 0;
  for (const Tap& tap : taps) sum += tap.weight;
  for (Tap& tap : taps) tap = {std::clamp<Index>(tap.at, 0, axis.in - 1), tap.weight / sum};
  return taps;
}

Array resample(const Sampling& how, const Array& x, std::size_t d, const Axis& axis) {
  Ints shape = x.shape;
  shape[d] = axis.out;
  Array y(shape);
  std::vector<Taps> taps;
  std::vector<bool> outside;
  for (Index i = 0; i < axis.out; ++i) {
    const double position = original_coordinate(how.coordinates, axis, static_cast<double>(i));
    outside.push_back(how.coordinates == "tf_crop_and_resize" &&
                      (position < 0 || position > static_cast<double>(axis.in - 1)));
    taps.push_back(taps_inside(how, axis, position));
  }
  for_each_index(shape, [&](Ints at) {
    const Index to = offset(shape, at);
    const auto i = static_cast<std::size_t>(at[d]);
    if (outside[i]) {
      y[to] = how.extrapolated;
      return;
    }
    for (const Tap& tap : taps[i]) {
      at[d] = tap.at;
      y[to] += tap.weight * x[offset(x.shape, at)];
    }
  });
  return y;
}

/// Returns the common scale of all axes if their proportions are kept, otherwise nullopt.
std::optional<double> common_scale(const std::string& policy, const std::vector<Axis>& axes) {
  if (policy == "stretch") return {};
  const auto scale = [](const Axis& axis) { return axis.scale; };
  return policy == "not_larger" ? std::ranges::min(axes, {}, scale).scale : std::ranges::max(axes, {}, scale).scale;
}

/// `scales` and `sizes` belong to `axes`; one of the two is null.
std::vector<Axis> axes_of(const Operator& n, const Ints& axes, const Array* scales, const Array* sizes) {
  std::vector<Axis> all;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis axis{n.in(0).shape[place(axes[i], n.in(0).rank())], 0, 1, 0, 1};
    if (n.get<std::string>("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
      axis.start = n.in(1).values[i];
      axis.end = n.in(1).values[i + axes.size()];
    }
    const auto in = static_cast<double>(axis.in);
    axis.scale = sizes ? sizes->values[i] / in : scales->values[i];
    axis.out = static_cast<Index>(sizes ? sizes->values[i] : std::floor(in * (axis.end - axis.start) * axis.scale));
    all.push_back(axis);
  }
  const auto common = common_scale(n.get<std::string>("keep_aspect_ratio_policy", "stretch"), all);
  for (Axis& axis : all) {
    if (!common || !sizes) continue;
    axis.scale = *common;
    axis.out = static_cast<Index>(std::floor(*common * static_cast<double>(axis.in) + 0.5));
  }
  return all;
}

Array resample_all(const Sampling& how, const Operator& n, const Array* scales, const Array* sizes) {
  Array y = n.in(0);
  const Ints axes = n.get("axes", every_axis(y.rank()));
  const std::vector<Axis> all = axes_of(n, axes, scales, sizes);
  for (std::size_t i = 0; i < axes.size(); ++i) y = resample(how, y, place(axes[i], y.rank()), all[i]);
  y.kind = n.in(0).kind;
  for (double& value : y.values) value = wrapped(value, y.kind);
  return y;
}

Array resize(const Operator& n) { // inputs: x, region of interest, scales, sizes
  Sampling how;
  how.mode = n.get<std::string>("mode", "nearest");
  how.coordinates = n.get<std::string>("coordinate_transformation_mode", "half_pixel");
  how.nearest = n.get<std::string>("nearest_mode", "round_prefer_floor");
  how.a = n.get("cubic_coeff_a", -0.75F);
  how.extrapolated = n.get("extrapolation_value", 0.0F);
  how.antialias = n.get<Index>("antialias", 0) != 0;
  how.exclude_outside = n.get<Index>("exclude_outside", 0) != 0;
  const bool sized = n.has(3) && n.in(3).size() > 0;
  return resample_all(how, n, sized ? nullptr : &n.in(2), sized ? &n.in(3) : nullptr);
}

Array upsample(const Operator& n) {
  Sampling how;
  how.mode = n.get<std::string>("mode", "nearest");
  return resample_all(how, n, &n.in(1), nullptr);
}

/// One axis of a picture from which GridSample reads.
struct Border {
  Index extent = 0;
  bool corners = false; // true: -1 and 1 are the centres of the outermost elements; false: their outer edges
  std::string padding;

  [[nodiscard]] double low() const { return corners ? 0 : -0.5; }
  [[nodiscard]] double high() const { return static_cast<double>(extent) - (corners ? 1 : 0.5); }
  [[nodiscard]] double position(double normalized) const {
    const auto count = static_cast<double>(extent);
    return corners ? (normalized + 1) / 2 * (count - 1) : ((normalized + 1) * count - 1) / 2;
  }
  [[nodiscard]] double reflected(double x) const {
    const double range = high() - low();
    if (range == 0) return low();
    const double within = std::fmod(std::abs(x - low()), 2 * range);
    return low() + std::min(within, 2 * range - within);
  }
  /// Moves a position that may be outside to the inside, as the padding mode demands.
  [[nodiscard]] double inside(double x) const {
    if (x >= low() && x <= high()) return x;
    if (padding == "border") return std::clamp(x, 0.0, static_cast<double>(extent - 1));
    return padding == "reflection" ? reflected(x) : x;
  }
  [[nodiscard]] Index element(double x) const {
    if (x >= 0 && x < static_cast<double>(extent)) return static_cast<Index>(x);
    if (padding == "zeros") return -1;
    return std::clamp<Index>(static_cast<Index>(padding == "border" ? x : reflected(x)), 0, extent - 1);
  }
};

Taps grid_taps(const std::string& mode, const Border& border, double normalized) {
  const double position = border.position(normalized);
  if (mode == "nearest") return {{border.element(border.inside(std::nearbyint(position))), 1}};
  const bool cubic = mode.ends_with("cubic");
  const double x = border.inside(position), base = std::floor(x);
  Taps taps;
  for (double i = base - (cubic ? 1 : 0); i <= base + (cubic ? 2 : 1); ++i)
    taps.push_back({border.element(i), cubic ? cubic_weight(i - x, -0.75) : linear_weight(i - x)});
  return taps;
}

/// Returns the sum over all combinations of taps, one for each axis, of a plane that begins at `start`.
double weighted_sum(const Array& x, Index start, const std::vector<Taps>& taps) {
  Ints counts;
  for (const Taps& axis : taps) counts.push_back(std::ssize(axis));
  double sum = 0;
  for_each_index(counts, [&](const Ints& choice) {
    double weight = 1;
    Index at = 0;
    for (std::size_t d = 0; d < taps.size(); ++d) {
      const Tap& tap = taps[d][static_cast<std::size_t>(choice[d])];
      weight *= tap.at < 0 ? 0 : tap.weight;
      at = at * x.shape[d + 2] + std::max<Index>(0, tap.at);
    }
    sum += weight * x[start + at];
  });
  return sum;
}

Array grid_sample(const Operator& n) {
  const Array &x = n.in(0), &grid = n.in(1);
  const std::size_t rank = x.shape.size() - 2;
  const auto mode = n.get<std::string>("mode", n.opset < 20 ? "bilinear" : "linear");
  std::vector<Border> borders;
  for (std::size_t d = 0; d < rank; ++d)
    borders.push_back(
        {x.shape[d + 2], n.get<Index>("align_corners", 0) != 0, n.get<std::string>("padding_mode", "zeros")});
  Ints places(grid.shape.begin(), grid.shape.end() - 1), shape = places;
  shape.insert(shape.begin() + 1, x.extent(1));
  Array y(shape);
  const Index plane = y.size() / x.extent(0) / x.extent(1), x_plane = x.size() / x.extent(0) / x.extent(1);
  Index i = 0;
  for_each_index(places, [&](const Ints& at) {
    std::vector<Taps> taps;
    for (std::size_t d = 0; d < rank; ++d) // the grid stores the last axis first
      taps.push_back(grid_taps(mode, borders[d], grid[(i + 1) * static_cast<Index>(rank) - 1 - static_cast<Index>(d)]));
    for (Index c = 0; c < x.extent(1); ++c) {
      const Index map = at[0] * x.extent(1) + c;
      y[map * plane + i % plane] = weighted_sum(x, map * x_plane, taps);
    }
    ++i;
  });
  return y;
}

/// Returns the evenly spaced position in [-1, 1].
double even_place(Index i, Index count, bool corners) {
  if (corners) return count > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1 : 0;
  return (2.0 * static_cast<double>(i) + 1) / static_cast<double>(count) - 1;
}

Array center_crop_pad(const Operator& n) {
  const Array& x = n.in(0);
  const Ints axes = n.get("axes", every_axis(x.rank())), wanted = integers(n.in(1));
  Ints shape = x.shape, first(x.shape.size(), 0); // first: where the output begins in the input
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = place(axes[i], x.rank());
    shape[d] = wanted[i];
    first[d] = wanted[i] < x.shape[d] ? (x.shape[d] - wanted[i]) / 2 : -((wanted[i] - x.shape[d]) / 2);
  }
  Array y(shape, x.kind);
  for_each_index(shape, [&](Ints at) {
    const Index to = offset(shape, at);
    bool inside = true;
    for (std::size_t d = 0; d < at.size(); ++d) {
      at[d] += first[d];
      inside = inside && at[d] >= 0 && at[d] < x.shape[d];
    }
    y[to] = inside ? x[offset(x.shape, at)] : 0;
  });
  return y;
}

Array affine_grid(const Operator& n) {
  const Array& theta = n.in(0);
  const Ints size = integers(n.in(1));
  const bool corners = n.get<Index>("align_corners", 0) != 0;
  Ints shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  const Index rank = std::ssize(size) - 2;
  shape.push_back(rank);
  Array y(shape);
  for_each_index(shape, [&](const Ints& at) {
    double sum = theta[offset(theta.shape, {at[0], at.back(), rank})];
    for (Index i = 0; i < rank; ++i) { // x first, which is the last axis
      const auto d = static_cast<std::size_t>(rank - i);
      sum += theta[offset(theta.shape, {at[0], at.back(), i})] * even_place(at[d], shape[d], corners);
    }
    y[offset(shape, at)] = sum;
  });
  return y;
}

/// Interpolates in a plane that begins at `start`. It is 0 outside.
double between_pixels(const Array& x, Index start, double row, double column) {
  double sum = 0;
  for (const double v : {std::floor(row), std::floor(row) + 1})
    for (const double h : {std::floor(column), std::floor(column) + 1}) {
      const auto i = static_cast<Index>(v), j = static_cast<Index>(h);
      if (i < 0 || j < 0 || i >= x.extent(2) || j >= x.extent(3)) continue;
      sum += (1 - std::abs(row - v)) * (1 - std::abs(column - h)) * x[start + i * x.extent(3) + j];
    }
  return sum;
}

Array deform_conv(const Operator& n) {
  const Array &x = n.in(0), &w = n.in(1), &offsets = n.in(2);
  const Index groups = n.get<Index>("group", 1), offset_groups = n.get<Index>("offset_group", 1);
  const Ints strides = n.get("strides", Ints{1, 1}), dilations = n.get("dilations", Ints{1, 1}),
             pads = n.get("pads", Ints{0, 0, 0, 0});
  Array y({x.extent(0), w.extent(0), offsets.extent(2), offsets.extent(3)});
  for_each_index(y.shape, [&](const Ints& at) {
    double sum = n.has(3) ? n.in(3)[at[1]] : 0;
    for_each_index({w.extent(1), w.extent(2), w.extent(3)}, [&](const Ints& tap) {
      const Index channel = at[1] / (w.extent(0) / groups) * w.extent(1) + tap[0];
      const Index place =
          channel / (x.extent(1) / offset_groups) * w.extent(2) * w.extent(3) + tap[1] * w.extent(3) + tap[2];
      const double row = static_cast<double>(at[2] * strides[0] + tap[1] * dilations[0] - pads[0]) +
                         offsets[offset(offsets.shape, {at[0], 2 * place, at[2], at[3]})];
      const double column = static_cast<double>(at[3] * strides[1] + tap[2] * dilations[1] - pads[1]) +
                            offsets[offset(offsets.shape, {at[0], 2 * place + 1, at[2], at[3]})];
      const double weight = w[offset(w.shape, {at[1], tap[0], tap[1], tap[2]})];
      const double mask = n.has(4) ? n.in(4)[offset(n.in(4).shape, {at[0], place, at[2], at[3]})] : 1;
      sum += weight * mask * between_pixels(x, offset(x.shape, {at[0], channel, 0, 0}), row, column);
    });
    y[offset(y.shape, at)] = sum;
  });
  return y;
}

/// The positions of the samples on one axis of a bin of RoiAlign.
struct Bin {
  double first = 0, step = 0;
  Index count = 0;
};

Bin bin_of(const Operator& n, double low, double high, Index i, Index bins) {
  const bool shifted =
      n.opset >= 16 && n.get<std::string>("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = n.get("spatial_scale", 1.0F), start = low * scale - (shifted ? 0.5 : 0);
  double extent = (high - low) * scale;
  if (!shifted) extent = std::max(extent, 1.0);
  const double size = extent / static_cast<double>(bins);
  const Index asked = n.get<Index>("sampling_ratio", 0);
  const Index count = asked > 0 ? asked : static_cast<Index>(std::ceil(size));
  const double step = size / static_cast<double>(count);
  return {start + static_cast<double>(i) * size + step / 2, step, count};
}

/// Returns no taps if the sample is too far outside.
Taps bin_taps(double x, Index extent) {
  if (x < -1 || x > static_cast<double>(extent)) return {};
  const double inside = std::clamp(x, 0.0, static_cast<double>(extent - 1)), low = std::floor(inside);
  const auto first = static_cast<Index>(low);
  return {{first, 1 - (inside - low)}, {std::min(first + 1, extent - 1), inside - low}};
}

Array roi_align(const Operator& n) {
  const Array &x = n.in(0), &rois = n.in(1);
  const bool largest = n.get<std::string>("mode", "avg") == "max";
  const Index height = n.get<Index>("output_height", 1), width = n.get<Index>("output_width", 1);
  Array y({rois.extent(0), x.extent(1), height, width});
  for_each_index(y.shape, [&](const Ints& at) {
    const Index roi = at[0] * 4, batch = integers(n.in(2))[static_cast<std::size_t>(at[0])];
    const Bin columns = bin_of(n, rois[roi], rois[roi + 2], at[3], width);
    const Bin rows = bin_of(n, rois[roi + 1], rois[roi + 3], at[2], height);
    double sum = 0, best = -std::numeric_limits<double>::infinity();
    for_each_index({rows.count, columns.count}, [&](const Ints& sample) {
      double value = 0;
      for (const Tap& v : bin_taps(rows.first + static_cast<double>(sample[0]) * rows.step, x.extent(2)))
        for (const Tap& h : bin_taps(columns.first + static_cast<double>(sample[1]) * columns.step, x.extent(3))) {
          const double part = v.weight * h.weight * x[offset(x.shape, {batch, at[1], v.at, h.at})];
          value += part;
          best = std::max(best, part); // the maximum of the four parts of each sample, not of their sum
        }
      sum += value;
    });
    y[offset(y.shape, at)] = largest ? best : sum / static_cast<double>(std::max<Index>(1, rows.count * columns.count));
  });
  return y;
}

} // namespace

Functions sampling_operators() {
  return {{"Pad", pad},
          {"Resize", resize},
          {"Upsample", upsample},
          {"GridSample", grid_sample},
          {"CenterCropPad", center_crop_pad},
          {"AffineGrid", affine_grid},
          {"RoiAlign", roi_align},
          {"DeformConv", deform_conv}};
}

} // namespace rtexec::test
