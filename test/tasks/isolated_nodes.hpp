// Runs the nodes of a graph one by one, each tensor in memory of its own: under an address sanitizer, any access
// outside of an operand is found.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rtexec::test {

/// The number of sets of hostile values that inputs are drawn from: NaN, infinities, zeros of both signs, denormals,
/// the largest floats, the ends of the integers, indices far outside, any bits, and mixtures with ordinary numbers.
inline constexpr std::size_t hostile_sets = 20;

/// Runs all nodes on the host device. Inputs are drawn from hostile set `set`, below hostile_sets, by `seed`. Throws
/// std::logic_error if an operand does not fit its operation.
void run_isolated(const tasks::Graph& graph, std::uint64_t seed, std::size_t set);

struct ModelTrial {
  std::string outcome;       // "refused", "large" (read, and too much work to be run) or "run"
  std::size_t constants = 0; // bytes of the constants of the graph
};

/// Reads a model and runs it, before and after it is optimised, on `sets` hostile sets of inputs, of which the first is
/// number seed % hostile_sets.
[[nodiscard]] ModelTrial try_model(std::span<const std::byte> model, std::uint64_t seed, std::size_t sets = 1);

} // namespace rtexec::test
