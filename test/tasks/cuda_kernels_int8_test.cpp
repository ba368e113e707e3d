// Tests kernels that convert between integers and floats on the emulation.
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

using namespace tasks::cuda;

constexpr Storage storages[] = {Storage::f32, Storage::f16, Storage::s8};

void fill(Random& random, Buffer& buffer) {
  if (buffer.storage() == Storage::s8) random.fill_whole(buffer, -128, 127);
  else random.fill(buffer, -4, 4);
}

/// Returns 1 if rounding errors may change the level, since it is almost halfway between two, else 0.
double near_a_tie(double level) { return std::abs(level - std::floor(level) - 0.5) < 1e-4 ? 1 : 0; }

void check_rescale(Random& random, Storage from, Storage to) {
  const std::vector<int> shape{random.whole(1, 4), random.whole(1, 7), random.one_of({1, 5, 8, 16, 32, 48})};
  RescaleArguments p;
  p.a_view = p.b_view = p.y_view = dense_view(shape);
  if (random.chance(0.3)) std::fill_n(p.b_view.stride, 2, 0); // one value for each row
  Buffer a(from, view_size(p.a_view)), b(from, view_size(p.b_view)), y(to, view_size(p.y_view));
  fill(random, a);
  fill(random, b);
  p.a = a.data();
  p.b = random.chance(0.5) ? b.data() : nullptr;
  p.y = y.data();
  if (from == Storage::s8) {
    p.a_zero = static_cast<float>(random.whole(-128, 127));
    p.b_zero = static_cast<float>(random.whole(-128, 127));
    p.a_scale = 0.0625F;
    p.b_scale = 0.02F;
  }
  p.to_levels = to == Storage::s8 || random.chance(0.3);
  p.levels = {0.05F, static_cast<float>(random.whole(-128, 127)), -128, 127};
  p.activation = random.one_of<ActivationArguments>({{}, {ActivationArguments::relu}, {ActivationArguments::swish}});
  std::vector<Expected> expected;
  each_view_index(p.y_view, [&](const std::vector<int>& index) {
    const auto value_of = [&](const Buffer& x, const View& view) {
      return x.get(static_cast<std::size_t>(view_offset(view, index)));
    };
    double value = (value_of(a, p.a_view) - p.a_zero) * p.a_scale;
    if (p.b) value += (value_of(b, p.b_view) - p.b_zero) * p.b_scale;
    value = activated(value, p.activation);
    const auto at = static_cast<std::size_t>(view_offset(p.y_view, index));
    const Levels& l = p.levels;
    if (!p.to_levels) return expected.push_back({at, value, 1e-5 * (1 + std::abs(value))});
    const double level = value / l.scale + l.zero;
    // The integer itself has no rounding error.
    const double whole = std::clamp<double>(std::nearbyint(value / l.scale) + l.zero, l.low, l.high);
    expected.push_back({at, whole, near_a_tie(level) - (to == Storage::s8 ? 0.4 : 0)});
  });
  simplify(p);
  check_kernel(launch_of(p, from, to), &p, y, expected);
}

TEST(CudaRescale, MatchesReference) {
  SKIP_WITHOUT_EMULATION();
  Random random(3);
  for (unsigned i = 0; i < 20 && !HasFailure(); ++i)
    for (const auto from : storages)
      for (const auto to : storages) check_rescale(random, from, to);
}

TEST(CudaRescale, RoundsLevelsToEvenAndClips) {
  SKIP_WITHOUT_EMULATION();
  const std::vector<double> values{0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, 127.5, 126.5, INFINITY, -INFINITY};
  // relative to the zero point, which is 3
  const std::vector<double> levels{3, 5, 5, 3, 1, 100, -128, 100, 100, 100, -128};
  Buffer x(Storage::f32, values.size()), y(Storage::s8, values.size());
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    x.set(i, values[i]);
    expected.push_back({i, levels[i], -0.4});
  }
  RescaleArguments p;
  p.a_view = p.b_view = p.y_view = dense_view({static_cast<int>(values.size())});
  p.a = x.data();
  p.y = y.data();
  p.to_levels = 1;
  p.levels = {1, 3, -128, 100};
  check_kernel(launch_of(p, Storage::f32, Storage::s8), &p, y, expected);
}

} // namespace
} // namespace rtexec::test
