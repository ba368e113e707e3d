#include "hal/store/common.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <sys/mman.h>

namespace rtexec::hal {

Result<StoreMemory> StoreMemory::open(Device& device, Bytes size, HostMemoryKind kind, std::string_view what) {
  auto mapping = Mapping::anonymous(size, PROT_READ | PROT_WRITE, MAP_POPULATE, what);
  if (!mapping) return Unexpected(mapping.error());
  StoreMemory memory;
  memory.memory_ = std::move(*mapping);
  if (kind == HostMemoryKind::pageable) return memory;
  if (auto pinned = device.pin(memory.base(), size); !pinned)
    return fail(pinned.error().code, std::string(what) + ": " + pinned.error().what);
  memory.pinned_by_ = &device;
  return memory;
}

Result<Bytes> store_size(const Device& device, std::size_t chunks) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (chunks != 0 && chunks <= most / device.chunk_size().count) return device.chunk_size() * chunks;
  return fail(Errc::bad_input, "A backing store of " + std::to_string(chunks) + " chunks of " +
                                   readable(device.chunk_size()) + " was requested.");
}

Result<> check_fill(const BackingStore& store, Bytes chunk_size, std::size_t chunk,
                    std::span<const std::byte> contents) {
  if (chunk < store.chunks() && contents.size() <= chunk_size.count) return {};
  return fail(Errc::bad_input, "Chunk " + std::to_string(chunk) + " was to be filled with " +
                                   readable(Bytes{contents.size()}) + "; the backing store has " +
                                   std::to_string(store.chunks()) + " chunks of " + readable(chunk_size) + ".");
}

} // namespace rtexec::hal
