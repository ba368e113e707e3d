#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace rtexec::test {
namespace {

using Values = std::vector<double>;

/// Returns the reduced axes: an attribute in earlier opsets, an input in later ones.
std::set<Index> reduced_axes(const Operator& n) {
  const Index rank = n.in(0).rank();
  const Ints given = n.has(1) ? integers(n.in(1)) : n.get<Ints>("axes", {});
  std::set<Index> axes;
  for (const Index axis : given) axes.insert(from_front(axis, rank));
  if (given.empty() && n.get<Index>("noop_with_empty_axes", 0) == 0)
    for (Index axis = 0; axis < rank; ++axis) axes.insert(axis);
  return axes;
}

/// Applies f to the values that are reduced to each element of the output. Without an axis, f gets each value alone.
template <class F> Array reduce(const Operator& n, F&& f) {
  const Array& x = n.in(0);
  const std::set<Index> axes = reduced_axes(n);
  Ints kept = x.shape, squeezed;
  for (Index axis = 0; axis < x.rank(); ++axis) {
    if (axes.contains(axis)) kept[static_cast<std::size_t>(axis)] = 1;
    else squeezed.push_back(x.extent(axis));
  }
  Array y(kept, x.kind);
  std::vector<Values> groups(y.values.size());
  for_each_index(x.shape, [&](Ints at) {
    const double value = x[offset(x.shape, at)];
    for (const Index axis : axes) at[static_cast<std::size_t>(axis)] = 0;
    groups[static_cast<std::size_t>(offset(kept, at))].push_back(value);
  });
  std::ranges::transform(groups, y.values.begin(), [&](const Values& group) { return wrapped(f(group), x.kind); });
  if (n.get<Index>("keepdims", 1) == 0) y.shape = squeezed;
  return y;
}

double sum(const Values& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
template <class F> double sum_of(const Values& values, F&& f) {
  double total = 0;
  for (const double value : values) total += f(value);
  return total;
}
double square(double x) { return x * x; }

double mean(const Values& values) { return sum(values) / static_cast<double>(values.size()); }
double product_of(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies());
}
double sum_of_squares(const Values& values) { return sum_of(values, square); }
double magnitude(const Values& values) {
  return sum_of(values, [](double x) { return std::abs(x); });
}
double log_of_sum_of_exponentials(const Values& values) {
  if (values.empty()) return -std::numeric_limits<double>::infinity();
  const double largest = std::ranges::max(values);
  if (std::isinf(largest)) return largest;
  return largest + std::log(sum_of(values, [=](double x) { return std::exp(x - largest); }));
}

template <auto f> Array reduction(const Operator& n) { return reduce(n, f); }

Array reduce_max(const Operator& n) {
  const Kind kind = n.in(0).kind;
  const double nothing = is_integer(kind) ? limits(kind).low : -std::numeric_limits<double>::infinity();
  return reduce(n, [=](const Values& values) { return values.empty() ? nothing : std::ranges::max(values); });
}
Array reduce_min(const Operator& n) {
  const Kind kind = n.in(0).kind;
  const double nothing = is_integer(kind) ? limits(kind).high : std::numeric_limits<double>::infinity();
  return reduce(n, [=](const Values& values) { return values.empty() ? nothing : std::ranges::min(values); });
}

/// Calls f(line, values) for the lines of `x` along `axis`. `line` is the index of the first element, and `values` are
/// the line's elements.
template <class F> void for_each_line(const Array& x, std::size_t axis, F&& f) {
  Ints across = x.shape;
  across[axis] = 1;
  for_each_index(across, [&](Ints at) {
    Values values;
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) values.push_back(x[offset(x.shape, at)]);
    at[axis] = 0;
    f(std::as_const(at), values);
  });
}

template <class Better> Array arg(const Operator& n, Better better) {
  const Array& x = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", 0), x.rank());
  const bool last = n.get<Index>("select_last_index", 0) != 0;
  Ints shape = x.shape;
  shape[axis] = 1;
  Array y(shape, Kind::int64);
  for_each_line(x, axis, [&](const Ints& at, const Values& values) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size(); ++i)
      if (better(values[i], values[best]) || (last && values[i] == values[best])) best = i;
    y[offset(shape, at)] = static_cast<double>(best);
  });
  if (n.get<Index>("keepdims", 1) == 0) y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return y;
}
Array arg_max(const Operator& n) { return arg(n, std::greater()); }
Array arg_min(const Operator& n) { return arg(n, std::less()); }

std::vector<std::size_t> order_of(const Values& values, bool largest_first) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return largest_first ? values[a] > values[b] : values[a] < values[b];
  });
  return order;
}

/// Always sorts: without `sorted` the order is undefined.
std::vector<Array> top_k(const Operator& n) {
  const Array& x = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", -1), x.rank());
  Ints shape = x.shape;
  shape[axis] = integers(n.in(1)).front();
  Array best(shape, x.kind), indices(shape, Kind::int64);
  for_each_line(x, axis, [&](Ints at, const Values& values) {
    const std::vector<std::size_t> order = order_of(values, n.get<Index>("largest", 1) != 0);
    for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) {
      const std::size_t from = order[static_cast<std::size_t>(at[axis])];
      best[offset(shape, at)] = values[from];
      indices[offset(shape, at)] = static_cast<double>(from);
    }
  });
  return {best, indices};
}

Array cumulative_sum(const Operator& n) {
  const Array& x = n.in(0);
  const std::size_t axis = place(integers(n.in(1)).front(), x.rank());
  const bool exclusive = n.get<Index>("exclusive", 0) != 0, reverse = n.get<Index>("reverse", 0) != 0;
  const Index extent = x.shape[axis];
  Array y = x;
  for_each_line(x, axis, [&](Ints at, const Values& values) {
    double before = 0;
    for (Index step = 0; step < extent; ++step) {
      at[axis] = reverse ? extent - 1 - step : step;
      const double value = values[static_cast<std::size_t>(at[axis])];
      y[offset(x.shape, at)] = wrapped(exclusive ? before : before + value, x.kind);
      before += value;
    }
  });
  return y;
}

/// Applies f in place to each line along an axis; before opset 13, to all following dimensions together.
template <class F> Array along_axis(const Operator& n, F&& f) {
  const Array& x = n.in(0);
  const bool flattens = n.opset < 13;
  const Index axis = from_front(n.get<Index>("axis", flattens ? 1 : -1), x.rank());
  const Index outer = product(Ints(x.shape.begin(), x.shape.begin() + axis));
  const Index count = flattens ? x.size() / outer : x.extent(axis);
  const Array seen = with_shape(x, {outer, count, x.size() / outer / count});
  Array y = seen;
  for_each_line(seen, 1, [&](Ints at, Values values) {
    f(values);
    for (at[1] = 0; at[1] < count; ++at[1]) y[offset(y.shape, at)] = values[static_cast<std::size_t>(at[1])];
  });
  return with_shape(y, x.shape);
}

Array softmax(const Operator& n) {
  return along_axis(n, [](Values& values) {
    const double total = log_of_sum_of_exponentials(values);
    for (double& value : values) value = std::exp(value - total);
  });
}
Array log_softmax(const Operator& n) {
  return along_axis(n, [](Values& values) {
    const double total = log_of_sum_of_exponentials(values);
    for (double& value : values) value -= total;
  });
}
Array hardmax(const Operator& n) {
  return along_axis(n, [](Values& values) {
    const auto largest = std::ranges::max_element(values) - values.begin();
    std::ranges::fill(values, 0);
    values[static_cast<std::size_t>(largest)] = 1;
  });
}

} // namespace

Functions reduction_operators() {
  return {{"ReduceMean", reduction<mean>},
          {"ReduceSum", reduction<sum>},
          {"ReduceProd", reduction<product_of>},
          {"ReduceMax", reduce_max},
          {"ReduceMin", reduce_min},
          {"ReduceL1", reduction<magnitude>},
          {"ReduceL2", reduction<[](const Values& x) { return std::sqrt(sum_of_squares(x)); }>},
          {"ReduceSumSquare", reduction<sum_of_squares>},
          {"ReduceLogSum", reduction<[](const Values& x) { return std::log(sum(x)); }>},
          {"ReduceLogSumExp", reduction<log_of_sum_of_exponentials>},
          {"ArgMax", arg_max},
          {"ArgMin", arg_min},
          {"TopK", top_k},
          {"CumSum", cumulative_sum},
          {"Softmax", softmax},
          {"LogSoftmax", log_softmax},
          {"Hardmax", hardmax}};
}

} // namespace rtexec::test
