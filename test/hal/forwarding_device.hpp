// A device that forwards every call to a host device. A double derives from it and overrides the calls that it watches
// or changes.
#pragma once

#include "hal/host/host_device.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::hal::test {

class ForwardingDevice : public Device {
 public:
  ForwardingDevice(Bytes capacity, Bytes chunk) {
    auto opened = HostDevice::open(capacity, chunk);
    if (!opened) throw std::runtime_error(opened.error().what);
    host_ = std::move(*opened);
  }
  std::string name() const override { return host_->name(); }
  DeviceKind kind() const noexcept override { return host_->kind(); }
  Bytes capacity() const override { return host_->capacity(); }
  Bytes chunk_size() const override { return host_->chunk_size(); }
  const DeviceCapabilities& capabilities() const override { return host_->capabilities(); }
  Result<std::vector<Chunk>> create_chunks(std::size_t count) override { return host_->create_chunks(count); }
  std::byte* window(Chunk chunk) const override { return host_->window(chunk); }
  std::size_t chunks_created() const override { return host_->chunks_created(); }
  Result<AddressRange> reserve(Bytes size) override { return host_->reserve(size); }
  Result<> release(AddressRange range) override { return host_->release(range); }
  Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept override {
    return host_->map(range, slot, chunk, access);
  }
  Status unmap(AddressRange range, std::size_t slot) noexcept override { return host_->unmap(range, slot); }
  using Device::copy;
  Status copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept override {
    return host_->copy(to, from, size, during);
  }
  Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override {
    return host_->begin_copy(to, from, size);
  }
  Status end_copy() noexcept override { return host_->end_copy(); }
  Status digest(const std::byte* at, Bytes size, Digest& result) noexcept override {
    return host_->digest(at, size, result);
  }
  Result<> pin(std::byte* begin, Bytes size) override { return host_->pin(begin, size); }
  Result<> unpin(std::byte* begin) override { return host_->unpin(begin); }
  Engine& engine(EngineKind kind) override { return host_->engine(kind); }
  Result<> start_secondary_compute() override { return host_->start_secondary_compute(); }
  Result<Buffer> allocate(BufferKind kind, Bytes size) override { return host_->allocate(kind, size); }
  Result<> free(const Buffer& buffer) override { return host_->free(buffer); }
  Result<MemoryUse> memory_use() const override { return host_->memory_use(); }
  std::optional<DeviceFault> fault() const override { return host_->fault(); }

 private:
  std::unique_ptr<HostDevice> host_;
};

} // namespace rtexec::hal::test
