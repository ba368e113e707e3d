#include "tasks/loads/benchmarks/benchmark.hpp"

#include "tasks/base/vectorised.hpp"
#include "tasks/base/random.hpp"

#include <algorithm>
#include <iterator>

namespace rtexec::tasks::benchmark {
namespace {

constexpr const Benchmark* all[] = {&vector_add,        &matrix_add,    &matrix_multiply,     &needleman_wunsch,
                                    &gaussian,          &hotspot,       &pathfinder,          &bfs,
                                    &nearest_neighbour, &random_access, &euclidean_clustering};

RTEXEC_VECTORISED void fill_noise(unsigned* to, std::size_t count, unsigned seed) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = cuda::noise(static_cast<unsigned>(i), seed);
}

RTEXEC_VECTORISED void fill_fractions(float* to, std::size_t count, const cuda::Fill& fill) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = cuda::filled_fraction(fill, static_cast<unsigned>(i));
}

RTEXEC_VECTORISED void fill_integers(int* to, std::size_t count, const cuda::Fill& fill) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = cuda::filled_integer(fill, static_cast<unsigned>(i));
}

void fill_scores(int* to, std::size_t count, const cuda::Fill& fill) noexcept {
  const std::size_t width = fill.range;
  std::fill_n(to, count, 0);
  for (std::size_t i = 0; i < std::min(width, count); ++i) to[i] = cuda::filled_score(fill, static_cast<unsigned>(i));
  for (std::size_t i = width; i < count; i += width) to[i] = cuda::filled_score(fill, static_cast<unsigned>(i));
}

} // namespace

const Benchmark& benchmark_of(WorkloadKind kind) {
  return **std::ranges::find(all, kind, [](const Benchmark* each) { return each->kind; });
}

unsigned seed_of(std::uint64_t job, std::size_t array) noexcept {
  return static_cast<unsigned>(Random(job * 16 + array).next());
}

cuda::Fill words(std::uint64_t job, std::size_t array) noexcept {
  return {.kind = cuda::Fill::words, .seed = seed_of(job, array)};
}

cuda::Fill fractions(std::uint64_t job, std::size_t array) noexcept {
  return {.kind = cuda::Fill::fractions, .seed = seed_of(job, array)};
}

cuda::Fill integers(std::uint64_t job, std::size_t array, int least, unsigned range) noexcept {
  return {.kind = cuda::Fill::integers, .seed = seed_of(job, array), .least = least, .range = range};
}

void fill_words(const cuda::Fill& fill, void* to, std::size_t count) noexcept {
  switch (fill.kind) {
  case cuda::Fill::fractions: return fill_fractions(static_cast<float*>(to), count, fill);
  case cuda::Fill::integers: return fill_integers(static_cast<int*>(to), count, fill);
  case cuda::Fill::scores: return fill_scores(static_cast<int*>(to), count, fill);
  default: return fill_noise(static_cast<unsigned*>(to), count, fill.seed);
  }
}

void fill_fractions(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job) noexcept {
  fill_words(fractions(job, array), host.get<void>(array), count);
}

void fill_integers(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job, int least,
                   unsigned range) noexcept {
  fill_words(integers(job, array, least, range), host.get<void>(array), count);
}

bool hides_latency(const Benchmark& benchmark, std::span<const LaunchTraffic> launches) {
  std::uint64_t threads = 0;
  for (const LaunchTraffic& launch : launches) threads += launch.threads;
  return !benchmark.chained && threads / launches.size() >= threads_at_once;
}

LaunchTraffic streaming(std::uint64_t count, std::uint64_t in) {
  return {.threads = count,
          .touched = words(count * (in + 1)),
          .written = words(count),
          .accesses = lines(count) * (in + 1)};
}

} // namespace rtexec::tasks::benchmark
