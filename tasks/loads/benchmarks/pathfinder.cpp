// Finds the cheapest paths from the first row of a wall to each of the `size` columns of its last row. A job has 512
// kernels, one for each row after the first.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

#include <algorithm>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { wall, costs, spare };

constexpr unsigned rows = 513; // odd, so that the last row is in `costs`

RTEXEC_VECTORISED void inner_costs(const int* wall, const int* before, int* __restrict costs,
                                   std::size_t columns) noexcept {
  for (std::size_t j = 1; j + 1 < columns; ++j)
    costs[j] = wall[j] + std::min(before[j], std::min(before[j - 1], before[j + 1]));
}

void step_row(const cuda::PathfinderArguments& p) noexcept {
  const std::size_t n = p.columns;
  inner_costs(p.wall, p.before, p.costs, n);
  for (const std::size_t j : {std::size_t{0}, n - 1})
    p.costs[j] =
        p.wall[j] + std::min(p.before[j], std::min(p.before[j == 0 ? j : j - 1], p.before[j + 1 == n ? j : j + 1]));
}

std::vector<ArrayDemand> arrays(unsigned size) {
  return {array_of<int>("wall", std::uint64_t{rows} * size, Direction::in),
          array_of<int>("costs", size, Direction::out), array_of<int>("spare", size, Direction::device)};
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  fill_integers(host, wall, std::size_t{rows} * size, job, 0, 10);
}

/// Returns the kernels, one for each row after the first. The costs of successive rows are written to `spare` and
/// `costs` in turn; the costs of the last row are in `costs`.
std::vector<Step> steps(unsigned size, const Addresses& device) {
  std::vector<Step> made;
  const int* before = device.get<int>(wall);
  for (unsigned row = 1; row < rows; ++row) {
    int* const after = device.get<int>(row % 2 == 0 ? costs : spare);
    made.push_back(make_step<step_row>(
        launch_for("benchmark_step_row", size),
        cuda::PathfinderArguments{device.get<int>(wall) + std::size_t{row} * size, before, after, size}));
    before = after;
  }
  return made;
}

/// Returns the traffic of each launch. A launch reads a row of the wall, reads the costs of the previous row, and
/// writes the costs of this row. Only one of the two arrays of costs is visible to the host.
std::vector<LaunchTraffic> traffic(unsigned size) {
  const std::uint64_t row = lines(size), beside = 2 * (blocks_of(size, cuda::benchmark_threads) - std::uint64_t{1});
  const std::uint64_t kept = is_kept(words(3 * std::uint64_t{size})) ? row : 0;
  std::vector<LaunchTraffic> launches;
  for (unsigned at = 1; at < rows; ++at)
    launches.push_back({.threads = size,
                        .touched = words(2 * std::uint64_t{size}),
                        .written = at % 2 == 0 ? words(size) : Bytes{0},
                        .accesses = 3 * row + beside,
                        .hits = beside + kept + (at > 2 ? kept : 0)});
  return launches;
}

} // namespace

constinit const Benchmark pathfinder{.kind = WorkloadKind::pathfinder,
                                     .unit = "columns",
                                     .least = 1,
                                     .most = 1U << 19U,
                                     .arrays = arrays,
                                     .fill = fill,
                                     .steps = steps,
                                     .traffic = traffic};

} // namespace rtexec::tasks::benchmark
