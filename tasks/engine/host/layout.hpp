// Where each tensor of a graph lives: which tensors share one buffer, and for how long.
//
// Reshapes share their input's buffer. The inputs of a concatenation along the outermost dimension are written straight
// into its buffer. Element-wise steps overwrite an input that nobody reads later.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/graph/memory_plan.hpp"
#include "tasks/engine/host/kernels/step.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct Location {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t buffer = none; // none: a constant, or never used
  std::size_t offset = 0;      // in bytes
};

struct Layout {
  std::vector<Location> tensors; // parallel to Graph::tensors; a reshaped constant has none
  std::vector<TensorId> source;  // the tensor that it is another name of (through reshapes), or itself
  /// Time is the node's index + 1; inputs are written at 0, outputs read after the last node
  std::vector<Lifetime> buffers;
  std::vector<bool> elided; // parallel to Graph::nodes: nothing is left to do
};

/// `steps` are parallel to the nodes; null for Reshape. `keep_inputs`: they live as long as outputs do, so that nothing
/// overwrites them.
[[nodiscard]] Layout lay_out(const Graph& graph, std::span<const std::unique_ptr<Step>> steps,
                             bool keep_inputs = false);

} // namespace rtexec::tasks
