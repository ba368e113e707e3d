// Breadth-first search: finds the distance, in edges, from the first node to each of `size` nodes of a random graph. A
// node has 4 to 12 edges. A level is the set of nodes at the same distance. A job has 24 kernels, one for each level.
// If a level has no nodes, its kernel detects this from a word that the kernel of the previous level wrote, and ends at
// once. Nodes beyond the last level are not reached.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { first, neighbours, levels, reached };

constexpr int depth = 24; // number of levels whose nodes are expanded

/// Returns the total number of edges of the nodes that precede `node`.
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

/// Returns the expected traffic of one launch on a random graph. `frontier` nodes are in the launch's level, and the
/// launch finds `found` new nodes.
LaunchTraffic expected(double nodes, double edges, double frontier, double found) {
  const auto count = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
  /// Returns the expected number of distinct places that `items` items occupy if each falls into one of `places` places
  /// at random.
  const auto taken = [](double places, double items) { return places * (1 - std::pow(1 - 1 / places, items)); };
  /// Returns the bytes of the 32-byte sectors that are accessed in an array of `words` words, which describe nodes or
  /// edges. `probability` is the probability that an item is needed. `in_sector` is the number of items that share a
  /// sector.
  const auto sectors = [](double words, double probability, double in_sector) {
    return 32 * std::ceil(words / 8) * (1 - std::pow(1 - std::min(probability, 1.0), in_sector));
  };
  constexpr double firsts_in_sector = 9, lists_in_sector = 15.0 / 8;
  const auto size = static_cast<std::uint64_t>(nodes);
  const double blocks = blocks_of(static_cast<unsigned>(size), cuda::benchmark_threads), share = frontier / nodes;
  const auto all = static_cast<double>(lines(size)), own = all / blocks;
  const double each = frontier / blocks; // number of frontier nodes in a block
  const double listed = taken(own, each) + taken(std::max(edges / blocks / 32, 1.0), 1.25 * each);
  const double looked_up = taken(all, each * edges / nodes) * (1 - own / all);
  const auto cached = static_cast<double>(estimated_cache.count);
  // The fraction of the array `levels` (4 bytes for each node) that is in the cache. It is assumed that streaming data
  // occupy a fifth of the cache.
  const double held = std::min(1.0, cached / (5 * nodes));
  double hits = blocks * (1 + looked_up * held) - 1;
  if (held >= 1) hits += blocks * own;
  if (4 * (edges + 2 * nodes) <= cached) hits += std::max(0.0, blocks * listed - (nodes + edges) / 32 * share);
  return {.threads = size,
          .touched = words(size) +
                     Bytes{count(sectors(nodes, share, firsts_in_sector) + sectors(edges, share, lists_in_sector))},
          .written = Bytes{count(sectors(nodes, found / nodes, 8))},
          .accesses = count(blocks * (1 + own + listed + looked_up)),
          .hits = count(hits)};
}

std::vector<LaunchTraffic> traffic(unsigned size) {
  const std::uint64_t blocks = blocks_of(size, cuda::benchmark_threads);
  const LaunchTraffic nobody{.threads = size, .touched = Bytes{32}, .accesses = blocks, .hits = blocks - 1};
  const double nodes = size, edges = static_cast<double>(edges_before(size));
  double unknown = nodes - 1, frontier = 1;
  std::vector<LaunchTraffic> launches;
  for (int level = 0; level < depth; ++level) {
    const double found = unknown * (1 - std::pow(1 - 1 / nodes, frontier * edges / nodes));
    launches.push_back(frontier < 0.5 ? nobody : expected(nodes, edges, frontier, found));
    unknown -= found;
    frontier = found;
  }
  return launches;
}

} // namespace

constinit const Benchmark bfs{.kind = WorkloadKind::bfs,
                              .unit = "nodes",
                              .least = 1,
                              .most = 1U << 24U,
                              .arrays = arrays,
                              .fill = fill,
                              .steps = steps,
                              .traffic = traffic,
                              .chained = true};

} // namespace rtexec::tasks::benchmark
