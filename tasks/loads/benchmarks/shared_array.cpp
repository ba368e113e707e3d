#include "tasks/loads/benchmarks/shared_array.hpp"

#include "tasks/base/buffer_kind.hpp"

#include <string>

namespace rtexec::tasks {
namespace {

/// Returns the kind of the buffer that kernels use for an array. An array that only kernels use is in device memory.
BufferKind kind_of(MemoryPolicy policy, benchmark::Direction direction) {
  return direction == benchmark::Direction::device ? BufferKind::device : tasks::kind_of(policy);
}

bool has_two(MemoryPolicy policy, benchmark::Direction direction) {
  return kind_of(policy, direction) == BufferKind::device && direction != benchmark::Direction::device;
}

} // namespace

Result<SharedArray> SharedArray::make(Device& device, MemoryPolicy policy, const benchmark::ArrayDemand& demand) {
  SharedArray made(&device, demand.direction);
  const auto take = [&](Buffer& to, BufferKind kind) -> Result<> {
    auto buffer = device.allocate(kind, demand.size);
    if (!buffer)
      return fail(buffer.error().code, "its array '" + std::string(demand.name) + "': " + buffer.error().what);
    to = *buffer;
    return {};
  };
  if (auto taken = take(made.on_device_, kind_of(policy, demand.direction)); !taken) return Unexpected(taken.error());
  if (has_two(policy, demand.direction))
    if (auto taken = take(made.on_host_, BufferKind::host); !taken) return Unexpected(taken.error());
  return made;
}

Footprint SharedArray::footprint(MemoryPolicy policy, const benchmark::ArrayDemand& demand) {
  if (kind_of(policy, demand.direction) == BufferKind::host) return {.host = demand.size, .device = {}};
  return {.host = has_two(policy, demand.direction) ? demand.size : Bytes{0}, .device = demand.size};
}

SharedArray SharedArray::in_place() const noexcept {
  SharedArray same(nullptr, direction_);
  same.on_device_ = on_host_.size == Bytes{0} ? on_device_ : on_host_;
  return same;
}

SharedArray::~SharedArray() {
  if (device_ == nullptr) return;
  for (const Buffer& buffer : {on_host_, on_device_})
    if (buffer.size > Bytes{0}) (void)device_->free(buffer);
}

std::optional<ArrayCopy> SharedArray::copy_in() const noexcept {
  if (on_host_.size == Bytes{0} || !goes_in(direction_)) return std::nullopt;
  return ArrayCopy{on_device_.device, on_host_.host, on_device_.size};
}

std::optional<ArrayCopy> SharedArray::copy_out() const noexcept {
  if (on_host_.size == Bytes{0} || !goes_out(direction_)) return std::nullopt;
  return ArrayCopy{on_host_.host, on_device_.device, on_device_.size};
}

} // namespace rtexec::tasks
