// From a graph to the network that computes it on a kind of device.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/graph/network.hpp"

#include <memory>

namespace rtexec::tasks {

/// `precision` matters on a GPU only, which need not be there. out_of_memory: the graph needs more than max_scratch, or
/// more than this machine has. unsupported: what a device of `kind` cannot do.
[[nodiscard]] Result<std::unique_ptr<Network>> make_network(const Graph& graph, DeviceKind kind, Precision precision,
                                                            MemoryPolicy policy = MemoryPolicy::device);

} // namespace rtexec::tasks
