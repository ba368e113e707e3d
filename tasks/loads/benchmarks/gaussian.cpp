// Makes a system of `size` equations triangular, by Gaussian elimination without pivoting, with two kernels for each
// column.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { matrix, right, factors };

void factors_of(const cuda::GaussianArguments& p) noexcept {
  const std::size_t n = p.side;
  const float divisor = p.matrix[p.pivot * n + p.pivot];
  for (std::size_t row = p.pivot + std::size_t{1}; row < n; ++row)
    p.factors[row] = p.matrix[row * n + p.pivot] / divisor;
}

RTEXEC_VECTORISED void subtract_scaled(float* __restrict from, const float* __restrict what, float factor,
                                       std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) from[i] -= factor * what[i];
}

void eliminate(const cuda::GaussianArguments& p) noexcept {
  const std::size_t n = p.side, behind = p.pivot + std::size_t{1};
  for (std::size_t row = behind; row < n; ++row) {
    p.matrix[row * n + p.pivot] = 0;
    subtract_scaled(p.matrix + row * n + behind, p.matrix + p.pivot * n + behind, p.factors[row], n - behind);
    p.right[row] -= p.factors[row] * p.right[p.pivot];
  }
}

std::vector<ArrayDemand> arrays(unsigned size) {
  return {array_of<float>("matrix", std::uint64_t{size} * size, Direction::both),
          array_of<float>("right", size, Direction::both), array_of<float>("factors", size, Direction::device)};
}

/// Fills the matrix and the right side. Each diagonal element is larger than the sum of all other elements of its row,
/// so that no pivot is small.
void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  const std::size_t n = size;
  float* const rows = host.get<float>(matrix);
  fill_fractions(host, matrix, n * n, job);
  for (std::size_t i = 0; i < n; ++i) rows[i * n + i] += static_cast<float>(n);
  fill_fractions(host, right, n, job);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  std::vector<Step> made;
  for (unsigned pivot = 0; pivot + 1 < size; ++pivot) {
    const cuda::GaussianArguments arguments{device.get<float>(matrix), device.get<float>(right),
                                            device.get<float>(factors), size, pivot};
    made.push_back(make_step<factors_of>(launch_for("benchmark_factors", size - pivot - 1), arguments));
    cuda::Launch rows = launch_for("benchmark_eliminate", size - pivot);
    rows.grid_y = size - pivot - 1;
    made.push_back(make_step<eliminate>(rows, arguments));
  }
  return made;
}

std::vector<LaunchTraffic> traffic(unsigned size) {
  const std::uint64_t n = size;
  std::vector<LaunchTraffic> launches;
  for (std::uint64_t below = n - 1; below > 0; --below) { // `below` counts the rows below the pivot
    const std::uint64_t columns = below + 1;
    const bool kept = is_kept(Bytes{128} * (columns * lines(columns))), known = kept && columns < n;
    const std::uint64_t for_factors = below + blocks_of(static_cast<unsigned>(below), cuda::benchmark_threads);
    launches.push_back({.threads = below,
                        .touched = lone_words(columns, n),
                        .accesses = for_factors + lines(below),
                        .hits = known ? for_factors + lines(below) : for_factors - columns});
    const std::uint64_t blocks = blocks_of(static_cast<unsigned>(columns), cuda::benchmark_threads);
    const std::uint64_t for_rows = below * (2 * lines(columns) + blocks + 2);
    launches.push_back({.threads = below * columns,
                        .touched = words(columns * columns + columns),
                        .written = words(below * columns + below),
                        .accesses = for_rows,
                        .hits = kept ? for_rows : for_rows - columns * lines(columns)});
  }
  return launches;
}

} // namespace

constinit const Benchmark gaussian{.kind = WorkloadKind::gaussian,
                                   .unit = "equations",
                                   .least = 2,
                                   .most = 1U << 13U,
                                   .arrays = arrays,
                                   .fill = fill,
                                   .steps = steps,
                                   .traffic = traffic};

} // namespace rtexec::tasks::benchmark
