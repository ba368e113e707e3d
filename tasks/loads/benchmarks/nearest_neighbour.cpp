// Computes the distance of each of `size` places from a target place.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { x, y, distances };

RTEXEC_VECTORISED void measure(const cuda::NearestNeighbourArguments& p) noexcept {
  const float to_x = p.to_x, to_y = p.to_y;
  RTEXEC_INDEPENDENT
  for (unsigned i = 0; i < p.count; ++i) {
    const float dx = p.x[i] - to_x, dy = p.y[i] - to_y;
    p.distances[i] = __builtin_sqrtf(dx * dx + dy * dy);
  }
}

std::vector<ArrayDemand> arrays(unsigned size) {
  return {array_of<float>("x", size, Direction::in), array_of<float>("y", size, Direction::in),
          array_of<float>("distances", size, Direction::out)};
}

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  for (const auto array : {x, y}) fill_fractions(host, array, size, job);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  constexpr float to_x = 0.25F, to_y = 0.75F;
  return {make_step<measure>(launch_for("benchmark_measure", size),
                             cuda::NearestNeighbourArguments{device.get<float>(x), device.get<float>(y),
                                                             device.get<float>(distances), size, to_x, to_y})};
}

std::vector<LaunchTraffic> traffic(unsigned size) { return {streaming(size, 2)}; }

} // namespace

constinit const Benchmark nearest_neighbour{.kind = WorkloadKind::nearest_neighbour,
                                            .unit = "places",
                                            .least = 1,
                                            .most = 1U << 28U,
                                            .arrays = arrays,
                                            .fill = fill,
                                            .steps = steps,
                                            .traffic = traffic};

} // namespace rtexec::tasks::benchmark
