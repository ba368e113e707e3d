// Assigns offsets to buffers in one block of memory. Buffers that are alive at the same time never overlap. The planner
// keeps the block small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t size = 0; // in bytes; a buffer of size 0 takes no memory
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool kept = true; // false: each segment (segment_plan.hpp) writes the buffer before it reads the buffer
};

struct MemoryPlan {
  static constexpr std::size_t alignment = 64; // alignment of every offset
  [[nodiscard]] static constexpr std::size_t aligned(std::size_t size) {
    return (size + alignment - 1) / alignment * alignment;
  }

  std::vector<std::size_t> offsets; // in bytes, one offset for each lifetime
  std::size_t size = 0;             // size of the block in bytes
  /// A lower bound on the size of any plan: the maximum total size of buffers alive at the same time. Sizes are rounded
  /// up to the alignment.
  std::size_t lower_bound = 0;
};

/// Assigns offsets to one buffer after another. Each buffer goes into the tightest gap between the buffers that are
/// alive at the same time (best fit). Tries four orders and returns the smallest plan: by size (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020, section 5.2), by size times lifetime, by
/// lifetime, and by time. Deterministic.
[[nodiscard]] MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

} // namespace rtexec::tasks
