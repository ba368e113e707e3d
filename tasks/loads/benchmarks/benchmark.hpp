// What a micro-benchmark of memory policies is: arrays, how their inputs are made, and the kernels of one job, each as
// a plain loop for the host device and as a CUDA kernel that computes the same bits. Those of the literature (Bateni et
// al., Co-Optimizing Performance and Memory Footprint, RTAS 2020, Table IV; Wang et al., GPU-side initialization),
// kinds of the Rodinia suite. Each is a constant of its own file, and its kernels lie in cuda/; kernel_workload.hpp
// runs any of them under any policy.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/loads/benchmarks/cuda/benchmark_arguments.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::tasks::benchmark {

/// Who sees an array besides the kernels.
enum class Direction {
  in,     // the host makes it
  out,    // the host reads it
  both,   // the host makes it and reads it
  device, // nobody
};
[[nodiscard]] constexpr bool goes_in(Direction direction) {
  return direction == Direction::in || direction == Direction::both;
}
[[nodiscard]] constexpr bool goes_out(Direction direction) {
  return direction == Direction::out || direction == Direction::both;
}

struct ArrayDemand {
  std::string_view name;
  Bytes size;
  Direction direction = Direction::in;
};
template <class T>
[[nodiscard]] constexpr ArrayDemand array_of(std::string_view name, std::uint64_t count, Direction direction) {
  return {name, Bytes{count * sizeof(T)}, direction};
}

/// Of the arrays, in their order; the host's is null where the host does not see one.
class Addresses {
 public:
  explicit Addresses(std::span<std::byte* const> at) : at_(at) {}
  template <class T> [[nodiscard]] T* get(std::size_t array) const { return reinterpret_cast<T*>(at_[array]); }

 private:
  std::span<std::byte* const> at_;
};

/// One kernel of a job: what a GPU launches, and what the host device calls for the whole grid.
struct Step {
  cuda::Launch launch;
  alignas(16) std::array<std::byte, 64> arguments{};
  void (*on_host)(const std::byte* arguments) noexcept = nullptr;
};

/// `host` is a function that does on the host what kernel `name` does with `arguments`.
template <auto host, class Arguments>
[[nodiscard]] Step make_step(const cuda::Launch& launch, const Arguments& arguments) {
  Step step{.launch = launch};
  static_assert(sizeof arguments <= sizeof step.arguments);
  std::memcpy(step.arguments.data(), &arguments, sizeof arguments);
  step.on_host = [](const std::byte* bytes) noexcept {
    Arguments own;
    std::memcpy(&own, bytes, sizeof own);
    host(own);
  };
  return step;
}

[[nodiscard]] constexpr unsigned blocks_of(unsigned count, int block) {
  const auto size = static_cast<unsigned>(block);
  return (count + size - 1) / size;
}
/// One thread for each of `count` items.
[[nodiscard]] constexpr cuda::Launch launch_for(const char* kernel, unsigned count) {
  return {.name = kernel,
          .grid_x = blocks_of(count, cuda::benchmark_threads),
          .threads = static_cast<unsigned>(cuda::benchmark_threads)};
}

/// What one launch does to memory. Estimated from how the kernel accesses it; where that depends on random inputs, as
/// they are on average.
struct LaunchTraffic {
  std::uint64_t threads = 0;
  // Of arrays that the host sees; words that lie alone count as 32 bytes, the least that memory moves
  Bytes touched{0};
  Bytes written{0};
  // Lines of 128 bytes that blocks of threads ask the L2 cache for, each line once for a block, and once for each
  // atomic update; and those that it has, if it is one of `estimated_cache`
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  friend bool operator==(const LaunchTraffic&, const LaunchTraffic&) = default;
};

/// All functions are for a size from `least` to `most`.
struct Benchmark {
  WorkloadKind kind;
  std::string_view unit; // what the size counts
  unsigned least, most;
  std::vector<ArrayDemand> (*arrays)(unsigned size);
  /// Makes what goes in, the same for the same job; real-time.
  void (*fill)(unsigned size, std::uint64_t job, const Addresses& host) noexcept;
  /// The same of one array that goes in, for who makes it elsewhere. Null: only fill() can.
  cuda::Fill (*contents)(unsigned size, std::uint64_t job, std::size_t array) noexcept = nullptr;
  /// In the order in which they run; a kernel may read what those before it wrote.
  std::vector<Step> (*steps)(unsigned size, const Addresses& device);
  /// What each of the steps does to memory.
  std::vector<LaunchTraffic> (*traffic)(unsigned size);
  bool chained = false; // the accesses of a thread wait for one another
};

/// Whether parallelism hides the latency of memory, of launches as `traffic` gives them.
[[nodiscard]] bool hides_latency(const Benchmark& benchmark, std::span<const LaunchTraffic> launches);

extern const Benchmark vector_add, matrix_add, matrix_multiply, needleman_wunsch, gaussian, hotspot, pathfinder, bfs,
    nearest_neighbour, random_access, euclidean_clustering;

/// Of a kind that is_micro_benchmark().
[[nodiscard]] const Benchmark& benchmark_of(WorkloadKind kind);

// ---- for fill()

/// Another one for each job and array.
[[nodiscard]] unsigned seed_of(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill words(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill fractions(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill integers(std::uint64_t job, std::size_t array, int least, unsigned range) noexcept;
/// The first `count` words.
void fill_words(const cuda::Fill& fill, void* to, std::size_t count) noexcept;
// The first `count` elements of an array, by that seed.
void fill_fractions(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job) noexcept;
void fill_integers(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job, int least,
                   unsigned range) noexcept;

// ---- for traffic(): all arrays have words of 4 bytes

// As TX2's GPU has them
constexpr Bytes estimated_cache{512 << 10};
constexpr std::uint64_t threads_at_once = 4096;
[[nodiscard]] constexpr bool is_kept(Bytes bytes) { return bytes <= estimated_cache; }
[[nodiscard]] constexpr Bytes words(std::uint64_t count) { return Bytes{count * 4}; }
/// Each of them in another row of `row` words, or elsewhere in that many.
[[nodiscard]] constexpr Bytes lone_words(std::uint64_t count, std::uint64_t row) {
  return words(count * (row < 8 ? row : 8));
}
[[nodiscard]] constexpr std::uint64_t lines(std::uint64_t words) { return (words + 31) / 32; }
/// For each of `count` items: so many words `in`, one word `out`; nothing twice.
[[nodiscard]] LaunchTraffic streaming(std::uint64_t count, std::uint64_t in);

} // namespace rtexec::tasks::benchmark
