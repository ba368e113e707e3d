// Assigns tensors to buffers: decides which tensors share a buffer, and how long each buffer is alive.
//
// A Reshape shares the buffer of its input. The inputs of a concatenation along the outermost dimension are written
// directly into the buffer of the concatenation. An element-wise step overwrites an input that no later step reads.
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
  std::uint32_t buffer = none; // `none`: the tensor is a constant or unused
  std::size_t offset = 0;      // in bytes
};

struct Layout {
  std::vector<Location> tensors; // an entry for each of Graph::tensors; `none` for reshaped constants
  std::vector<TensorId> source;  // for each tensor, the first tensor of its chain of Reshapes, or the tensor itself
  /// The buffers with their lifetimes. The time of a node is its index + 1. Inputs are written at time 0; outputs are
  /// read after the last node.
  std::vector<Lifetime> buffers;
  std::vector<bool> elided; // an entry for each of Graph::nodes; true: the node does no work
};

/// Computes the layout. `steps` must hold a step for each node, or null for a Reshape. With `keep_inputs`, the inputs
/// live as long as the outputs, so that no step overwrites them.
[[nodiscard]] Layout lay_out(const Graph& graph, std::span<const std::unique_ptr<Step>> steps,
                             bool keep_inputs = false);

} // namespace rtexec::tasks
