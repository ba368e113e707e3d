// The arguments of the kernels of micro-benchmarks: one struct for each kernel, passed by value as its only parameter.
// Device code and host code share this file: plain C++17, no library. Addresses are device addresses; matrices are
// dense and row-major.
#pragma once

namespace rtexec::tasks::cuda {

constexpr int benchmark_threads = 256; // threads of a block, in x, for kernels that do not define a number of their own

/// Returns a pseudo-random number. For each value of `seed`, the function is a bijection of `i`.
constexpr unsigned noise(unsigned i, unsigned seed) {
  unsigned x = i * 0x9e3779b9U + seed;
  x = (x ^ (x >> 16U)) * 0x7feb352dU;
  x = (x ^ (x >> 15U)) * 0x846ca68bU;
  return x ^ (x >> 16U);
}

/// Maps a 32-bit pseudo-random number to the range 0 to count - 1.
constexpr unsigned chosen(unsigned number, unsigned count) {
  return static_cast<unsigned>(static_cast<unsigned long long>(number) * count >> 32U);
}

/// A description of the contents of an array. Word i depends only on its index, so any thread or device may fill any
/// part.
struct Fill {
  enum Kind : int {
    words,     // pseudo-random bits of noise()
    fractions, // floats in [0, 1), multiples of 2^-24
    integers,  // `range` different integers, beginning with `least`
    scores,    // the initial table of needleman-wunsch with `range` columns: its first row and column, zeros elsewhere
  };
  int kind = words;
  unsigned seed = 0;
  int least = 0;
  unsigned range = 1;
};
constexpr int gap_penalty = 10;

constexpr float filled_fraction(const Fill& fill, unsigned i) {
  return static_cast<float>(static_cast<int>(noise(i, fill.seed) >> 8U)) * 0x1p-24F;
}
constexpr int filled_integer(const Fill& fill, unsigned i) {
  return fill.least + static_cast<int>(chosen(noise(i, fill.seed), fill.range));
}
constexpr int filled_score(const Fill& fill, unsigned i) {
  const unsigned row = i / fill.range, column = i % fill.range;
  return row != 0 && column != 0 ? 0 : -gap_penalty * static_cast<int>(row + column);
}

/// Fills the `count` words of the array at `to` that begin with word `first`. Thread t fills words t, t + threads, t +
/// 2 threads and so on of these words.
struct FillArguments {
  void* to = nullptr;
  unsigned first = 0, count = 0;
  unsigned threads = 0; // threads of the grid
  Fill fill;
};

/// Computes sum = a + b, element by element. A matrix is added as a vector of its elements.
struct AddArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  float* sum = nullptr;
  unsigned count = 0;
};

/// Side of a tile of the product: a block for each tile, a thread for each element of the tile.
constexpr int tile_side = 16;

struct MatrixMultiplyArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  float* product = nullptr;
  unsigned side = 0;
};

constexpr int alignment_block = 16; // side of a block; a thread for each row of the block

/// Computes scores[i + 1][j + 1] as the greatest of scores[i][j] + similarity[i][j], scores[i][j + 1] - penalty and
/// scores[i + 1][j] - penalty. The table is divided into square blocks. One launch computes the blocks of one
/// anti-diagonal, number `diagonal`. Thread block b of its grid computes the block in row first_row + b and column
/// diagonal - first_row - b.
struct NeedlemanWunschArguments {
  const int* similarity = nullptr; // [side][side]
  int* scores = nullptr;           // [side + 1][side + 1]
  unsigned side = 0;
  unsigned diagonal = 0, first_row = 0;
};

/// Eliminates column `pivot`: factors[i] = matrix[i][pivot] / matrix[pivot][pivot] for every row i below the pivot.
/// Then subtracts factors[i] * matrix[pivot] from row i of the matrix, and factors[i] * right[pivot] from right[i].
struct GaussianArguments {
  float* matrix = nullptr;
  float* right = nullptr;
  float* factors = nullptr;
  unsigned side = 0, pivot = 0;
};

// The change of an element's temperature in one step, as a fraction of its power or of each temperature difference.
constexpr float heat_from_power = 0.5F, heat_across_rows = 0.125F, heat_across_columns = 0.1F, heat_to_air = 0.0125F;
constexpr float air = 80; // temperature of the air

/// Computes one step of heat flow. A neighbour beyond the border of the plate has the temperature of the element
/// itself.
struct HotspotArguments {
  const float* temperature = nullptr;
  const float* power = nullptr;
  float* result = nullptr;
  unsigned side = 0;
};

/// Computes a row of costs from the previous row of costs, `before`: costs[j] = wall[j] + min(before[j - 1], before[j],
/// before[j + 1]).
struct PathfinderArguments {
  const int* wall = nullptr; // one row of the wall
  const int* before = nullptr;
  int* costs = nullptr;
  unsigned columns = 0;
};

/// Expands one level of a breadth-first search. The neighbours of node i are the entries [first[i], first[i + 1]) of
/// `neighbours`. If a neighbour of a node of level `level` has no level yet (a value below 0), sets the neighbour's
/// level to level + 1. reached[l] is nonzero if level l has nodes.
struct BfsArguments {
  const unsigned* first = nullptr;
  const unsigned* neighbours = nullptr;
  int* levels = nullptr;
  unsigned* reached = nullptr;
  unsigned nodes = 0;
  int level = 0;
};

struct NearestNeighbourArguments {
  const float* x = nullptr;
  const float* y = nullptr;
  float* distances = nullptr;
  unsigned count = 0;
  float to_x = 0, to_y = 0;
};

/// Updates elements of the table at pseudo-random positions, as often as the table has elements. The number of an
/// update determines its position.
struct RandomAccessArguments {
  unsigned* table = nullptr;
  unsigned count = 0;
  unsigned seed = 0;
};

/// Sets the label of every point to the smallest label of the points within `reach`. A label that the kernel reads may
/// be the result of this launch or of the previous launch.
struct ClusteringArguments {
  const float* x = nullptr;
  const float* y = nullptr;
  const float* z = nullptr;
  int* labels = nullptr;
  unsigned count = 0;
  float reach = 0;
};

} // namespace rtexec::tasks::cuda
