// Where the buffers of a program lie in scratch, or in the carry where the program is cut, with what the chosen methods
// need. Pure.
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

  /// Of the program's buffers, then of one workspace for each call, in whole units of the alignment; of no size where
  /// nobody uses it. Time is the call's index + 1.
  std::vector<Lifetime> lifetimes;
  std::vector<std::uint32_t> layer_times;
  SegmentPlan places;
  std::size_t counters = 0; // words that are to be cleared at the beginning of each segment

  [[nodiscard]] static MemoryLocation workspace(const Program& program, std::size_t call) {
    return {MemoryLocation::Region::buffer, static_cast<std::uint32_t>(program.buffers.size() + call), 0};
  }
};

/// `methods`: one for each call; those of calls that are no convolutions are not looked at. `elsewhere`: buffers that
/// lie in neither. `after`: the layers behind which the program is cut.
[[nodiscard]] ScratchPlan plan_scratch(const Program& program, std::span<const ConvMethod> methods,
                                       std::span<const std::optional<std::uint32_t>> elsewhere = {},
                                       std::span<const std::uint32_t> after = {});

/// Of inputs, then of outputs: the buffer of the program that can lie where the caller sees it, since it holds floats,
/// dense and row-major, and nothing of another port. Absent where elements must be converted or copied.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> port_buffers(const Program& program);

} // namespace rtexec::tasks::cuda
