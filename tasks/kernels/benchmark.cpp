#include "tasks/kernels/benchmark.hpp"

#include "tasks/dnn/kernels/vectorised.hpp"
#include "tasks/random.hpp"

#include <algorithm>
#include <iterator>

namespace rtexec::tasks::benchmark {
namespace {

constexpr const Benchmark* all[] = {&vector_add,        &matrix_add,    &matrix_multiply,     &needleman_wunsch,
                                    &gaussian,          &hotspot,       &pathfinder,          &bfs,
                                    &nearest_neighbour, &random_access, &euclidean_clustering};

RTEXEC_VECTORISED void fill_fractions(float* to, std::size_t count, unsigned seed) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(static_cast<int>(cuda::noise(static_cast<unsigned>(i), seed) >> 8U)) * 0x1p-24F;
}

RTEXEC_VECTORISED void fill_integers(int* to, std::size_t count, unsigned seed, int least, unsigned range) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = least + static_cast<int>(cuda::chosen(cuda::noise(static_cast<unsigned>(i), seed), range));
}

} // namespace

const Benchmark& benchmark_of(WorkloadKind kind) {
  return **std::ranges::find(all, kind, [](const Benchmark* each) { return each->kind; });
}

unsigned seed_of(std::uint64_t job, std::size_t array) noexcept {
  return static_cast<unsigned>(Random(job * 16 + array).next());
}

void fill_fractions(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job) noexcept {
  fill_fractions(host.get<float>(array), count, seed_of(job, array));
}

void fill_integers(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job, int least,
                   unsigned range) noexcept {
  fill_integers(host.get<int>(array), count, seed_of(job, array), least, range);
}

} // namespace rtexec::tasks::benchmark
