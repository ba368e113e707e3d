#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rtexec::test {
namespace {

/// y[at] = x[f(at)].
template <class F> Array pick(const Array& x, const Ints& shape, F&& f) {
  Array y(shape, x.integer);
  for_each_index(shape, [&](const Ints& at) { y[offset(shape, at)] = x[offset(x.shape, f(at))]; });
  return y;
}

std::size_t place(Index axis, Index rank) { return static_cast<std::size_t>(from_front(axis, rank)); }

Ints every_axis(Index rank) {
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Array with_shape(Array x, Ints shape) {
  if (product(shape) != x.size()) throw std::invalid_argument("a shape of another size");
  x.shape = std::move(shape);
  return x;
}

Array concat(const Operator& n) {
  const Array& first = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", 0), first.rank());
  Ints shape = first.shape;
  shape[axis] = 0;
  for (const Array* input : n.inputs) shape[axis] += input->shape[axis];
  Array y(shape, first.integer);
  Index before = 0;
  for (const Array* input : n.inputs) {
    for_each_index(input->shape, [&](Ints at) {
      const double value = (*input)[offset(input->shape, at)];
      at[axis] += before;
      y[offset(shape, at)] = value;
    });
    before += input->shape[axis];
  }
  return y;
}

Array flatten(const Operator& n) {
  const Array& x = n.in(0);
  const Index axis = from_front(n.get<Index>("axis", 1), x.rank());
  const Index outer = product(Ints(x.shape.begin(), x.shape.begin() + axis));
  return with_shape(x, {outer, x.size() / outer});
}

Array reshape(const Operator& n) {
  const Array& x = n.in(0);
  Ints shape = integers(n.in(1));
  Index known = 1;
  const bool zero_copies = n.get<Index>("allowzero", 0) == 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && zero_copies) shape[d] = x.shape[d];
    if (shape[d] > 0) known *= shape[d];
  }
  std::ranges::replace(shape, Index{-1}, x.size() / known);
  return with_shape(x, shape);
}

Array shape_of(const Operator& n) {
  const Index rank = n.in(0).rank();
  const Index begin = std::clamp<Index>(from_front(n.get<Index>("start", 0), rank), 0, rank);
  const Index end = std::clamp<Index>(from_front(n.get<Index>("end", rank), rank), begin, rank);
  Array y({end - begin}, true);
  for (Index d = begin; d < end; ++d) y[d - begin] = static_cast<double>(n.in(0).extent(d));
  return y;
}

Array gather(const Operator& n) {
  const Array &x = n.in(0), &indices = n.in(1);
  const std::size_t axis = place(n.get<Index>("axis", 0), x.rank()), rank = indices.shape.size();
  const auto cut = static_cast<std::ptrdiff_t>(axis);
  Ints shape(x.shape.begin(), x.shape.begin() + cut);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + cut + 1, x.shape.end());
  return pick(x, shape, [&](const Ints& at) {
    const auto begin = at.begin() + cut, end = begin + static_cast<std::ptrdiff_t>(rank);
    const auto index = static_cast<Index>(indices[offset(indices.shape, Ints(begin, end))]);
    Ints from(at.begin(), begin);
    from.push_back(from_front(index, x.shape[axis]));
    from.insert(from.end(), end, at.end());
    return from;
  });
}

Array slice(const Operator& n) {
  const Array& x = n.in(0);
  const Ints starts = integers(n.in(1)), ends = integers(n.in(2));
  Ints axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (n.has(3)) axes = integers(n.in(3));
  if (n.has(4)) steps = integers(n.in(4));
  Ints shape = x.shape, first(x.shape.size(), 0), stride(x.shape.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = place(axes[i], x.rank());
    const Index extent = x.shape[axis], step = steps[i];
    const Index low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    const Index from = std::clamp(from_front(starts[i], extent), step > 0 ? low : 0, high);
    const Index to = std::clamp(from_front(ends[i], extent), low, high);
    first[axis] = from;
    stride[axis] = step;
    shape[axis] = std::max<Index>(0, (to - from + step - (step > 0 ? 1 : -1)) / step);
  }
  return pick(x, shape, [&](Ints at) {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = first[d] + at[d] * stride[d];
    return at;
  });
}

/// The axes of Squeeze and Unsqueeze: an attribute up to opset 12, an input from 13 on.
Ints axes_of(const Operator& n) { return n.has(1) ? integers(n.in(1)) : n.get<Ints>("axes", {}); }

Array unsqueeze(const Operator& n) {
  const Array& x = n.in(0);
  Ints axes = axes_of(n);
  for (Index& axis : axes) axis = from_front(axis, x.rank() + static_cast<Index>(axes.size()));
  std::ranges::sort(axes);
  Ints shape = x.shape;
  for (const Index axis : axes) shape.insert(shape.begin() + axis, 1);
  return with_shape(x, shape);
}

Array squeeze(const Operator& n) {
  const Array& x = n.in(0);
  Ints axes = axes_of(n), shape;
  for (Index& axis : axes) axis = from_front(axis, x.rank());
  for (Index d = 0; d < x.rank(); ++d)
    if (axes.empty() ? x.extent(d) != 1 : std::ranges::find(axes, d) == axes.end()) shape.push_back(x.extent(d));
  return with_shape(x, shape);
}

Array cast(const Operator& n) {
  constexpr Index to_float = 1, to_int64 = 7; // TensorProto.DataType
  const Index to = n.get<Index>("to", to_float);
  if (to != to_float && to != to_int64) throw std::invalid_argument("a cast to another type");
  Array y = n.in(0);
  y.integer = to == to_int64;
  if (y.integer)
    for (double& value : y.values) value = std::trunc(value);
  return y;
}

Array transpose(const Operator& n) {
  const Array& x = n.in(0);
  Ints order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = n.get("perm", order);
  Ints shape;
  for (const Index axis : order) shape.push_back(x.extent(axis));
  return pick(x, shape, [&](const Ints& at) {
    Ints from(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) from[static_cast<std::size_t>(order[d])] = at[d];
    return from;
  });
}

Array constant(const Operator& n) {
  if (n.has("value")) return n.get("value", Array());
  if (n.has("value_float") || n.has("value_floats")) {
    const Floats values = n.get("value_floats", Floats{n.get("value_float", 0.0F)});
    Array y(n.has("value_floats") ? Ints{static_cast<Index>(values.size())} : Ints{});
    std::ranges::copy(values, y.values.begin());
    return y;
  }
  const Ints values = n.get("value_ints", Ints{n.get<Index>("value_int", 0)});
  Array y(n.has("value_ints") ? Ints{static_cast<Index>(values.size())} : Ints{}, true);
  std::ranges::transform(values, y.values.begin(), [](Index value) { return static_cast<double>(value); });
  return y;
}

/// Where position `at`, which may lie outside [0, extent), takes its value from; -1: from the padding's constant.
Index source(Index at, Index extent, const std::string& mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == "edge") return std::clamp<Index>(at, 0, extent - 1);
  if (mode == "reflect") return at < 0 ? -at : 2 * (extent - 1) - at;
  return -1;
}

Array pad(const Operator& n) {
  const Array& x = n.in(0);
  const Ints pads = integers(n.in(1));
  const auto mode = n.get<std::string>("mode", "constant");
  const double value = n.has(2) ? n.in(2)[0] : 0;
  Ints shape = x.shape, before(shape.size(), 0);
  Ints axes = every_axis(x.rank());
  if (n.has(3)) axes = integers(n.in(3)); // from opset 18 on
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = place(axes[i], x.rank());
    before[d] = pads[i];
    shape[d] += pads[i] + pads[i + axes.size()];
  }
  Array y(shape);
  for_each_index(shape, [&](const Ints& at) {
    Ints from(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) from[d] = source(at[d] - before[d], x.shape[d], mode);
    y[offset(shape, at)] = std::ranges::find(from, -1) == from.end() ? x[offset(x.shape, from)] : value;
  });
  return y;
}

double original_coordinate(const std::string& mode, double at, double scale, double in, double out) {
  if (mode == "asymmetric") return at / scale;
  if (mode == "align_corners") return out > 1 ? at * (in - 1) / (out - 1) : 0;
  if (mode == "pytorch_half_pixel" && out <= 1) return 0;
  return (at + 0.5) / scale - 0.5; // half_pixel
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

struct Sampling {
  std::string coordinates = "asymmetric", nearest = "floor"; // as Upsample has them
  bool linear = false;
};

Array resample(const Sampling& how, const Array& x, std::size_t axis, Index out, double scale) {
  const Index in = x.shape[axis];
  Ints shape = x.shape;
  shape[axis] = out;
  Array y(shape);
  for_each_index(shape, [&](Ints at) {
    const Index to = offset(shape, at);
    const double position = original_coordinate(how.coordinates, static_cast<double>(at[axis]), scale,
                                                static_cast<double>(in), static_cast<double>(out));
    const auto value = [&](double index) {
      at[axis] = std::clamp<Index>(static_cast<Index>(index), 0, in - 1);
      return x[offset(x.shape, at)];
    };
    const double low = std::floor(position), part = position - low;
    y[to] = how.linear ? value(low) * (1 - part) + value(low + 1) * part : value(rounded(how.nearest, position));
  });
  return y;
}

/// `sizes` may be null. Scales and sizes are those of `axes`.
Array resample_all(const Sampling& how, const Array& x, const Array* scales, const Array* sizes, const Ints& axes) {
  Array y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = place(axes[i], x.rank());
    const auto in = static_cast<double>(x.shape[axis]);
    const double scale = sizes ? sizes->values[i] / in : scales->values[i];
    y = resample(how, y, axis, static_cast<Index>(sizes ? sizes->values[i] : std::floor(in * scale)), scale);
  }
  return y;
}

Array resize(const Operator& n) { // inputs: x, region of interest, scales, sizes
  const Sampling how{n.get<std::string>("coordinate_transformation_mode", "half_pixel"),
                     n.get<std::string>("nearest_mode", "round_prefer_floor"),
                     n.get<std::string>("mode", "nearest") == "linear"};
  return resample_all(how, n.in(0), n.has(2) ? &n.in(2) : nullptr, n.has(3) ? &n.in(3) : nullptr,
                      n.get("axes", every_axis(n.in(0).rank())));
}

Array upsample(const Operator& n) { return resample_all({}, n.in(0), &n.in(1), nullptr, every_axis(n.in(0).rank())); }

} // namespace

std::vector<Array> split(const Operator& n) {
  const Array& x = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", 0), x.rank());
  const auto parts = static_cast<Index>(n.outputs);
  const Index equal = (x.shape[axis] + parts - 1) / parts;
  Ints sizes(n.outputs, equal);
  sizes.back() = x.shape[axis] - equal * (parts - 1);
  if (n.has("split")) sizes = n.get<Ints>("split", {}); // up to opset 12
  if (n.has(1)) sizes = integers(n.in(1));
  std::vector<Array> all;
  Index first = 0;
  for (const Index size : sizes) {
    Ints shape = x.shape;
    shape[axis] = size;
    all.push_back(pick(x, shape, [&](Ints at) {
      at[axis] += first;
      return at;
    }));
    first += size;
  }
  return all;
}

const Functions& shape_operators() {
  static const Functions functions{
      {"Concat", concat}, {"Flatten", flatten},  {"Reshape", reshape},     {"Shape", shape_of},
      {"Gather", gather}, {"Slice", slice},      {"Unsqueeze", unsqueeze}, {"Squeeze", squeeze},
      {"Cast", cast},     {"Pad", pad},          {"Transpose", transpose}, {"Constant", constant},
      {"Resize", resize}, {"Upsample", upsample}};
  return functions;
}

} // namespace rtexec::test
