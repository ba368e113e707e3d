#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rtexec::test {
namespace {

/// A window's positions along one axis.
struct Sweep {
  Index in = 0, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, out = 0;

  [[nodiscard]] Index reach() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] Index position(Index window, Index tap) const { return window * stride - before + tap * dilation; }
  [[nodiscard]] bool inside(Index position) const { return position >= 0 && position < in; }
  [[nodiscard]] bool inside_padded(Index position) const { return position >= -before && position < in + after; }
};
using Sweeps = std::vector<Sweep>;

/// Returns one sweep for each axis after batch and channels, without padding and without the number of windows.
Sweeps sweeps_of(const Operator& node, const Ints& spatial, const Ints& kernel) {
  const Ints ones(spatial.size(), 1), strides = node.get("strides", ones), dilations = node.get("dilations", ones);
  Sweeps sweeps(spatial.size());
  for (std::size_t d = 0; d < sweeps.size(); ++d) {
    sweeps[d].in = spatial[d];
    sweeps[d].kernel = kernel[d];
    sweeps[d].stride = strides[d];
    sweeps[d].dilation = dilations[d];
  }
  return sweeps;
}

Ints spatial_of(const Array& x) { return {x.shape.begin() + 2, x.shape.end()}; }

void pad_to_same(Sweep& s, bool upper) {
  s.out = (s.in + s.stride - 1) / s.stride;
  const Index padding = std::max<Index>(0, (s.out - 1) * s.stride + s.reach() - s.in), smaller = padding / 2;
  s.before = upper ? smaller : padding - smaller;
  s.after = padding - s.before;
}

void count_windows(Sweep& s, bool ceil) {
  const double steps = static_cast<double>(s.in + s.before + s.after - s.reach()) / static_cast<double>(s.stride);
  s.out = static_cast<Index>(ceil ? std::ceil(steps) : std::floor(steps)) + 1;
  // Omits a window that would begin in the padding after the input, as later opsets specify, and PyTorch intends.
  if (ceil && (s.out - 1) * s.stride >= s.in + s.before) --s.out;
}

Sweeps sweep(const Operator& node, const Array& x, const Ints& kernel) {
  Sweeps sweeps = sweeps_of(node, spatial_of(x), kernel);
  const auto mode = node.get<std::string>("auto_pad", "NOTSET");
  const Ints pads = node.get("pads", Ints(2 * sweeps.size(), 0));
  for (std::size_t d = 0; d < sweeps.size(); ++d) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      pad_to_same(sweeps[d], mode == "SAME_UPPER");
      continue;
    }
    if (mode == "NOTSET") {
      sweeps[d].before = pads[d];
      sweeps[d].after = pads[d + sweeps.size()];
    }
    count_windows(sweeps[d], node.get<Index>("ceil_mode", 0) != 0);
  }
  return sweeps;
}

Ints windows_of(const Sweeps& sweeps, Index batch, Index channels) {
  Ints shape{batch, channels};
  for (const Sweep& s : sweeps) shape.push_back(s.out);
  return shape;
}

Ints kernel_of(const Sweeps& sweeps) {
  Ints shape;
  for (const Sweep& s : sweeps) shape.push_back(s.kernel);
  return shape;
}

/// An element of a window: its position in its plane of the input, and in the kernel.
struct Tap {
  Index in = 0, kernel = 0;
};

struct Window {
  std::vector<Tap> taps; // those inside the input
  Index padded = 0;      // the number of elements inside the padded input
};

Window window_at(const Sweeps& sweeps, const Ints& window) {
  Window found;
  Index tap = 0;
  for_each_index(kernel_of(sweeps), [&](const Ints& at) {
    Index in = 0;
    bool inside = true, inside_padded = true;
    for (std::size_t d = 0; d < sweeps.size(); ++d) {
      const Index position = sweeps[d].position(window[d], at[d]);
      inside = inside && sweeps[d].inside(position);
      inside_padded = inside_padded && sweeps[d].inside_padded(position);
      in = in * sweeps[d].in + position;
    }
    if (inside) found.taps.push_back({in, tap});
    if (inside_padded) ++found.padded;
    ++tap;
  });
  return found;
}

/// Calls f(window, i) for every position of a window, the i-th of a plane of the output.
template <class F> void for_each_window(const Sweeps& sweeps, F&& f) {
  Ints shape;
  for (const Sweep& s : sweeps) shape.push_back(s.out);
  Index i = 0;
  for_each_index(shape, [&](const Ints& at) { f(window_at(sweeps, at), i++); });
}

Index plane_of(const Array& x) { return product(spatial_of(x)); }

void add_bias(Array& y, const Array& bias) {
  const Index plane = plane_of(y);
  for (Index i = 0; i < y.size(); ++i) y[i] += bias[i / plane % y.extent(1)];
}

Array conv(const Operator& node) {
  Array y = convolution(node, node.in(0), node.in(1), Kind::real);
  if (node.has(2)) add_bias(y, node.in(2));
  return y;
}

/// Determines which part of all elements that its windows reach is the output of ConvTranspose.
void place_transposed(Sweep& s, const Operator& node, std::size_t d, std::size_t rank) {
  const auto mode = node.get<std::string>("auto_pad", "NOTSET");
  const Ints zeros(2 * rank, 0), shape = node.get("output_shape", Ints{}), pads = node.get("pads", zeros);
  const Index all = s.stride * (s.in - 1) + node.get("output_padding", zeros)[d] + s.reach();
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (shape.empty() && !same) {
    s.before = mode == "NOTSET" ? pads[d] : 0;
    s.out = all - s.before - (mode == "NOTSET" ? pads[d + rank] : 0);
    return;
  }
  s.out = shape.empty() ? s.in * s.stride : shape[shape.size() - rank + d];
  const Index padding = std::max<Index>(0, all - s.out);
  s.before = mode == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
}

Array conv_transpose(const Operator& node) {
  const Array &x = node.in(0), &w = node.in(1);
  const Index groups = node.get<Index>("group", 1), filters = w.extent(1), channels = x.extent(1) / groups;
  Sweeps sweeps = sweeps_of(node, spatial_of(x), spatial_of(w));
  for (std::size_t d = 0; d < sweeps.size(); ++d) place_transposed(sweeps[d], node, d, sweeps.size());
  Array y(windows_of(sweeps, x.extent(0), filters * groups));
  const Index y_plane = plane_of(y), x_plane = plane_of(x), w_plane = plane_of(w);
  const auto add = [&](Index from, Index tap, Index to) {
    for (Index b = 0; b < x.extent(0); ++b)
      for (Index c = 0; c < x.extent(1); ++c)
        for (Index f = 0; f < filters; ++f)
          y[(b * y.extent(1) + c / channels * filters + f) * y_plane + to] +=
              x[(b * x.extent(1) + c) * x_plane + from] * w[(c * filters + f) * w_plane + tap];
  };
  Index from = 0;
  for_each_index(spatial_of(x), [&](const Ints& at) {
    Index tap = 0;
    for_each_index(spatial_of(w), [&](const Ints& in_kernel) {
      Index to = 0;
      bool inside = true;
      for (std::size_t d = 0; d < sweeps.size(); ++d) {
        const Index position = sweeps[d].position(at[d], in_kernel[d]);
        inside = inside && position >= 0 && position < sweeps[d].out;
        to = to * sweeps[d].out + position;
      }
      if (inside) add(from, tap, to);
      ++tap;
    });
    ++from;
  });
  if (node.has(2)) add_bias(y, node.in(2));
  return y;
}

/// Sums the columns [batch, channels * kernel, windows] into pictures.
Array column_to_image(const Operator& node) {
  const Array& columns = node.in(0);
  const Ints image = integers(node.in(1)), block = integers(node.in(2));
  const Index taps = product(block), channels = columns.extent(1) / taps;
  Ints shape{columns.extent(0), channels};
  shape.insert(shape.end(), image.begin(), image.end());
  Array y(shape);
  const Index plane = plane_of(y);
  for_each_window(sweep(node, y, block), [&](const Window& window, Index i) {
    for (Index map = 0; map < columns.extent(0) * channels; ++map)
      for (const Tap& tap : window.taps)
        y[map * plane + tap.in] += columns[(map * taps + tap.kernel) * columns.extent(2) + i];
  });
  return y;
}

/// Computes each element of a pool's output as f(x, start, window), where `start` is the beginning of a plane of the
/// input.
template <class F> Array pool(const Operator& node, Kind kind, F&& f) {
  const Array& x = node.in(0);
  const Sweeps sweeps = sweep(node, x, node.get<Ints>("kernel_shape", {}));
  Array y(windows_of(sweeps, x.extent(0), x.extent(1)), kind);
  const Index plane = plane_of(y), x_plane = plane_of(x);
  for_each_window(sweeps, [&](const Window& window, Index i) {
    for (Index map = 0; map < x.extent(0) * x.extent(1); ++map) y[map * plane + i] = f(x, map * x_plane, window);
  });
  return y;
}

/// Returns the position of a window's largest element, the first if several are equal.
Index largest_of(const Array& x, Index start, const Window& window) {
  Index best = -1;
  for (const Tap& tap : window.taps)
    if (best < 0 || x[start + tap.in] > x[best]) best = start + tap.in;
  return best;
}

/// Converts an index of `shape` whose dimensions after the channels are counted column by column.
Index column_major(const Ints& shape, Index index) {
  const Index plane = product(Ints(shape.begin() + 2, shape.end()));
  Index left = index % plane, at = 0, step = plane;
  for (std::size_t d = shape.size(); d-- > 2;) {
    step /= shape[d];
    at += left % shape[d] * step;
    left /= shape[d];
  }
  return index / plane * plane + at;
}

std::vector<Array> max_pool(const Operator& node) {
  const bool by_column = node.get<Index>("storage_order", 0) != 0;
  const Array values = pool(node, node.in(0).kind, [](const Array& x, Index start, const Window& window) {
    const Index at = largest_of(x, start, window);
    return at < 0 ? -std::numeric_limits<double>::infinity() : x[at];
  });
  const Array indices = pool(node, Kind::int64, [=](const Array& x, Index start, const Window& window) {
    const Index at = largest_of(x, start, window);
    return static_cast<double>(by_column ? column_major(x.shape, at) : at);
  });
  return {values, indices};
}

/// Reverses max_pool with its indices.
Array max_unpool(const Operator& node) {
  const Array &x = node.in(0), &indices = node.in(1);
  const Sweeps sweeps = sweeps_of(node, spatial_of(x), node.get<Ints>("kernel_shape", {}));
  Ints shape{x.extent(0), x.extent(1)};
  const Ints pads = node.get("pads", Ints(2 * sweeps.size(), 0));
  for (std::size_t d = 0; d < sweeps.size(); ++d)
    shape.push_back((sweeps[d].in - 1) * sweeps[d].stride + sweeps[d].reach() - pads[d] - pads[d + sweeps.size()]);
  Array y(shape);
  for (Index i = 0; i < x.size(); ++i) y[static_cast<Index>(indices[i])] = x[i];
  return y;
}

Array average_pool(const Operator& node) {
  const bool padding_counts = node.get<Index>("count_include_pad", 0) != 0;
  return pool(node, Kind::real, [=](const Array& x, Index start, const Window& window) {
    double sum = 0;
    for (const Tap& tap : window.taps) sum += x[start + tap.in];
    // Elements that ceil_mode adds beyond the padding never count.
    return sum / static_cast<double>(padding_counts ? window.padded : std::ssize(window.taps));
  });
}

Array lp_pool(const Operator& node) {
  const auto p = static_cast<double>(node.get<Index>("p", 2));
  return pool(node, Kind::real, [=](const Array& x, Index start, const Window& window) {
    double sum = 0;
    for (const Tap& tap : window.taps) sum += std::pow(std::abs(x[start + tap.in]), p);
    return std::pow(sum, 1 / p);
  });
}

/// Applies the pool `f` with a window as large as the input.
template <auto f> Array global(const Operator& node) {
  Operator whole = node;
  whole.attributes["kernel_shape"] = spatial_of(node.in(0));
  if constexpr (std::is_same_v<decltype(f(whole)), Array>) return f(whole);
  else return f(whole).front();
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

Array convolution(const Operator& node, const Array& x, const Array& w, Kind kind) {
  const Index channels = w.extent(1), filters = w.extent(0), per_group = filters / node.get<Index>("group", 1);
  const Sweeps sweeps = sweep(node, x, spatial_of(w));
  Array y(windows_of(sweeps, x.extent(0), filters), kind);
  const Index plane = plane_of(y), x_plane = plane_of(x), w_plane = plane_of(w);
  for_each_window(sweeps, [&](const Window& window, Index i) {
    for (Index b = 0; b < x.extent(0); ++b)
      for (Index f = 0; f < filters; ++f) {
        double sum = 0;
        for (Index c = 0; c < channels; ++c) {
          const double* const picture = &x.values[0] + (b * x.extent(1) + f / per_group * channels + c) * x_plane;
          const double* const kernel = &w.values[0] + (f * channels + c) * w_plane;
          for (const Tap& tap : window.taps) sum += picture[tap.in] * kernel[tap.kernel];
        }
        y[(b * filters + f) * plane + i] = wrapped(sum, kind);
      }
  });
  return y;
}

Functions window_operators() {
  return {{"Conv", conv},
          {"ConvTranspose", conv_transpose},
          {"Col2Im", column_to_image},
          {"MaxPool", max_pool},
          {"MaxUnpool", max_unpool},
          {"AveragePool", average_pool},
          {"LpPool", lp_pool},
          {"GlobalMaxPool", global<max_pool>},
          {"GlobalAveragePool", global<average_pool>},
          {"GlobalLpPool", global<lp_pool>},
          {"LRN", lrn}};
}

} // namespace rtexec::test
