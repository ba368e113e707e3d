// Assigns offsets to buffers in one block of memory, so that buffers that live at the same time never overlap and the
// block is small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t size = 0; // in bytes; 0 takes no memory
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool kept = true; // false: each segment rewrites the contents that it needs first (segment_plan.hpp)
};

struct MemoryPlan {
  static constexpr std::size_t alignment = 64; // of every offset
  [[nodiscard]] static constexpr std::size_t aligned(std::size_t size) {
    return (size + alignment - 1) / alignment * alignment;
  }

  std::vector<std::size_t> offsets; // in bytes, parallel to the lifetimes
  std::size_t size = 0;             // of the block
  /// The largest total size of buffers alive at the same time, sizes rounded up to the alignment. No plan needs less.
  std::size_t lower_bound = 0;
};

/// Plans buffer by buffer: each goes into the tightest gap between the buffers alive with it (best fit). Returns the
/// best result of four orders: by size (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
/// 2020, section 5.2), by size times lifetime, by lifetime, and by time. Deterministic.
[[nodiscard]] MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

} // namespace rtexec::tasks
