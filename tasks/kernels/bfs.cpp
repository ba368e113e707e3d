// How many edges away from the first one each of `size` nodes of a random graph is, by breadth-first search: a kernel
// for each level, always 24. A level without nodes finds that out on the device, by a word that the level before left,
// and ends at once; nodes behind the last level are not reached. A node has 4 to 12 edges.
#include "tasks/kernels/benchmark.hpp"

#include <algorithm>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { first, neighbours, levels, reached };

constexpr int depth = 24; // levels that are expanded

/// That nodes before `node` have.
constexpr std::size_t edges_before(std::size_t node) {
  const std::size_t rest = node % 9;
  return node / 9 * 72 + 4 * rest + rest * (rest - 1) / 2;
}

void expand_level(const cuda::BfsArguments& p) noexcept {
  if (p.reached[p.level] == 0) return;
  for (std::size_t node = 0; node < p.nodes; ++node) {
    if (p.levels[node] != p.level) continue;
    for (unsigned edge = p.first[node]; edge < p.first[node + 1]; ++edge) {
      int& level = p.levels[p.neighbours[edge]];
      if (level >= 0) continue;
      level = p.level + 1;
      p.reached[p.level + 1] = 1;
    }
  }
}

std::vector<ArrayDemand> arrays(unsigned size) {
  return {array_of<unsigned>("first", size + std::uint64_t{1}, Direction::in),
          array_of<unsigned>("neighbours", edges_before(size), Direction::in),
          array_of<int>("levels", size, Direction::both), array_of<unsigned>("reached", depth + 1, Direction::in)};
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  for (std::size_t node = 0; node <= size; ++node)
    host.get<unsigned>(first)[node] = static_cast<unsigned>(edges_before(node));
  fill_integers(host, neighbours, edges_before(size), job, 0, size);
  std::fill_n(host.get<int>(levels), size, -1);
  host.get<int>(levels)[0] = 0;
  std::fill_n(host.get<unsigned>(reached), depth + 1, 0U);
  host.get<unsigned>(reached)[0] = 1;
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  std::vector<Step> made;
  for (int level = 0; level < depth; ++level)
    made.push_back(make_step<expand_level>(
        launch_for("benchmark_expand_level", size),
        cuda::BfsArguments{device.get<unsigned>(first), device.get<unsigned>(neighbours), device.get<int>(levels),
                           device.get<unsigned>(reached), size, level}));
  return made;
}

} // namespace

constinit const Benchmark bfs{.kind = WorkloadKind::bfs,
                              .unit = "nodes",
                              .least = 1,
                              .most = 1U << 24U,
                              .arrays = arrays,
                              .fill = fill,
                              .steps = steps};

} // namespace rtexec::tasks::benchmark
