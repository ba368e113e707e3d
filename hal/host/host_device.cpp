#include "hal/host/host_device.hpp"

#include <cstring>

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

} // namespace rtexec::hal
