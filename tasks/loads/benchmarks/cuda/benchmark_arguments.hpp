// What the kernels of micro-benchmarks are given: one struct for each, passed by value as the kernel's only parameter.
// Shared between device code and host code: plain C++17, no library. Addresses are device addresses; matrices are dense
// and row-major.
#pragma once

namespace rtexec::tasks::cuda {

constexpr int benchmark_threads = 256; // of a block, in x, where a kernel says nothing else

/// A number that looks random, by a bijection of `i` for each seed.
constexpr unsigned noise(unsigned i, unsigned seed) {
  unsigned x = i * 0x9e3779b9U + seed;
  x = (x ^ (x >> 16U)) * 0x7feb352dU;
  x = (x ^ (x >> 15U)) * 0x846ca68bU;
  return x ^ (x >> 16U);
}

/// Of `count`, by a number that looks random.
constexpr unsigned chosen(unsigned number, unsigned count) {
  return static_cast<unsigned>(static_cast<unsigned long long>(number) * count >> 32U);
}

/// What an array is filled with: word i by its number alone, so that it does not matter who fills which part.
struct Fill {
  enum Kind : int {
    words,     // noise
    fractions, // floats in [0, 1), multiples of 2^-24
    integers,  // from `least` on, `range` different ones
    scores,    // the table of needleman-wunsch with `range` columns: its first row and column, and zeros
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

/// Words first to first + count of the array at `to`; thread t makes those t, t + threads, t + 2 threads, ... of them.
struct FillArguments {
  void* to = nullptr;
  unsigned first = 0, count = 0;
  unsigned threads = 0; // of the grid
  Fill fill;
};

/// sum = a + b, element by element: vectors, and matrices as vectors of their elements.
struct AddArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  float* sum = nullptr;
  unsigned count = 0;
};

constexpr int tile_side = 16; // of the product, for each block; one thread for each element

struct MatrixMultiplyArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  float* product = nullptr;
  unsigned side = 0;
};

constexpr int alignment_block = 16; // side; one thread for each of its rows

/// scores[i + 1][j + 1] is the best of scores[i][j] + similarity[i][j], and scores[i][j + 1] and scores[i + 1][j] less
/// the penalty. One launch does the blocks of one anti-diagonal: block b of the grid is the one in row first_row + b
/// and column diagonal - first_row - b of all blocks.
struct NeedlemanWunschArguments {
  const int* similarity = nullptr; // [side][side]
  int* scores = nullptr;           // [side + 1][side + 1]
  unsigned side = 0;
  unsigned diagonal = 0, first_row = 0;
};

/// Of column `pivot`: factors[i] = matrix[i][pivot] / matrix[pivot][pivot] for every row i below; then row i less
/// factors[i] times row pivot, and right[i] with it.
struct GaussianArguments {
  float* matrix = nullptr;
  float* right = nullptr;
  float* factors = nullptr;
  unsigned side = 0, pivot = 0;
};

// What flows to an element in one step, as a share of the difference
constexpr float heat_from_power = 0.5F, heat_across_rows = 0.125F, heat_across_columns = 0.1F, heat_to_air = 0.0125F;
constexpr float air = 80; // its temperature

/// Neighbours beyond an edge are as warm as the element.
struct HotspotArguments {
  const float* temperature = nullptr;
  const float* power = nullptr;
  float* result = nullptr;
  unsigned side = 0;
};

/// costs[j] = wall[j] + the least of before[j - 1], before[j], before[j + 1].
struct PathfinderArguments {
  const int* wall = nullptr; // one row
  const int* before = nullptr;
  int* costs = nullptr;
  unsigned columns = 0;
};

/// Neighbours of node i are those from first[i] to first[i + 1]. Nodes that `level` has give level + 1 to neighbours
/// that have none, which is below 0. reached[l]: level l has nodes.
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

/// As many updates as elements, each of an element that the update's number chooses.
struct RandomAccessArguments {
  unsigned* table = nullptr;
  unsigned count = 0;
  unsigned seed = 0;
};

/// Every label becomes the least one of the points that are no further than `reach`, which may be from this launch or
/// the one before.
struct ClusteringArguments {
  const float* x = nullptr;
  const float* y = nullptr;
  const float* z = nullptr;
  int* labels = nullptr;
  unsigned count = 0;
  float reach = 0;
};

} // namespace rtexec::tasks::cuda
