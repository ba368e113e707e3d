#include "hal/host/host_device.hpp"

#include <atomic>

namespace rtexec::hal {
namespace {

/// Two chunks of one page; the first is mapped read-only at `reading` and read-write at `writing`.
struct Bench {
  HostMemory memory;
  std::vector<Chunk> chunks;
  AddressRange reading, writing;
};

Result<Bench> set_up() {
  const Bytes page = page_size();
  auto memory = HostMemory::open(page * 2, page);
  if (!memory) return Unexpected(memory.error());
  auto chunks = memory->create_chunks(2);
  if (!chunks) return Unexpected(chunks.error());
  const auto reading = memory->reserve(page);
  if (!reading) return Unexpected(reading.error());
  const auto writing = memory->reserve(page);
  if (!writing) return Unexpected(writing.error());
  if (!memory->map(*reading, 0, chunks->front(), Access::read) ||
      !memory->map(*writing, 0, chunks->front(), Access::read_write)) {
    return fail(Errc::device_fault, "A chunk of device memory could not be mapped at two addresses.");
  }
  return Bench{std::move(*memory), std::move(*chunks), *reading, *writing};
}

bool shows_through(Bench& bench) {
  *bench.writing.base = std::byte{0x5a};
  return *static_cast<volatile std::byte*>(bench.reading.base) == std::byte{0x5a};
}

bool read_only_holds(Bench& bench) {
  return bench.memory.writable(bench.writing.base) && !bench.memory.writable(bench.reading.base);
}

bool files_reach_the_window(const Bench& bench) {
  return bench.memory.writable(bench.memory.window(bench.chunks.front()));
}

/// Lets the engine write through one range while the mappings of another range change. Returns true if the contents of
/// both ranges stay correct.
bool remaps_under_load(Bench& bench, Engine& compute) {
  struct Load {
    volatile std::byte* target;
    std::atomic<bool> stop = false;
    bool intact = true;
    Signal begun = {};
    Signal ended = {};
  } load{bench.writing.base};
  const Work work{
      .run = [](void* context) noexcept -> Status {
        auto& mine = *static_cast<Load*>(context);
        mine.begun.raise();
        for (unsigned value = 0; !mine.stop.load(std::memory_order_relaxed); ++value) {
          *mine.target = std::byte(value);
          mine.intact = mine.intact && *mine.target == std::byte(value);
        }
        *mine.target = std::byte{0x17};
        return {};
      },
      .done = [](void* context, Status, Instant, Instant) noexcept { static_cast<Load*>(context)->ended.raise(); },
      .context = &load,
  };
  if (!compute.submit(work)) return false;
  while (load.begun.value() == 0) load.begun.wait(0);
  bool mapped = true;
  for (std::size_t round = 1; round <= 100; ++round) {
    mapped = mapped && bench.memory.unmap(bench.reading, 0) &&
             bench.memory.map(bench.reading, 0, bench.chunks[round % 2], Access::read);
  }
  load.stop = true;
  while (load.ended.value() == 0) load.ended.wait(0);
  return mapped && load.intact && *static_cast<volatile std::byte*>(bench.reading.base) == std::byte{0x17};
}

} // namespace

Result<DeviceCapabilities> probe_host_memory(Engine& compute) {
  auto bench = set_up();
  if (!bench) return Unexpected(bench.error());
  DeviceCapabilities can;
  can.shared_mapping = shows_through(*bench);
  can.read_only_mapping = read_only_holds(*bench);
  can.remap_under_load = remaps_under_load(*bench, compute);
  can.digest = true;
  can.mapping_faults = true;
  can.host_sees_window = files_reach_the_window(*bench);
  can.note("one chunk at two addresses, written through one and read through the other", can.shared_mapping,
           "the write is not visible: chunks cannot be copied through the pool window");
  can.note("write through a read-only mapping is caught", can.read_only_mapping,
           "it is not detected: constants are not protected");
  can.note("100 remaps while the compute engine writes elsewhere", can.remap_under_load,
           "memory was lost: mappings change only while the engine is idle");
  can.note("a file is read straight into the pool window", can.host_sees_window,
           "it is refused: files are read through a buffer");
  return can;
}

} // namespace rtexec::hal
