// Computes product = a * b, for matrices with `size` rows and columns.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

#include <algorithm>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { left, right, product };

RTEXEC_VECTORISED void add_scaled(float* __restrict to, const float* __restrict from, float factor,
                                  std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

void multiply(const cuda::MatrixMultiplyArguments& p) noexcept {
  const std::size_t n = p.side;
  for (std::size_t row = 0; row < n; ++row) {
    float* const to = p.product + row * n;
    std::fill_n(to, n, 0.0F);
    for (std::size_t k = 0; k < n; ++k) add_scaled(to, p.b + k * n, p.a[row * n + k], n);
  }
}

std::vector<ArrayDemand> arrays(unsigned size) {
  const std::uint64_t count = std::uint64_t{size} * size;
  return {array_of<float>("a", count, Direction::in), array_of<float>("b", count, Direction::in),
          array_of<float>("product", count, Direction::out)};
}

cuda::Fill contents(unsigned, std::uint64_t job, std::size_t array) noexcept { return fractions(job, array); }

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  for (const auto array : {left, right}) fill_fractions(host, array, std::size_t{size} * size, job);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  const unsigned tiles = blocks_of(size, cuda::tile_side);
  return {make_step<multiply>(
      {.name = "benchmark_multiply", .grid_x = tiles, .grid_y = tiles, .threads = cuda::tile_side * cuda::tile_side},
      cuda::MatrixMultiplyArguments{device.get<float>(left), device.get<float>(right), device.get<float>(product),
                                    size})};
}

/// Returns the traffic of the launch. Each row of blocks reads a row of tiles of a and all of b. The part of b that the
/// cache does not hold is read from memory again for each row of tiles.
std::vector<LaunchTraffic> traffic(unsigned size) {
  const std::uint64_t n = size, tiles = blocks_of(size, cuda::tile_side), matrix = n * n;
  const std::uint64_t accesses = n * tiles * (lines(n) + tiles + 1);
  const std::uint64_t misses = lines(matrix) * (is_kept(words(matrix + 2 * n * cuda::tile_side)) ? 3 : 2 + tiles);
  return {{.threads = matrix,
           .touched = words(3 * matrix),
           .written = words(matrix),
           .accesses = accesses,
           .hits = accesses - std::min(accesses, misses)}};
}

} // namespace

constinit const Benchmark matrix_multiply{.kind = WorkloadKind::matrix_multiply,
                                          .unit = "rows and columns",
                                          .least = 1,
                                          .most = 1U << 14U,
                                          .arrays = arrays,
                                          .fill = fill,
                                          .contents = contents,
                                          .steps = steps,
                                          .traffic = traffic};

} // namespace rtexec::tasks::benchmark
