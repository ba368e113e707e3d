// Exact products of matrices of bytes. Blocks of the matrices are multiplied as floats. A float sum of integers is
// exact if few enough terms are added. The sums of blocks are accumulated as integers.
#pragma once

#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/tiled_product.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::tasks::kernels {

/// A range of consecutive terms of a sum.
struct TermRange {
  std::int64_t first, count;
};

/// Divides the terms of sums into as few ranges as possible, such that a float represents the sum of a range exactly,
/// in any order of addition. Each term is a constant times a number from -255 to 255. magnitude(sum, term) must return
/// the magnitude of a term's constants, at most 2^40. Returns no range if a single term is too large.
template <class Magnitude>
std::vector<TermRange> exact_ranges(std::int64_t sums, std::int64_t terms, Magnitude magnitude) {
  constexpr std::int64_t max_sum = (std::int64_t{1} << 24) / 255;
  std::vector<TermRange> ranges;
  std::vector<std::int64_t> totals(static_cast<std::size_t>(sums), max_sum);
  for (std::int64_t term = 0; term < terms; ++term) {
    bool fits = !ranges.empty();
    for (std::int64_t sum = 0; sum < sums; ++sum)
      fits = (totals[static_cast<std::size_t>(sum)] += magnitude(sum, term)) <= max_sum && fits;
    if (fits) {
      ++ranges.back().count;
      continue;
    }
    ranges.push_back({term, 1});
    for (std::int64_t sum = 0; sum < sums; ++sum)
      if ((totals[static_cast<std::size_t>(sum)] = magnitude(sum, term)) > max_sum) return {};
  }
  return ranges;
}

/// Computes y [m, n] = a [m, k] b [k, n] modulo 2^32, for elements of a and b from -255 to 255.
class ByteProduct {
 public:
  ByteProduct(std::int64_t m, std::int64_t n, std::int64_t k) : m_(m), n_(n), k_(k) {
    for (const auto rows : {std::min(m, block), m % block})
      for (const auto columns : {std::min(n, block), n % block})
        for (const auto depth : {std::min(k, max_depth), k % max_depth})
          if (rows * columns * depth > 0) {
            const TiledProduct product({rows, columns, depth});
            strips_ = std::max(strips_, product.packed_b());
            tiles_ = std::max(tiles_, product.workspace());
          }
    strips_ = rounded_up(strips_, 16);
    tiles_ = rounded_up(tiles_, 16);
  }

  /// Returns the size of the workspace in floats.
  [[nodiscard]] std::size_t workspace() const {
    const auto rows = std::min(m_, block), columns = std::min(n_, block), depth = std::min(k_, max_depth);
    return static_cast<std::size_t>(strips_ + tiles_ + rounded_up(rows * depth, 16) + rounded_up(depth * columns, 16) +
                                    rows * columns);
  }

  using Range = TermRange;

  /// Computes y. fill_a(to, rows, depth) must write the part of a in these ranges as dense floats to `to`. fill_b(to,
  /// depth, columns) must write the part of b.
  template <class FillA, class FillB>
  void run(std::uint32_t* y, float* workspace, FillA fill_a, FillB fill_b) const noexcept {
    float *const strips = workspace, *const tiles = strips + strips_, *const a = tiles + tiles_;
    float* const b = a + rounded_up(std::min(m_, block) * std::min(k_, max_depth), 16);
    float* const sums = b + rounded_up(std::min(k_, max_depth) * std::min(n_, block), 16);
    each_block(n_, block, [&](const Range& columns) {
      each_block(m_, block, [&](const Range& rows) {
        each_block(k_, max_depth, [&](const Range& depth) {
          fill_a(a, rows, depth);
          fill_b(b, depth, columns);
          const TiledProduct product({rows.count, columns.count, depth.count});
          product.pack_b(strips, b);
          product.run(a, strips, sums, tiles, [](auto, auto) {});
          for (std::int64_t row = 0; row < rows.count; ++row) {
            auto* const to = y + (rows.first + row) * n_ + columns.first;
            if (depth.first == 0) std::fill_n(to, columns.count, std::uint32_t{0});
            accumulate(to, sums + row * columns.count, static_cast<std::size_t>(columns.count));
          }
        });
      });
    });
  }

  /// Copies a part of a matrix and converts the elements to floats. Rows of the matrix are `pitch` elements apart.
  static void widen(float* to, const std::int16_t* from, std::int64_t pitch, const Range& rows,
                    const Range& columns) noexcept {
    for (auto row = rows.first; row < rows.first + rows.count; ++row, to += columns.count)
      dequantise({}, to, from + row * pitch + columns.first, static_cast<std::size_t>(columns.count));
  }

 private:
  static constexpr std::int64_t block = 1024;    // rows and columns of a block
  static constexpr std::int64_t max_depth = 256; // 256 * 255^2 < 2^24, so floats are exact

  template <class F> static void each_block(std::int64_t size, std::int64_t step, F f) {
    for (std::int64_t first = 0; first < size; first += step) f(Range{first, std::min(step, size - first)});
  }
  std::int64_t m_, n_, k_, strips_ = 0, tiles_ = 0;
};

} // namespace rtexec::tasks::kernels
