// Computes the blocks of one anti-diagonal. In a block, thread i computes row i, one column behind the thread of the
// row above.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

struct AlignmentScores {
  int at[alignment_block + 1][alignment_block + 1];
};

namespace {

DEVICE int larger(int a, int b) { return a > b ? a : b; }

} // namespace

KERNEL(benchmark_align, alignment_block, NeedlemanWunschArguments) {
  wait_for_previous();
  auto& scores = shared_memory<AlignmentScores>().at;
  const unsigned n = arguments.side, block_row = arguments.first_row + static_cast<unsigned>(block_x());
  const int own = thread_index();
  const unsigned row = block_row * alignment_block + static_cast<unsigned>(own),
                 column = (arguments.diagonal - block_row) * alignment_block;
  const unsigned long long width = n + 1ULL;
  const int columns = n - column < alignment_block ? static_cast<int>(n - column) : alignment_block;
  int* const result = arguments.scores + (row + 1) * width + column + 1;
  const int* const similarity = arguments.similarity + static_cast<unsigned long long>(row) * n + column;
  // Loads the borders of the block: each thread loads an element of the column to the left and an element of the row
  // above.
  if (row < n) scores[own + 1][0] = result[-1];
  if (own < columns)
    scores[0][own + 1] =
        arguments.scores[block_row * alignment_block * width + column + 1 + static_cast<unsigned>(own)];
  if (own == 0) scores[0][0] = arguments.scores[block_row * alignment_block * width + column];
  for (int wave = 0; wave < 2 * alignment_block - 1; ++wave) {
    barrier();
    const int j = wave - own;
    if (row >= n || j < 0 || j >= columns) continue;
    const int along = scores[own][j] + similarity[j];
    const int gap = larger(scores[own][j + 1], scores[own + 1][j]) - gap_penalty;
    result[j] = scores[own + 1][j + 1] = larger(along, gap);
  }
}

} // namespace rtexec::tasks::cuda
