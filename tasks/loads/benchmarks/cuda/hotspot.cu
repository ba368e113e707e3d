// Computes one step of heat flow through a plate.
#include "tasks/loads/benchmarks/cuda/benchmark.cuh"

namespace rtexec::tasks::cuda {

/// A block of the grid computes part of one row. The block's y is the number of the row. Each thread computes one
/// element.
KERNEL(benchmark_heat, benchmark_threads, HotspotArguments) {
  wait_for_previous();
  const unsigned n = arguments.side, row = static_cast<unsigned>(block_y()), column = item();
  if (column >= n) return;
  const unsigned at = row * n + column;
  const float* const t = arguments.temperature;
  const float own = t[at];
  const float above = row == 0 ? own : t[at - n], below = row + 1 == n ? own : t[at + n];
  const float left = column == 0 ? own : t[at - 1], right = column + 1 == n ? own : t[at + 1];
  const float vertical = (above + below) - (own + own), horizontal = (left + right) - (own + own);
  const float sources = product(arguments.power[at], heat_from_power) + product(vertical, heat_across_rows);
  arguments.result[at] = own + ((sources + product(horizontal, heat_across_columns)) + product(air - own, heat_to_air));
}

} // namespace rtexec::tasks::cuda
