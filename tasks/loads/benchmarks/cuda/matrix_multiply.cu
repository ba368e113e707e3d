// Matrix multiplication. Each block computes a tile of the product from a row of tiles of a and a column of tiles of b.
// Each element is summed in the order of the definition.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

struct FactorTiles {
  float a[tile_side][tile_side], b[tile_side][tile_side];
};

KERNEL(benchmark_multiply, tile_side* tile_side, MatrixMultiplyArguments) {
  wait_for_previous();
  auto& tiles = shared_memory<FactorTiles>();
  const unsigned n = arguments.side, in_row = static_cast<unsigned>(thread_index() / tile_side),
                 in_column = static_cast<unsigned>(thread_index() % tile_side);
  const unsigned row = static_cast<unsigned>(block_y()) * tile_side + in_row,
                 column = static_cast<unsigned>(block_x()) * tile_side + in_column;
  float sum = 0;
  for (unsigned k = 0; k < n; k += tile_side) {
    tiles.a[in_row][in_column] = row < n && k + in_column < n ? arguments.a[row * n + k + in_column] : 0;
    tiles.b[in_row][in_column] = k + in_row < n && column < n ? arguments.b[(k + in_row) * n + column] : 0;
    barrier();
    for (unsigned i = 0; i < tile_side; ++i) sum += product(tiles.a[in_row][i], tiles.b[i][in_column]);
    barrier();
  }
  if (row < n && column < n) arguments.product[row * n + column] = sum;
}

} // namespace rtexec::tasks::cuda
