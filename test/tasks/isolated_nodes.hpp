// Runs the nodes of a graph one by one, each tensor in memory of its own: under an address sanitizer, any access
// outside of an operand is found.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rtexec::test {

/// Runs all nodes on the host device, for random inputs of `seed`, hostile ones among them (NaN, infinities, huge
/// numbers). Throws std::logic_error if an operand does not fit its operation.
void run_isolated(const tasks::Graph& graph, std::uint64_t seed);

/// What became of a model: "refused", "large" (read, and too much work to be run) or "run".
[[nodiscard]] std::string try_model(std::span<const std::byte> model, std::uint64_t seed);

} // namespace rtexec::test
