// Tests kernels that move a window over images on the emulation: convolutions, pooling, global averages, interpolation.
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rtexec::test {
namespace {

using namespace tasks::cuda;

constexpr Storage storages[] = {Storage::f32, Storage::f16};
constexpr double inf = std::numeric_limits<double>::infinity();

int out_size(int size, int before, int after, int kernel, int dilation, int stride) {
  return (size + before + after - (kernel - 1) * dilation - 1) / stride + 1;
}

/// Draws any geometry whose output is not empty.
ConvArguments random_conv(Random& random, bool depthwise) {
  ConvArguments c;
  do {
    c.batch = random.whole(1, 2);
    c.height = random.whole(1, 9);
    c.width = random.whole(1, 9);
    c.kernel_h = random.whole(1, 4);
    c.kernel_w = random.whole(1, 4);
    c.stride_h = random.whole(1, 3);
    c.stride_w = random.whole(1, 3);
    c.dilation_h = random.whole(1, 2);
    c.dilation_w = random.whole(1, 2);
    c.pad_top = random.whole(0, 4);
    c.pad_left = random.whole(0, 4);
    c.out_height = out_size(c.height, c.pad_top, random.whole(0, 3), c.kernel_h, c.dilation_h, c.stride_h);
    c.out_width = out_size(c.width, c.pad_left, random.whole(0, 3), c.kernel_w, c.dilation_w, c.stride_w);
  } while (c.out_height < 1 || c.out_width < 1);
  c.groups = depthwise ? random.one_of({1, 3, 8, 16, 40, 320}) : random.one_of({1, 1, 2, 5});
  c.channels = depthwise ? 1 : random.one_of({2, 3, 4, 8, 17, 40});
  c.out_channels = depthwise ? random.one_of({1, 1, 1, 2, 3}) : random.one_of({1, 3, 8, 33, 40});
  const int unit = random.one_of({1, 1, 8}), in = c.groups * c.channels, out = c.groups * c.out_channels;
  const auto stride = [&](int channels) {
    return (channels + unit - 1) / unit * unit + (random.chance(0.3) ? unit : 0);
  };
  c.x_stride = stride(in);
  c.y_stride = stride(out);
  c.residual_stride = stride(out);
  c.residual_last = random.chance(0.3);
  const auto activations = all_activations();
  do c.activation = activations[static_cast<std::size_t>(random.whole(0, static_cast<int>(activations.size()) - 1))];
  while (c.activation.kind == ActivationArguments::sqrt); // its slope has no bound
  return c;
}

void check_random_convs(bool depthwise, Launch (*launch_of)(const ConvArguments&, Storage), unsigned seed,
                        unsigned count) {
  Random random(seed);
  for (unsigned i = 0; i < count && !::testing::Test::HasFailure(); ++i)
    for (const auto storage : storages) {
      const auto conv = random_conv(random, depthwise);
      ConvCheck check;
      check.storage = storage;
      check.bias = random.chance(0.5);
      check.residual = random.chance(0.5);
      for (auto* offset : {&check.x_offset, &check.weights_offset, &check.residual_offset, &check.y_offset})
        *offset = random.chance(0.1) ? static_cast<std::size_t>(random.whole(1, 7)) : 0;
      check.seed = i;
      check_conv(launch_of(conv, storage), conv, check);
    }
}

TEST(CudaConv, IntegerConvolutionMatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(9);
  for (unsigned i = 0; i < 80 && !::testing::Test::HasFailure(); ++i) {
    auto conv = random_conv(random, random.chance(0.3));
    if (conv.activation.kind == ActivationArguments::exp) continue; // no bound on errors
    make_int8(random, conv);
    ConvCheck check{.bias = random.chance(0.5), .residual = random.chance(0.5), .offsets = random.chance(0.8)};
    for (auto* offset : {&check.x_offset, &check.weights_offset, &check.residual_offset, &check.y_offset})
      *offset = random.chance(0.1) ? static_cast<std::size_t>(random.whole(1, 7)) : 0;
    check.seed = i;
    check_conv(launch_of(conv, Storage::f32), conv, check);
  }
}
TEST(CudaConv, DepthwiseMatchesReference) {
  SKIP_WITHOUT_EMULATION();
  check_random_convs(true, depthwise_launch, 1, 60);
}
TEST(CudaConv, DirectMatchesReference) {
  SKIP_WITHOUT_EMULATION();
  check_random_convs(false, conv_direct_launch, 2, 60);
}
TEST(CudaConv, RowKernelMatchesReference) {
  SKIP_WITHOUT_EMULATION();
  check_random_convs(false, conv_rows_launch, 3, 20);
}

TEST(CudaConv, DefaultKernelSupportsEveryShape) {
  SKIP_WITHOUT_EMULATION();
  check_random_convs(true, launch_of, 4, 20);
  check_random_convs(false, launch_of, 5, 20);
  ConvArguments linear;
  linear.channels = linear.x_stride = 520;
  linear.out_channels = linear.y_stride = linear.residual_stride = 37;
  for (const auto storage : storages)
    check_conv(launch_of(linear, storage), linear, {.storage = storage, .residual = true});
  EXPECT_STREQ(launch_of(linear, Storage::f16).name, "conv_rows_h");
}

TEST(CudaConv, DepthwiseSupportsAnyKernelSize) {
  SKIP_WITHOUT_EMULATION();
  for (const int kernel : {1, 2, 5, 7, 21})
    for (const int groups : {6, 264}) {
      ConvArguments c;
      c.height = c.width = c.out_height = c.out_width = 13;
      c.kernel_h = c.kernel_w = kernel;
      c.pad_top = c.pad_left = kernel / 2;
      c.groups = c.x_stride = c.y_stride = c.residual_stride = groups;
      for (const auto storage : storages)
        check_conv(depthwise_launch(c, storage), c, {.storage = storage, .residual = true});
    }
}

TEST(CudaConv, DepthwiseUsesStripKernelForLargeUnstridedImages) {
  SKIP_WITHOUT_EMULATION();
  for (const int kernel : {3, 5, 7}) {
    ConvArguments c;
    c.height = c.out_height = 40;
    c.width = c.out_width = 41;
    c.kernel_h = c.kernel_w = kernel;
    c.pad_top = c.pad_left = kernel / 2;
    c.groups = c.x_stride = c.y_stride = c.residual_stride = 80;
    for (const auto storage : storages) {
      const auto launch = depthwise_launch(c, storage);
      EXPECT_STREQ(launch.name, storage == Storage::f32 ? "depthwise_strips_f" : "depthwise_strips_h");
      check_conv(launch, c, {.storage = storage, .residual = true});
      check_conv(launch, c, {.storage = storage, .y_offset = 1}); // one channel at a time
    }
    c.stride_w = 2;
    c.out_width = 21;
    EXPECT_STREQ(depthwise_launch(c, Storage::f32).name, "depthwise_f");
  }
}

/// Computes the definition in graph.hpp, tap by tap.
double pooled(const PoolArguments& p, const Buffer& x, int n, int h, int w, int c) {
  double most = -inf, sum = 0;
  int counted = 0;
  for (int kh = 0; kh < p.kernel_h; ++kh)
    for (int kw = 0; kw < p.kernel_w; ++kw) {
      const int from_h = h * p.stride_h - p.pad_top + kh * p.dilation_h,
                from_w = w * p.stride_w - p.pad_left + kw * p.dilation_w;
      const bool inside = from_h >= 0 && from_h < p.height && from_w >= 0 && from_w < p.width;
      if (inside || (p.count_padding != 0 && from_h < p.height + p.pad_bottom && from_w < p.width + p.pad_right))
        ++counted;
      if (!inside) continue;
      const double value =
          x.get(static_cast<std::size_t>(((1LL * n * p.height + from_h) * p.width + from_w) * p.x_stride + c));
      most = std::max(most, value);
      sum += value;
    }
  return p.average != 0 ? sum / counted : most;
}

template <class Arguments, class F> std::vector<Expected> expected_pixels(const Arguments& p, F value, double slack) {
  std::vector<Expected> all;
  for (int n = 0; n < p.batch; ++n)
    for (int h = 0; h < p.out_height; ++h)
      for (int w = 0; w < p.out_width; ++w)
        for (int c = 0; c < p.channels; ++c)
          all.push_back({static_cast<std::size_t>(((1LL * n * p.out_height + h) * p.out_width + w) * p.y_stride + c),
                         value(n, h, w, c), slack});
  return all;
}

int random_channels(Random& random) { return random.one_of({1, 3, 4, 8, 20, 32, 72}); }
int random_stride(Random& random, int channels) {
  if (random.chance(0.15)) return channels + random.whole(1, 3);
  return random.chance(0.5) ? channels : (channels + 7) / 8 * 8 + 8 * random.whole(0, 1);
}
std::size_t random_offset(Random& random) {
  return random.chance(0.1) ? static_cast<std::size_t>(random.whole(1, 7)) : 0;
}

PoolArguments random_pool(Random& random) {
  PoolArguments p;
  do {
    p.batch = random.whole(1, 2);
    p.height = random.whole(1, 12);
    p.width = random.whole(1, 12);
    p.kernel_h = random.whole(1, 5);
    p.kernel_w = random.whole(1, 5);
    p.stride_h = random.whole(1, 3);
    p.stride_w = random.whole(1, 3);
    p.dilation_h = random.whole(1, 3);
    p.dilation_w = random.whole(1, 3);
    p.pad_top = random.whole(0, p.kernel_h);
    p.pad_left = random.whole(0, p.kernel_w);
    p.pad_bottom = random.whole(0, p.kernel_h);
    p.pad_right = random.whole(0, p.kernel_w);
    const int more = random.whole(0, 1); // ceil_mode: the last window may extend beyond x
    p.out_height = out_size(p.height, p.pad_top, p.pad_bottom, p.kernel_h, p.dilation_h, p.stride_h) + more;
    p.out_width = out_size(p.width, p.pad_left, p.pad_right, p.kernel_w, p.dilation_w, p.stride_w) + more;
  } while (p.height + p.pad_top + p.pad_bottom <= (p.kernel_h - 1) * p.dilation_h ||
           p.width + p.pad_left + p.pad_right <= (p.kernel_w - 1) * p.dilation_w);
  p.channels = random_channels(random);
  p.x_stride = random_stride(random, p.channels);
  p.y_stride = random_stride(random, p.channels);
  p.average = random.whole(0, 1);
  p.count_padding = random.whole(0, 1);
  return p;
}

void check_pool(PoolArguments p, Storage storage, std::size_t x_offset, std::size_t y_offset,
                const std::function<void(Buffer&)>& fill) {
  Buffer x(storage, pixels_size(1LL * p.batch * p.height * p.width, p.channels, p.x_stride), x_offset);
  Buffer y(storage, pixels_size(1LL * p.batch * p.out_height * p.out_width, p.channels, p.y_stride), y_offset);
  fill(x);
  x.protect();
  p.x = x.data();
  p.y = y.data();
  check_kernel(launch_of(p, storage), &p, y,
               expected_pixels(
                   p, [&](int n, int h, int w, int c) { return pooled(p, x, n, h, w, c); }, p.average != 0 ? 1e-5 : 0));
}

TEST(CudaPool, MatchesReference) { // includes windows entirely outside of x: -inf, 0 or NaN
  SKIP_WITHOUT_EMULATION();
  Random random(10);
  for (int i = 0; i < 150 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      const auto p = random_pool(random);
      SCOPED_TRACE(i);
      check_pool(p, storage, random_offset(random), random_offset(random),
                 [&](Buffer& x) { random.fill_pixels(x, p.channels, p.x_stride, -5, 5); });
    }
}

TEST(CudaPool, KeepsInfinities) {
  SKIP_WITHOUT_EMULATION();
  PoolArguments p;
  p.height = p.width = 4;
  p.out_height = p.out_width = 2;
  p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = 2;
  p.channels = p.x_stride = p.y_stride = 8;
  for (const auto storage : storages) {
    p.average = 0;
    check_pool(p, storage, 0, 0, [](Buffer& x) {
      for (std::size_t i = 0; i < x.count(); ++i) x.set(i, i % 3 == 0 ? inf : -inf);
    });
    p.average = 1;
    check_pool(p, storage, 0, 0, [](Buffer& x) {
      for (std::size_t i = 0; i < x.count(); ++i) x.set(i, i % 5 == 0 ? inf : 1);
    });
  }
}

/// Checks global averages. NaN and infinities pass through an average.
void check_global_average(GlobalAverageArguments p, Storage storage, unsigned seed, bool special = false) {
  Random random(seed);
  Buffer x(storage, pixels_size(1LL * p.batch * p.pixels, p.channels, p.x_stride));
  Buffer y(storage, pixels_size(p.batch, p.channels, p.y_stride));
  const auto splits = split(p);
  Buffer partial(Storage::f32, static_cast<std::size_t>(std::max(splits.partials, 1LL)));
  std::vector<unsigned> counters(static_cast<std::size_t>(splits.counters));
  random.fill_pixels(x, p.channels, p.x_stride, -2, 3);
  if (special) {
    x.set(0, inf);
    x.set(static_cast<std::size_t>(p.x_stride + 1), std::nan(""));
  }
  x.protect();
  p.x = x.data();
  p.y = y.data();
  p.partial = static_cast<float*>(partial.data());
  p.counters = counters.data();
  p.splits = splits.splits;
  std::vector<Expected> expected;
  for (int n = 0; n < p.batch; ++n)
    for (int c = 0; c < p.channels; ++c) {
      double sum = 0;
      for (int i = 0; i < p.pixels; ++i)
        sum += x.get(static_cast<std::size_t>((1LL * n * p.pixels + i) * p.x_stride + c));
      expected.push_back({static_cast<std::size_t>(1LL * n * p.y_stride + c), sum / p.pixels, 2e-6});
    }
  check_kernel(launch_of(p, storage), &p, y, expected, [&] { partial.clear(); });
  EXPECT_TRUE(std::ranges::all_of(counters, [](unsigned counter) { return counter == 0; }));
  EXPECT_TRUE(partial.neighbours_untouched());
}

TEST(CudaGlobalAverage, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(20);
  for (unsigned i = 0; i < 40 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      GlobalAverageArguments p;
      p.batch = random.whole(1, 3);
      p.pixels = random.one_of({1, 2, 7, 49, 169, 300});
      p.channels = random.one_of({1, 5, 31, 32, 33, 100});
      p.x_stride = p.channels + random.whole(0, 3);
      p.y_stride = p.channels + random.whole(0, 3);
      check_global_average(p, storage, i, p.pixels > 1 && p.channels > 1 && random.chance(0.2));
    }
}

TEST(CudaGlobalAverage, LargePlanesAreSplit) {
  SKIP_WITHOUT_EMULATION();
  for (const auto& [batch, channels] : {std::pair{1, 8}, {2, 40}}) {
    GlobalAverageArguments p;
    p.batch = batch;
    p.pixels = 60 * 61;
    p.channels = p.x_stride = p.y_stride = channels;
    EXPECT_GT(split(p).splits, 5);
    for (const auto storage : storages) check_global_average(p, storage, 21);
  }
}

TEST(CudaResize, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(30);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      ResizeArguments p;
      p.batch = random.whole(1, 2);
      p.height = random.whole(1, 6);
      p.width = random.whole(1, 6);
      p.out_height = random.whole(1, 9);
      p.out_width = random.whole(1, 9);
      p.channels = random_channels(random);
      p.x_stride = random_stride(random, p.channels);
      p.y_stride = random_stride(random, p.channels);
      const auto taps = [&](int from, int to) {
        std::vector<ResizeTap> all(static_cast<std::size_t>(to));
        for (auto& tap : all)
          tap = {random.whole(0, from - 1), random.whole(0, from - 1),
                 random.chance(0.4) ? 0 : static_cast<float>(random.real(0, 1))};
        return all;
      };
      const auto rows = taps(p.height, p.out_height), columns = taps(p.width, p.out_width);
      Buffer x(storage, pixels_size(1LL * p.batch * p.height * p.width, p.channels, p.x_stride), random_offset(random));
      Buffer y(storage, pixels_size(1LL * p.batch * p.out_height * p.out_width, p.channels, p.y_stride),
               random_offset(random));
      random.fill_pixels(x, p.channels, p.x_stride, -5, 5);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      p.rows = rows.data();
      p.columns = columns.data();
      check_kernel(
          launch_of(p, storage), &p, y,
          expected_pixels(
              p,
              [&](int n, int h, int w, int c) {
                const auto& row = rows[static_cast<std::size_t>(h)];
                const auto& column = columns[static_cast<std::size_t>(w)];
                const auto at = [&](int r, int q) {
                  return x.get(static_cast<std::size_t>(((1LL * n * p.height + r) * p.width + q) * p.x_stride + c));
                };
                const auto blend = [](double low, double high, float weight) {
                  return low + (high - low) * static_cast<double>(weight);
                };
                return blend(blend(at(row.low, column.low), at(row.high, column.low), row.weight),
                             blend(at(row.low, column.high), at(row.high, column.high), row.weight), column.weight);
              },
              4e-6));
    }
}

TEST(CudaResize, IgnoresInfinityWithZeroWeight) { // an infinity next to a selected element must not turn it into NaN
  SKIP_WITHOUT_EMULATION();
  ResizeArguments p;
  p.height = p.width = 2;
  p.out_height = p.out_width = 2;
  p.channels = p.x_stride = p.y_stride = 4;
  const ResizeTap rows[] = {{0, 1, 0}, {1, 0, 0}}, columns[] = {{1, 0, 0}, {1, 1, 0}};
  for (const auto storage : storages) {
    Buffer x(storage, 16), y(storage, 16);
    for (std::size_t i = 0; i < 16; ++i) x.set(i, i / 4 % 2 == 0 ? inf : static_cast<double>(i));
    p.x = x.data();
    p.y = y.data();
    p.rows = rows;
    p.columns = columns;
    check_kernel(launch_of(p, storage), &p, y,
                 expected_pixels(
                     p, [](int, int h, int, int c) { return static_cast<double>(h * 8 + 4 + c); }, 0));
  }
}

} // namespace
} // namespace rtexec::test
