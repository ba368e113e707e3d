// Which integers the inputs of a network may hold: those that index a tensor must stay inside it.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks {

/// Values of one input, ends included.
struct InputRange {
  /// The network takes these. Negative ones count from the end of what they index.
  std::int64_t min = 0, max = 0;
  /// Noise is drawn from these: indices from the begin.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// By input of the graph. Absent: its values index nothing, or the network computes the index in a way that is not
/// followed: reshaped, moved, concatenated, and times and plus constants.
[[nodiscard]] std::vector<std::optional<InputRange>> input_ranges(const Graph& graph);

} // namespace rtexec::tasks
