// Finds the best alignment of two sequences of `size` elements. Each job fills a table of scores, block by block along
// its anti-diagonals, with one kernel for each anti-diagonal.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <algorithm>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { similarity, scores };

void align_block(const cuda::NeedlemanWunschArguments& p, std::size_t block_row, std::size_t block_column) noexcept {
  constexpr std::size_t block = cuda::alignment_block;
  const std::size_t width = p.side + std::size_t{1};
  const std::size_t row_end = std::min<std::size_t>((block_row + 1) * block, p.side),
                    column_end = std::min<std::size_t>((block_column + 1) * block, p.side);
  for (std::size_t row = block_row * block; row < row_end; ++row) {
    const int* const above = p.scores + row * width;
    int* const own = p.scores + (row + 1) * width;
    for (std::size_t column = block_column * block; column < column_end; ++column)
      own[column + 1] = std::max(above[column] + p.similarity[row * p.side + column],
                                 std::max(above[column + 1], own[column]) - cuda::gap_penalty);
  }
}

/// The rows of blocks that one anti-diagonal of the table crosses.
struct Rows {
  unsigned first, count;
};
Rows rows_of(unsigned diagonal, unsigned blocks) {
  const unsigned first = diagonal < blocks ? 0 : diagonal - blocks + 1;
  return {first, std::min(diagonal, blocks - 1) - first + 1};
}

void align(const cuda::NeedlemanWunschArguments& p) noexcept {
  const Rows rows = rows_of(p.diagonal, blocks_of(p.side, cuda::alignment_block));
  for (unsigned row = rows.first; row < rows.first + rows.count; ++row) align_block(p, row, p.diagonal - row);
}

std::vector<ArrayDemand> arrays(unsigned size) {
  const std::uint64_t width = size + std::uint64_t{1};
  return {array_of<int>("similarity", std::uint64_t{size} * size, Direction::in),
          array_of<int>("scores", width * width, Direction::both)};
}

cuda::Fill contents(unsigned size, std::uint64_t job, std::size_t array) noexcept {
  if (array == similarity) return integers(job, array, -10, 21);
  return {.kind = cuda::Fill::scores, .range = size + 1};
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  const std::size_t width = size + std::size_t{1};
  fill_words(contents(size, job, similarity), host.get<void>(similarity), std::size_t{size} * size);
  fill_words(contents(size, job, scores), host.get<void>(scores), width * width);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  const unsigned blocks = blocks_of(size, cuda::alignment_block);
  std::vector<Step> made;
  for (unsigned diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
    const Rows rows = rows_of(diagonal, blocks);
    made.push_back(make_step<align>({.name = "benchmark_align", .grid_x = rows.count, .threads = cuda::alignment_block},
                                    cuda::NeedlemanWunschArguments{device.get<int>(similarity), device.get<int>(scores),
                                                                   size, diagonal, rows.first}));
  }
  return made;
}

/// Returns the traffic of one launch. A cache line of the table extends over two or three neighbouring blocks in a row
/// of blocks, and successive launches compute these blocks. Therefore 5/8 of the accesses hit if the data of two
/// launches fit into the cache.
LaunchTraffic traffic_of(unsigned diagonal, unsigned size) {
  constexpr std::uint64_t block = cuda::alignment_block;
  const auto within = [&](std::uint64_t index) { return std::min(block, size - index * block); };
  const Rows rows = rows_of(diagonal, blocks_of(size, cuda::alignment_block));
  LaunchTraffic launch{.threads = rows.count * block};
  for (unsigned row = rows.first; row < rows.first + rows.count; ++row) {
    const std::uint64_t height = within(row), width = within(diagonal - row);
    launch.touched += words(height * width + (height + 1) * (width + 1));
    launch.written += words(height * width);
    launch.accesses += height * 11 / 4 + 1; // many rows extend over two lines
  }
  if (is_kept(launch.touched * 2)) launch.hits = launch.accesses * 5 / 8;
  return launch;
}

std::vector<LaunchTraffic> traffic(unsigned size) {
  std::vector<LaunchTraffic> launches;
  for (unsigned diagonal = 0; diagonal < 2 * blocks_of(size, cuda::alignment_block) - 1; ++diagonal)
    launches.push_back(traffic_of(diagonal, size));
  return launches;
}

} // namespace

constinit const Benchmark needleman_wunsch{.kind = WorkloadKind::needleman_wunsch,
                                           .unit = "elements of each sequence",
                                           .least = 1,
                                           .most = (1U << 14U) - 1,
                                           .arrays = arrays,
                                           .fill = fill,
                                           .contents = contents,
                                           .steps = steps,
                                           .traffic = traffic,
                                           .chained = true};

} // namespace rtexec::tasks::benchmark
