#include "tasks/loads/benchmarks/add.hpp"

#include "tasks/base/vectorised.hpp"

namespace rtexec::tasks::benchmark {
namespace {

enum : std::size_t { first, second, sum };

RTEXEC_VECTORISED void add(const cuda::AddArguments& p) noexcept {
  RTEXEC_INDEPENDENT
  for (unsigned i = 0; i < p.count; ++i) p.sum[i] = p.a[i] + p.b[i];
}

} // namespace

std::vector<ArrayDemand> add_arrays(unsigned count) {
  return {array_of<float>("a", count, Direction::in), array_of<float>("b", count, Direction::in),
          array_of<float>("sum", count, Direction::out)};
}

cuda::Fill summands(unsigned, std::uint64_t job, std::size_t array) noexcept { return fractions(job, array); }

void fill_summands(unsigned count, std::uint64_t job, const Addresses& host) noexcept {
  for (const auto array : {first, second}) fill_fractions(host, array, count, job);
}

std::vector<Step> add_steps(unsigned count, const Addresses& device) {
  return {make_step<add>(
      launch_for("benchmark_add", count),
      cuda::AddArguments{device.get<float>(first), device.get<float>(second), device.get<float>(sum), count})};
}

} // namespace rtexec::tasks::benchmark
