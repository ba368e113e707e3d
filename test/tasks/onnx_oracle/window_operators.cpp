#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rtexec::test {
namespace {

/// A window's positions along one axis.
struct Sweep {
  Index in = 0, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, out = 0;

  [[nodiscard]] Index position(Index window, Index tap) const { return window * stride - before + tap * dilation; }
  [[nodiscard]] bool inside(Index position) const { return position >= 0 && position < in; }
  [[nodiscard]] bool inside_padded(Index position) const { return position >= -before && position < in + after; }
};

Sweep sweep(const Operator& node, std::size_t axis, Index in, Index kernel) {
  Sweep s;
  s.in = in;
  s.kernel = kernel;
  s.stride = node.get<Ints>("strides", {1, 1})[axis];
  s.dilation = node.get<Ints>("dilations", {1, 1})[axis];
  const Index reach = (kernel - 1) * s.dilation + 1;
  const auto mode = node.get<std::string>("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    s.out = (in + s.stride - 1) / s.stride;
    const Index padding = std::max<Index>(0, (s.out - 1) * s.stride + reach - in);
    const Index smaller = padding / 2;
    s.before = mode == "SAME_UPPER" ? smaller : padding - smaller;
    s.after = padding - s.before;
    return s;
  }
  if (mode == "NOTSET") {
    const Ints pads = node.get<Ints>("pads", {0, 0, 0, 0});
    s.before = pads[axis];
    s.after = pads[axis + 2];
  }
  const double steps = static_cast<double>(in + s.before + s.after - reach) / static_cast<double>(s.stride);
  s.out = static_cast<Index>(node.get<Index>("ceil_mode", 0) != 0 ? std::ceil(steps) : std::floor(steps)) + 1;
  // A window that would begin in the padding behind the input is left out: what later opsets write down, and PyTorch
  // means.
  if (node.get<Index>("ceil_mode", 0) != 0 && (s.out - 1) * s.stride >= in + s.before) --s.out;
  return s;
}

Array conv(const Operator& node) {
  const Array &x = node.in(0), &w = node.in(1);
  const Index groups = node.get<Index>("group", 1);
  const Index channels = w.extent(1), filters = w.extent(0), per_group = filters / groups;
  const Sweep v = sweep(node, 0, x.extent(2), w.extent(2)), h = sweep(node, 1, x.extent(3), w.extent(3));
  Array y({x.extent(0), filters, v.out, h.out});
  for_each_index(y.shape, [&](const Ints& at) {
    double sum = node.has(2) ? node.in(2)[at[1]] : 0;
    for (Index c = 0; c < channels; ++c)
      for (Index i = 0; i < v.kernel; ++i) {
        const Index row = v.position(at[2], i);
        if (!v.inside(row)) continue;
        const Index x_row = ((at[0] * x.extent(1) + at[1] / per_group * channels + c) * v.in + row) * h.in;
        const Index w_row = ((at[1] * channels + c) * v.kernel + i) * h.kernel;
        for (Index j = 0; j < h.kernel; ++j)
          if (const Index column = h.position(at[3], j); h.inside(column)) sum += x[x_row + column] * w[w_row + j];
      }
    y[offset(y.shape, at)] = sum;
  });
  return y;
}

/// Each element at index `at` of a pool's output is f(x, at, rows, columns).
template <class F> Array pool(const Operator& node, F&& f) {
  const Array& x = node.in(0);
  const Ints kernel = node.get<Ints>("kernel_shape", {1, 1});
  const Sweep v = sweep(node, 0, x.extent(2), kernel[0]), h = sweep(node, 1, x.extent(3), kernel[1]);
  Array y({x.extent(0), x.extent(1), v.out, h.out});
  for_each_index(y.shape, [&](const Ints& at) { y[offset(y.shape, at)] = f(x, at, v, h); });
  return y;
}

Array max_pool(const Operator& node) {
  return pool(node, [](const Array& x, const Ints& at, const Sweep& v, const Sweep& h) {
    double largest = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < v.kernel; ++i)
      for (Index j = 0; j < h.kernel; ++j) {
        const Index row = v.position(at[2], i), column = h.position(at[3], j);
        if (v.inside(row) && h.inside(column))
          largest = std::max(largest, x[offset(x.shape, {at[0], at[1], row, column})]);
      }
    return largest;
  });
}

Array average_pool(const Operator& node) {
  const bool padding_counts = node.get<Index>("count_include_pad", 0) != 0;
  return pool(node, [=](const Array& x, const Ints& at, const Sweep& v, const Sweep& h) {
    double sum = 0, count = 0;
    for (Index i = 0; i < v.kernel; ++i)
      for (Index j = 0; j < h.kernel; ++j) {
        const Index row = v.position(at[2], i), column = h.position(at[3], j);
        const bool inside = v.inside(row) && h.inside(column);
        if (inside) sum += x[offset(x.shape, {at[0], at[1], row, column})];
        // What ceil_mode adds beyond the padding counts in no mode.
        if (padding_counts ? v.inside_padded(row) && h.inside_padded(column) : inside) count += 1;
      }
    return sum / count;
  });
}

Array global_average_pool(const Operator& node) {
  const Array& x = node.in(0);
  Ints shape(x.shape.size(), 1);
  shape[0] = x.extent(0);
  shape[1] = x.extent(1);
  Array y(shape);
  const Index plane = x.size() / y.size();
  for (Index i = 0; i < x.size(); ++i) y[i / plane] += x[i] / static_cast<double>(plane);
  return y;
}

Array lrn(const Operator& node) {
  const Array& x = node.in(0);
  const Index size = node.get<Index>("size", 1), channels = x.extent(1);
  const double alpha = node.get("alpha", 1e-4F), beta = node.get("beta", 0.75F), bias = node.get("bias", 1.0F);
  Array y(x.shape);
  for_each_index(x.shape, [&](const Ints& at) {
    double squares = 0;
    const Index first = std::max<Index>(0, at[1] - (size - 1) / 2);
    const Index last = std::min(channels - 1, at[1] + size / 2); // size / 2 is ceil((size - 1) / 2)
    Ints from = at;
    for (from[1] = first; from[1] <= last; ++from[1]) squares += std::pow(x[offset(x.shape, from)], 2);
    y[offset(x.shape, at)] =
        x[offset(x.shape, at)] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
  });
  return y;
}

} // namespace

const Functions& window_operators() {
  static const Functions functions{{"Conv", conv},
                                   {"MaxPool", max_pool},
                                   {"AveragePool", average_pool},
                                   {"GlobalAveragePool", global_average_pool},
                                   {"LRN", lrn}};
  return functions;
}

} // namespace rtexec::test
