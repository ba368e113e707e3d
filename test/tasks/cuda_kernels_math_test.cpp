// Tests kernels for element-wise operations, reductions and products on the emulation.
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
const double nan = std::nan("");

std::size_t at(long long offset) { return static_cast<std::size_t>(offset); }
std::size_t random_offset(Random& random) {
  return random.chance(0.25) ? static_cast<std::size_t>(random.whole(1, 7)) : 0;
}
ActivationArguments random_activation(Random& random) {
  const auto all = all_activations();
  return random.chance(0.4) ? ActivationArguments{}
                            : all[static_cast<std::size_t>(random.whole(0, static_cast<int>(all.size()) - 1))];
}
/// Returns the error of an activation near x, for an error of `slack` in x.
double slack_of(double x, double slack, const ActivationArguments& f) {
  const double low = activated(x - slack, f), high = activated(x + slack, f), middle = activated(x, f);
  const double spread = std::max(std::abs(high - middle), std::abs(low - middle));
  return (std::isfinite(spread) ? spread : std::sqrt(2 * slack)) + 4e-7 * std::abs(middle) + 1e-7;
}

TEST(CudaScaleShift, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(1);
  for (int i = 0; i < 120 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      ScaleShiftArguments p;
      p.pixels = random.whole(1, 60);
      p.channels = random.one_of({1, 3, 4, 8, 24, 50});
      p.x_stride = p.channels + random.one_of({0, 0, 8, 3});
      p.y_stride = p.channels + random.one_of({0, 0, 8, 3});
      p.activation = all_activations()[static_cast<std::size_t>(i) % all_activations().size()];
      Buffer x(storage, pixels_size(p.pixels, p.channels, p.x_stride), random_offset(random));
      Buffer y(storage, pixels_size(p.pixels, p.channels, p.y_stride), random_offset(random));
      Buffer scale(Storage::f32, at(p.channels)), shift(Storage::f32, at(p.channels));
      const bool positive = p.activation.kind == ActivationArguments::sqrt;
      random.fill_pixels(x, p.channels, p.x_stride, positive ? 0 : -4, 4);
      random.fill(scale, positive ? 0.1 : -2, 2);
      random.fill(shift, positive ? 0.1 : -2, 2);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      if (random.chance(0.6)) p.scale = static_cast<const float*>(scale.data());
      if (random.chance(0.6)) p.shift = static_cast<const float*>(shift.data());
      std::vector<Expected> expected;
      for (long long pixel = 0; pixel < p.pixels; ++pixel)
        for (int c = 0; c < p.channels; ++c) {
          const double scaled = x.get(at(pixel * p.x_stride + c)) * (p.scale ? scale.get(at(c)) : 1),
                       value = scaled + (p.shift ? shift.get(at(c)) : 0);
          expected.push_back({at(pixel * p.y_stride + c), activated(value, p.activation),
                              slack_of(value, 2e-7 * std::abs(scaled) + 1e-7, p.activation)});
        }
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

TEST(CudaScaleShift, KeepsNanAndInfinities) {
  SKIP_WITHOUT_EMULATION();
  const double special[] = {nan, inf, -inf, 0};
  for (const auto& f :
       {ActivationArguments{}, ActivationArguments{ActivationArguments::relu, 0, 0},
        ActivationArguments{ActivationArguments::sigmoid, 0, 0}, ActivationArguments{ActivationArguments::clip, -1, 1},
        ActivationArguments{ActivationArguments::tanh, 0, 0}})
    for (const auto storage : storages) {
      ScaleShiftArguments p;
      p.pixels = 2;
      p.channels = p.x_stride = p.y_stride = 8;
      p.activation = f;
      Buffer x(storage, 16), y(storage, 16);
      std::vector<Expected> expected;
      for (std::size_t i = 0; i < 16; ++i) {
        x.set(i, special[i % 4]);
        expected.push_back({i, activated(special[i % 4], f), 1e-7});
      }
      p.x = x.data();
      p.y = y.data();
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

double combined(double a, double b, int kind) {
  switch (kind) {
  case BinaryArguments::add: return a + b;
  case BinaryArguments::subtract: return a - b;
  case BinaryArguments::multiply: return a * b;
  default: return a / b;
  }
}

/// Returns a view of `shape` with its dimensions in any memory order, some of them broadcast, and with gaps.
View random_view(Random& random, const View& shape, bool broadcast) {
  std::vector<int> order;
  for (int d = 0; d < shape.rank; ++d) order.push_back(d);
  if (random.chance(0.4))
    for (int d = shape.rank - 1; d > 0; --d) std::swap(order[at(d)], order[at(random.whole(0, d))]);
  View view = shape;
  long long stride = random.chance(0.1) ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    view.stride[d] = broadcast && random.chance(0.3) ? 0 : stride;
    if (view.stride[d] != 0) stride *= shape.shape[d];
    if (random.chance(0.2)) stride += random.one_of({1, 8, 16});
  }
  return view;
}
View random_shape(Random& random) {
  std::vector<int> shape(at(random.whole(0, 5)));
  for (auto& extent : shape) extent = random.one_of({1, 2, 3, 4, 5, 8});
  if (!shape.empty() && random.chance(0.6)) shape.back() = random.one_of({8, 16, 24});
  return dense_view(shape);
}

TEST(CudaBinary, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(2);
  for (int i = 0; i < 250 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      BinaryArguments p;
      p.y_view = random_view(random, random_shape(random), false);
      p.a_view = random_view(random, p.y_view, true);
      p.b_view = random_view(random, p.y_view, true);
      p.kind = random.whole(0, 3);
      do p.activation = random_activation(random);
      while (p.activation.kind == ActivationArguments::sqrt);
      Buffer a(storage, view_size(p.a_view), random_offset(random)),
          b(storage, view_size(p.b_view), random_offset(random));
      Buffer y(storage, view_size(p.y_view), random_offset(random));
      random.fill(a, -3, 3);
      random.fill(b, 0.5, 3);
      a.protect();
      b.protect();
      p.a = a.data();
      p.b = b.data();
      p.y = y.data();
      std::vector<Expected> expected;
      each_view_index(p.y_view, [&](const std::vector<int>& index) {
        const double value =
            combined(a.get(at(view_offset(p.a_view, index))), b.get(at(view_offset(p.b_view, index))), p.kind);
        expected.push_back({at(view_offset(p.y_view, index)), activated(value, p.activation),
                            slack_of(value, 2e-7 * std::abs(value) + 2e-7, p.activation)});
      });
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage), &p, y, expected);
      simplify(p);
      SCOPED_TRACE("simplified");
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

TEST(CudaBinary, WritesResultOverItsInput) {
  SKIP_WITHOUT_EMULATION();
  BinaryArguments p;
  p.a_view = p.b_view = p.y_view = dense_view({5, 16});
  for (const auto storage : storages) {
    Buffer b(storage, 80), y(storage, 80);
    std::vector<Expected> expected;
    for (std::size_t i = 0; i < 80; ++i) {
      b.set(i, 3);
      expected.push_back({i, static_cast<double>(i) + 3, 0});
    }
    p.b = b.data();
    p.a = p.y = y.data();
    check_kernel(launch_of(p, storage), &p, y, expected, [&] {
      for (std::size_t i = 0; i < 80; ++i) y.set(i, static_cast<double>(i));
    });
  }
}

TEST(CudaLrn, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(3);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      LrnArguments p;
      p.pixels = random.whole(1, 40);
      p.channels = random.one_of({1, 2, 7, 32});
      p.x_stride = p.channels + random.one_of({0, 3});
      p.y_stride = p.channels + random.one_of({0, 3});
      p.size = random.whole(1, 9); // even sizes reach one channel further up
      p.alpha = static_cast<float>(random.real(0.01, 2));
      p.beta = random.one_of({0.75F, 0.5F, 1.3F});
      p.bias = static_cast<float>(random.real(0.5, 2));
      Buffer x(storage, pixels_size(p.pixels, p.channels, p.x_stride)),
          y(storage, pixels_size(p.pixels, p.channels, p.y_stride));
      random.fill_pixels(x, p.channels, p.x_stride, -4, 4);
      x.protect();
      p.x = x.data();
      p.y = y.data();
      std::vector<Expected> expected;
      for (long long pixel = 0; pixel < p.pixels; ++pixel)
        for (int c = 0; c < p.channels; ++c) {
          double sum = 0;
          for (int other = std::max(c - (p.size - 1) / 2, 0); other <= std::min(c + p.size / 2, p.channels - 1);
               ++other)
            sum += std::pow(x.get(at(pixel * p.x_stride + other)), 2);
          const double base = static_cast<double>(p.bias) + static_cast<double>(p.alpha) / p.size * sum;
          const double value = x.get(at(pixel * p.x_stride + c)) / std::pow(base, static_cast<double>(p.beta));
          expected.push_back({at(pixel * p.y_stride + c), value, std::abs(value) * 2e-6});
        }
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

/// Splits the dimensions of a random tensor into kept and reduced ones.
ReduceArguments random_reduction(Random& random, std::size_t& x_size, std::size_t& y_size, bool softmax) {
  ReduceArguments p;
  std::vector<int> shape(at(random.whole(1, 4)));
  for (auto& extent : shape) extent = random.one_of({1, 2, 5, 9});
  shape[at(random.whole(0, static_cast<int>(shape.size()) - 1))] = random.one_of({40, 100, 300, 3});
  const View x = random_view(random, dense_view(shape), false), y = random_view(random, dense_view(shape), false);
  x_size = view_size(x);
  for (int d = 0; d < x.rank; ++d) {
    const bool reduced = random.chance(0.5);
    View &of = reduced ? p.reduced : p.kept, &of_y = reduced ? p.y_reduced : p.y_kept;
    of.shape[of.rank] = of_y.shape[of.rank] = x.shape[d];
    of.stride[of.rank] = x.stride[d];
    of_y.stride[of.rank] = y.stride[d];
    of_y.rank = ++of.rank;
  }
  if (!softmax) p.y_reduced = {};
  y_size = view_size(p.y_kept) + view_size(p.y_reduced) - 1;
  return p;
}

using ReductionLaunch = Launch (*)(const ReduceArguments&, Storage);

/// Checks the mean or the softmax.
void check_reduction(Random& random, ReduceArguments p, Buffer& x, Buffer& y, bool softmax, ReductionLaunch launch) {
  random.fill(x, -3, softmax && x.storage() == Storage::f32 ? 60 : 3);
  x.protect();
  p.x = x.data();
  p.y = y.data();
  std::vector<Expected> expected;
  each_view_index(p.kept, [&](const std::vector<int>& kept) {
    double most = -inf, sum = 0, total = 0;
    long long count = 0;
    const auto value = [&](const std::vector<int>& reduced) {
      return x.get(at(view_offset(p.kept, kept) + view_offset(p.reduced, reduced)));
    };
    each_view_index(p.reduced, [&](const std::vector<int>& reduced) { most = std::max(most, value(reduced)); });
    each_view_index(p.reduced, [&](const std::vector<int>& reduced) {
      sum += value(reduced);
      total += std::exp(value(reduced) - most);
      ++count;
    });
    if (!softmax) return expected.push_back({at(view_offset(p.y_kept, kept)), sum / static_cast<double>(count), 2e-6});
    each_view_index(p.reduced, [&](const std::vector<int>& reduced) {
      const double share = std::exp(value(reduced) - most) / total;
      const double rounded = 2e-6 + 1.2e-7 * (most - value(reduced)); // the exponent is a float as well
      expected.push_back(
          {at(view_offset(p.y_kept, kept) + view_offset(p.y_reduced, reduced)), share, share * rounded + 1e-44});
    });
  });
  check_kernel(launch(p, x.storage()), &p, y, expected);
  simplify(p);
  SCOPED_TRACE("simplified");
  check_kernel(launch(p, x.storage()), &p, y, expected);
}

void check_reductions(bool softmax, unsigned seed, ReductionLaunch launch) {
  Random random(seed);
  for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i)
    for (const auto storage : storages) {
      SCOPED_TRACE(i);
      std::size_t x_size = 0, y_size = 0;
      const auto p = random_reduction(random, x_size, y_size, softmax);
      Buffer x(storage, x_size, random_offset(random)), y(storage, y_size, random_offset(random));
      check_reduction(random, p, x, y, softmax, launch);
    }
}

/// Checks a reduction of [kept, reduced], or by columns of [reduced, kept].
void check_dense_reduction(int kept, int reduced, bool columns, bool softmax, ReductionLaunch launch) {
  SCOPED_TRACE(std::to_string(kept) + " times " + std::to_string(reduced) + (columns ? " by columns" : " by rows"));
  Random random(8);
  ReduceArguments p;
  p.kept = p.y_kept = dense_view({kept});
  p.reduced = dense_view({reduced});
  (columns ? p.reduced : p.kept).stride[0] = columns ? kept : reduced;
  if (softmax) {
    p.y_kept = p.kept;
    p.y_reduced = p.reduced;
  }
  for (const auto storage : storages) {
    const auto all = at(static_cast<long long>(kept) * reduced);
    Buffer x(storage, all), y(storage, softmax ? all : at(kept));
    check_reduction(random, p, x, y, softmax, launch);
  }
}

void check_little_to_reduce(bool softmax, ReductionLaunch launch) {
  for (const int kept : {1, 5, 33, 300})
    for (const int reduced : {1, 2, 3, 12, 16, 17, 33, 64, 65, 600})
      for (const bool columns : {false, true}) check_dense_reduction(kept, reduced, columns, softmax, launch);
  for (const int reduced : {1, 12, 17}) check_dense_reduction(70000, reduced, true, softmax, launch);
}

TEST(CudaReduceMean, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  check_reductions(false, 4, reduce_launch);
  check_little_to_reduce(false, reduce_launch);
}
TEST(CudaSoftmax, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  check_reductions(true, 5, softmax_launch);
  check_little_to_reduce(true, softmax_launch);
}

TEST(CudaSoftmax, PropagatesNanAndInfinities) {
  SKIP_WITHOUT_EMULATION();
  for (const double special : {nan, inf, -inf})
    for (const bool columns : {false, true})
      for (const auto storage : storages) {
        ReduceArguments p;
        p.kept = p.y_kept = dense_view({8});
        p.reduced = p.y_reduced = dense_view({70});
        for (auto* view : {&p.kept, &p.y_kept}) view->stride[0] = columns ? 1 : 70;
        for (auto* view : {&p.reduced, &p.y_reduced}) view->stride[0] = columns ? 8 : 1;
        Buffer x(storage, 560), y(storage, 560);
        std::vector<Expected> expected;
        for (int kept = 0; kept < 8; ++kept)
          for (int reduced = 0; reduced < 70; ++reduced) {
            const auto i = at(kept * p.kept.stride[0] + reduced * p.reduced.stride[0]);
            const bool here = kept == 3 && reduced == 50;
            x.set(i, here ? special : 1);
            const double share = kept != 3 ? 1.0 / 70 : special == -inf ? (here ? 0 : 1.0 / 69) : nan;
            expected.push_back({i, share, 1e-7});
          }
        p.x = x.data();
        p.y = y.data();
        const auto launch = softmax_launch(p, storage);
        EXPECT_EQ(std::string(launch.name).find("columns") != std::string::npos, columns);
        check_kernel(launch, &p, y, expected);
      }
}

TEST(CudaGemm, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(6);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
    for (const auto storage : storages) {
      GemmArguments p;
      p.m = random.one_of({1, 5, 32, 33, 70});
      p.n = random.one_of({1, 7, 32, 65});
      p.k = random.one_of({1, 3, 32, 50, 100});
      const auto layout = [&](int rows, int columns, long long& row, long long& column) {
        const int gap = random.one_of({0, 0, 3});
        const bool transposed = random.chance(0.5);
        row = transposed ? 1 : columns + gap;
        column = transposed ? rows + gap : 1;
        return at((rows - 1) * row + (columns - 1) * column + 1);
      };
      Buffer a(storage, layout(p.m, p.k, p.a_row, p.a_column), random_offset(random)),
          b(storage, layout(p.k, p.n, p.b_row, p.b_column), random_offset(random));
      p.c_row = random.chance(0.5) ? p.n : 0;
      p.c_column = random.whole(0, 1);
      p.residual_row = p.n + random.one_of({0, 5});
      p.y_row = p.n + random.one_of({0, 5});
      Buffer c(storage, at(p.m * p.c_row + p.n)),
          residual(storage, pixels_size(p.m, p.n, static_cast<int>(p.residual_row)));
      Buffer y(storage, pixels_size(p.m, p.n, static_cast<int>(p.y_row)));
      for (auto* operand : {&a, &b, &c, &residual}) {
        random.fill(*operand);
        operand->protect();
      }
      p.a = a.data();
      p.b = b.data();
      p.c = random.chance(0.5) ? c.data() : nullptr;
      p.residual = random.chance(0.5) ? residual.data() : nullptr;
      p.y = y.data();
      p.alpha = random.one_of({1.0F, -0.7F});
      p.beta = random.one_of({1.0F, 2.5F});
      do p.activation = random_activation(random);
      while (p.activation.kind == ActivationArguments::sqrt);
      std::vector<Expected> expected;
      for (int row = 0; row < p.m; ++row)
        for (int column = 0; column < p.n; ++column) {
          double sum = 0, magnitude = 1;
          for (int k = 0; k < p.k; ++k) {
            const double product =
                a.get(at(row * p.a_row + k * p.a_column)) * b.get(at(k * p.b_row + column * p.b_column));
            sum += product;
            magnitude += std::abs(product);
          }
          double value = static_cast<double>(p.alpha) * sum;
          if (p.c) value += static_cast<double>(p.beta) * c.get(at(row * p.c_row + column * p.c_column));
          if (p.residual) value += residual.get(at(row * p.residual_row + column));
          expected.push_back({at(row * p.y_row + column), activated(value, p.activation),
                              slack_of(value, 4e-7 * magnitude, p.activation)});
        }
      SCOPED_TRACE(i);
      check_kernel(launch_of(p, storage), &p, y, expected);
    }
}

} // namespace
} // namespace rtexec::test
