// Runs the nodes of a graph one by one, with each tensor in its own memory. An address sanitizer then finds any access
// outside of an operand.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rtexec::test {

/// The number of sets of hostile values for inputs: NaN, infinities, zeros of both signs, denormals, the largest
/// floats, the limits of the integers, indices far out of range, any bits, and mixtures with ordinary numbers.
inline constexpr std::size_t hostile_sets = 20;

/// Runs all nodes on the host device. Inputs are drawn from hostile set `set`, below hostile_sets, by `seed`. Throws
/// std::logic_error if an operand does not fit its operation.
void run_isolated(const tasks::Graph& graph, std::uint64_t seed, std::size_t set);

struct ModelTrial {
  std::string outcome;       // "refused", "large" (read, but too much work to run) or "run"
  std::size_t constants = 0; // bytes of the graph's constants
};

/// Reads a model, and runs it before and after optimisation on `sets` hostile sets of inputs. The first set is number
/// seed % hostile_sets.
[[nodiscard]] ModelTrial try_model(std::span<const std::byte> model, std::uint64_t seed, std::size_t sets = 1);

} // namespace rtexec::test
