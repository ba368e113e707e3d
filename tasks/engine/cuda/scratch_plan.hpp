// Plans the memory of a program's buffers, and of the workspaces that the chosen methods need. A buffer that is live
// across a cut of the program is in the carry, the memory that is preserved across preemption. Other buffers are in
// scratch. Pure functions.
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

  /// The lifetimes of the program's buffers, then the lifetime of one workspace for each call. The time of a call is
  /// its index + 1; inputs are written at time 0. Sizes are multiples of `alignment`. The size of a buffer that no call
  /// uses is 0.
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> layer_times;
  SegmentPlan places;
  std::size_t counters = 0; // number of counter words to clear at the beginning of each segment

  [[nodiscard]] static MemoryLocation workspace(const Program& program, std::size_t call) {
    return {MemoryLocation::Region::buffer, static_cast<std::uint32_t>(program.buffers.size() + call), 0};
  }
};

/// Plans the memory of `program`. `methods` has one entry for each call; entries of other calls than convolutions are
/// ignored. `elsewhere` lists buffers that are in neither scratch nor the carry. `after` lists the layers after which
/// the program is cut.
[[nodiscard]] ScratchPlan plan_scratch(const Program& program, std::span<const ConvMethod> methods,
                                       std::span<const std::optional<std::uint32_t>> elsewhere = {},
                                       std::span<const std::uint32_t> after = {});

/// Returns one entry for each input, then one entry for each output. An entry is the program's buffer that can be
/// placed in memory that the caller sees. Such a buffer holds exactly one input or output, in the caller's element
/// type, dense and row-major. The entry is nullopt if elements must be converted or copied.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> port_buffers(const Program& program);

} // namespace rtexec::tasks::cuda
