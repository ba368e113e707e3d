// Makes `size` updates of a table of `size` words at random positions: memory accesses without locality.
#include "tasks/loads/benchmarks/benchmark.hpp"

#include <algorithm>

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { table };

void update(const cuda::RandomAccessArguments& p) noexcept {
  for (unsigned i = 0; i < p.count; ++i) {
    const unsigned bits = cuda::noise(i, p.seed);
    p.table[cuda::chosen(bits, p.count)] ^= bits;
  }
}

std::vector<ArrayDemand> arrays(unsigned size) { return {array_of<unsigned>("table", size, Direction::both)}; }

cuda::Fill contents(unsigned, std::uint64_t job, std::size_t array) noexcept { return words(job, array); }

void fill(unsigned size, std::uint64_t job, const Addresses& host) noexcept {
  fill_words(contents(size, job, table), host.get<void>(table), size);
}

std::vector<Step> steps(unsigned size, const Addresses& device) {
  constexpr unsigned seed = 1;
  return {make_step<update>(launch_for("benchmark_update", size),
                            cuda::RandomAccessArguments{device.get<unsigned>(table), size, seed})};
}

/// Returns the traffic of the launch. An access hits the cache if it is in the part of the table that the cache holds.
std::vector<LaunchTraffic> traffic(unsigned size) {
  const Bytes table = words(size);
  const double held = std::min(1.0, static_cast<double>(estimated_cache.count) / static_cast<double>(table.count));
  const auto misses = lines(size) + static_cast<std::uint64_t>((1 - held) * size);
  return {{.threads = size,
           .touched = table,
           .written = table,
           .accesses = size,
           .hits = size - std::min<std::uint64_t>(size, misses)}};
}

} // namespace

constinit const Benchmark random_access{.kind = WorkloadKind::random_access,
                                        .unit = "elements",
                                        .least = 1,
                                        .most = 1U << 28U,
                                        .arrays = arrays,
                                        .fill = fill,
                                        .contents = contents,
                                        .steps = steps,
                                        .traffic = traffic};

} // namespace rtexec::tasks::benchmark
