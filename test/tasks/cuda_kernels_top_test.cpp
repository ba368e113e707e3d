// Tests the kernels that return the positions of the largest elements of a row on the emulation.
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rtexec::test {
namespace {

using namespace tasks::cuda;

/// A function that returns the values of a row by their index.
using Values = std::function<double(Random&, int)>;

struct Rows {
  int rows = 1, count = 1, kept = 1, stride = 1;
  int offset = 0; // elements from an aligned address
};

std::vector<int> first_ones(const Buffer& x, int row, const Rows& rows, bool largest) {
  std::vector<int> order(static_cast<std::size_t>(rows.count));
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int i) {
    const double element = x.get(static_cast<std::size_t>((row * rows.count + i) * rows.stride));
    return largest ? -element : element;
  };
  std::ranges::stable_sort(order, {}, value);
  order.resize(static_cast<std::size_t>(rows.kept));
  return order;
}

void check(const Rows& rows, const Values& values, Storage storage, bool largest) {
  Random random(7);
  Buffer x(storage, static_cast<std::size_t>((rows.rows * rows.count - 1) * rows.stride + 1),
           static_cast<std::size_t>(rows.offset));
  for (int i = 0; i < rows.rows * rows.count; ++i)
    x.set(static_cast<std::size_t>(i * rows.stride), values(random, i % rows.count));
  x.protect();
  Buffer y(Storage::s64, static_cast<std::size_t>(rows.rows * rows.kept));
  TopKArguments p;
  p.x = x.data();
  p.y = static_cast<long long*>(y.data());
  p.x_view = dense_view({rows.rows});
  p.x_view.stride[0] = rows.count * rows.stride;
  p.y_view = dense_view({rows.rows});
  p.y_view.stride[0] = rows.kept;
  p.count = rows.count;
  p.kept = rows.kept;
  p.x_stride = rows.stride;
  p.largest = largest;
  std::vector<Expected> expected;
  for (int row = 0; row < rows.rows; ++row)
    for (const int index : first_ones(x, row, rows, largest)) expected.push_back({expected.size(), double(index), 0});
  check_kernel(launch_of(p, storage), &p, y, expected);
}

TEST(CudaTopIndices, MatchStableSort) {
  SKIP_WITHOUT_EMULATION();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Values any = [](Random& random, int) { return random.real(-3, 3); };
  const Values alike = [](Random& random, int) { return random.whole(-2, 2); };
  const Values same = [](Random&, int) { return 0.25; };
  const Values zeros = [](Random&, int i) { return i % 3 == 0 ? -0.0 : i % 7 == 0 ? -1.0 : 0.0; };
  const Values close = [](Random& random, int) { return 0.01 + random.real(0, 1e-4); };
  const Values extreme = [=](Random& random, int) { return random.one_of({infinite, -infinite, 0.0, 1e-7, 6e4}); };
  const Values falling = [](Random&, int i) { return -i / 8; };
  for (const auto storage : {Storage::f32, Storage::f16})
    for (const bool largest : {true, false}) {
      for (const auto& values : {any, alike, same, zeros, close, extreme, falling}) {
        check({1, 1, 1}, values, storage, largest);
        check({2, 33, 33}, values, storage, largest);
        check({1, 1025, 1}, values, storage, largest);
        check({2, 2100, 300}, values, storage, largest);
        check({1, 2100, 1024}, values, storage, largest);
      }
      check({1, 24000, 300}, any, storage, largest);
      check({1, 24000, 300}, same, storage, largest);
      check({1, 24000, 1024}, close, storage, largest);
      check({1, 70001, 1000}, alike, storage, largest);
      check({.rows = 2, .count = 2100, .kept = 300, .stride = 3}, any, storage, largest);
      check({.rows = 3, .count = 1031, .kept = 300, .offset = 1}, any, storage, largest);
    }
}

} // namespace
} // namespace rtexec::test
