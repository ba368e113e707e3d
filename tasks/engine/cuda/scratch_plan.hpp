// Plans the memory of a program's buffers, and of the workspaces that the chosen methods need. A buffer is in scratch
// or, if it lives across a cut of the program, in the carry (memory that is preserved across preemption). Pure
// functions.
#pragma once

#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/graph/segment_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::tasks::cuda {

struct ScratchPlan {
  static constexpr std::size_t alignment = 256;

  /// The lifetimes of the program's buffers, then of one workspace for each call. The time of a call is its index + 1.
  /// Sizes are multiples of the alignment; they are 0 for buffers that no call uses.
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> layer_times;
  SegmentPlan places;
  std::size_t counters = 0; // number of words to clear at the beginning of each segment

  [[nodiscard]] static MemoryLocation workspace(const Program& program, std::size_t call) {
    return {MemoryLocation::Region::buffer, static_cast<std::uint32_t>(program.buffers.size() + call), 0};
  }
};

/// Plans the memory of `program`. `methods` has one entry for each call; only those of convolutions are used.
/// `elsewhere` lists buffers that are in neither scratch nor the carry. `after` lists the layers after which the
/// program is cut.
[[nodiscard]] ScratchPlan plan_scratch(const Program& program, std::span<const ConvMethod> methods,
                                       std::span<const std::optional<std::uint32_t>> elsewhere = {},
                                       std::span<const std::uint32_t> after = {});

/// Returns one entry for each input and then each output. It is the program's buffer that can be placed in memory that
/// the caller sees. Such a buffer holds the elements as the caller sees them, dense and row-major, and no other input
/// or output. The entry is nullopt if elements must be converted or copied.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> port_buffers(const Program& program);

} // namespace rtexec::tasks::cuda
