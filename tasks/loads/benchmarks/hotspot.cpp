// Computes one step of heat flow through a plate of `size` rows and columns. Heat flows from sources to the plate,
// between neighbours, and to the air.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { temperature, power, result };

RTEXEC_INLINE float heated(float own, float above, float below, float left, float right, float power) {
  const float vertical = (above + below) - (own + own), horizontal = (left + right) - (own + own);
  return own + (((power * cuda::heat_from_power + vertical * cuda::heat_across_rows) +
                 horizontal * cuda::heat_across_columns) +
                (cuda::air - own) * cuda::heat_to_air);
}

RTEXEC_VECTORISED void heat_row(const float* above, const float* own, const float* below, const float* power,
                                float* __restrict to, std::size_t n) noexcept {
  for (std::size_t j = 1; j + 1 < n; ++j) to[j] = heated(own[j], above[j], below[j], own[j - 1], own[j + 1], power[j]);
}

void heat(const cuda::HotspotArguments& p) noexcept {
  const std::size_t n = p.side;
  for (std::size_t row = 0; row < n; ++row) {
    const float* const own = p.temperature + row * n;
    const float *const above = row == 0 ? own : own - n, *const below = row + 1 == n ? own : own + n;
    const float* const power = p.power + row * n;
    float* const to = p.result + row * n;
    heat_row(above, own, below, power, to, n);
    for (const std::size_t j : {std::size_t{0}, n - 1})
      to[j] = heated(own[j], above[j], below[j], own[j == 0 ? 0 : j - 1], own[j + 1 == n ? j : j + 1], power[j]);
  }
}

std::vector<ArrayDemand> arrays(unsigned size) {
  const std::uint64_t count = std::uint64_t{size} * size;
  return {array_of<float>("temperature", count, Direction::in), array_of<float>("power", count, Direction::in),
          array_of<float>("result", count, Direction::out)};
}

RTEXEC_VECTORISED void warm(float* temperatures, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) temperatures[i] = 300 + 50 * temperatures[i];
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  const std::size_t count = std::size_t{size} * size;
  for (const auto array : {temperature, power}) fill_fractions(host, array, count, job);
  warm(host.get<float>(temperature), count);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  cuda::Launch rows = launch_for("benchmark_heat", size);
  rows.grid_y = size;
  return {make_step<heat>(rows, cuda::HotspotArguments{device.get<float>(temperature), device.get<float>(power),
                                                       device.get<float>(result), size})};
}

/// Returns the traffic of the launch. The kernel reads each row of temperatures three times within a short time: when
/// it computes the row itself, the row above and the row below. Only the first read misses the cache.
std::vector<LaunchTraffic> traffic(unsigned size) {
  const std::uint64_t n = size, row = lines(n), blocks = blocks_of(size, cuda::benchmark_threads);
  LaunchTraffic launch = streaming(n * n, 2);
  // The columns next to the border of a block belong to another block.
  launch.accesses = n * (5 * row + 2 * (blocks - 1)) - 2 * row;
  launch.hits = launch.accesses - 3 * n * row;
  return {launch};
}

} // namespace

constinit const Benchmark hotspot{.kind = WorkloadKind::hotspot,
                                  .unit = "rows and columns",
                                  .least = 1,
                                  .most = 1U << 14U,
                                  .arrays = arrays,
                                  .fill = fill,
                                  .steps = steps,
                                  .traffic = traffic};

} // namespace rtexec::tasks::benchmark
