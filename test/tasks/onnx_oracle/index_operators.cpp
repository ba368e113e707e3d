#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rtexec::test {
namespace {

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

Array gather_elements(const Operator& n) {
  const Array &x = n.in(0), &indices = n.in(1);
  const std::size_t axis = place(n.get<Index>("axis", 0), x.rank());
  return pick(x, indices.shape, [&](Ints at) {
    at[axis] = from_front(static_cast<Index>(indices[offset(indices.shape, at)]), x.shape[axis]);
    return at;
  });
}

/// Returns the tuple of indices at `at`, an index of all dimensions but the last.
Ints tuple_at(const Array& indices, Ints at, const Ints& extents, std::size_t first) {
  Ints tuple;
  at.push_back(0);
  for (; at.back() < indices.shape.back(); ++at.back())
    tuple.push_back(from_front(static_cast<Index>(indices[offset(indices.shape, at)]), extents[first + tuple.size()]));
  return tuple;
}

Array gather_nd(const Operator& n) {
  const Array &x = n.in(0), &indices = n.in(1);
  const Index batch = n.get<Index>("batch_dims", 0);
  const std::ptrdiff_t rank = indices.rank() - 1;
  Ints shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch + indices.shape.back(), x.shape.end());
  return pick(x, shape, [&](const Ints& at) {
    const Ints tuple = tuple_at(indices, Ints(at.begin(), at.begin() + rank), x.shape, static_cast<std::size_t>(batch));
    Ints from(at.begin(), at.begin() + batch);
    from.insert(from.end(), tuple.begin(), tuple.end());
    from.insert(from.end(), at.begin() + rank, at.end());
    return from;
  });
}

double reduced(const std::string& how, double old, double update) {
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "max") return std::max(old, update);
  if (how == "min") return std::min(old, update);
  return update;
}

/// Returns the first input, with every update stored at the position that to(at) returns.
template <class F> Array scatter(const Operator& n, F&& to) {
  Array y = n.in(0);
  const Array& updates = n.in(2);
  const auto how = n.get<std::string>("reduction", "none");
  for_each_index(updates.shape, [&](const Ints& at) {
    double& element = y[offset(y.shape, to(at))];
    element = wrapped(reduced(how, element, updates[offset(updates.shape, at)]), y.kind);
  });
  return y;
}

Array scatter_elements(const Operator& n) {
  const Array& indices = n.in(1);
  const std::size_t axis = place(n.get<Index>("axis", 0), n.in(0).rank());
  return scatter(n, [&](Ints at) {
    at[axis] = from_front(static_cast<Index>(indices[offset(indices.shape, at)]), n.in(0).shape[axis]);
    return at;
  });
}

Array scatter_nd(const Operator& n) {
  const Array& indices = n.in(1);
  const std::ptrdiff_t rank = indices.rank() - 1;
  return scatter(n, [&](const Ints& at) {
    Ints to = tuple_at(indices, Ints(at.begin(), at.begin() + rank), n.in(0).shape, 0);
    to.insert(to.end(), at.begin() + rank, at.end());
    return to;
  });
}

Array expand(const Operator& n) {
  const Array& x = n.in(0);
  Array y(broadcast(x.shape, integers(n.in(1))), x.kind);
  for_each_index(y.shape, [&](const Ints& at) { y[offset(y.shape, at)] = broadcast_element(x, at); });
  return y;
}

Array tile(const Operator& n) {
  const Array& x = n.in(0);
  const Ints repeats = integers(n.in(1));
  Ints shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= repeats[d];
  return pick(x, shape, [&](Ints at) {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] %= x.shape[d];
    return at;
  });
}

Array range(const Operator& n) {
  const double start = n.in(0)[0], limit = n.in(1)[0], delta = n.in(2)[0];
  Array y({std::max<Index>(0, static_cast<Index>(std::ceil((limit - start) / delta)))}, n.in(0).kind);
  for (Index i = 0; i < y.size(); ++i) y[i] = start + static_cast<double>(i) * delta;
  return y;
}

Array constant_of_shape(const Operator& n) {
  const Array value = n.get("value", Array({1}));
  Array y(integers(n.in(0)), value.kind);
  std::ranges::fill(y.values, value[0]);
  return y;
}

Array non_zero(const Operator& n) {
  const Array& x = n.in(0);
  std::vector<Ints> found;
  for_each_index(x.shape, [&](const Ints& at) {
    if (x[offset(x.shape, at)] != 0) found.push_back(at);
  });
  Array y({x.rank(), std::ssize(found)}, Kind::int64);
  for_each_index(y.shape, [&](const Ints& at) {
    const Ints& element = found[static_cast<std::size_t>(at[1])];
    y[offset(y.shape, at)] = static_cast<double>(element[static_cast<std::size_t>(at[0])]);
  });
  return y;
}

Array one_hot(const Operator& n) {
  const Array &indices = n.in(0), &values = n.in(2);
  const auto depth = static_cast<Index>(n.in(1)[0]);
  const std::size_t axis = place(n.get<Index>("axis", -1), indices.rank() + 1);
  Ints shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  Array y(shape, values.kind);
  for_each_index(shape, [&](const Ints& at) {
    Ints from = at;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
    const Index index = from_front(static_cast<Index>(indices[offset(indices.shape, from)]), depth);
    y[offset(shape, at)] = values[index == at[axis] ? 1 : 0];
  });
  return y;
}

Array compress(const Operator& n) {
  const bool flat = !n.has("axis");
  const Array x = flat ? with_shape(n.in(0), {n.in(0).size()}) : n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", 0), x.rank());
  Ints chosen;
  for (Index i = 0; i < std::min(n.in(1).size(), x.shape[axis]); ++i)
    if (n.in(1)[i] != 0) chosen.push_back(i);
  Ints shape = x.shape;
  shape[axis] = std::ssize(chosen);
  return pick(x, shape, [&](Ints at) {
    at[axis] = chosen[static_cast<std::size_t>(at[axis])];
    return at;
  });
}

/// Returns `x`, with zero wherever keeps(row, column) is false.
template <class F> Array masked(Array x, F&& keeps) {
  const Index rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  for (Index i = 0; i < x.size(); ++i)
    if (!keeps(i / columns % rows, i % columns)) x[i] = 0;
  return x;
}

Array triangle(const Operator& n) {
  const Index k = n.has(1) ? integers(n.in(1)).front() : 0;
  if (n.get<Index>("upper", 1) != 0) return masked(n.in(0), [=](Index row, Index column) { return column >= row + k; });
  return masked(n.in(0), [=](Index row, Index column) { return column <= row + k; });
}

Array eye_like(const Operator& n) {
  const Index k = n.get<Index>("k", 0);
  Array ones(n.in(0).shape, n.has("dtype") ? kind_of(n.get<Index>("dtype", 0)) : n.in(0).kind);
  std::ranges::fill(ones.values, 1);
  return masked(ones, [=](Index row, Index column) { return column == row + k; });
}

Array depth_to_space(const Operator& n) {
  const Array& x = n.in(0);
  const Index block = n.get<Index>("blocksize", 1), channels = x.extent(1) / (block * block);
  const bool column_row_depth = n.get<std::string>("mode", "DCR") == "CRD";
  return pick(x, {x.extent(0), channels, x.extent(2) * block, x.extent(3) * block}, [&](const Ints& at) {
    const Index inner = at[2] % block * block + at[3] % block;
    const Index channel = column_row_depth ? at[1] * block * block + inner : inner * channels + at[1];
    return Ints{at[0], channel, at[2] / block, at[3] / block};
  });
}

/// From opset 25 on the operator has a mode; before, it works as DCR.
Array space_to_depth(const Operator& n) {
  const Array& x = n.in(0);
  const Index block = n.get<Index>("blocksize", 1), channels = x.extent(1);
  return pick(x, {x.extent(0), channels * block * block, x.extent(2) / block, x.extent(3) / block},
              [&](const Ints& at) {
                const Index inner = at[1] / channels;
                return Ints{at[0], at[1] % channels, at[2] * block + inner / block, at[3] * block + inner % block};
              });
}

struct Box {
  double top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] double area() const { return (bottom - top) * (right - left); }
};

/// Reverses each sequence of the batch.
Array reverse_sequence(const Operator& n) {
  const auto time = place(n.get<Index>("time_axis", 0), n.in(0).rank());
  const auto batch = place(n.get<Index>("batch_axis", 1), n.in(0).rank());
  const Ints lengths = integers(n.in(1));
  return pick(n.in(0), n.in(0).shape, [&](Ints at) {
    const Index length = lengths[static_cast<std::size_t>(at[batch])];
    if (at[time] < length) at[time] = length - 1 - at[time];
    return at;
  });
}

Box box_at(const Operator& n, Index batch, Index index) {
  const Array& boxes = n.in(0);
  const Index first = (batch * boxes.extent(1) + index) * 4;
  const double a = boxes[first], b = boxes[first + 1], c = boxes[first + 2], d = boxes[first + 3];
  if (n.get<Index>("center_point_box", 0) != 0) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double common = std::max(0.0, height) * std::max(0.0, width);
  return common == 0 ? 0 : common / (a.area() + b.area() - common);
}

/// Returns the boxes of one class of one picture by falling score; of equal ones, the first comes first.
Ints by_score(const Operator& n, Index batch, Index kind) {
  const Array& scores = n.in(1);
  const Index count = scores.extent(2), first = (batch * scores.extent(1) + kind) * count;
  Ints order;
  for (Index i = 0; i < count; ++i)
    if (!n.has(4) || scores[first + i] >= n.in(4)[0]) order.push_back(i);
  std::ranges::stable_sort(order, std::greater(), [&](Index i) { return scores[first + i]; });
  return order;
}

Ints suppressed(const Operator& n, Index batch, Index kind) {
  const Index most = n.has(2) ? integers(n.in(2)).front() : 0;
  const double threshold = n.has(3) ? n.in(3)[0] : 0;
  Ints kept;
  for (const Index i : by_score(n, batch, kind)) {
    if (std::ssize(kept) >= most) break;
    if (std::ranges::all_of(
            kept, [&](Index other) { return overlap(box_at(n, batch, i), box_at(n, batch, other)) <= threshold; }))
      kept.push_back(i);
  }
  return kept;
}

Array non_max_suppression(const Operator& n) {
  const Array& scores = n.in(1);
  std::vector<double> rows;
  for (Index batch = 0; batch < scores.extent(0); ++batch)
    for (Index kind = 0; kind < scores.extent(1); ++kind)
      for (const Index i : suppressed(n, batch, kind))
        for (const Index part : {batch, kind, i}) rows.push_back(static_cast<double>(part));
  Array y({std::ssize(rows) / 3, 3}, Kind::int64);
  y.values = rows;
  return y;
}

} // namespace

Functions index_operators() {
  return {{"Gather", gather},
          {"GatherElements", gather_elements},
          {"GatherND", gather_nd},
          {"ScatterElements", scatter_elements},
          {"ScatterND", scatter_nd},
          {"Expand", expand},
          {"Tile", tile},
          {"Range", range},
          {"ConstantOfShape", constant_of_shape},
          {"NonZero", non_zero},
          {"OneHot", one_hot},
          {"Compress", compress},
          {"Trilu", triangle},
          {"EyeLike", eye_like},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", space_to_depth},
          {"ReverseSequence", reverse_sequence},
          {"NonMaxSuppression", non_max_suppression}};
}

} // namespace rtexec::test
