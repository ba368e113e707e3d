// Clusters `size` points in space. A cluster is a set of points that are connected by chains, in which each point has a
// distance of at most 1 from the next point. A job has 16 kernels. In each kernel every point adopts the smallest label
// of the points near it. The points lie in heaps of 32 points, in which chains are shorter than 16. Therefore labels
// converge, and do not depend on the order of threads.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { x, y, z, labels };

constexpr std::size_t rounds = 16;

/// Returns the smallest label of the points within reach. The loop has no branch, so that the compiler vectorises it.
/// The loop compares squared distances by their bits, since non-negative floats are ordered like their bits. A point
/// that is too far away counts with the largest integer instead of its label.
RTEXEC_VECTORISED int min_label(const cuda::ClusteringArguments& p, unsigned point) noexcept {
  constexpr int none = std::numeric_limits<int>::max();
  const float x0 = p.x[point], y0 = p.y[point], z0 = p.z[point];
  const int most = std::bit_cast<int>(p.reach * p.reach);
  int least = none;
  for (unsigned i = 0; i < p.count; ++i) {
    const float dx = p.x[i] - x0, dy = p.y[i] - y0, dz = p.z[i] - z0;
    const int too_far = (most - std::bit_cast<int>(dx * dx + dy * dy + dz * dz)) >> 31;
    least = std::min(least, p.labels[i] | (too_far & none));
  }
  return least;
}

void join(const cuda::ClusteringArguments& p) noexcept {
  for (unsigned point = 0; point < p.count; ++point) p.labels[point] = min_label(p, point);
}

std::vector<ArrayDemand> arrays(unsigned size) {
  return {array_of<float>("x", size, Direction::in), array_of<float>("y", size, Direction::in),
          array_of<float>("z", size, Direction::in), array_of<int>("labels", size, Direction::both)};
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  constexpr float heap_side = 3, heap_distance = 8;
  const unsigned heaps = blocks_of(size, 32);
  for (const auto axis : {x, y, z}) {
    float* const to = host.get<float>(axis);
    fill_fractions(host, axis, size, job);
    const unsigned digit = 4 * static_cast<unsigned>(axis);
    for (unsigned i = 0; i < size; ++i)
      to[i] = heap_distance * static_cast<float>(i % heaps >> digit & 15U) + heap_side * to[i];
  }
  std::iota(host.get<int>(labels), host.get<int>(labels) + size, 0);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  constexpr float reach = 1;
  const Step round =
      make_step<join>(launch_for("benchmark_join", size),
                      cuda::ClusteringArguments{device.get<float>(x), device.get<float>(y), device.get<float>(z),
                                                device.get<int>(labels), size, reach});
  return std::vector<Step>(rounds, round);
}

/// Returns the traffic of all rounds. Every block reads all points. Blocks that run at the same time share the lines
/// that they read.
std::vector<LaunchTraffic> traffic(unsigned size) {
  constexpr std::uint64_t at_once = threads_at_once / cuda::benchmark_threads;
  const std::uint64_t points = 4 * lines(size), blocks = blocks_of(size, cuda::benchmark_threads);
  LaunchTraffic launch{
      .threads = size, .touched = words(4 * std::uint64_t{size}), .written = words(size), .accesses = points * blocks};
  const bool kept = is_kept(launch.touched);
  launch.hits = launch.accesses - (kept ? 0 : points * ((blocks + at_once - 1) / at_once));
  std::vector<LaunchTraffic> launches(rounds, launch);
  if (kept) launches.front().hits -= points;
  return launches;
}

} // namespace

constinit const Benchmark euclidean_clustering{.kind = WorkloadKind::euclidean_clustering,
                                               .unit = "points",
                                               .least = 1,
                                               .most = 1U << 17U,
                                               .arrays = arrays,
                                               .fill = fill,
                                               .steps = steps,
                                               .traffic = traffic};

} // namespace rtexec::tasks::benchmark
