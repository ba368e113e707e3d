// Tests the declared memory traffic of micro-benchmark launches. It is compared with a walk through the accesses of
// every thread according to the kernels' definitions, with an LRU cache.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace rtexec::tasks::benchmark {
namespace {

using Index = std::uint64_t;

/// A cache of lines by number. An access returns true on a hit.
class Cache {
 public:
  [[nodiscard]] bool use(Index line) {
    const auto known = places_.find(line);
    const bool hit = known != places_.end();
    if (hit) order_.erase(known->second);
    order_.push_front(line);
    places_[line] = order_.begin();
    if (order_.size() > estimated_cache.count / 128) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    return hit;
  }

 private:
  std::list<Index> order_;
  std::map<Index, std::list<Index>::iterator> places_;
};

/// The pieces of memory seen since the last clear().
class Seen {
 public:
  /// Returns true if the piece is seen for the first time.
  bool add(Index piece) {
    if (piece >= marks_.size()) marks_.resize(piece + 1);
    const bool first = marks_[piece] != round_;
    marks_[piece] = round_;
    count_ += first ? 1U : 0U;
    return first;
  }
  void clear() {
    ++round_;
    count_ = 0;
  }
  [[nodiscard]] Index count() const { return count_; }

 private:
  std::vector<Index> marks_;
  Index round_ = 1, count_ = 0;
};

struct Counts {
  Index words = 0, sectors = 0, written_words = 0, written_sectors = 0, accesses = 0, hits = 0;
};

class Walk {
 public:
  explicit Walk(std::vector<ArrayDemand> arrays) : arrays_(std::move(arrays)) {
    Index end = 0;
    for (const auto& array : arrays_) {
      begins_.push_back(end);
      end += (array.size.count + 4095) / 4096 * 1024;
    }
  }
  void begin_launch() {
    begin_block();
    for (auto* seen : {&words_, &sectors_, &written_words_, &written_sectors_}) seen->clear();
    counts_.emplace_back();
  }
  void begin_block() { lines_.clear(); }
  void read(std::size_t array, Index word) { touch(array, word, false); }
  void write(std::size_t array, Index word) { touch(array, word, true); }
  /// Writes a word that the same block has read.
  void rewrite(std::size_t array, Index word) {
    const Index at = begins_[array] + word;
    counts_.back().written_words += written_words_.add(at) ? 1U : 0U;
    counts_.back().written_sectors += written_sectors_.add(at / 8) ? 1U : 0U;
  }
  [[nodiscard]] const std::vector<Counts>& counts() const { return counts_; }

 private:
  void touch(std::size_t array, Index word, bool writes) {
    ASSERT_LT(word * 4, arrays_[array].size.count) << arrays_[array].name;
    const Index at = begins_[array] + word;
    Counts& now = counts_.back();
    if (lines_.add(at / 32)) {
      ++now.accesses;
      now.hits += cache_.use(at / 32) ? 1U : 0U;
    }
    if (arrays_[array].direction == Direction::device) return;
    now.words += words_.add(at) ? 1U : 0U;
    now.sectors += sectors_.add(at / 8) ? 1U : 0U;
    if (!writes) return;
    now.written_words += written_words_.add(at) ? 1U : 0U;
    now.written_sectors += written_sectors_.add(at / 8) ? 1U : 0U;
  }

  std::vector<ArrayDemand> arrays_;
  std::vector<Index> begins_; // in words
  Seen words_, sectors_, written_words_, written_sectors_, lines_;
  Cache cache_;
  std::vector<Counts> counts_;
};

/// Runs threads in blocks of 256; `thread` is the work of each.
void each_item(Walk& walk, Index count, const std::function<void(Index)>& thread) {
  for (Index i = 0; i < count; ++i) {
    if (i % 256 == 0) walk.begin_block();
    thread(i);
  }
}

void walk_items(Walk& walk, Index count) {
  walk.begin_launch();
  each_item(walk, count, [&](Index i) {
    walk.read(0, i);
    walk.read(1, i);
    walk.write(2, i);
  });
}

void walk_product(Walk& walk, Index n) {
  walk.begin_launch();
  for (Index top = 0; top < n; top += 16)
    for (Index left = 0; left < n; left += 16) {
      walk.begin_block();
      for (Index row = top; row < std::min(n, top + 16); ++row)
        for (Index k = 0; k < n; ++k) walk.read(0, row * n + k);
      for (Index k = 0; k < n; ++k)
        for (Index column = left; column < std::min(n, left + 16); ++column) walk.read(1, k * n + column);
      for (Index row = top; row < std::min(n, top + 16); ++row)
        for (Index column = left; column < std::min(n, left + 16); ++column) walk.write(2, row * n + column);
    }
}

void walk_alignment(Walk& walk, Index n) {
  const Index blocks = (n + 15) / 16;
  for (Index diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
    walk.begin_launch();
    for (Index down = 0; down < blocks; ++down) {
      if (down > diagonal || diagonal - down >= blocks) continue;
      walk.begin_block();
      for (Index i = 16 * down; i < std::min(n, 16 * down + 16); ++i)
        for (Index j = 16 * (diagonal - down); j < std::min(n, 16 * (diagonal - down) + 16); ++j) {
          walk.read(0, i * n + j);
          for (const Index from : {i * (n + 1) + j, i * (n + 1) + j + 1, (i + 1) * (n + 1) + j}) walk.read(1, from);
          walk.write(1, (i + 1) * (n + 1) + j + 1);
        }
    }
  }
}

void walk_elimination(Walk& walk, Index n) {
  for (Index pivot = 0; pivot + 1 < n; ++pivot) {
    walk.begin_launch();
    each_item(walk, n - pivot - 1, [&](Index i) {
      walk.read(0, (pivot + 1 + i) * n + pivot);
      walk.read(0, pivot * n + pivot);
      walk.write(2, pivot + 1 + i);
    });
    walk.begin_launch();
    for (Index row = pivot + 1; row < n; ++row)
      each_item(walk, n - pivot, [&](Index i) {
        walk.read(2, row);
        walk.write(0, row * n + pivot + i);
        if (i > 0) return walk.read(0, pivot * n + pivot + i);
        walk.write(1, row);
        walk.read(1, pivot);
      });
  }
}

void walk_heat(Walk& walk, Index n) {
  walk.begin_launch();
  for (Index row = 0; row < n; ++row)
    each_item(walk, n, [&](Index column) {
      for (const Index near : {row == 0 ? row : row - 1, row, std::min(row + 1, n - 1)})
        walk.read(0, near * n + column);
      for (const Index near : {column == 0 ? column : column - 1, std::min(column + 1, n - 1)})
        walk.read(0, row * n + near);
      walk.read(1, row * n + column);
      walk.write(2, row * n + column);
    });
}

void walk_paths(Walk& walk, Index columns) {
  for (Index row = 1; row <= 512; ++row) {
    walk.begin_launch();
    each_item(walk, columns, [&](Index j) {
      for (const Index near : {j == 0 ? j : j - 1, j, std::min(j + 1, columns - 1)})
        walk.read(row == 1 ? 0 : row % 2 == 0 ? 2 : 1, near);
      walk.read(0, row * columns + j);
      walk.write(row % 2 == 0 ? 1 : 2, j);
    });
  }
}

/// Uses the graph of a job.
void walk_search(Walk& walk, Index nodes) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> addresses;
  for (const auto& array : bfs.arrays(static_cast<unsigned>(nodes)))
    addresses.push_back(memory.emplace_back(array.size.count).data());
  const Addresses at(addresses);
  bfs.fill(static_cast<unsigned>(nodes), 1, at);
  const auto *first = at.get<unsigned>(0), *neighbours = at.get<unsigned>(1);
  auto* levels = at.get<int>(2);
  for (int level = 0; level < 24; ++level) {
    const bool anybody = std::count(levels, levels + nodes, level) > 0;
    walk.begin_launch();
    each_item(walk, nodes, [&](Index node) {
      walk.read(3, static_cast<Index>(level));
      if (!anybody) return;
      walk.read(2, node);
      if (levels[node] != level) return;
      walk.read(0, node);
      walk.read(0, node + 1);
      for (unsigned edge = first[node]; edge < first[node + 1]; ++edge) {
        walk.read(1, edge);
        walk.read(2, neighbours[edge]);
        if (levels[neighbours[edge]] >= 0) continue;
        levels[neighbours[edge]] = level + 1;
        walk.write(2, neighbours[edge]);
        walk.write(3, static_cast<Index>(level) + 1);
      }
    });
  }
}

void walk_updates(Walk& walk, Index count) {
  walk.begin_launch();
  for (Index i = 0; i < count; ++i) {
    walk.begin_block(); // each access is an atomic update
    walk.write(0, cuda::chosen(cuda::noise(static_cast<unsigned>(i), 1), static_cast<unsigned>(count)));
  }
}

/// Simulates 16 concurrent blocks, which read one line after the other. One word stands for a whole line that another
/// block has loaded.
void walk_clusters(Walk& walk, Index points) {
  for (int round = 0; round < 16; ++round) {
    walk.begin_launch();
    for (Index group = 0; group < points; group += 16 * 256)
      for (Index line = 0; line < points; line += 32)
        for (Index block = group; block < std::min(points, group + 16 * 256); block += 256) {
          walk.begin_block();
          for (Index i = line; i < std::min(points, line + (block == group ? 32 : 1)); ++i) {
            for (const std::size_t array : {0U, 1U, 2U, 3U}) walk.read(array, i);
          }
        }
    for (Index i = 0; i < points; ++i) walk.rewrite(3, i);
  }
}

struct Case {
  WorkloadKind kind;
  std::vector<unsigned> sizes; // some exceed the cache
  void (*walk)(Walk&, Index size);
  double slack = 0.01; // relative tolerance of the bytes
};
void PrintTo(const Case& each, std::ostream* out) { *out << name(each.kind); }

std::vector<Case> cases() {
  using enum WorkloadKind;
  return {{vector_add, {1, 257, 4096, 100'000}, walk_items},
          {matrix_add, {1, 64, 301}, [](Walk& walk, Index size) { walk_items(walk, size * size); }},
          {matrix_multiply, {1, 96, 200, 400}, walk_product},
          {needleman_wunsch, {1, 17, 128, 500}, walk_alignment},
          {gaussian, {2, 9, 64, 370}, walk_elimination},
          {hotspot, {1, 64, 300, 1000}, walk_heat},
          {pathfinder, {1, 256, 5000}, walk_paths},
          {bfs, {1, 500, 4000, 140'000}, walk_search, 0.15},
          {nearest_neighbour, {1, 1000, 100'000}, walk_items},
          {random_access, {4096, 50'000, 200'000}, walk_updates, 0.01},
          {euclidean_clustering, {1, 300, 2048}, walk_clusters}};
}

class BenchmarkTraffic : public testing::TestWithParam<Case> {};

TEST_P(BenchmarkTraffic, MatchesAccessesOfKernelThreads) {
  const auto& benchmark = benchmark_of(GetParam().kind);
  for (const unsigned size : GetParam().sizes) {
    SCOPED_TRACE(size);
    Walk walk(benchmark.arrays(size));
    GetParam().walk(walk, size);
    const auto traffic = benchmark.traffic(size);
    ASSERT_EQ(traffic.size(), walk.counts().size());
    Counts all;
    LaunchTraffic said;
    const auto is_between = [](Bytes bytes, Index words, Index sectors, double slack) {
      const auto count = static_cast<double>(bytes.count);
      return count >= static_cast<double>(4 * words) * (1 - slack) &&
             count <= static_cast<double>(32 * sectors) * (1 + slack);
    };
    const bool exact = GetParam().kind != WorkloadKind::bfs; // its levels are as wide as the graph makes them
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      const Counts& launch = walk.counts()[i];
      if (exact) {
        EXPECT_TRUE(is_between(traffic[i].touched, launch.words, launch.sectors, GetParam().slack))
            << "launch " << i << ": " << traffic[i].touched.count << ", " << launch.words << " words";
        EXPECT_TRUE(is_between(traffic[i].written, launch.written_words, launch.written_sectors, GetParam().slack))
            << "launch " << i << ": " << traffic[i].written.count << ", " << launch.written_words << " words";
      }
      EXPECT_LE(traffic[i].written, traffic[i].touched);
      EXPECT_LE(traffic[i].hits, traffic[i].accesses) << "launch " << i;
      all.words += launch.words;
      all.sectors += launch.sectors;
      all.written_words += launch.written_words;
      all.written_sectors += launch.written_sectors;
      all.accesses += launch.accesses;
      all.hits += launch.hits;
      said.touched += traffic[i].touched;
      said.written += traffic[i].written;
      said.accesses += traffic[i].accesses;
      said.hits += traffic[i].hits;
    }
    EXPECT_TRUE(is_between(said.touched, all.words, all.sectors, GetParam().slack))
        << said.touched.count << ", " << all.words << " words, " << all.sectors << " sectors";
    EXPECT_TRUE(is_between(said.written, all.written_words, all.written_sectors, GetParam().slack))
        << said.written.count << ", " << all.written_words << " words";
    if (size < 64) continue; // arrays of a few words share lines
    const auto accesses = static_cast<double>(all.accesses);
    EXPECT_NEAR(static_cast<double>(said.accesses), accesses, 0.15 * accesses);
    EXPECT_NEAR(static_cast<double>(said.hits) / static_cast<double>(said.accesses),
                static_cast<double>(all.hits) / accesses, 0.1);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, BenchmarkTraffic, testing::ValuesIn(cases()), [](const auto& each) {
  std::string text(name(each.param.kind));
  std::erase(text, '-');
  return text;
});

} // namespace
} // namespace rtexec::tasks::benchmark
