// The definition of a micro-benchmark of memory policies: its arrays, the contents of its inputs, and the kernels of
// one job. Each kernel exists as a loop for the host device and as a CUDA kernel. Both compute bit-identical results.
//
// The benchmarks come from the literature (Bateni et al., Co-Optimizing Performance and Memory Footprint, RTAS 2020,
// Table IV; Wang et al., GPU-side initialization), and resemble the benchmarks of the Rodinia suite. Each benchmark is
// a constant in a file of its own, with its kernels in cuda/. kernel_workload.hpp runs any benchmark under any memory
// policy.
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

/// The use of an array outside of kernels.
enum class Direction {
  in,     // the host writes it
  out,    // the host reads it
  both,   // the host writes and reads it
  device, // only kernels use it
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

/// The addresses of all arrays, in the order of their definition. A host address is null if the host cannot access the
/// array.
class Addresses {
 public:
  explicit Addresses(std::span<std::byte* const> at) : at_(at) {}
  template <class T> [[nodiscard]] T* get(std::size_t array) const { return reinterpret_cast<T*>(at_[array]); }

 private:
  std::span<std::byte* const> at_;
};

/// One kernel of a job: its launch on a GPU, and a function that computes the whole grid on the host device.
struct Step {
  cuda::Launch launch;
  alignas(16) std::array<std::byte, 64> arguments{};
  void (*on_host)(const std::byte* arguments) noexcept = nullptr;
};

/// Makes a step. `launch` names a CUDA kernel. The function `host` must compute the results of that kernel on the host,
/// from the same `arguments`.
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
/// Returns a launch with one thread for each of `count` items.
[[nodiscard]] constexpr cuda::Launch launch_for(const char* kernel, unsigned count) {
  return {.name = kernel,
          .grid_x = blocks_of(count, cuda::benchmark_threads),
          .threads = static_cast<unsigned>(cuda::benchmark_threads)};
}

/// The memory accesses of one kernel launch, estimated from the access pattern of the kernel. If accesses depend on
/// random inputs, their average number is counted.
struct LaunchTraffic {
  std::uint64_t threads = 0;
  // The bytes that the launch accesses, and the bytes that it writes, in arrays that the host can access. An isolated
  // word counts as 32 bytes, the smallest transfer of memory.
  Bytes touched{0};
  Bytes written{0};
  // The accesses of thread blocks to 128-byte lines of the L2 cache. Each line counts once for each block that accesses
  // it, and once for each atomic update. `hits` counts the accesses that find their line in a cache of size
  // `estimated_cache`.
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  friend bool operator==(const LaunchTraffic&, const LaunchTraffic&) = default;
};

/// A micro-benchmark. All its functions take a size from `least` to `most`.
struct Benchmark {
  WorkloadKind kind;
  std::string_view unit; // the items that the size counts
  unsigned least, most;
  std::vector<ArrayDemand> (*arrays)(unsigned size);
  /// Fills all inputs. Equal jobs get equal inputs. Real-time code: does not allocate or block.
  void (*fill)(unsigned size, std::uint64_t job, const Addresses& host) noexcept;
  /// Describes the contents of one input array, so that other code can fill the array, for example on the GPU. Null:
  /// only fill() can fill the inputs.
  cuda::Fill (*contents)(unsigned size, std::uint64_t job, std::size_t array) noexcept = nullptr;
  /// Returns the kernels in their order of execution. A kernel may read results of earlier kernels.
  std::vector<Step> (*steps)(unsigned size, const Addresses& device);
  /// Returns the memory accesses of each step.
  std::vector<LaunchTraffic> (*traffic)(unsigned size);
  bool chained = false; // true: each access of a thread depends on the thread's previous access
};

/// True if parallelism hides the latency of memory accesses. `launches` is the result of the benchmark's function
/// `traffic`.
[[nodiscard]] bool hides_latency(const Benchmark& benchmark, std::span<const LaunchTraffic> launches);

extern const Benchmark vector_add, matrix_add, matrix_multiply, needleman_wunsch, gaussian, hotspot, pathfinder, bfs,
    nearest_neighbour, random_access, euclidean_clustering;

/// Returns the benchmark of a kind; is_micro_benchmark(kind) must be true.
[[nodiscard]] const Benchmark& benchmark_of(WorkloadKind kind);

// ---- helpers for fill()

/// Returns a seed that differs between jobs and between arrays.
[[nodiscard]] unsigned seed_of(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill words(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill fractions(std::uint64_t job, std::size_t array) noexcept;
[[nodiscard]] cuda::Fill integers(std::uint64_t job, std::size_t array, int least, unsigned range) noexcept;
/// Fills the first `count` words at `to` as `fill` describes.
void fill_words(const cuda::Fill& fill, void* to, std::size_t count) noexcept;
// These functions fill the first `count` elements of `array` with pseudo-random values. The seed is seed_of(`job`,
// `array`).
void fill_fractions(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job) noexcept;
void fill_integers(const Addresses& host, std::size_t array, std::size_t count, std::uint64_t job, int least,
                   unsigned range) noexcept;

// ---- helpers for traffic(): all arrays have words of 4 bytes

// The size of the L2 cache, and the number of threads that execute at the same time, on the GPU of the NVIDIA Jetson
// TX2.
constexpr Bytes estimated_cache{512 << 10};
constexpr std::uint64_t threads_at_once = 4096;
[[nodiscard]] constexpr bool is_kept(Bytes bytes) { return bytes <= estimated_cache; }
[[nodiscard]] constexpr Bytes words(std::uint64_t count) { return Bytes{count * 4}; }
/// Returns the bytes that accesses to `count` isolated words transfer. The words are `row` words apart. A word
/// transfers 32 bytes (8 words), or `row` words if `row` is less than 8.
[[nodiscard]] constexpr Bytes lone_words(std::uint64_t count, std::uint64_t row) {
  return words(count * (row < 8 ? row : 8));
}
[[nodiscard]] constexpr std::uint64_t lines(std::uint64_t words) { return (words + 31) / 32; }
/// Returns the traffic of a kernel that computes `count` items. Each item reads `in` words and writes one word; no word
/// is used twice.
[[nodiscard]] LaunchTraffic streaming(std::uint64_t count, std::uint64_t in);

} // namespace rtexec::tasks::benchmark
