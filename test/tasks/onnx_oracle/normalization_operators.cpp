#include "test/tasks/onnx_oracle/broadcast.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments m;
  for (const double value : values) m.mean += value / count;
  for (const double value : values) m.variance += (value - m.mean) * (value - m.mean) / count;
  return m;
}

/// Returns the moments of each `count` consecutive elements.
std::vector<Moments> moments_of_parts(const Array& x, Index count) {
  std::vector<Moments> all;
  for (auto from = x.values.begin(); from != x.values.end(); from += count)
    all.push_back(moments({from, from + count}));
  return all;
}

std::vector<Array> layer_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const Index axis = from_front(n.get<Index>("axis", -1), x.rank());
  const double epsilon = n.get("epsilon", 1e-5F);
  Ints outer = x.shape;
  std::fill(outer.begin() + axis, outer.end(), 1);
  const Index count = x.size() / product(outer);
  const std::vector<Moments> parts = moments_of_parts(x, count);
  Array y(x.shape), mean(outer), inverse(outer);
  for (Index i = 0; i < mean.size(); ++i) {
    mean[i] = parts[static_cast<std::size_t>(i)].mean;
    inverse[i] = 1 / std::sqrt(parts[static_cast<std::size_t>(i)].variance + epsilon);
  }
  for_each_index(x.shape, [&](const Ints& at) {
    const Index i = offset(x.shape, at), part = i / count;
    y[i] = (x[i] - mean[part]) * inverse[part] * broadcast_element(n.in(1), at) +
           (n.has(2) ? broadcast_element(n.in(2), at) : 0);
  });
  return {y, mean, inverse};
}

Array root_mean_square_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const Index axis = from_front(n.get<Index>("axis", -1), x.rank());
  const double epsilon = n.get("epsilon", 1e-5F);
  const Index count = product(Ints(x.shape.begin() + axis, x.shape.end()));
  const std::vector<Moments> parts = moments_of_parts(x, count);
  Array y(x.shape);
  for_each_index(x.shape, [&](const Ints& at) {
    const Index i = offset(x.shape, at);
    const Moments& m = parts[static_cast<std::size_t>(i / count)];
    y[i] = x[i] / std::sqrt(m.variance + m.mean * m.mean + epsilon) * broadcast_element(n.in(1), at);
  });
  return y;
}

/// Normalises each group of channels of each picture. `factor_of` returns the position of a channel's scale and bias.
template <class F> Array normalize_groups(const Operator& n, Index groups, F&& factor_of) {
  const Array& x = n.in(0);
  const double epsilon = n.get("epsilon", 1e-5F);
  const Index plane = x.size() / x.extent(0) / x.extent(1), count = x.extent(1) / groups * plane;
  const std::vector<Moments> parts = moments_of_parts(x, count);
  Array y(x.shape);
  for (Index i = 0; i < x.size(); ++i) {
    const Moments& m = parts[static_cast<std::size_t>(i / count)];
    const Index factor = factor_of(i / plane % x.extent(1));
    y[i] = (x[i] - m.mean) / std::sqrt(m.variance + epsilon) * n.in(1)[factor] + n.in(2)[factor];
  }
  return y;
}

Array instance_normalization(const Operator& n) {
  return normalize_groups(n, n.in(0).extent(1), [](Index channel) { return channel; });
}

/// Before opset 21, scale and bias are per group; from then on, per channel.
Array group_normalization(const Operator& n) {
  const Index groups = n.get<Index>("num_groups", 1), channels = n.in(0).extent(1) / groups;
  return normalize_groups(n, groups, [&](Index channel) { return n.opset < 21 ? channel / channels : channel; });
}

Array batch_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const double epsilon = n.get("epsilon", 1e-5F);
  const Index inner = x.size() / x.extent(0) / x.extent(1);
  Array y(x.shape);
  for (Index i = 0; i < x.size(); ++i) {
    const Index c = i / inner % x.extent(1);
    y[i] = (x[i] - n.in(3)[c]) / std::sqrt(n.in(4)[c] + epsilon) * n.in(1)[c] + n.in(2)[c];
  }
  return y;
}

Array lp_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const std::size_t axis = place(n.get<Index>("axis", -1), x.rank());
  const bool absolute = n.get<Index>("p", 2) == 1;
  Ints across = x.shape;
  across[axis] = 1;
  Array norm(across), y(x.shape);
  for_each_index(x.shape, [&](Ints at) {
    const double value = x[offset(x.shape, at)];
    at[axis] = 0;
    norm[offset(across, at)] += absolute ? std::abs(value) : value * value;
  });
  for_each_index(x.shape, [&](const Ints& at) {
    const double sum = broadcast_element(norm, at), by = absolute ? sum : std::sqrt(sum);
    y[offset(x.shape, at)] = by == 0 ? 0 : x[offset(x.shape, at)] / by;
  });
  return y;
}

/// The function that defines this operator adds 1e-9 to the deviation.
Array mean_variance_normalization(const Operator& n) {
  const Array& x = n.in(0);
  const Ints axes = n.get<Ints>("axes", {0, 2, 3});
  Ints kept = x.shape;
  for (const Index axis : axes) kept[place(axis, x.rank())] = 1;
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(product(kept)));
  const auto group_of = [&](Ints at) {
    for (const Index axis : axes) at[place(axis, x.rank())] = 0;
    return static_cast<std::size_t>(offset(kept, at));
  };
  for_each_index(x.shape, [&](const Ints& at) { groups[group_of(at)].push_back(x[offset(x.shape, at)]); });
  std::vector<Moments> parts;
  for (const auto& group : groups) parts.push_back(moments(group));
  Array y(x.shape);
  for_each_index(x.shape, [&](const Ints& at) {
    const Moments& m = parts[group_of(at)];
    y[offset(x.shape, at)] = (x[offset(x.shape, at)] - m.mean) / (std::sqrt(m.variance) + 1e-9);
  });
  return y;
}

} // namespace

Functions normalization_operators() {
  return {{"LayerNormalization", layer_normalization},
          {"RMSNormalization", root_mean_square_normalization},
          {"InstanceNormalization", instance_normalization},
          {"GroupNormalization", group_normalization},
          {"BatchNormalization", batch_normalization},
          {"LpNormalization", lp_normalization},
          {"MeanVarianceNormalization", mean_variance_normalization}};
}

} // namespace rtexec::test
