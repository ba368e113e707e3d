#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rtexec::test {
namespace {

Array concat(const Operator& n) {
  const Array& first = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", 0), first.rank());
  Ints shape = first.shape;
  shape[axis] = 0;
  for (const Array* input : n.inputs) shape[axis] += input->shape[axis];
  Array y(shape, first.kind);
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
  Array y({end - begin}, Kind::int64);
  for (Index d = begin; d < end; ++d) y[d - begin] = static_cast<double>(n.in(0).extent(d));
  return y;
}

Array size_of(const Operator& n) {
  Array y(Ints{}, Kind::int64);
  y[0] = static_cast<double>(n.in(0).size());
  return y;
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

/// Returns the axes of Squeeze and Unsqueeze: an attribute up to opset 12, an input from 13 on.
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

/// Inference drops nothing, so the mask is true everywhere.
std::vector<Array> dropout(const Operator& n) {
  Array mask(n.in(0).shape, Kind::boolean);
  std::ranges::fill(mask.values, 1);
  return {n.in(0), mask};
}

Array converted(Array x, Kind kind) {
  x.kind = kind;
  for (double& value : x.values) value = wrapped(value, kind);
  return x;
}
Array cast(const Operator& n) { return converted(n.in(0), kind_of(n.get<Index>("to", 0))); }
Array cast_like(const Operator& n) { return converted(n.in(0), n.in(1).kind); }

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
  Array y(n.has("value_ints") ? Ints{static_cast<Index>(values.size())} : Ints{}, Kind::int64);
  std::ranges::transform(values, y.values.begin(), [](Index value) { return static_cast<double>(value); });
  return y;
}

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

} // namespace

Functions shape_operators() {
  return {{"Concat", concat},     {"Flatten", flatten}, {"Reshape", reshape},    {"Shape", shape_of},
          {"Size", size_of},      {"Slice", slice},     {"Split", split},        {"Unsqueeze", unsqueeze},
          {"Squeeze", squeeze},   {"Cast", cast},       {"CastLike", cast_like}, {"Transpose", transpose},
          {"Constant", constant}, {"Dropout", dropout}};
}

} // namespace rtexec::test
