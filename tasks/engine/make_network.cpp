#include "tasks/engine/make_network.hpp"

#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/host/host_network.hpp"

#include <new>
#include <utility>

namespace rtexec::tasks {
namespace {

template <class Implementation>
Result<std::unique_ptr<Network>> as_network(Result<std::unique_ptr<Implementation>> made) {
  if (!made) return Unexpected(std::move(made.error()));
  return std::unique_ptr<Network>(std::move(*made));
}

} // namespace

Result<std::unique_ptr<Network>> make_network(const Graph& graph, DeviceKind kind, Precision precision,
                                              MemoryPolicy policy) {
  try {
    switch (kind) {
    case DeviceKind::host: return as_network(HostNetwork::build(graph, policy));
    case DeviceKind::cuda:
      return as_network(CudaNetwork::build(graph, precision, {.launching = {}, .transfers = true, .policy = policy}));
    }
  } catch (const std::bad_alloc&) {
    return fail(Errc::out_of_memory, "network '" + graph.name + "' does not fit into the memory of this machine");
  }
  std::unreachable();
}

} // namespace rtexec::tasks
