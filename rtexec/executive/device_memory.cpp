#include "rtexec/executive/device_memory.hpp"

#include "rtexec/executive/engine_call.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

using Chunks = std::vector<hal::Chunk>;

std::size_t chunks_for(const hal::Device& device, Bytes size) {
  return round_up(size, device.chunk_size()).count / device.chunk_size().count;
}

/// Fills `chunks` with `source` on the copy-in engine.
Status upload(hal::Device& device, std::span<const std::byte> source, const Chunks& chunks) {
  const auto copy = [&]() noexcept -> Status {
    const std::size_t unit = device.chunk_size().count;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const auto part = source.subspan(i * unit, std::min(unit, source.size() - i * unit));
      if (const auto copied = device.copy(device.window(chunks[i]), part.data(), Bytes{part.size()}); !copied) return copied;
    }
    return {};
  };
  return execute_on(device.engine(hal::EngineKind::copy_in), copy).outcome;
}

Result<std::byte*> map_range(hal::Device& device, const Chunks& chunks, hal::Access access) {
  if (chunks.empty()) return nullptr;
  const auto range = device.reserve(device.chunk_size() * chunks.size());
  if (!range) return std::unexpected(range.error());
  for (std::size_t slot = 0; slot < chunks.size(); ++slot)
    if (const auto mapped = device.map(*range, slot, chunks[slot], access); !mapped)
      return fail(mapped.error(), "device '" + device.name() + "': mapping chunk " + std::to_string(slot) + " of " +
                                      std::to_string(chunks.size()) + " failed: " + name(mapped.error()));
  return range->base;
}

Result<std::byte*> create_range(hal::Device& device, Bytes size, hal::Access access, std::span<const std::byte> contents) {
  const auto chunks = device.create_chunks(chunks_for(device, size));
  if (!chunks) return std::unexpected(chunks.error());
  if (!contents.empty())
    if (const auto copied = upload(device, contents, *chunks); !copied)
      return fail(copied.error(),
                  "device '" + device.name() + "': copying " + readable(Bytes{contents.size()}) + " to it failed: " + name(copied.error()));
  return map_range(device, *chunks, access);
}

Bytes largest_scratch(std::span<const Tenant> tenants) {
  Bytes largest{0};
  for (const Tenant& tenant : tenants) largest = std::max(largest, tenant.demand.scratch);
  return largest;
}

} // namespace

Result<std::vector<tasks::Memory>> lay_out(hal::Device& device, std::span<const Tenant> tenants) {
  const auto scratch = device.create_chunks(chunks_for(device, largest_scratch(tenants)));
  if (!scratch) return std::unexpected(scratch.error());
  std::vector<tasks::Memory> placed;
  for (const Tenant& tenant : tenants) {
    const auto constant = create_range(device, tenant.demand.constant, hal::Access::read, tenant.constants);
    if (!constant) return std::unexpected(constant.error());
    const auto state = create_range(device, tenant.demand.state, hal::Access::read_write, {});
    if (!state) return std::unexpected(state.error());
    const Chunks shared(scratch->begin(), scratch->begin() + static_cast<std::ptrdiff_t>(chunks_for(device, tenant.demand.scratch)));
    const auto own_scratch = map_range(device, shared, hal::Access::read_write);
    if (!own_scratch) return std::unexpected(own_scratch.error());
    placed.push_back({.constant = *constant, .scratch = *own_scratch, .state = *state});
  }
  return placed;
}

Result<> place(hal::Device& device, const Plan& plan, std::span<const std::unique_ptr<tasks::Workload>> workloads) {
  std::vector<Tenant> tenants;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    tenants.push_back({.demand = plan.tasks[i].memory, .constants = workloads[i]->constants()});
  const auto placed = lay_out(device, tenants);
  if (!placed) return std::unexpected(placed.error());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    if (const auto bound = workloads[i]->bind(device, (*placed)[i]); !bound)
      return fail(bound.error().code, "task '" + plan.tasks[i].name + "': " + bound.error().what);
  return {};
}

} // namespace rtexec::executive
