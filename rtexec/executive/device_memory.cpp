#include "rtexec/executive/device_memory.hpp"

#include <algorithm>
#include <atomic>

namespace rtexec::executive {

namespace {

using Chunks = std::vector<hal::Chunk>;

std::size_t chunks_for(const hal::Device& device, Bytes size) {
  return round_up(size, device.chunk_size()).count / device.chunk_size().count;
}

/// One copy of host bytes into chunks, executed on an engine's thread while the caller waits.
class Upload {
 public:
  Upload(hal::Device& device, std::span<const std::byte> source, const Chunks& chunks)
      : device_(device), source_(source), chunks_(chunks) {}

  Status run() {
    const std::uint32_t before = ended_.value();
    const hal::Work work{.run = [](void* self) noexcept { return static_cast<Upload*>(self)->copy(); },
                         .done = [](void* self, Status outcome, Instant, Instant) noexcept { static_cast<Upload*>(self)->end(outcome); },
                         .context = this};
    if (const auto submitted = device_.engine(hal::EngineKind::copy_in).submit(work); !submitted) return submitted;
    while (ended_.value() == before) ended_.wait(before);
    return outcome_;
  }

 private:
  Status copy() noexcept {
    const std::size_t unit = device_.chunk_size().count;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const auto part = source_.subspan(i * unit, std::min(unit, source_.size() - i * unit));
      if (const auto copied = device_.copy(device_.window(chunks_[i]), part.data(), Bytes{part.size()}); !copied) return copied;
    }
    return {};
  }
  void end(Status outcome) noexcept {
    outcome_ = outcome;
    ended_.raise();
  }

  hal::Device& device_;
  std::span<const std::byte> source_;
  const Chunks& chunks_;
  Status outcome_;
  hal::Signal ended_;
};

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
    if (const auto copied = Upload(device, contents, *chunks).run(); !copied)
      return fail(copied.error(),
                  "device '" + device.name() + "': copying " + readable(Bytes{contents.size()}) + " to it failed: " + name(copied.error()));
  return map_range(device, *chunks, access);
}

Bytes largest_scratch(const Plan& plan) {
  Bytes largest{0};
  for (const PlannedTask& task : plan.tasks) largest = std::max(largest, task.memory.scratch);
  return largest;
}

} // namespace

Result<> place(hal::Device& device, const Plan& plan, std::span<const std::unique_ptr<tasks::Workload>> workloads) {
  const auto scratch = device.create_chunks(chunks_for(device, largest_scratch(plan)));
  if (!scratch) return std::unexpected(scratch.error());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const MemoryDemand& demand = plan.tasks[i].memory;
    const auto constant = create_range(device, demand.constant, hal::Access::read, workloads[i]->constants());
    if (!constant) return std::unexpected(constant.error());
    const auto state = create_range(device, demand.state, hal::Access::read_write, {});
    if (!state) return std::unexpected(state.error());
    const Chunks shared(scratch->begin(), scratch->begin() + static_cast<std::ptrdiff_t>(chunks_for(device, demand.scratch)));
    const auto own_scratch = map_range(device, shared, hal::Access::read_write);
    if (!own_scratch) return std::unexpected(own_scratch.error());
    workloads[i]->bind({.constant = *constant, .scratch = *own_scratch, .state = *state});
  }
  return {};
}

} // namespace rtexec::executive
