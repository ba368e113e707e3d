#include "hal/host/host_device.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace rtexec::hal {

Result<std::unique_ptr<HostDevice>> HostDevice::open(Bytes capacity, Bytes chunk) {
  auto memory = HostMemory::open(capacity, chunk);
  if (!memory) return std::unexpected(memory.error());
  std::unique_ptr<HostDevice> device(new HostDevice(std::move(*memory)));
  constexpr std::array names{"compute", "copy-in", "copy-out"};
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    auto engine = EngineThread::start(names[kind]);
    if (!engine) return std::unexpected(engine.error());
    device->engines_[kind] = std::move(*engine);
  }
  auto capabilities = probe_host_memory(device->engine(EngineKind::compute));
  if (!capabilities) return std::unexpected(capabilities.error());
  device->capabilities_ = std::move(*capabilities);
  return device;
}

Status HostDevice::copy(std::byte* to, const std::byte* from, Bytes size) noexcept {
  if (to == nullptr || from == nullptr) return std::unexpected(Errc::bad_input);
  std::memcpy(to, from, size.count);
  return {};
}

Result<Buffer> HostDevice::allocate(BufferKind kind, Bytes size) {
  if (size.count == 0) return fail(Errc::bad_input, "A buffer of no bytes was asked.");
  auto mapping = Mapping::anonymous(round_up(size, page_size()), PROT_READ | PROT_WRITE, MAP_POPULATE, "a buffer");
  if (!mapping) return std::unexpected(mapping.error());
  std::byte* const base = mapping->base();
  buffers_.push_back(std::move(*mapping));
  return Buffer{kind, kind == BufferKind::device ? nullptr : base, base, size};
}

Result<> HostDevice::free(const Buffer& buffer) {
  const auto found = std::ranges::find(buffers_, buffer.device, &Mapping::base);
  if (found == buffers_.end()) return fail(Errc::bad_input, "A buffer is freed that was not allocated, or was freed before.");
  auto outcome = found->unmap();
  buffers_.erase(found);
  return outcome;
}

Result<MemoryUse> HostDevice::memory_use() const {
  MemoryUse use{chunk_size() * chunks_created(), Bytes{}};
  for (const Mapping& each : buffers_) use.own += each.size();
  return use;
}

} // namespace rtexec::hal
