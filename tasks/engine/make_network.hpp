// Creates the network that computes a graph on a kind of device.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/graph/network.hpp"

#include <memory>

namespace rtexec::tasks {

/// Prepares a network that computes `graph` on a device of `kind`, which need not be present. `precision` applies to
/// GPUs only. Returns out_of_memory if the graph needs more memory than max_scratch, or more than this machine has.
/// Returns unsupported if a device of `kind` cannot compute the graph.
[[nodiscard]] Result<std::unique_ptr<Network>> make_network(const Graph& graph, DeviceKind kind, Precision precision,
                                                            MemoryPolicy policy = MemoryPolicy::device);

} // namespace rtexec::tasks
